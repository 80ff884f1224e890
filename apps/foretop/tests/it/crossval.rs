//! `crossval`: run, stopped, killed, taken up again, reported and compared by the real program.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::command::{end_of, foretop, run};
use crate::node::Running;

const NAB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/nab");
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/crossval/host-load.toml");

/// Slow enough for a signal to find the run in its middle, and soon at an end.
const TEMPLATE: &str = "models = [\"LAST\", \"AR(1..16)\", \"NWS\"]\nfit = 600\ntest = 1000\nleads = \"1..30\"";

fn cases(folder: &Path, out: &str, n_cases: u32) -> Command {
    let template = folder.join("template.toml");
    fs::write(&template, TEMPLATE).unwrap();
    let mut command = foretop();
    command.args(["crossval", "run"]).arg(template).args([
        "--traces",
        NAB,
        "--cases",
        &n_cases.to_string(),
        "--seed",
        "7",
    ]);
    command.arg("--out").arg(folder.join(out));
    command
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Starts a run and sends it a signal when its first part is there.
fn broken_off(folder: &Path, out: &str, name: &str) -> std::process::Output {
    let child = cases(folder, out, 1300).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let parts = folder.join(format!("{out}.parts"));
    testkit::wait_until("a part is there", testkit::PATIENCE, || {
        let names = fs::read_dir(&parts).ok()?.flatten();
        names.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().starts_with("results-")).then_some(())
    });
    signal(&child, name);
    child.wait_with_output().unwrap()
}

#[test]
fn a_run_that_was_stopped_or_killed_ends_in_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let whole = end_of(cases(folder.path(), "whole.parquet", 1300).args(["--workers", "1"]));
    assert_eq!(whole.status, 0, "{}", whole.stderr);
    let expected = fs::read(folder.path().join("whole.parquet")).unwrap();

    let stopped = broken_off(folder.path(), "stopped.parquet", "-INT");
    let said = String::from_utf8_lossy(&stopped.stderr).into_owned();
    assert!(stopped.status.code() == Some(1) && said.contains("run the same command to resume"), "{said}");
    broken_off(folder.path(), "killed.parquet", "-KILL");
    for name in ["stopped.parquet", "killed.parquet"] {
        assert!(!folder.path().join(name).exists(), "{name}");
        let resumed = end_of(cases(folder.path(), name, 1300).args(["--workers", "2"]));
        assert!(
            resumed.status == 0 && resumed.stderr.contains("of 1300 cases are there from an earlier run"),
            "{resumed:?}"
        );
        assert!(fs::read(folder.path().join(name)).unwrap() == expected, "{name}");
        assert!(!folder.path().join(format!("{name}.parts")).exists());
    }
}

#[test]
fn a_run_with_forecasters_of_other_libraries_is_left_to_python() {
    let folder = tempfile::tempdir().unwrap();
    broken_off(folder.path(), "cases.parquet", "-KILL");
    let path = folder.path().join("cases.parquet.parts/campaign.json");
    let mut campaign: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    campaign["peers"] = serde_json::json!(["river:HoltWinters"]);
    fs::write(&path, campaign.to_string()).unwrap();
    end_of(&mut cases(folder.path(), "cases.parquet", 1300))
        .check_failed(2, "resume it with `foretop.crossval.run` in Python: `");
}

#[test]
fn a_campaign_is_reported_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let ended = end_of(&mut cases(folder.path(), "cases.parquet", 120));
    assert!(
        ended.stdout.starts_with("120 cases in ") && ended.stdout.contains("of 120 evaluated here, 0 failed"),
        "{ended:?}"
    );
    let (results, html, markdown) = (path("cases.parquet"), path("r.html"), path("r.md"));
    let recommended = run(&["crossval", "report", &results, "--html", &html, "--markdown", &markdown]).output();
    let markdown = fs::read_to_string(markdown).unwrap();
    assert!(markdown.contains(&format!("Use `{}`.", recommended.trim())), "{recommended}");
    assert_eq!(run(&["crossval", "report", &results]).output(), markdown);
    assert!(fs::read_to_string(html).unwrap().contains("<svg "));
    let same = run(&["crossval", "compare", &results, &results, "--metric", "crps"]).output();
    assert!(same.starts_with("120 cases in common, 120 of them identical\n"), "{same}");
    let same = run(&["crossval", "compare", &results, &results, "--json"]).json();
    assert_eq!((&same["n_common"], &same["rows"][0]["ratio"]), (&120.into(), &1.0.into()));
    let summary = run(&["crossval", "report", &results, "--json"]).json();
    assert_eq!(summary["recommended"], recommended.trim());
    assert_eq!((summary["leads"][0]["lead"].as_u64(), summary["failures"].as_array().unwrap().len()), (Some(1), 0));
}

