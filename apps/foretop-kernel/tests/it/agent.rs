//! An agent and its controllers. It reads /proc here, which needs no root.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use mpi_job::{Folder, Process};
use mpi_trace::{Event, Operation, Peer, Reading, RingHeader, RingKind, Subject};

use crate::kernel;

pub struct Agent {
    child: Child,
    folder: tempfile::TempDir,
}

impl Agent {
    pub fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_foretop-kernel"));
        command.arg("agent").arg("--socket").arg(folder.path().join("socket")).args(arguments).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let listens = out.lines().map_while(Result::ok).any(|line| line.starts_with("listening at"));
        assert!(listens, "the agent ended");
        Self { child, folder }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// What a controller's command printed, and whether it was done.
    fn told(&self, arguments: &[&str]) -> (bool, String) {
        let socket = self.socket();
        let output = kernel(&[arguments, &["--socket", socket.to_str().unwrap()]].concat());
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    }

    #[track_caller]
    pub fn done(&self, arguments: &[&str]) -> String {
        let (is_done, text) = self.told(arguments);
        assert!(is_done, "{arguments:?}: {text}");
        text
    }

    #[track_caller]
    fn refused(&self, arguments: &[&str], part: &str) {
        let (is_done, text) = self.told(arguments);
        assert!(!is_done && text.contains(part), "{arguments:?}: {text}");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_is_dormant_until_it_is_turned_on() {
    let agent = Agent::start(&["--source", "proc", "--interval", "20ms"]);
    assert!(agent.done(&["status"]).starts_with("off, pulled every 20ms"));
    agent.done(&["on", "vm"]);
    agent.done(&["off", "cpu"]);
    let status = agent.done(&["status"]);
    assert!(status.starts_with("on, "), "{status}");
    agent.done(&["off"]);
    assert!(agent.done(&["status"]).starts_with("off, "));
}

#[test]
fn a_second_controller_is_told_who_has_the_lease() {
    let agent = Agent::start(&["--source", "proc"]);
    let token = agent.done(&["lease", "--name", "ann", "--for", "5min"]);
    agent.refused(&["on"], "`ann` has the lease for");
    agent.refused(&["lease", "--name", "bob"], "`ann` has the lease for");
    agent.done(&["on", "--lease", token.trim()]);
    assert!(agent.done(&["lease", "--name", "bob", "--wait"]).contains("in the queue behind ann"));
    let status = agent.done(&["status"]);
    assert!(status.contains("lease: ann for") && status.contains("waiting for it: bob"), "{status}");
    agent.done(&["release", token.trim()]);
    agent.refused(&["off"], "`bob` has the lease for");
}

#[test]
fn points_and_settings_change_one_by_one() {
    let agent = Agent::start(&["--source", "proc", "--node", "3=host", "--node", "17=host"]);
    agent.done(&["set", "--point", "fs.Read=trace", "--node", "17", "--budget", "1%", "--interval", "30s"]);
    let points = agent.done(&["on"]) + &agent.done(&["status", "--points"]);
    assert_eq!(points.matches("summary and trace").count(), 1, "{points}");
    assert!(agent.done(&["status"]).starts_with("on, pulled every 30s, budget 1.00 % of a core"));
    agent.refused(&["set", "--point", "fs.Reed=trace"], "`Reed`");
    agent.refused(&["on", "vmm"], "there is no subsystem `vmm`");
    agent.refused(&["on", "--node", "4"], "there is no node 4; there are 3, 17");
    agent.refused(&["set", "--interval", "1ms"], "from 10 ms to an hour");
}

#[test]
fn points_of_one_s_own_are_a_subsystem_that_controllers_change() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("points.toml");
    std::fs::write(&file, "[[point]]\nlabel = \"execs\"\ntracepoint = \"sched_process_exec\"\n").unwrap();
    let agent = Agent::start(&["--source", "proc", "--points", file.to_str().unwrap()]);
    agent.done(&["set", "--point", "user.execs=trace"]);
    agent.done(&["on", "user"]);
    let points = agent.done(&["status", "--points"]);
    let line = points.lines().find(|line| line.contains("user.execs")).unwrap();
    assert!(line.contains("summary and trace"), "{points}");
    agent.refused(&["set", "--point", "user.execz=trace"], "`execz`");
    agent.done(&["off", "user"]);
    assert!(
        agent.done(&["status", "--points"]).lines().any(|line| line.contains("user.execs") && line.contains("off"))
    );
}

/// A folder of jobs, which goes with this.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_a_traced_mpi_program_sends_is_in_the_summary() {
    let job = Removed(mpi_job::root().join(format!("agent-test-{}", std::process::id())));
    check_sends_are_in_the_summary(&job.0, |_| {});
}

/// As root, with a job of somebody who is nobody.
pub fn check_sends_of_another_user_are_in_the_summary() {
    const USER: u32 = 3_123_456;
    let jobs = Removed(Path::new(mpi_job::MEMORY).join(format!("foretop-{USER}")));
    let job = jobs.0.join("job");
    check_sends_are_in_the_summary(&job, |ring| {
        for path in [&jobs.0, &job, ring] {
            std::os::unix::fs::chown(path, Some(USER), None).unwrap();
        }
    });
}

