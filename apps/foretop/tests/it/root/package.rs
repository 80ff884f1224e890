//! The Debian package: installed, asked, upgraded over a store of 0.1.0, removed and purged.
//!
//! The root is this machine's under an overlay in memory, so that dpkg works for real and nothing of it stays.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use testkit::{PATIENCE, wait_until};

use crate::node::Running;

const STORE: &str = "var/lib/foretop";
/// Folders in which dpkg and its tools record packages and users.
const ACCOUNTS: [&str; 7] = ["etc/group", "etc/gshadow", "etc/passwd", "etc/shadow", "etc/sub", "etc/.pwd", "var/"];

#[test]
#[ignore = "needs root; run by make test"]
fn a_package_answers_soon_is_upgraded_over_an_old_store_and_leaves_only_the_store() {
    let packages = tempfile::tempdir().unwrap();
    let (before, after) = (make(packages.path(), "0.0.1"), make(packages.path(), "0.0.2"));
    let root = ThrowawayRoot::mount();
    let users = root.read("etc/passwd");

    root.dpkg("-i", &before);
    let node = root.start_service();
    wait_until("a forecast of the load", PATIENCE, || root.ask(&node).status.success().then_some(()));
    drop(node);

    root.replace_store_by_one_of_0_1_0();
    root.dpkg("-i", &after);
    let node = root.start_service();
    let exported = root.run(&["foretop", "export", "mine", "--node", &node.url]);
    let exported = String::from_utf8(exported.stdout).unwrap();
    assert!(exported.contains(",41.5"), "the old store's sample is there after the upgrade: {exported}");
    drop(node);

    root.dpkg("-r", "foretop");
    assert_eq!(root.traces(), [] as [PathBuf; 0], "they stay after the package");
    assert!(root.path().join(STORE).join("foretop.db").is_file(), "the store stays");

    root.dpkg("-P", "foretop");
    assert!(!root.path().join(STORE).exists(), "the store is purged");
    assert_eq!(root.read("etc/passwd"), users);
}

/// Packs the program under test as this version.
fn make(folder: &Path, version: &str) -> String {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let programs = Path::new(env!("CARGO_BIN_EXE_foretop")).parent().unwrap();
    let mut command = Command::new(workspace.join("scripts/make-packages.sh"));
    command.args(["--quick", "--only", "foretop", "--version", version, "--from"]).arg(programs);
    succeed(command.arg("--out").arg(folder).arg("deb"));
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_it = |path: &PathBuf| path.to_str().unwrap().contains(&format!("_{version}_"));
    names.into_iter().find(is_it).expect("a package").to_str().unwrap().to_owned()
}

#[track_caller]
fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{stderr}", String::from_utf8_lossy(&output.stdout));
    output
}

/// This machine's root under an overlay in memory; it goes away with the value.
struct ThrowawayRoot {
    place: TempDir,
}

impl ThrowawayRoot {
    fn mount() -> Self {
        let place = tempfile::tempdir().unwrap();
        succeed(Command::new("mount").args(["-t", "tmpfs", "foretop-test"]).arg(place.path()));
        let root = Self { place };
        for folder in ["upper", "work", "root"] {
            fs::create_dir(root.place.path().join(folder)).unwrap();
        }
        let place = root.place.path().display();
        let layers = format!("lowerdir=/,upperdir={place}/upper,workdir={place}/work");
        succeed(Command::new("mount").args(["-t", "overlay", "-o", &layers, "foretop-test"]).arg(root.path()));
        for folder in ["proc", "sys", "dev"] {
            let own = Path::new("/").join(folder);
            succeed(Command::new("mount").arg("--rbind").args([own, root.path().join(folder)]));
        }
        root
    }

    fn path(&self) -> PathBuf {
        self.place.path().join("root")
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path().join(file)).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("chroot");
        command.arg(self.path()).args(arguments).env_remove("FORETOP_DATA_DIR").env("LC_ALL", "C");
        command
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> Output {
        succeed(&mut self.command(arguments))
    }

    /// Runs `dpkg` with an action and a package, or a package's file.
    #[track_caller]
    fn dpkg(&self, action: &str, package: &str) {
        let package = match Path::new(package).file_name() {
            Some(name) if package.ends_with(".deb") => {
                let name = name.to_str().unwrap();
                fs::copy(package, self.path().join("var").join(name)).unwrap();
                format!("/var/{name}")
            }
            _ => package.to_owned(),
        };
        // Triggers are other packages' work, such as an index of all manual pages, which takes longer than all else
        // here.
        self.run(&["dpkg", "--force-unsafe-io", "--no-triggers", action, &package]);
    }

    /// Starts what the unit starts, as its user and with its folder, on a port of its own.
    fn start_service(&self) -> Running {
        let unit = self.read("usr/lib/systemd/system/foretop.service");
        let value = |key: &str| {
            let line = unit.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap_or_else(|| panic!("no {key} in {unit}")).to_owned()
        };
        let data_dir = value("Environment=FORETOP_DATA_DIR=").replace("%S", "/var/lib");
        let mut command = Command::new("chroot");
        command.arg(format!("--userspec={}", value("User="))).arg(self.path());
        command.args(value("ExecStart=").split(' ')).args(["--log", "warn"]);
        Running::spawn(command.env("FORETOP_LISTEN", "127.0.0.1:0").env("FORETOP_DATA_DIR", data_dir))
    }

    fn ask(&self, node: &Running) -> Output {
        self.command(&["foretop", "ask", "load.1m", "--node", &node.url]).output().unwrap()
    }

    /// Its pushed signal `mine` has a sample of a minute ago.
    fn replace_store_by_one_of_0_1_0(&self) {
        let folder = self.path().join(STORE);
        fs::remove_dir_all(&folder).unwrap();
        self.run(&["install", "-d", "-o", "foretop", "-m", "700", "/var/lib/foretop"]);
        let old = rusqlite::Connection::open(folder.join("foretop.db")).unwrap();
        old.execute_batch(include_str!("../../../../../testdata/store/version-1.sql")).unwrap();
        old.execute_batch(include_str!("../../../../../testdata/store/version-2.sql")).unwrap();
        // Samples of this signal are five seconds apart.
        const STEP_NS: i64 = 5_000_000_000;
        let time_ns = (clock::now().as_nanos() / STEP_NS - 12) * STEP_NS;
        old.execute("INSERT INTO sample VALUES (?1, 2, 41.5)", [time_ns]).unwrap();
        drop(old);
        self.run(&["chown", "-R", "foretop:foretop", "/var/lib/foretop"]);
    }

    /// Files that the package has left outside of the store and the accounts.
    fn traces(&self) -> Vec<PathBuf> {
        let changed = succeed(
            Command::new("find").arg(self.place.path().join("upper")).args(["-type", "f,l", "-printf", "%P\n"]),
        );
        let changed = String::from_utf8(changed.stdout).unwrap();
        let is_trace = |file: &&str| !ACCOUNTS.iter().any(|account| file.starts_with(account));
        let named = fs::read_dir(self.path().join("var/lib")).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(named.filter(|name| name.to_string_lossy().contains("foretop")).count(), 1, "only the store");
        changed.lines().filter(is_trace).map(PathBuf::from).collect()
    }
}

impl Drop for ThrowawayRoot {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").args(["--recursive", "--lazy"]).arg(self.place.path()).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("{} is still mounted", self.place.path().display());
        }
    }
}