#[test]
fn what_could_not_be_judged_is_not_recommended_and_told_with_its_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (template, out) = (path("t.toml"), path("out.parquet"));
    // So many coefficients need more samples than there are.
    let attempt = |models: &str| {
        fs::write(&template, format!("models = {models}\nfit = 40\ntest = 20\nleads = [1, 2]")).unwrap();
        run(&["crossval", "run", &template, "--traces", NAB, "--cases", "60", "--out", &out])
    };
    let ended = attempt("[\"AR(64)\", \"MEAN\"]");
    assert!(ended.stdout.contains("30 failed\n30 failed: "), "{ended:?}");
    let summary = run(&["crossval", "report", &out, "--json"]).json();
    assert_eq!((&summary["recommended"], &summary["failures"][0]["n_cases"]), (&"MEAN".into(), &30.into()));
    fs::remove_file(&out).unwrap();
    let ended = attempt("[\"AR(64)\"]");
    assert!(ended.status == 1 && ended.stderr.contains("no model could be judged in any case"), "{ended:?}");
    assert!(run(&["crossval", "report", &out]).output().contains("so none is recommended"));
}

#[test]
fn signals_of_a_node_are_traces() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (template, out) = (path("t.toml"), path("out.parquet"));
    fs::write(&template, "models = [\"LAST\", \"MEAN\"]\nfit = 10\ntest = 5\nleads = [1, 2]").unwrap();
    let node = Running::in_memory();
    let attempt = |signal: &str| {
        run(&["crossval", "run", &template, "--signal", signal, "--node", &node.url, "--cases", "20", "--out", &out])
    };
    attempt("load.1n").check_failed(1, "load.1m");
    let ended = testkit::wait_until("the node has samples enough", testkit::PATIENCE, || {
        let ended = attempt("load.1m");
        (ended.status == 0).then_some(ended)
    });
    assert!(ended.stderr.contains("20 cases of 2 models on 1 trace, seed 1"), "{ended:?}");
    assert!(run(&["crossval", "report", &out]).output().contains("`load.1m`"));
}

#[test]
fn the_example_in_the_repository_is_a_template() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("cases.parquet").to_str().unwrap().to_owned();
    let ended = run(&["crossval", "run", EXAMPLE, "--traces", NAB, "--cases", "20", "--out", &out]);
    assert!(ended.status == 0 && ended.stderr.contains("20 cases of 10 models on 7 traces, seed 1"), "{ended:?}");
}

#[test]
fn what_cannot_be_run_is_said_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (template, out) = (path("t.toml"), path("out.parquet"));
    let attempt = |text: &str, traces: &str| {
        fs::write(&template, text).unwrap();
        run(&["crossval", "run", &template, "--traces", traces, "--out", &out])
    };
    attempt("models = []", NAB).check_failed(2, "missing field `fit`");
    attempt("models = [\nfit = 9", NAB)
        .check_failed(2, "t.toml`: cannot read the template: TOML parse error at line 2, column 5: ");
    attempt("models = [\"AX\"]\nfit = 9\ntest = 9\nleads = 1", NAB)
        .check_failed(2, "t.toml`: `AX` among the models: unknown model `AX`");
    attempt("models = [\"LAST\"]\nfit = 9000\ntest = 9\nleads = 1", NAB)
        .check_failed(2, "the shortest case takes 9009 samples");
    fs::write(path("words.csv"), "1\n2\nthree\n").unwrap();
    attempt(TEMPLATE, &path("words.csv")).check_failed(1, "words.csv`: line 3, column 1: `three` is not a number");
    fs::write(path("broken.parquet"), "PAR1").unwrap();
    attempt(TEMPLATE, &path("broken.parquet")).check_failed(1, "cannot take a series from");
    attempt(TEMPLATE, &path("absent")).check_failed(1, "absent`: No such file");
    fs::create_dir(path("empty")).unwrap();
    attempt(TEMPLATE, &path("empty")).check_failed(1, "whose name ends in .csv or .parquet");
    run(&["crossval", "report", &path("words.csv")]).check_failed(1, "words.csv` is not a Parquet file, or is damaged");
    fs::write(&out, "mine").unwrap();
    attempt(TEMPLATE, NAB).check_failed(2, "already exists");
}