#[track_caller]
fn check_sends_are_in_the_summary(job: &Path, prepare: impl FnOnce(&Path)) {
    let process = Process::this();
    let header = RingHeader {
        kind: RingKind::Calls,
        rank: 0,
        n_ranks: 2,
        pid: process.pid,
        pid_started: process.started,
        thread: 0,
        is_counter: false,
        reading: Reading::default(),
        tree: 0,
        host: "here".into(),
    };
    let ring = Folder::create(job).unwrap().create_ring(1024, &header).unwrap();
    prepare(&ring.path);
    let agent = Agent::start(&["--source", "proc", "--interval", "50ms", "--on"]);
    let subject = Subject::Call { communicator: 0, peer: Peer::Rank(1), tag: Some(3) };
    let send = Event { start: 1_000, end: 1_700, bytes: 4096, operation: Operation::SEND, is_failed: false, subject };
    let mut writer = ring.ring().writer();
    let summary = testkit::wait_until("a pull that sees a send", testkit::PATIENCE, || {
        writer.write(send.to_records());
        let told: serde_json::Value = serde_json::from_str(&agent.done(&["status", "--summaries"])).unwrap();
        let of_mpi = told["summaries"].as_array()?.iter().find(|one| one["subsystem"] == "mpi")?.clone();
        of_mpi["points"]["Send"]["count"].is_u64().then_some(of_mpi)
    });
    let send = &summary["points"]["Send"];
    let n = send["count"].as_u64().unwrap();
    assert_eq!(summary["source"], "tracer");
    assert_eq!((send["returned"].as_u64(), send["time_ns"].as_u64()), (Some(4096 * n), Some(700 * n)), "{summary}");
    assert_eq!((send["min_ns"].as_u64(), send["max_ns"].as_u64()), (Some(700), Some(700)));
}

#[test]
fn what_is_no_request_is_told_so_and_harms_nobody() {
    let agent = Agent::start(&["--source", "proc"]);
    let mut stream = UnixStream::connect(agent.socket()).unwrap();
    stream.write_all(b"hello\n{\"do\":\"dance\"}\n").unwrap();
    let answers: Vec<String> = BufReader::new(&stream).lines().take(2).map_while(Result::ok).collect();
    assert!(answers.len() == 2 && answers.iter().all(|answer| answer.contains("this is no request")), "{answers:?}");
    // More than a line may hold: the agent hangs up.
    let _ = stream.write_all(&vec![b'x'; 1 << 20]);
    agent.done(&["status"]);
}

/// Stands in for a node: answers one request with this body, and hands over what was asked.
fn node(status: &str, body: &str) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n");
    let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let serve = move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut asked = String::new();
        while !asked.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut asked).unwrap() > 0, "{asked}");
        }
        let length = |line: &str| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok();
        let mut body = vec![0; asked.lines().find_map(length).unwrap()];
        reader.read_exact(&mut body).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        asked + &String::from_utf8(body).unwrap()
    };
    (url, std::thread::spawn(serve))
}

#[test]
fn an_agent_can_be_asked_through_a_node() {
    let (url, asked) = node("200 OK", r#"{"is":"done"}"#);
    let output = kernel(&["off", "--through", &url]);
    assert!(output.status.success(), "{output:?}");
    let asked = asked.join().unwrap();
    assert!(asked.starts_with("POST /api/v1/kernel HTTP/1.1") && asked.contains(r#"{"do":"set""#), "{asked}");

    let refused = r#"{"error":{"code":"conflict","message":"`ann` has the lease for 9 s more"}}"#;
    let (url, asked) = node("409 Conflict", refused);
    let output = kernel(&["release", "1-1", "--through", &url]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("`ann` has the lease"));
    assert_eq!(output.status.code(), Some(1));
    asked.join().unwrap();

    let output = kernel(&["off", "--through", "http://127.0.0.1:1", "--socket", "/x"]);
    assert_eq!(output.status.code(), Some(2), "an agent is asked in one way or the other");
}

#[test]
fn a_group_may_connect_where_it_is_named() {
    let mode = |agent: &Agent| std::fs::metadata(agent.socket()).unwrap().mode() & 0o777;
    let own = std::fs::metadata("/proc/self").unwrap().gid().to_string();
    assert_eq!(mode(&Agent::start(&["--source", "proc", "--group", &own])), 0o660);
    assert_eq!(mode(&Agent::start(&["--source", "proc"])), 0o600);
    let output = kernel(&["agent", "--group", "no such group"]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("no group `no such group`"));
}

#[test]
fn without_an_agent_the_way_to_start_one_is_named() {
    let output = kernel(&["status", "--socket", "/nonexistent/socket"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && text.contains("foretop kernel agent"), "{text}");
}

#[test]
fn two_agents_do_not_share_a_socket() {
    let agent = Agent::start(&["--source", "proc"]);
    let socket = agent.socket();
    let output = kernel(&["agent", "--source", "proc", "--socket", socket.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    agent.done(&["status"]);
}
