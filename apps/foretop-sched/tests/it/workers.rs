//! Real workers, each a process on the loopback, and a run of theirs with a token.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A worker that ends with the test.
pub struct Hired {
    process: Child,
    pub endpoint: String,
}

impl Drop for Hired {
    fn drop(&mut self) {
        // One that has ended by itself is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn foretop_sched() -> Command {
    Command::new(env!("CARGO_BIN_EXE_foretop-sched"))
}

pub fn hire(arguments: &[&str]) -> Hired {
    let mut command = foretop_sched();
    command.args(["worker", "--listen", "127.0.0.1:0"]).args(arguments).stdout(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let endpoint = line.trim().strip_prefix("listens at ").unwrap_or_else(|| panic!("it told `{line}`"));
    Hired { endpoint: format!("source:{endpoint}"), process }
}

fn token(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_run_on_real_workers_is_explained_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let right = token(folder.path(), "token", "one-that-both-have-5f1c9a02");
    let wrong = token(folder.path(), "other", "one-that-nobody-has-77aa10ee");
    let (right, wrong) = (right.to_str().unwrap(), wrong.to_str().unwrap());
    let hired = [0; 2].map(|_| hire(&["--token-file", right, "--allow", "echo=/bin/echo"]));
    let workers: String = (0..)
        .zip(&hired)
        .map(|(nth, hired)| format!("[[worker]]\nname = \"w{nth}\"\nendpoint = \"{}\"\n", hired.endpoint))
        .collect();
    let head = "format = 1\n[work]\nunits = 24\ncost = \"10ms\"\n[command]\nname = \"echo\"\nargs = [\"{unit}\"]\n";
    fs::write(at("job.toml"), format!("{head}{workers}")).unwrap();
    let run = |words: &[&str], token: &str| foretop_sched().args(words).args(["--token-file", token]).output().unwrap();
    let refused = run(&["run", &at("job.toml"), "--run", &at("never")], wrong);
    assert!(
        refused.status.code() == Some(1) && told(&refused).contains("the proof of the token is wrong"),
        "{}",
        told(&refused)
    );

    let done = run(&["run", &at("job.toml"), "--run", &at("run")], right);
    let numbers: String = (0..24).map(|unit| format!("{unit}\n")).collect();
    assert_eq!(String::from_utf8(done.stdout).unwrap(), numbers);
    let explained = foretop_sched().args(["explain", &at("run"), "--plot", &at("run.svg")]).output().unwrap();
    let text = told(&explained);
    for wanted in ["24 of 24 units are done", "begun, CORRECTED(q=0.5) decides", "forecast to give", "its median, "] {
        assert!(text.contains(wanted), "{text}");
    }
    let svg = fs::read_to_string(at("run.svg")).unwrap();
    assert!(svg.contains("24 pieces") && svg.contains(": w0</text>"), "{svg}");

    let calibrated = told(&run(&["calibrate", &at("job.toml"), "--units", "2"], right));
    assert!(calibrated.lines().count() == 3 && calibrated.contains("speed ="), "{calibrated}");
}

#[test]
fn a_worker_that_is_paused_costs_its_unfinished_units_only() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let hired = [0; 2].map(|_| hire(&["--allow", "sh=/bin/sh -c *[ */*"]));
    // The last one is not done before the test wants it.
    let unit = format!("[ {{unit}} != 19 ] || while [ ! -e {} ]; do sleep 0.05; done; echo {{unit}}", at("gate"));
    let head = format!(
        "format = 1\n[work]\nunits = 20\ncost = \"10ms\"\n[command]\nname = \"sh\"\nargs = [\"-c\", {unit:?}]\n"
    );
    let [one, two] = &hired;
    let workers = [("one", one), ("two", two)]
        .map(|(name, hired)| format!("[[worker]]\nname = \"{name}\"\nendpoint = \"{}\"\n", hired.endpoint));
    fs::write(at("job.toml"), head + &workers.concat()).unwrap();
    let mut command = foretop_sched();
    command.args(["run", &at("job.toml"), "--run", &at("run"), "--lost-after", "1s"]);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("all done after")));
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &two.process.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    signal("-STOP");
    assert!(lines.any(|line| line.starts_with("two is not there: ")));
    // It is back, with results that nobody waits for.
    signal("-CONT");
    fs::write(at("gate"), "").unwrap();
    assert!(lines.any(|line| line.starts_with("done after ")));
    let numbers: String = (0..20).map(|unit| format!("{unit}\n")).collect();
    assert_eq!(String::from_utf8(run.wait_with_output().unwrap().stdout).unwrap(), numbers);
}

#[test]
fn a_full_disk_is_told_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let hired = hire(&["--allow", "echo=/bin/echo"]);
    let text = format!(
        "format = 1\n[work]\nunits = 3\ncost = \"10ms\"\n[command]\nname = \"echo\"\nargs = [\"{{unit}}\"]\n\
         [[worker]]\nname = \"here\"\nendpoint = \"{}\"\n",
        hired.endpoint
    );
    fs::write(at("job.toml"), text).unwrap();
    let run =
        |out: &str| foretop_sched().args(["run", &at("job.toml"), "--run", &at("run"), "--out", out]).output().unwrap();
    let full = run("/dev/full");
    assert!(full.status.code() == Some(1) && told(&full).contains("No space left on device"), "{}", told(&full));
    let again = run(&at("out"));
    assert!(again.status.success() && told(&again).contains("everything was done before"), "{}", told(&again));
    assert_eq!(fs::read_to_string(at("out")).unwrap(), "0\n1\n2\n");
}

#[test]
fn a_folder_without_a_run_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let ended = foretop_sched().args(["explain", folder.path().to_str().unwrap()]).output().unwrap();
    assert!(ended.status.code() == Some(1) && told(&ended).contains("run.jsonl"), "{}", told(&ended));
}

#[test]
fn sequences_are_a_command_of_their_own() {
    let words = ["--worker", "127.0.0.1:1", "--run", "never", "--", "grep", "x"];
    let ended = Command::new(env!("CARGO_BIN_EXE_foretop-sequences")).args(words).output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(told(&ended).contains("`grep x` is no search that can be cut"), "{}", told(&ended));
}

#[test]
fn a_search_whose_cost_nobody_knows_is_not_forecast_before_a_part_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("lib.fa"), ">a\nACGT\n").unwrap();
    fs::write(at("q.fa"), ">q\nACGT\n>r\nACGTACGT\n").unwrap();
    // It finds nothing.
    let hired = hire(&["--allow", "ssw-align=/bin/true -*"]);
    let place = hired.endpoint.strip_prefix("source:tcp:").unwrap();
    let search = |more: &[&str], run: &str| {
        let mut command = foretop_sched();
        command.args(["sequences", "--worker", place, "--run", &at(run)]).args(more);
        let ended = command.args(["--", "ssw-align", "-p", &at("lib.fa"), &at("q.fa")]).output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{}", told(&ended));
        told(&ended)
    };
    let unknown = search(&[], "unknown");
    assert!(unknown.contains("no forecast before a unit is done") && unknown.contains("\ndone after "), "{unknown}");
    assert!(!unknown.contains("the forecast of"), "{unknown}");
    let stated = search(&["--cost", "1s"], "stated");
    assert!(stated.contains("all done after ") && stated.contains("the forecast of"), "{stated}");
}
