//! Laws compared, and traces recorded for that.

use std::fs;

use tempfile::tempdir;

use crate::medium::tone;
use crate::{fails, foretop_play, succeeds};

#[test]
fn laws_are_compared_on_made_traces() {
    let folder = tempdir().unwrap();
    let arguments = [
        "simulate",
        "steady",
        "step",
        "--law",
        "restricted",
        "--law",
        "off",
        "--seconds",
        "600",
        "--out",
        "runs",
        "--plot",
        "pictures",
    ];
    let said = succeeds(&foretop_play(folder.path(), &arguments));
    let row = |law: &str| {
        said.lines().find(|line| line.starts_with(law)).unwrap().split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(row("restricted"), "0.0");
    assert_ne!(row("off"), "0.0");
    assert!(fs::read_to_string(folder.path().join("pictures/step.svg")).unwrap().contains("<svg"));
    // A run is a trace again.
    let again = succeeds(&foretop_play(folder.path(), &["simulate", "runs/step-off.csv", "--law", "off"]));
    assert!(again.contains("step-off"), "{again}");
}

#[test]
fn a_trace_is_recorded_of_what_arrives() {
    let folder = tempdir().unwrap();
    tone(&folder.path().join("tone.wav"), 30.0);
    let said = succeeds(&foretop_play(folder.path(), &["record-trace", "tone.wav"]));
    assert!(said.starts_with("time,arrival_rate\n"), "{said}");
}

#[test]
fn what_cannot_be_simulated_is_told() {
    let folder = tempdir().unwrap();
    let run = |arguments: &[&str]| foretop_play(folder.path(), arguments);
    fails(&run(&["simulate", "--law", "fast"]), 2, "`fast` is no law: restricted, arrival, shaka");
    fails(&run(&["simulate", "train.csv"]), 1, "traces that are made: steady, markov");
    fails(&run(&["simulate", "--start", "60"]), 2, "play would never start");
    fs::write(folder.path().join("bad.csv"), "time,arrival_rate\n0,1\n1,-3\n2,1\n").unwrap();
    fails(&run(&["simulate", "bad.csv"]), 2, "has -3 as sample 2");
}
