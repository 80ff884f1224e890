//! `foretop mpi watch` and `foretop mpi monitor` on rings that were made up: the last of three ranks is late in each
//! call.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use mpi_job::Folder;
use serde_json::Value;
use tempfile::TempDir;
use testkit::mpi::Program;

use crate::command::{Ended, end_of, foretop, run};
use crate::node::Running;
use crate::stream::{Component, numbers, of_kind};

/// A job of this process, which has made 50 calls.
struct Job {
    root: TempDir,
    program: Program,
}

impl Job {
    fn start() -> Self {
        let root = tempfile::tempdir().unwrap();
        let program = Program::start(&Folder::create(&root.path().join("job")).unwrap());
        program.run(0..50);
        Self { root, program }
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join("job")
    }

    /// With the registry of streams in the test's own folder.
    fn foretop(&self, args: &[&str]) -> std::process::Command {
        let mut command = foretop();
        command.env("XDG_RUNTIME_DIR", self.root.path()).arg("mpi").args(args);
        command
    }

    fn monitor(&self) -> Component {
        let folder = self.folder();
        Component::of(&mut self.foretop(&["monitor", folder.to_str().unwrap(), "server:tcp:127.0.0.1:0"]))
    }

    /// Watches the job on this host.
    fn watch(&self, args: &[&str]) -> Ended {
        let folder = self.folder();
        end_of(&mut self.foretop(&[&["watch", folder.to_str().unwrap(), "--once", "--every", "300ms"], args].concat()))
    }

    /// Watches it as from a host where it does not run.
    fn watch_from_elsewhere(&self, args: &[&str]) -> Ended {
        end_of(&mut self.foretop(&[&["watch", "job", "--once", "--every", "300ms"], args].concat()))
    }
}

fn json(ended: Ended) -> Value {
    serde_json::from_str(&ended.output()).unwrap()
}

#[test]
fn stages_and_the_late_rank_are_told_of_a_job_on_this_host() {
    let job = Job::start();
    let told = job.watch(&[]).output();
    assert!(told.contains("tree flat: 50 calls analyzed") && told.contains("rank 2             50"), "{told}");
    // Calls are not of a tree, so that of 350 records 200 are read.
    assert!(told.contains("200 records read, 0 lost, 100 % read"), "{told}");
}

#[test]
fn each_monitor_finds_the_same_here_and_from_elsewhere() {
    let job = Job::start();
    let monitor = job.monitor();
    for kind in ["load-balance", "distributed"] {
        for from in [None, Some(monitor.source("server"))] {
            let args = ["--monitor", kind, "--json", "--gate", "off", "--helpers", "2"];
            let told = json(match &from {
                None => job.watch(&args),
                Some(from) => job.watch_from_elsewhere(&[&args[..], &["--from", from]].concat()),
            });
            let root = &told["result"][0];
            assert_eq!((&root["node"], &root["n_calls"]), (&"root".into(), &50.into()), "{told}");
            assert_eq!(root["last"][0]["from"], "rank 2", "{told}");
            assert_eq!((&told["records_lost"], &told["missing"]), (&0.into(), &Value::Array(vec![])), "{told}");
        }
    }
    let from = monitor.source("server");
    let time = json(job.watch_from_elsewhere(&["--monitor", "time", "--json", "--from", &from]));
    let [first, _, late] = &time["result"].as_array().unwrap()[..] else { panic!("of three ranks: {time}") };
    assert_eq!((&first["n_calls"], &first["ns"], &late["ns"]), (&50.into(), &100_000_000.into(), &50_100_000.into()));
    let statistics = json(job.watch_from_elsewhere(&["--monitor", "statistics", "--json", "--from", &from]));
    let waits = statistics["result"].as_array().unwrap().iter().filter(|one| one["figures"]["of"] == "arrival_wait");
    let waits: Vec<f64> = waits.map(|wait| wait["figures"]["mean_ns"].as_f64().unwrap()).collect();
    assert_eq!(waits, [1e6, 1e6, 0.0]);
}

