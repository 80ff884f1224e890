//! `foretop compose` with real components: the shipped example, and what is left of it whatever happens.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::Value;
use testkit::{PATIENCE, wait_until};

use crate::command::{end_of, foretop, run};
use crate::node::folder;

fn example() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "examples", "host-load.toml"].iter().collect()
}

/// The example at a hundred steps a second, with made values: a load average that stands still has no model.
fn fast_example(folder: &Path, transport: &str) -> String {
    let text = fs::read_to_string(example()).unwrap();
    let changes = [
        ("step = \"1s\"", "step = \"10ms\"\nsynthetic = true"),
        ("signal = \"load.1m\"", "signal = 0"),
        ("window = 600", "window = 100"),
        ("transport = \"unix\"", &format!("transport = \"{transport}\"")),
    ];
    let text = changes.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    let path = folder.join("system.toml");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// A `foretop compose --json` that is killed when the test ends.
struct Composed {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Composed {
    fn start(file: &str, runtime_dir: &Path) -> Self {
        let mut command = foretop();
        command.args(["compose", file, "--json"]).env("XDG_RUNTIME_DIR", runtime_dir);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads reports until the components are like this.
    #[track_caller]
    fn wait_for(&mut self, what: &str, is_so: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        for _ in 0..PATIENCE.as_secs() {
            let Some(line) = self.lines.next() else { break };
            let report: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let components = report["components"].as_array().unwrap().clone();
            if is_so(&components) {
                return components;
            }
        }
        let _ = self.child.kill();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        panic!("waited in vain until {what}: {stderr}");
    }

    fn wait_until_it_flows(&mut self) -> Vec<Value> {
        self.wait_for("forecasts reach the client", |components| {
            components.iter().all(|one| one["state"] == "running") && rate(components, "pred-client") > 1.0
        })
    }

    fn send(&self, signal: &str) {
        send(signal, u64::from(self.child.id()));
    }

    fn wait(mut self) -> (ExitStatus, String) {
        self.lines.by_ref().for_each(drop);
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap(), stderr)
    }
}

impl Drop for Composed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send(signal: &str, pid: u64) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

fn find<'a>(components: &'a [Value], name: &str) -> &'a Value {
    components.iter().find(|one| one["component"] == name).unwrap_or_else(|| panic!("no {name} in {components:?}"))
}

fn rate(components: &[Value], name: &str) -> f64 {
    find(components, name)["in_per_second"].as_f64().unwrap_or(0.0)
}

/// Checks that no process of these components, nor any that they started, is left.
#[track_caller]
fn check_gone(components: &[Value]) {
    let groups: Vec<String> = components.iter().filter_map(|one| Some(one["pid"].as_u64()?.to_string())).collect();
    assert!(!groups.is_empty());
    wait_until("all processes are gone", PATIENCE, || {
        let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
        // After the name in parentheses: state, parent, group (proc(5)).
        let fields =
            stats.filter_map(|stat| Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect()));
        let is_left = |fields: Vec<String>| groups.contains(&fields[2]) && fields[0] != "Z";
        (!fields.into_iter().any(is_left)).then_some(())
    });
}

#[test]
fn the_example_makes_sense() {
    let path = example().display().to_string();
    assert!(run(&["compose", "--check", &path]).output().contains("8 components, all well"));
    let shown = run(&["compose", "--show", &path]).output();
    assert_eq!(shown.lines().count(), 8, "{shown}");
    assert!(shown.lines().all(|line| line.starts_with("foretop stream ")), "{shown}");
    assert!(shown.contains("--history source:unix:") && shown.contains("'AR(16)'"), "{shown}");
}

#[test]
fn the_example_forecasts_and_mends_itself_and_leaves_nothing() {
    for transport in ["unix", "tcp"] {
        let folder = folder();
        let mut composed = Composed::start(&fast_example(folder.path(), transport), folder.path());
        let before = composed.wait_until_it_flows();
        send("-9", find(&before, "pred")["pid"].as_u64().unwrap());
        composed.wait_for("the prediction server is back", |components| find(components, "pred")["restarts"] == 1);
        let after = composed.wait_until_it_flows();
        assert!(find(&after, "pred-client")["latency"].is_string(), "{after:?}");
        composed.send("-TERM");
        let (status, stderr) = composed.wait();
        assert!(status.success(), "{stderr}");
        check_gone(&after);
        assert_eq!(n_left(folder.path()), 1, "only the description is left");
        let found = end_of(foretop().args(["stream", "find", "--local"]).env("XDG_RUNTIME_DIR", folder.path()));
        assert_eq!(found.output(), "", "no stream is still announced");
    }
}

#[test]
fn a_composer_that_is_killed_takes_its_components_along() {
    let folder = folder();
    let file = fast_example(folder.path(), "unix");
    let mut composed = Composed::start(&file, folder.path());
    let components = composed.wait_until_it_flows();
    composed.send("-9");
    drop(composed);
    check_gone(&components);
    // The next run removes the folder that was left.
    assert_eq!(n_left(folder.path()), 2);
    run_for_a_moment(&file, folder.path());
    assert_eq!(n_left(folder.path()), 1);
}

/// How many entries a folder has, that of announced streams left out.
fn n_left(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().filter(|entry| entry.as_ref().unwrap().file_name() != "foretop").count()
}

fn run_for_a_moment(file: &str, runtime_dir: &Path) {
    let ended = end_of(foretop().args(["compose", file, "--for", "10ms"]).env("XDG_RUNTIME_DIR", runtime_dir));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("load (load-server) "), "{}", ended.stdout);
}

#[test]
fn a_component_that_cannot_run_is_told_by_name_and_by_what_it_said() {
    let folder = folder();
    let path = folder.path().join("system.toml");
    fs::write(&path, "[component.load]\nrun = 'load-server'\nroot = '/nowhere'\nrestarts_max = 1\n").unwrap();
    let ended = end_of(foretop().args(["compose", path.to_str().unwrap()]).env("XDG_RUNTIME_DIR", folder.path()));
    assert_eq!(ended.status, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("load ended with status") && ended.stderr.contains("/nowhere"), "{}", ended.stderr);
    assert!(ended.stdout.contains("load (load-server) failed, started again 1 times"), "{}", ended.stdout);
}

#[test]
fn slips_in_a_description_are_told_with_what_was_meant() {
    let folder = folder();
    let check = |text: &str, message: &str| {
        let path = folder.path().join("system.toml");
        fs::write(&path, text).unwrap();
        run(&["compose", "--check", path.to_str().unwrap()]).check_failed(2, message);
    };
    check("[component.a]\nrun = 'load-servr'", "did you mean `load-server`?");
    check("[component.a]\nrun = 'pred-server'\nhorizn = 3", "did you mean `horizon`?");
    check("[component.a]\nrun = 'buffer'", "lacks `n`");
    check("[component.a\n", "this is not a description of a system");
    run(&["compose", "/nowhere.toml"]).check_failed(2, "cannot read `/nowhere.toml`");
}
