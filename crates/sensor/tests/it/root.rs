//! What root alone can do: mount and fill, as on a host of its own, and look at it as a service or a container does.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sensor::Host;
use signal::Readings;
use tempfile::tempdir;

use crate::scene::{Values, check, read};

/// The variable with the folder that the mounts of a test are below; it is set when the test runs inside of its host.
const BASE: &str = "FORETOP_TEST_BASE";

/// The host of the tests: a disk with all that is below it, and three more, one of which is a folder that was bound
/// read-only over itself. Half, a quarter, three quarters, and nothing of them is taken.
const DISKS: &str = "
mount -t tmpfs -o size=1m disk .
cd .
mkdir -p data tmp www gone var/lib/foretop
for disk in data tmp www gone; do mount -t tmpfs -o size=1m disk $disk; done
mount --bind www www
mount -o remount,bind,ro www
head -c 512k /dev/zero >file
head -c 256k /dev/zero >data/file
head -c 768k /dev/zero >tmp/file
mkdir tmp/private
";

/// The namespace of packaging/foretop.service: ProtectSystem=strict, StateDirectory, ProtectHome=read-only, PrivateTmp,
/// and InaccessiblePaths, which hides all of a disk.
const UNIT: &str = "
mount --bind var/lib/foretop var/lib/foretop
mount -o remount,bind,ro .
mount -o remount,bind,ro data
mount --bind tmp/private tmp
mount -t tmpfs -o size=4k,mode=000 inaccessible gone
";

/// A container with the whole host at `host`, a disk of its own, and one at a place where the host has another.
const CONTAINER: &str = "
mkdir host own
mount --rbind / host
mount -t tmpfs -o size=1m own own
mount -t tmpfs -o size=1m own data
exec unshare --pid --fork --mount-proc";

#[test]
#[ignore = "needs root; scripts/test.sh root runs it"]
fn a_file_system_is_told_of_while_it_is_mounted() {
    let Some(point) = inside("a_file_system_is_told_of_while_it_is_mounted", "", "exec") else { return };
    let mut host = Host::open("/".as_ref()).unwrap();
    let mut readings = Readings::default();
    let used = format!("filesystem.{}.used", point.display());
    assert!(!read(&mut host, &mut readings, 0).contains_key(&used));

    run(Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(&point));
    check(&read(&mut host, &mut readings, 1), &used, 0.0);
    fs::write(point.join("half"), vec![1; 512 << 10]).unwrap();
    check(&read(&mut host, &mut readings, 2), &used, 0.5);

    run(Command::new("umount").arg(&point));
    assert!(!read(&mut host, &mut readings, 3).contains_key(&used));
    assert_eq!(host.n_errors(), 0, "{:?}", host.last_error());
}

#[test]
#[ignore = "needs root; scripts/test.sh root runs it"]
fn the_namespace_of_the_unit_hides_no_disk() {
    let unit = format!("unshare --mount sh -ec '{UNIT} exec \"$@\"' sh");
    let Some(base) = inside("the_namespace_of_the_unit_hides_no_disk", DISKS, &unit) else { return };
    // No path leads to `gone`, and what is in its place has not its name.
    check_disks("/".as_ref(), &base, &[("", 0.5), ("/data", 0.25), ("/tmp", 0.75), ("/www", 0.0)]);
}

#[test]
#[ignore = "needs root; scripts/test.sh root runs it"]
fn a_container_that_has_the_host_in_a_folder_reads_the_host_s_mounts() {
    let container = format!("unshare --mount sh -ec '{CONTAINER} \"$@\"' sh");
    let name = "a_container_that_has_the_host_in_a_folder_reads_the_host_s_mounts";
    let Some(base) = inside(name, DISKS, &container) else { return };
    let disks = [("", 0.5), ("/data", 0.25), ("/gone", 0.0), ("/tmp", 0.75), ("/www", 0.0)];
    check_disks(&base.join("host"), &base, &disks);
}

/// Claims that these file systems below `base`, and no others, are found on the host at `root`, with their used shares.
#[track_caller]
fn check_disks(root: &Path, base: &Path, expected: &[(&str, f64)]) {
    let mut host = Host::open(root).unwrap();
    let values = read(&mut host, &mut Readings::default(), 0);
    assert_eq!(host.n_errors(), 0, "{:?}", host.last_error());
    let prefix = format!("filesystem.{}", base.display());
    let strip = |id: &str| Some(id.strip_prefix(&prefix)?.strip_suffix(".used")?.to_owned());
    let found: Values = values.iter().filter_map(|(id, value)| Some((strip(id)?, *value))).collect();
    assert_eq!(found, expected.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect());
}

/// Runs the test `name` again as on a host of its own: below a first process that has run `host` in the folder that is
/// returned there, and by the command `by`. Returns nothing once that is done.
#[track_caller]
fn inside(name: &str, host: &str, by: &str) -> Option<PathBuf> {
    if let Some(base) = env::var_os(BASE) {
        return Some(base.into());
    }
    let folder = tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    // The first process stays in its namespace, for it waits for the other.
    let script = format!("{host}\n({by} \"$@\") || exit 1");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--mount-proc", "sh", "-ec", &script, "sh"]);
    command.arg(env::current_exe().unwrap()).args(["--ignored", "--exact", &format!("root::{name}")]);
    run(command.current_dir(&base).env(BASE, &base));
    None
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{command:?}: {}\n{stdout}{stderr}", output.status);
}