#[test]
fn monitors_are_found_where_streams_are() {
    let job = Job::start();
    let _monitor = job.monitor();
    testkit::wait_until("the monitor has announced itself", testkit::PATIENCE, || {
        let find = end_of(foretop().args(["stream", "find", "--local"]).env("XDG_RUNTIME_DIR", job.root.path()));
        find.output().contains("mpi.job").then_some(())
    });
    let jobs = end_of(&mut job.foretop(&["trace", "jobs", "--elsewhere"])).output();
    let served = jobs.lines().find(|line| line.starts_with("job ") && line.contains("tcp:127.0.0.1:"));
    assert!(served.is_some(), "{jobs}");
    let told = job.watch_from_elsewhere(&["--monitor", "load-balance"]).output();
    assert!(told.contains("rank 2 100 %"), "{told}");
}

#[test]
fn a_scope_of_ones_own_is_pulled() {
    let job = Job::start();
    let scope = job.root.path().join("scope.toml");
    std::fs::write(&scope, "format = 1\n[[stage]]\nname = \"all\"\nread = \"a\"\nfilter = { collectors = [0, 2] }\n")
        .unwrap();
    let told = json(job.watch(&["--json", "--scope", scope.to_str().unwrap()]));
    assert_eq!(told["result"], serde_json::json!({ "0": 50, "2": 50 }));
    std::fs::write(&scope, "format = 1\n[[stage]]\nname = \"all\"\nread = \"b\"\n").unwrap();
    job.watch(&["--scope", scope.to_str().unwrap()]).check_failed(2, "the tree has no host `b`");
}

#[test]
fn stage_times_are_a_stream() {
    let job = Job::start();
    let place = format!("unix:{}", job.root.path().join("stages").display());
    let folder = job.folder();
    let publish = ["watch", folder.to_str().unwrap(), "--every", "50ms", "--publish", &format!("connect:{place}")];
    let mut watch = job.foretop(&publish).stdout(Stdio::null()).spawn().unwrap();
    testkit::wait_until("the stream is there", testkit::PATIENCE, || {
        Path::new(place.strip_prefix("unix:").unwrap()).exists().then_some(())
    });
    job.program.run(50..60);
    let read = run(&["stream", "client", "--json", "--count", "1", &format!("source:{place}")]);
    watch.kill().unwrap();
    watch.wait().unwrap();
    let described: Value = serde_json::from_str(read.stdout.lines().next().unwrap()).unwrap();
    let signals: Vec<&str> =
        described["signals"].as_array().unwrap().iter().map(|signal| signal["id"].as_str().unwrap()).collect();
    for stage in ["down", "up", "store", "arrival-wait.rank-2", "departure-wait.rank-0"] {
        assert!(signals.contains(&&*format!("mpi.flat.root.{stage}")), "{signals:?}");
    }
}

/// What a node knows of a signal, once it has some samples.
fn series(node: &Running, id: &str) -> Option<Value> {
    let all = node.get("/api/v1/series");
    let series = all["series"].as_array()?.iter().find(|series| series["id"] == id)?;
    (series["n_samples"].as_u64()? > 20).then(|| series.clone())
}

