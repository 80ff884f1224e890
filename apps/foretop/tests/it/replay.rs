//! `replay`: a trace becomes a signal of a running node.

use std::process::Stdio;

use testkit::{PATIENCE, wait_until};

use crate::command::{end_of, foretop, run_with_input, trace};
use crate::node::Running;

/// 300 s between two samples of the trace make 10 ms.
const FASTEST: &str = "30000";

#[test]
fn the_first_rows_of_a_trace_appear_as_a_signal() {
    let node = Running::in_memory();
    let trace = trace("ec2_cpu_utilization_5f5533.csv");
    let ended = node
        .run(&["replay", &trace, "--rows", "50", "--speed", FASTEST, "--as", "lab.cpu", "--unit", "percent", "--keep"]);
    let said = "50 samples, one every 10ms, take 1s\nreplayed 50 samples as `lab.cpu`; it stays on the node\n";
    assert_eq!((ended.status, ended.stderr.as_str()), (0, said));
    let series = node.get("/api/v1/series/lab.cpu");
    assert_eq!((&series["n_samples"], &series["n_gaps"], &series["unit"]), (&50.into(), &0.into(), &"percent".into()));
    let csv = node.run(&["export", "lab.cpu", "--from", "-1h"]).output();
    let values: Vec<f64> = csv.lines().skip(1).map(|line| line.split_once(',').unwrap().1.parse().unwrap()).collect();
    assert_eq!(values.len(), 50);
    assert_eq!((values[0], values[1]), (51.846_000_000_000_004, 44.508));
    // A second one of the same name is refused, and leaves the first alone.
    node.run(&["replay", &trace, "--rows", "50", "--speed", FASTEST, "--as", "lab.cpu"])
        .check_failed(1, "foretop: cannot make `lab.cpu`; choose another name with --as");
    assert_eq!(node.get("/api/v1/series/lab.cpu")["n_samples"], 50);
    node.run(&["forget", "lab.cpu"]).output();
    node.run(&["ask", "lab.cpu"]).check_failed(1, "there is no signal `lab.cpu`");
}

#[test]
fn gaps_of_a_trace_are_gaps_of_the_signal() {
    let node = Running::in_memory();
    let args = ["replay", "-", "--step", "10ms", "--keep", "--node", &node.url];
    let ended = run_with_input(&args, "1\nNaN\n3\n4\n");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let series = node.get("/api/v1/series/replay.stdin");
    assert_eq!((&series["n_samples"], &series["n_gaps"]), (&3.into(), &1.into()));
}

#[test]
fn an_interrupt_ends_it_cleanly_and_takes_the_signal_away() {
    let node = Running::in_memory();
    let child = foretop()
        .args(["replay", &trace("ec2_cpu_utilization_5f5533.csv"), "--speed", "3000", "--node", &node.url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let id = "replay.ec2_cpu_utilization_5f5533";
    wait_until("the replay has begun", PATIENCE, || {
        let list = node.get("/api/v1/series");
        let series = list["series"].as_array()?.iter().find(|series| series["id"] == id)?.clone();
        (series["n_samples"].as_u64()? > 0).then_some(())
    });
    end_of(std::process::Command::new("kill").args(["-INT", &child.id().to_string()])).output();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(" samples, one every 100ms, take "), "{stderr}");
    assert!(stderr.ends_with(&format!("\ninterrupted; `{id}`: it is removed\n")), "{stderr}");
    assert_eq!(output.status.code(), Some(0));
    node.run(&["ask", id]).check_failed(1, "there is no signal");
}

#[test]
fn a_pace_that_makes_no_sense_exits_with_2() {
    let node = Running::in_memory();
    let trace = trace("ec2_cpu_utilization_5f5533.csv");
    for (args, message) in [
        (&["--speed", "30001"][..], "the fastest for a step of 5m is --speed 30000"),
        (&["--speed", "0"], "`0` is not a speed"),
        (&["--step", "1s"], "the samples have times, 5m apart; leave --step out"),
        (&["--step", "0s"], "`0s` is too short"),
    ] {
        node.run(&[&["replay", &trace], args].concat()).check_failed(2, message);
    }
    run_with_input(&["replay", "-"], "1\n2\n").check_failed(2, "give their step, such as --step 1s");
}
