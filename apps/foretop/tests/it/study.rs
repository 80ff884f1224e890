//! `availability-study`: made for real with tests of a second, interrupted, taken up again, reported.

use std::path::Path;
use std::process::{Child, Stdio};

use crate::command::{end_of, foretop, run};

const QUICK: [&str; 8] =
    ["availability-study", "--quick", "--scenario", "one-spinner", "--rounds", "1", "--for", "30s"];

fn quick(dir: &Path) -> Vec<&str> {
    [&QUICK[..], &["--dir", dir.to_str().unwrap()]].concat()
}

fn journal(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("journal.jsonl")).unwrap_or_default()
}

#[test]
fn a_rehearsal_fills_every_table() {
    let dir = tempfile::tempdir().unwrap();
    let ended = end_of(foretop().args(quick(dir.path())));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("1 scenario in 1 round: "), "{}", ended.stderr);
    for number in 1..=8 {
        assert!(ended.stdout.contains(&format!("\nTable {number}: ")), "{}", ended.stdout);
    }
    assert!(ended.stdout.contains("a rehearsal (--quick)"), "{}", ended.stdout);
    let dir = dir.path().to_str().unwrap();
    let csv = run(&["availability-study", "report", dir, "--format", "csv"]).output();
    for cell in
        ["1,measured,all,,cpu.availability,", "6,measured,all,AUTO,cpu.availability,", "7,measured,all,,within 95 %,"]
    {
        let line = csv.lines().find(|line| line.starts_with(cell)).unwrap_or_else(|| panic!("{cell} is not in: {csv}"));
        assert!(!line[cell.len()..].starts_with(','), "{line}");
    }
    let (series, plots) = (format!("{dir}/series"), format!("{dir}/plots"));
    let report = ["availability-study", "report", dir, "--format", "json", "--series", &series, "--plots", &plots];
    let json = run(&report).json();
    let tables = json["tables"].as_array().unwrap();
    assert_eq!((tables.len(), &tables[0]["rows"][0]["row"]), (8, &"one-spinner".into()));
    assert!(tables[0]["rows"][0]["cells"]["cpu.availability"]["value"].is_f64(), "{json}");
    let readings = format!("{series}/one-spinner-1.csv");
    let analysis = run(&["analyze", &readings, "--column", "cpu.availability", "--format", "json"]).json();
    assert!(analysis["n_gaps"].as_u64().unwrap() > 0, "{analysis}");
    assert!(std::fs::read_to_string(format!("{plots}/one-spinner.svg")).unwrap().contains("Pox plot"));
    // All of it is done, so nothing is left to be run.
    let again = end_of(foretop().args(quick(Path::new(dir))));
    assert!(again.status == 0 && again.stderr.contains(", in 0s; "), "{}", again.stderr);
}

#[test]
fn an_interrupted_study_reports_and_is_taken_up_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = foretop();
    let child = command.args(quick(dir.path())).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // What the journal's writer holds back reaches the file with the first test.
    testkit::wait_until("a test is in the journal", testkit::PATIENCE, || {
        journal(dir.path()).contains("\"test\"").then_some(())
    });
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains("Table 1") && stderr.contains("stopped; "), "{stdout}{stderr}");
    let other = end_of(foretop().args(quick(dir.path())).args(["--seed", "7"]));
    other.check_failed(2, "was started with seed 1, not 7");
    let resumed = end_of(foretop().args(quick(dir.path())));
    assert_eq!(resumed.status, 0, "{}", resumed.stderr);
    let journal = journal(dir.path());
    assert_eq!(journal.matches("\"kind\":\"header\"").count(), 1);
    assert!(journal.contains("\"resumed\"") && journal.contains("\"visit-end\""), "{journal}");
}

#[test]
fn what_makes_no_study_exits_with_2() {
    run(&["availability-study", "--scenario", "picnic"])
        .check_failed(2, "there is no scenario `picnic`: there are idle");
    run(&["availability-study", "--for", "10s"]).check_failed(2, "10s is not enough for");
    run(&["availability-study", "report", "/no/such/folder"]).check_failed(1, "run a study in this folder first");
}

fn interrupt(child: &Child) {
    let status = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}
