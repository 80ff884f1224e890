//! `runtime`: how long tasks take, on one node and on several, and against the clock.

use testkit::{PATIENCE, wait_until};

use crate::command::run;
use crate::node::Running;

/// Nobody listens there.
const NOBODY: &str = "http://127.0.0.1:1";

fn advising() -> Running {
    let node = Running::in_memory();
    wait_until("availability is forecast", PATIENCE, || {
        (node.run(&["runtime", "--cpu", "1s"]).status == 0).then_some(())
    });
    node
}

#[test]
fn one_node_answers_in_one_line() {
    let line = advising().run(&["runtime", "--cpu", "10s", "--confidence", "0.8"]).output();
    assert!(line.starts_with("10s of CPU on ") && line.contains(" (80 %: ") && line.contains(", by "), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
}

#[test]
fn several_nodes_are_ranked_and_those_that_do_not_answer_are_listed_below() {
    let node = advising();
    let args = ["runtime", "--cpu", "5s", "--node", NOBODY];
    let table = node.run(&args).output();
    assert!(table.lines().nth(1).is_some_and(|header| header.starts_with("NODE")), "{table}");
    assert!(table.lines().nth(2).is_some_and(|row| row.starts_with(&node.url)), "{table}");
    assert!(table.lines().nth(3).is_some_and(|row| row.starts_with("no answer from http://127.0.0.1:1: ")), "{table}");
    let report = node.run(&[&args[..], &["--format", "json"]].concat()).json();
    assert_eq!((&report["nodes"][0]["node"], &report["failed"][0]["node"]), (&node.url.clone().into(), &NOBODY.into()));
    assert!(report["nodes"][0]["quantiles"].as_array().is_some_and(|quantiles| quantiles.len() == 9), "{report}");
}

#[test]
fn where_nobody_answers_the_status_is_1() {
    run(&["runtime", "--cpu", "5s", "--node", NOBODY]).check_failed(1, "no node answers at http://127.0.0.1:1");
    run(&["runtime", "--cpu", "5s", "--node", NOBODY, "--node", NOBODY]).check_failed(1, "no node can say how long");
}

#[test]
fn tasks_are_run_against_the_clock() {
    let node = advising();
    let args = ["runtime", "--cpu", "200ms", "--threads", "1", "--verify", "2", "--pause", "0s", "--format", "json"];
    let verified = node.run(&args).json();
    let tasks = verified["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 2, "{verified}");
    // Whatever else the machine does, no task of one thread is faster than its CPU time.
    assert!(tasks.iter().all(|task| task["actual_seconds"].as_f64().is_some_and(|actual| actual >= 0.2)), "{verified}");
    let n_inside = tasks.iter().filter(|task| task["is_inside"] == true).count();
    assert_eq!(verified["n_inside"], n_inside, "{verified}");
}

#[test]
fn what_makes_no_sense_exits_with_2() {
    for (args, message) in [
        (&["--cpu", "0s"][..], "`0s` is too short"),
        (&["--cpu", "1s", "--threads", "0"], "0 is not in 1.."),
        (&["--cpu", "1s", "--pause", "1s"], "--verify"),
        (&["--cpu", "1s", "--verify", "1", "--node", NOBODY, "--node", NOBODY], "only its own node"),
    ] {
        run(&[&["runtime"], args].concat()).check_failed(2, message);
    }
}
