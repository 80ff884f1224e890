//! `foretop sched` as its users meet it.

mod page;
mod workers;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const JOB: &str = "examples/sched/pool.toml";
const TRACES: &str = "testdata/host-load";

fn run(words: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_foretop-sched")).args(words).current_dir(root).output().unwrap()
}

#[track_caller]
fn check_refused(status: i32, words: &[&str], wanted: &str) {
    let ended = run(words);
    let told = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(status), "{told}");
    assert!(told.starts_with("foretop sched: ") && told.contains(wanted), "{told}");
}

#[test]
fn policies_are_compared_and_every_run_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["one", "other"].map(|name| {
        let file = folder.path().join(name);
        let named = ["simulate", JOB, "--traces", TRACES, "--draws", "3", "--model", "MEAN", "--out"];
        let ended = run(&[&named[..], &[file.to_str().unwrap()]].concat());
        let told = String::from_utf8(ended.stdout).unwrap();
        assert!(ended.status.success() && told.contains("1600 units of 2.00 s on 8 workers, 3 runs, seed 1"), "{told}");
        // How long it took, and how well that was forecast: the oracle knows.
        for (policy, n_lines) in [("EQUAL ", 2), ("WFACTORING(2) ", 2), ("CORRECTED(q=0.5) ", 2), ("ORACLE ", 1)] {
            assert_eq!(told.lines().filter(|line| line.starts_with(policy)).count(), n_lines, "{told}");
        }
        std::fs::read(file).unwrap()
    });
    assert_eq!(files[0], files[1]);
    assert_eq!(files[0].iter().filter(|byte| **byte == b'\n').count(), 3 * 13);
}

#[test]
fn the_first_run_is_drawn_for_each_policy() {
    let folder = tempfile::tempdir().unwrap();
    let pictures = folder.path().join("pictures");
    let named = ["simulate", JOB, "--traces", TRACES, "--draws", "1", "--model", "MEAN", "--plot"];
    let policies = ["--policy", "EQUAL", "--policy", "PREDICTED(q=0.5,tail=0.2)"];
    let ended = run(&[&named[..], &[pictures.to_str().unwrap()], &policies].concat());
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    for name in ["availability.svg", "equal-by-mean.svg", "predicted-q-0-5-tail-0-2-by-mean.svg"] {
        let svg = std::fs::read_to_string(pictures.join(name)).unwrap();
        assert!(svg.contains("new-1</text>") && svg.contains("old-4</text>"), "{name}: {svg}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().to_str().unwrap();
    check_refused(1, &["simulate", "nowhere.toml", "--traces", TRACES], "cannot read the job `nowhere.toml`");
    check_refused(2, &["simulate", JOB, "--traces", empty], "has no CSV files");
    check_refused(2, &["simulate", JOB, "--traces", TRACES, "--policy", "BEST"], "there is no policy `BEST`");
    check_refused(1, &["simulate", JOB, "--traces", TRACES, "--column", "disk"], "bursty-and-spinner.csv`: ");
    let job = folder.path().join("job.toml");
    std::fs::write(&job, "format = 1\n[work]\nunits = 0\ncost = \"1s\"\n[[worker]]\nname = \"a\"\n").unwrap();
    check_refused(2, &["simulate", job.to_str().unwrap(), "--traces", TRACES], "there are no units of work");
}

/// A worker that ends with the test.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_worker_does_a_job_and_the_run_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretop-sched"));
    command.args(["worker", "--listen", "127.0.0.1:0", "--slots", "2", "--allow", "echo=/bin/echo"]);
    let mut worker = Worker(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(worker.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let place = line.trim().strip_prefix("listens at ").unwrap();
    let [job, kept] = ["job.toml", "kept"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let text = format!(
        "format = 1\n[work]\nunits = 7\ncost = \"10ms\"\n[command]\nname = \"echo\"\nargs = [\"{{unit}}\"]\n\
         [[worker]]\nname = \"here\"\nendpoint = \"source:{place}\"\n"
    );
    std::fs::write(&job, text).unwrap();
    let ended = run(&["run", &job, "--run", &kept]);
    let told = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "0\n1\n2\n3\n4\n5\n6\n", "{told}");
    assert!(told.contains("here is there: 2 at a time") && told.contains("the forecast of"), "{told}");
    let explained = String::from_utf8(run(&["explain", &kept]).stdout).unwrap();
    assert!(explained.starts_with("7 of 7 units are done") && explained.contains("here/1"), "{explained}");
    check_refused(1, &["explain", folder.path().to_str().unwrap()], "cannot keep or read the run in");
}