#[test]
fn a_stage_slower_than_its_forecast_stands_out_at_whoever_forecasts_the_stream() {
    let job = Job::start();
    let place = |name: &str| format!("unix:{}", job.root.path().join(name).display());
    let folder = job.folder();
    let publish = format!("connect:{}", place("stages"));
    let args = ["watch", folder.to_str().unwrap(), "--every", "50ms", "--json", "--publish", &publish];
    let told = File::create(job.root.path().join("told")).unwrap();
    let mut watch = job.foretop(&args).stdout(told).spawn().unwrap();
    let source = format!("source:{}", place("stages"));
    let forecasts = format!("connect:{}", place("forecasts"));
    let server = ["pred-server", "--model", "AR(2)", "--window", "50", "--horizon", "1", &source, &forecasts];
    let _server = Component::start(&server);
    let config = job.root.path().join("node.toml");
    std::fs::write(&config, format!("[[follow]]\nendpoint = '{source}'\nname = 'job'\nevery = '50ms'\n")).unwrap();
    let node =
        Running::start(&["--in-memory", "--every", "50ms", "--only", "load.*", "--config", config.to_str().unwrap()]);

    // The program goes on as long as somebody waits for something.
    let mut calls = (5..).map(|turn| 10 * turn..10 * turn + 10);
    let mut go_on = |late_ns| job.program.run_late(calls.next().unwrap(), late_ns);
    let wait = "job/mpi.flat.root.arrival-wait.rank-0";
    testkit::wait_until("the node has samples of the stage", testkit::PATIENCE, || {
        go_on(1_000_000);
        series(&node, wait)
    });
    let path = format!("/api/v1/series/{}/forecast?horizon=50ms&confidence=0.999", wait.replace('/', "%2F"));
    let forecast = node.get(&path);
    assert!((forecast["mean"][0].as_f64().unwrap() - 0.001).abs() < 1e-6, "{forecast:?}");
    let upper = forecast["upper"][0].as_f64().unwrap();
    let reader = job.root.path().join("forecasts");
    let read = run(&["stream", "client", "--json", "--count", "40", &format!("source:unix:{}", reader.display())]);
    let read = of_kind(&read.stdout, "forecast");
    let finite = |forecast: &&Value| forecast["means"][0].as_f64().is_some();
    assert!(read.iter().any(|one| finite(&one) && (numbers(&one["means"])[0] - 0.001).abs() < 1e-6), "{read:?}");

    testkit::wait_until("the node and the monitor see the slow stage", testkit::PATIENCE, || {
        go_on(5_000_000);
        let last = series(&node, wait)?["last"]["value"].as_f64()?;
        let told = std::fs::read_to_string(job.root.path().join("told")).unwrap();
        let slow = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let slow: Vec<Value> = slow.map(|line| line["result"]["slower_than_expected"][0].clone()).collect();
        let is_told = slow.iter().any(|slow| slow["part"] == "arrival_wait" && slow["mean_ns"] == 5e6);
        (last > upper && is_told).then_some(())
    });
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[track_caller]
fn check_begins_again(job: &Job, args: &[&str]) {
    let folder = job.folder();
    let mut watch = job.foretop(&[&["watch", "--every", "20ms", "--json"], args].concat());
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut tree = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["tree"].clone();
    assert_eq!(tree(), "flat");
    Folder::open(&folder).unwrap().set_tree(&testkit::mpi::TREE.replace("flat", "other")).unwrap();
    while tree() == "flat" {}
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn watching_begins_again_with_another_tree_file() {
    let job = Job::start();
    check_begins_again(&job, &[job.folder().to_str().unwrap()]);
}

#[test]
fn watching_from_elsewhere_begins_again_with_another_tree_file() {
    let job = Job::start();
    let monitor = job.monitor();
    check_begins_again(&job, &["job", "--from", &monitor.source("server")]);
}

#[test]
fn what_cannot_be_watched_is_told() {
    let job = Job::start();
    job.watch(&["--tree", "3"]).check_failed(2, "there is no tree 3; the file has 1");
    job.watch(&["--from", "connect:tcp:1"]).check_failed(2, "has to begin with source:");
    let folder = job.folder();
    let args = ["--monitor", "time", "--publish", "connect:tcp:0"];
    end_of(&mut job.foretop(&[&["watch", folder.to_str().unwrap()], &args[..]].concat()))
        .check_failed(2, "--monitor stages");
    // Nobody listens there.
    let ended = job.watch_from_elsewhere(&["--from", "source:tcp:127.0.0.1:1"]);
    assert!(ended.status == 2 && ended.stderr.contains("a monitor of another has the job"), "{}", ended.stderr);
}
