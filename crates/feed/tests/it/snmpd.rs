//! Flow bandwidth from the `snmpd` of the distribution, started by the tests with a configuration and a folder of their
//! own.

use std::{
    fs::{self, File},
    io::{Read, Write},
    mem,
    net::{TcpListener, TcpStream, UdpSocket},
    path::{Path as Folder, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use feed::snmp::{
    AgentSettings, Authentication, Cipher, Credentials, Digest, FlowSettings, Interface, LinkSettings, Path,
    SnmpSettings, SnmpSource, User,
};
use secret::Secret;
use signal::{Readings, Source};
use tempfile::TempDir;
use testkit::{PATIENCE, wait_until};

const CONFIGURATION: &str = "rocommunity readable 127.0.0.1\n\
    createUser modern SHA-256 \"first passphrase\" AES \"second passphrase\"\n\
    createUser older MD5 \"first passphrase\" DES \"second passphrase\"\n\
    createUser plain SHA \"first passphrase\"\n\
    rouser modern priv\nrouser older priv\nrouser plain auth\n";

/// Bytes per second that the tests say the loopback can carry; the agent says 10 Mbit/s.
const CAPACITY: f64 = 1e12;

/// An `snmpd` of an ordinary user on a free port.
struct Snmpd {
    folder: TempDir,
    port: u16,
    child: Child,
}

impl Snmpd {
    fn start() -> Snmpd {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("snmpd.conf"), CONFIGURATION).unwrap();
        fs::create_dir(folder.path().join("kept")).unwrap();
        // Port 0 is refused, so a free one is found first.
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = spawn(folder.path(), port);
        Snmpd { folder, port, child }
    }

    fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn start_again(&mut self) {
        self.child = spawn(self.folder.path(), self.port);
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The loopback, watched with these credentials, and a flow over it.
    fn watch(&self, credentials: Credentials) -> SnmpSource {
        // Long enough for a machine that is busy with other things.
        self.watch_within(Duration::from_secs(2), credentials)
    }

    fn watch_within(&self, timeout: Duration, credentials: Credentials) -> SnmpSource {
        let agent =
            AgentSettings { timeout, ..AgentSettings::new("here", format!("127.0.0.1:{}", self.port), credentials) };
        let (name, interface) = ("loop".to_owned(), Interface::Named("lo".to_owned()));
        let link = LinkSettings { name, agent: "here".to_owned(), interface, capacity_bytes_per_sec: Some(CAPACITY) };
        let path = Path::Found { source: None, destination: "127.0.0.1".parse().unwrap() };
        let flow = FlowSettings { peer: "self".to_owned(), path, n_rivals_max: None };
        let settings = SnmpSettings { agents: vec![agent], links: vec![link], flows: vec![flow] };
        SnmpSource::new(settings, Folder::new("/")).unwrap()
    }
}

impl Drop for Snmpd {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(folder: &Folder, port: u16) -> Child {
    let program =
        std::env::var_os("FORETOP_TEST_SNMPD").map_or_else(|| PathBuf::from("/usr/sbin/snmpd"), PathBuf::from);
    Command::new(&program)
        .args(["-f", "-Lo", "-C", "-c"])
        .arg(folder.join("snmpd.conf"))
        .arg(format!("udp:127.0.0.1:{port}"))
        // It keeps its users and how often it started in a file of the same name.
        .env("SNMP_PERSISTENT_DIR", folder.join("kept"))
        .stdout(File::create(folder.join("log")).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{} does not start: {error}", program.display()))
}

fn community(word: &str) -> Credentials {
    Credentials::Community(Secret::new(word))
}

fn user(name: &str, digest: Digest, passphrase: &str, cipher: Option<Cipher>) -> Credentials {
    let privacy = cipher.map(|cipher| (cipher, Secret::new("second passphrase")));
    let authentication = Some(Authentication { digest, passphrase: Secret::new(passphrase), privacy });
    Credentials::User(User { name: name.to_owned(), authentication })
}

/// The first value of `id` above 0. The counters of an agent that is late stand still for a while.
fn wait_for(agent: &Snmpd, source: &mut SnmpSource, start: Instant, id: &str) -> f64 {
    let mut readings = Readings::default();
    wait_until(&format!("there is {id}\n{}", agent.log()), PATIENCE, || {
        source.read(start.elapsed(), &mut readings);
        value(&readings, id).filter(|value| *value > 0.0)
    })
}

fn value(readings: &Readings, id: &str) -> Option<f64> {
    readings.iter().find(|(signal, _)| signal.id().as_ref() == id).map(|(_, value)| value)
}

/// Bytes that the kernel has received on the loopback.
fn loopback_bytes() -> f64 {
    let text = fs::read_to_string("/proc/net/dev").unwrap();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("lo:")).expect("there is a loopback");
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Bytes over the loopback, so many and so evenly that what other tests send in bursts does not matter beside them.
struct Traffic {
    from: TcpStream,
    to: TcpStream,
}

impl Traffic {
    fn new() -> Traffic {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        Traffic { from, to: listener.accept().unwrap().0 }
    }

    /// Carries 4 MiB.
    fn carry(&mut self) {
        let mut block = vec![0; 1 << 16];
        for _ in 0..64 {
            self.from.write_all(&block).unwrap();
            self.to.read_exact(&mut block).unwrap();
        }
    }
}

#[track_caller]
fn check_reads(credentials: Credentials) {
    let agent = Snmpd::start();
    let mut source = agent.watch(credentials);
    let start = clock::instant();
    assert_eq!(wait_for(&agent, &mut source, start, "link.loop.capacity"), CAPACITY);
    let used = wait_for(&agent, &mut source, start, "link.loop.sent");
    let left = wait_for(&agent, &mut source, start, "flow.self");
    assert!(used <= CAPACITY && left <= CAPACITY, "{used} bytes/s used, {left} left");
}

#[test]
#[ignore = "needs snmpd; run by make test"]
fn a_community_reads_the_loopback() {
    check_reads(community("readable"));
}

#[test]
#[ignore = "needs snmpd; run by make test"]
fn users_of_version_3_read_the_loopback_signed_and_hidden() {
    check_reads(user("modern", Digest::Sha256, "first passphrase", Some(Cipher::Aes128)));
    check_reads(user("older", Digest::Md5, "first passphrase", Some(Cipher::Des)));
    check_reads(user("plain", Digest::Sha1, "first passphrase", None));
}

#[test]
#[ignore = "needs snmpd; run by make test"]
fn the_bytes_by_snmp_are_those_of_the_kernel() {
    /// A reading of a new rate: when it began and ended, and between which bytes of the kernel the agent's count is.
    #[derive(Clone, Copy)]
    struct Update {
        at: [f64; 2],
        bytes: [f64; 2],
    }
    const TICK_SECS: f64 = 0.01;
    let agent = Snmpd::start();
    let mut source = agent.watch(community("readable"));
    let start = clock::instant();
    let mut traffic = Traffic::new();
    let mut readings = Readings::default();
    let (mut bytes, mut rate, mut last, mut n_equal) = (loopback_bytes(), None, None::<Update>, 0);
    // The agent brings its counters up to date every three seconds, some time between two readings. The rate is another
    // one after that, and is that of the time between the last two updates. What the kernel counted in that time lies
    // between two bounds, however unevenly this and other tests sent. The counts of an agent that
    // was late are older: its rate does not count.
    wait_until("three rates are those of the kernel", PATIENCE, || {
        traffic.carry();
        let asked = start.elapsed();
        source.read(asked, &mut readings);
        let at = [asked, start.elapsed()].map(|at| at.as_secs_f64());
        let bytes_before = mem::replace(&mut bytes, loopback_bytes());
        let rate_before = mem::replace(&mut rate, value(&readings, "link.loop.received"));
        if rate == rate_before {
            return None;
        }
        let now = Update { at, bytes: [bytes_before, bytes] };
        if let (Some(rate), Some(last)) = (rate, last.replace(now)) {
            let least = (now.bytes[0] - last.bytes[1]) / (now.at[1] - last.at[0] + TICK_SECS);
            let most = (now.bytes[1] - last.bytes[0]) / (now.at[0] - last.at[1] - TICK_SECS).max(TICK_SECS);
            n_equal += u32::from(least > 0.8 * most && (least..=most).contains(&rate));
        }
        (n_equal == 3).then_some(())
    });
}

#[test]
#[ignore = "needs snmpd; run by make test"]
fn who_may_not_read_is_told_so() {
    let agent = Snmpd::start();
    wait_for(&agent, &mut agent.watch(community("readable")), clock::instant(), "link.loop.capacity");
    // Of a user or a passphrase that it does not take, the agent says so in messages that anyone could have sent, and
    // those are not taken for its word.
    for credentials in [
        community("guessed"),
        user("modern", Digest::Sha256, "wrong passphrase", Some(Cipher::Aes128)),
        user("nobody", Digest::Sha256, "first passphrase", None),
    ] {
        // The error is that of an agent that does not answer at all, so that a late answer changes nothing.
        let mut source = agent.watch_within(Duration::from_millis(200), credentials);
        let mut readings = Readings::default();
        source.read(Duration::ZERO, &mut readings);
        let error = source.last_error().expect("it may not read");
        assert!(error.contains("another community, user or passphrase"), "{error}");
        assert!(!error.contains("wrong") && !error.contains("guessed"), "{error}");
        assert_eq!(readings.len(), 0);
    }
}

#[test]
#[ignore = "needs snmpd; run by make test"]
fn an_agent_that_is_stopped_and_started_again_goes_on_after_a_gap() {
    let mut agent = Snmpd::start();
    let mut source = agent.watch(user("modern", Digest::Sha256, "first passphrase", Some(Cipher::Aes128)));
    let start = clock::instant();
    wait_for(&agent, &mut source, start, "link.loop.sent");
    agent.stop();
    let mut readings = Readings::default();
    source.read(start.elapsed(), &mut readings);
    assert_eq!(readings.len(), 0, "nobody is there");
    let n_errors = source.n_errors();
    assert!(n_errors > 0);
    agent.start_again();
    wait_for(&agent, &mut source, start, "link.loop.sent");
}
