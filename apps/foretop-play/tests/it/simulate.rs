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

#[test]
fn a_processor_that_a_node_measured_bounds_decoding() {
    let folder = tempdir().unwrap();
    let shares: String =
        (0..300).map(|second| format!("{second},{}\n", if second % 60 < 40 { 1.0 } else { 0.5 })).collect();
    fs::write(folder.path().join("cpu.csv"), format!("time,cpu.availability\n{shares}")).unwrap();
    let run = |more: &[&str]| {
        let mut arguments =
            vec!["simulate", "outage", "--seconds", "900", "--law", "restricted", "--cpu", "cpu.csv", "--out", "runs"];
        arguments.extend(more);
        succeeds(&foretop_play(folder.path(), &arguments));
        let laws = fs::read_to_string(folder.path().join("runs/laws.csv")).unwrap();
        laws.lines().nth(1).unwrap().split(',').nth(3).unwrap().parse::<f64>().unwrap()
    };
    let (heeding, blind) = (run(&[]), run(&["--blind-to-cpu"]));
    assert!(heeding < blind / 2.0, "{heeding} s and {blind} s without sound");
    let bad = foretop_play(folder.path(), &["simulate", "steady", "--cpu", "cpu.csv", "--cpu-speed", "0"]);
    fails(&bad, 2, "`--cpu-speed 0`");
}

#[test]
fn hostile_traces_end_with_a_sentence() {
    let folder = tempdir().unwrap();
    let texts: &[&[u8]] = &[
        b"",
        b"\xff\xfe\x00\x00",
        b"time,arrival_rate\n",
        b"time,arrival_rate\n0,1\n",
        b"time,arrival_rate\n0,1\n0,1\n",
        b"time,arrival_rate\n1,1\n0,1\n",
        b"time,arrival_rate\n0,1\n1,NaN\n2,inf\n",
        b"time,arrival_rate\n0,1\n1,1e308\n2,-0.0\n3,1e-320\n",
        b"time,arrival_rate\n0,1\n1,1\n1e12,1\n",
        b"time,arrival_rate\n-9e99,1\n9e99,1\n",
        b"time,rate\n0,1\n1,1\n",
        b"time,arrival_rate\n0,\"\n1,1\n",
    ];
    for text in texts {
        fs::write(folder.path().join("hostile.csv"), text).unwrap();
        let ended = foretop_play(folder.path(), &["simulate", "hostile.csv", "--law", "restricted"]);
        let err = String::from_utf8_lossy(&ended.stderr);
        let text = String::from_utf8_lossy(text);
        assert!(matches!(ended.status.code(), Some(0..=2)), "{text}: {:?} {err}", ended.status);
        assert!(!err.contains("panicked"), "{text}: {err}");
    }
}
