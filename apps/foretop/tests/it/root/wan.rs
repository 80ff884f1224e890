//! Emulated sites, whose hosts are namespaces, and programs that span them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use tempfile::TempDir;
use testkit::launch::Program;
use testkit::{PATIENCE, wait_until};

use crate::command::{end_of, foretop};

/// Emulations that this process has made; each has a name of its own.
static N_EMULATIONS: AtomicU32 = AtomicU32::new(0);

/// Two sites that are up, until this goes.
struct Sites {
    name: String,
    _folder: TempDir,
    up: Child,
}

impl Sites {
    /// Hosts `l0` and `r0`, with these keys for the link from left to right, and 5 ms for the way back.
    fn up(link: &str) -> Self {
        let name = format!("test-{}-{}", std::process::id(), N_EMULATIONS.fetch_add(1, Relaxed));
        let folder = tempfile::tempdir().unwrap();
        let sites = Self::start(&name, folder.path(), link);
        Self { name, _folder: folder, up: sites }
    }

    fn start(name: &str, folder: &Path, link: &str) -> Child {
        let file = folder.join(format!("{name}.toml"));
        let text = format!(
            "format = 1\n[[site]]\nname = \"left\"\nhosts = [\"l0\"]\n[[site]]\nname = \"right\"\nhosts = [\"r0\"]\n\
             [[link]]\nfrom = \"left\"\nto = \"right\"\n{link}\n[[link]]\nfrom = \"right\"\nto = \"left\"\nlatency = \"5ms\"\n"
        );
        fs::write(&file, text).unwrap();
        let mut up = foretop().args(["wan", "up"]).arg(&file).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(up.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains("is up: l0, r0"));
        assert!(lines.next().unwrap().unwrap().contains("remote shell"));
        up
    }

    fn exec(&self, host: &str, words: &[&str]) -> Command {
        let mut command = foretop();
        command.args(["wan", "exec", &format!("{}/{host}", self.name), "--"]).args(words);
        command
    }

    fn answering(&self, host: &str, address: &str) -> Child {
        let program = env!("CARGO_BIN_EXE_foretop");
        let mut child =
            self.exec(host, &[program, "wan", "answer", "--listen", address]).stdout(Stdio::piped()).spawn().unwrap();
        let told = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
        assert!(told.starts_with("answering"), "{told}");
        child
    }
}

impl Drop for Sites {
    fn drop(&mut self) {
        let down = end_of(foretop().args(["wan", "down", &self.name]));
        assert_eq!(down.status, 0, "{}", down.stderr);
        self.up.wait().unwrap();
    }
}

#[test]
#[ignore = "needs root; run by make test"]
fn a_host_has_a_name_a_network_and_shared_memory_of_its_own() {
    let before = fs::read_to_string("/proc/net/dev").unwrap().lines().count();
    let sites = Sites::up("latency = \"1ms\"");
    let of_machine = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let boot = |host| end_of(&mut sites.exec(host, &["cat", "/proc/sys/kernel/random/boot_id"])).stdout;
    let boots = BTreeSet::from([boot("l0"), boot("r0"), of_machine.clone()]);
    assert!(boots.len() == 3 && boots.iter().all(|boot| boot.len() == of_machine.len()), "{boots:?}");
    let script = "hostname; ls /dev/shm; touch /dev/shm/of-l0; grep -c : /proc/net/dev; grep r0 /etc/hosts";
    let said = end_of(&mut sites.exec("l0", &["sh", "-c", script]));
    assert_eq!(said.stdout, "l0\n2\n198.18.2.1 r0\n", "{}", said.stderr);
    let said = end_of(&mut sites.exec("r0", &["sh", "-c", "ls /dev/shm; hostname"]));
    assert_eq!(said.stdout, "r0\n");
    assert!(!Path::new("/dev/shm/of-l0").exists());
    let after = fs::read_to_string("/proc/net/dev").unwrap().lines().count();
    assert_eq!(before, after, "the machine's own network has another device");
}

/// 20 ms there and 5 ms back, of which a probe says half, less the microseconds that a crossing may be faster than those
/// that the emulation measured as it came up.
#[test]
#[ignore = "needs root; run by make test"]
fn messages_between_sites_take_their_time_and_no_less() {
    let sites = Sites::up("latency = \"20ms\"\nbandwidth = \"100Mbit/s\"");
    let mut answering = sites.answering("r0", "198.18.2.1:7312");
    let program = env!("CARGO_BIN_EXE_foretop");
    let probe = [program, "wan", "probe", "198.18.2.1:7312", "--every", "1ms", "--for", "20ms"];
    let trace = end_of(&mut sites.exec("l0", &probe));
    let latencies: Vec<u64> =
        trace.stdout.lines().skip(1).filter_map(|row| row.split(',').nth(1)?.parse().ok()).collect();
    assert!(!latencies.is_empty() && latencies.iter().all(|ns| *ns >= 12_450_000), "{trace:?}");
    answering.kill().unwrap();
    answering.wait().unwrap();
}

