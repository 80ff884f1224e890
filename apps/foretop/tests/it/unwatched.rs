//! Nobody reads what is said, and nothing ends for that; and what a service manager hears.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;

use testkit::{PATIENCE, wait_until};

use crate::command::foretop;
use crate::node::{Running, folder};

/// A node that logs a line or two at its start, into `log`.
fn logging(log: impl Into<Stdio>) -> Running {
    let args = ["up", "--in-memory", "--every", "50ms", "--listen", "127.0.0.1:0", "--log", "debug"];
    Running::spawn_logging(foretop().args(args), log)
}

/// It runs on, and its health says why and counts what is lost.
#[track_caller]
fn check_runs_on(node: &Running, reason: &str) {
    node.wait_for_samples("load.1m", 5);
    let health = node.get("/healthz");
    assert_eq!(health["status"], "degraded");
    let problem = health["problems"][0].as_str().unwrap();
    assert!(problem.starts_with(&format!("the log cannot be written: {reason}")), "{problem}");
    let mut metrics = ureq::get(format!("{}/metrics", node.url)).call().unwrap();
    let metrics = metrics.body_mut().read_to_string().unwrap();
    let lost = metrics.lines().find_map(|line| line.strip_prefix("foretop_log_lines_lost_total ")).unwrap();
    assert!(lost.parse::<u64>().unwrap() > 0);
}

#[test]
fn a_node_whose_log_is_on_a_full_disk_runs_on() {
    let node = logging(File::create("/dev/full").unwrap());
    check_runs_on(&node, "No space left on device");
    assert_eq!(node.terminate("-TERM").0.code(), Some(0));
}

#[test]
fn a_node_whose_log_has_no_reader_runs_on() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let node = logging(writer);
    check_runs_on(&node, "Broken pipe");
    assert_eq!(node.terminate("-TERM").0.code(), Some(0));
}

#[test]
fn a_command_whose_output_cannot_be_written_fails_and_one_whose_reader_has_gone_ends() {
    let ended = foretop().arg("models").stdout(File::create("/dev/full").unwrap()).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.code() == Some(1) && said.contains("No space left on device"), "{said}");
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let ended = foretop().arg("models").stdout(writer).output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), vec![]));
    // Nor is an error a panic when it cannot be told.
    let status = foretop().arg("modles").stderr(File::create("/dev/full").unwrap()).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_service_manager_hears_when_the_node_is_up_that_it_lives_and_that_it_ends() {
    let folder = folder();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let hears = || {
        let mut message = [0; 256];
        let n_bytes = manager.recv(&mut message).expect("it is told something");
        String::from_utf8(message[..n_bytes].to_vec()).unwrap().trim_end().to_owned()
    };
    let args = ["up", "--in-memory", "--every", "50ms", "--only", "load.*", "--listen", "127.0.0.1:0"];
    let node = Running::spawn(foretop().args(args).env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "300000"));
    assert_eq!([hears(), hears(), hears()], ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]);
    node.send("-TERM");
    wait_until("it says that it ends", PATIENCE, || (hears() == "STOPPING=1").then_some(()));
    assert_eq!(node.wait().0.code(), Some(0));
}
