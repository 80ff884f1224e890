//! A node with more connections than it may have files open: whoever says nothing gives way, and no sample is lost.

use std::net::TcpStream;
use std::process::Command;

use crate::command::{end_of, foretop};
use crate::encryption::{identity, token_file};
use crate::node::{Running, folder};

/// More than the limits below; both ends have room for them.
const N_SILENT: usize = 400;

/// `foretop`, which may have `n_files` open.
fn limited(n_files: u32) -> Command {
    let program = foretop();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {n_files} && exec \"$0\" \"$@\"")]).arg(program.get_program());
    for (key, value) in program.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    command
}

fn start(args: &[&str]) -> Running {
    let base = ["up", "--listen", "127.0.0.1:0", "--log", "warn", "--in-memory", "--every", "50ms", "--only", "load.*"];
    Running::spawn(limited(256).args(base).args(args))
}

fn say_nothing_to(node: &Running) -> Vec<TcpStream> {
    let (_, address) = node.url.split_once("://").unwrap();
    (0..N_SILENT).map(|_| TcpStream::connect(address).unwrap()).collect()
}

#[test]
fn connections_that_say_nothing_cost_no_sample_and_hold_nobody_up() {
    let node = start(&[]);
    let silent = say_nothing_to(&node);
    node.wait_for_samples("load.1m", 40);
    let n = |path: &str, key: &str| node.get(path)[key].as_u64().unwrap();
    // A deadline that a busy machine missed is a gap as well.
    let n_missed = n("/healthz", "missed_deadlines");
    assert!(n("/api/v1/series/load.1m", "n_gaps") <= n_missed, "a sensor had no file to read");
    drop(silent);
}

#[test]
fn connections_that_make_no_handshake_hold_nobody_up() {
    let folder = folder();
    let (identity, token) = (identity(folder.path(), &["127.0.0.1"]), token_file(folder.path()));
    let arguments: Vec<&str> = identity.iter().map(String::as_str).chain(["--token-file", &token]).collect();
    let node = start(&arguments);
    let silent = say_nothing_to(&node);
    let listed = node.run(&["signals", "--token-file", &token, "--ca", &identity[1]]).output();
    assert!(listed.contains("load.1m"), "{listed}");
    drop(silent);
}

#[test]
fn a_limit_of_open_files_that_is_too_low_is_refused_at_the_start() {
    let ended = end_of(limited(64).args(["up", "--listen", "127.0.0.1:0", "--in-memory", "--log", "off"]));
    ended.check_failed(1, "a limit of 64 open files is too low: ");
}