#[test]
#[ignore = "needs root; run by make test"]
fn what_a_killed_run_left_is_found_and_removed() {
    let mut sites = Sites::up("latency = \"1ms\"");
    let mut left = sites.answering("r0", "198.18.2.1:7312");
    sites.up.kill().unwrap();
    sites.up.wait().unwrap();
    assert_eq!(left.try_wait().unwrap(), None, "programs outlive the run that was killed");
    let refused = end_of(&mut sites.exec("l0", &["true"]));
    assert!(refused.status == 1 && refused.stderr.contains("no emulation has a host"), "{refused:?}");
    let folder = tempfile::tempdir().unwrap();
    sites.up = Sites::start(&sites.name, folder.path(), "latency = \"1ms\"");
    wait_until("what was left has ended", PATIENCE, || left.try_wait().unwrap());
}

#[test]
#[ignore = "needs root; run by make test"]
fn a_name_is_taken_once_and_what_runs_in_its_hosts_ends_with_it() {
    let sites = Sites::up("latency = \"1ms\"");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("{}.toml", sites.name));
    fs::write(&file, "format = 1\n[[site]]\nname = \"a\"\nhosts = [\"a0\"]\n").unwrap();
    let refused = end_of(foretop().args(["wan", "up"]).arg(&file));
    assert!(refused.status == 1 && refused.stderr.contains("running already"), "{refused:?}");
    let mut inside = sites.answering("l0", "198.18.1.1:7312");
    drop(sites);
    wait_until("it has ended with the emulation", PATIENCE, || inside.try_wait().unwrap());
}

/// 20 ms there and 5 ms back, less the same microseconds.
#[test]
#[ignore = "needs root; run by make test"]
fn unmodified_mpi_programs_span_sites() {
    let sites = Sites::up("latency = \"20ms\"");
    let shell = format!("/run/foretop-wan/{}/shell", sites.name);
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/round_trip.c"));
    let open_mpi =
        ["--allow-run-as-root", "--mca", "mpi_yield_when_idle", "1", "--mca", "plm_rsh_agent", &shell, "--host"];
    let mpich = ["-launcher", "ssh", "-launcher-exec", &shell, "-hosts"];
    for (library, words) in [("openmpi", &open_mpi[..]), ("mpich", &mpich)] {
        let compiled = Program::compiled(library, source);
        let program = compiled.folder.path().join("program");
        let launcher = format!("mpiexec.{library}");
        let launch = [&[&*launcher], words, &["l0,r0", "-n", "2", program.to_str().unwrap()]].concat();
        let ended = end_of(&mut sites.exec("l0", &launch));
        // What follows is the launcher's.
        let took_ns: Result<u64, _> = ended.stdout.lines().next().unwrap_or_default().parse();
        assert!(took_ns.is_ok_and(|ns| ns >= 24_900_000), "{library}: {ended:?}");
    }
}

/// Both emulations have a host `r0`.
#[test]
#[ignore = "needs root; run by make test"]
fn hosts_of_ones_own_emulation_come_first() {
    let [one, _other] = [(); 2].map(|()| Sites::up("latency = \"1ms\""));
    let ambiguous = end_of(foretop().args(["wan", "exec", "r0", "--", "true"]));
    assert!(ambiguous.stderr.contains("several emulations"), "{ambiguous:?}");
    let shell = format!("/run/foretop-wan/{}/shell", one.name);
    let from_outside = end_of(Command::new(shell).args(["r0", "echo $FORETOP_WAN"]));
    let exec = [env!("CARGO_BIN_EXE_foretop"), "wan", "exec", "r0", "--", "sh", "-c", "echo $FORETOP_WAN"];
    let from_inside = end_of(&mut one.exec("l0", &exec));
    assert_eq!([from_outside.stdout.trim(), from_inside.stdout.trim()], [&one.name; 2]);
}

#[test]
#[ignore = "needs root; run by make test"]
fn whoever_is_not_root_is_told_of_the_relay() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lone.toml");
    fs::write(&file, "format = 1\n[[site]]\nname = \"a\"\nhosts = [\"a0\"]\n").unwrap();
    // In a namespace that maps no users everybody is nobody.
    let up = ["--user", env!("CARGO_BIN_EXE_foretop"), "wan", "up"];
    end_of(Command::new("unshare").args(up).arg(&file)).check_failed(1, "a relay does without (`foretop wan relay`)");
}
