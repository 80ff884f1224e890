//! `workload`: what it says, what it runs, and that nothing is left of it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};

use testkit::{PATIENCE, wait_until};

use crate::command::{end_of, foretop, run};

/// A `foretop workload` that says that all of it runs.
struct Loading {
    child: Child,
    said: String,
}

impl Loading {
    fn start(args: &[&str]) -> Loading {
        let mut child =
            foretop().arg("workload").args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(child.stderr.as_mut().unwrap());
        while !said.contains("all of it runs") {
            assert_ne!(lines.read_line(&mut said).unwrap(), 0, "it ended: {said}");
        }
        assert!(lines.buffer().is_empty(), "nothing more is said before the end");
        Loading { child, said }
    }

    fn workers(&self) -> Vec<u32> {
        children_of(self.child.id())
    }

    fn signal(&self, signal: &str) {
        end_of(Command::new("kill").args([signal, &self.child.id().to_string()])).output();
    }

    /// What it said since it runs, and how it ended.
    fn end(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        let mut rest = String::new();
        self.child.stderr.as_mut().unwrap().read_to_string(&mut rest).unwrap();
        (status, rest)
    }
}

fn children_of(parent: u32) -> Vec<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let text = fs::read_to_string(path).unwrap();
    text.split_whitespace().map(|id| id.parse().unwrap()).collect()
}

/// The state letter of a running process.
fn state(id: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next().filter(|state| !"ZX".contains(*state))
}

fn wait_until_gone(ids: &[u32]) {
    wait_until("the workers are gone", PATIENCE, || ids.iter().all(|id| state(*id).is_none()).then_some(()));
}

#[test]
fn it_runs_until_it_is_interrupted_and_leaves_nothing() {
    for signal in ["-INT", "-TERM"] {
        let loading = Loading::start(&["two-spinners", "niced-spinners", "--seed", "7"]);
        assert_eq!(
            loading.said,
            "two-spinners: Two processes that compute without end.\n\
             niced-spinners: Two processes of nice 19 that compute without end.\n\
             all of it runs, with seed 7; Ctrl-C ends it\n"
        );
        let workers = loading.workers();
        assert_eq!(workers.len(), 4);
        loading.signal(signal);
        let (status, rest) = loading.end();
        assert_eq!((status.code(), rest.as_str()), (Some(0), "interrupted; nothing of it is left\n"));
        assert!(workers.iter().all(|id| state(*id).is_none()));
    }
}

#[test]
fn it_ends_by_itself_when_its_time_is_up() {
    let ended = run(&["workload", "one-spinner", "--for", "100ms"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (0, ""), "{}", ended.stderr);
    assert!(ended.stderr.ends_with("all of it runs, with seed 1, for 100ms; Ctrl-C ends it\nnothing of it is left\n"));
}

#[test]
fn workers_do_not_outlive_a_load_that_was_killed() {
    let loading = Loading::start(&["one-spinner", "bursty", "fork-storm"]);
    let workers = loading.workers();
    assert_eq!(workers.len(), 7);
    let children: Vec<u32> = workers.iter().flat_map(|id| children_of(*id)).collect();
    loading.signal("-KILL");
    assert_eq!(loading.end().0.code(), None);
    wait_until_gone(&workers);
    wait_until_gone(&children);
}

#[test]
fn a_load_that_lost_a_worker_is_ended_and_has_failed() {
    let loading = Loading::start(&["two-spinners"]);
    let workers = loading.workers();
    end_of(Command::new("kill").args(["-KILL", &workers[0].to_string()])).output();
    let (status, rest) = loading.end();
    assert_eq!(status.code(), Some(1));
    assert!(rest.starts_with("foretop: `two-spinners` is no longer complete: a worker ended by itself"), "{rest}");
    wait_until_gone(&workers);
}

#[test]
fn scenarios_are_listed_for_people_and_programs() {
    let list = run(&["workload", "--list"]).output();
    assert!(list.contains("\nreal-time             root    One real-time"), "{list}");
    let list = run(&["workload", "--list", "--format", "json"]).json();
    let row = list.as_array().unwrap().iter().find(|row| row["scenario"] == "mixed").unwrap();
    assert!(row["needs_root"] == false && row["sentence"].is_string());
}

#[test]
fn what_makes_no_sense_exits_with_2() {
    for (args, message) in [
        (&["workload"][..], "<SCENARIO>"),
        (&["workload", "heavy"], "there is no load `heavy`; `foretop workload --list` shows all"),
        (&["workload", "idle", "--for", "0s"], "`0s` is too short: it must be longer than 0, as in 30s"),
        (&["workload", "idle", "--list"], "cannot be used with"),
        (&["internal", "load-worker", "spin"], "is not an order for a worker"),
    ] {
        run(args).check_failed(2, message);
    }
}

#[test]
fn a_right_or_a_disk_that_is_lacking_is_named() {
    let ended = end_of(foretop().args(["workload", "disk"]).env("TMPDIR", "/nowhere/at-all"));
    ended.check_failed(
        1,
        "foretop: cannot make `disk`: cannot use a scratch file in `/nowhere/at-all`: needs a directory",
    );
}
