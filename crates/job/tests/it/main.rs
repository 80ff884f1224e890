//! Runs with real workers, on the loopback.

mod liar;
mod root;
mod tools;

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use job::{Allowed, Finished, Input, Limits, News, Outputs, RunError, Runner, Worker, run};
use sched::{Job, Spec, Work};
use secret::Token;
use stream::{Mirror, Running, Security};
use tempfile::TempDir;
use units::Confidence;

/// A worker, its place, and where its runs have their folders.
struct Hired {
    running: Running<Worker>,
    source: String,
    folder: TempDir,
}

fn hire(allowed: &[&str], security: Security) -> Hired {
    hire_in(tempfile::tempdir().unwrap(), allowed, security)
}

fn hire_in(folder: TempDir, allowed: &[&str], security: Security) -> Hired {
    let limits = Limits { n_slots: 1, run_bytes: 16 << 20, input_bytes: 1 << 20, folder: folder.path().to_owned() };
    let allowed = allowed.iter().map(|text| Allowed::new(text).unwrap()).collect();
    let mut mirror = Mirror::new("worker", Worker::new(allowed, limits).unwrap()).with_security(security);
    let at = mirror.add("server:tcp:0".parse().unwrap());
    let running = mirror.start().unwrap();
    let source = format!("source:{}", running.address(at).unwrap());
    Hired { running, source, folder }
}

fn runner(folder: &Path, n_units: usize, command: &str, workers: &[&Hired]) -> Runner {
    let workers: String = (0..)
        .zip(workers)
        .map(|(at, hired)| format!("[[worker]]\nname = \"w{at}\"\nendpoint = \"{}\"\n", hired.source))
        .collect();
    let text = format!("format = 1\n[work]\nunits = {n_units}\ncost = \"10ms\"\n[command]\n{command}\n{workers}");
    Runner {
        job: Job::read(&text).unwrap(),
        // Workers listen elsewhere the next time, and the job is the same.
        text: command.to_owned(),
        work: Work::new(vec![0.01; n_units]).unwrap(),
        stdin: Vec::new(),
        inputs: Vec::new(),
        policy: "CORRECTED".parse().unwrap(),
        folder: folder.join("run"),
        security: Security::default(),
        confidence: Confidence::new(0.8).unwrap(),
        lost_after: Duration::from_millis(300),
    }
}

fn text(outputs: &Outputs) -> String {
    let mut text = Vec::new();
    outputs.copy(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn done(runner: &Runner) -> (Finished, String) {
    let (finished, outputs) = run(runner, &|| false, &mut |_| {}).unwrap();
    (finished, text(&outputs))
}

fn numbers(n_units: usize) -> String {
    (0..n_units).map(|unit| format!("{unit}\n")).collect()
}

const ECHO: &str = "name = \"echo\"\nargs = [\"{unit}\"]";

#[test]
fn every_policy_has_all_units_done_and_puts_their_outputs_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let hired = [0; 2].map(|_| hire(&["echo=/bin/echo"], Security::default()));
    for policy in Spec::ALL {
        let mut runner = runner(folder.path(), 12, ECHO, &[&hired[0], &hired[1]]);
        (runner.policy, runner.folder) = (policy, folder.path().join(policy.to_string()));
        let (finished, told) = done(&runner);
        assert_eq!(told, numbers(12), "{policy}");
        assert_eq!(finished.parts.iter().map(|part| part.n_units).sum::<usize>(), 12);
    }
    // Workers are told to forget a run, by threads that may take a moment.
    for hired in hired {
        testkit::wait_until("runs leave nothing behind", testkit::PATIENCE, || {
            let mut folders = hired.folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name());
            (!folders.any(|name| name.to_string_lossy().starts_with("foretop-run-"))).then_some(())
        });
        hired.running.stop();
    }
}

#[test]
fn a_run_that_was_interrupted_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let hired = hire(&["echo=/bin/echo"], Security::default());
    let runner = runner(folder.path(), 30, ECHO, &[&hired]);
    let n_asked = Cell::new(0);
    let interrupted = || n_asked.replace(n_asked.get() + 1) >= 4;
    let ended = run(&runner, &interrupted, &mut |_| {}).map(|_| ());
    assert!(matches!(ended, Err(RunError::Interrupted)), "{ended:?}");
    assert_eq!(done(&runner).1, numbers(30));
    let (again, told) = done(&runner);
    assert_eq!((again.plan.is_none(), told), (true, numbers(30)), "nothing is done again");
}

#[test]
fn what_a_lost_worker_had_is_done_by_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let [stays, goes] = [0; 2].map(|_| hire(&["echo=/bin/echo"], Security::default()));
    let runner = runner(folder.path(), 40, ECHO, &[&stays, &goes]);
    let mut goes = Some(goes);
    let mut lost = Vec::new();
    let told = run(&runner, &|| false, &mut |news| match news {
        News::Planned { .. } => drop(goes.take().map(|goes| goes.running.stop())),
        News::Lost { worker, .. } => lost.push(worker.to_owned()),
        _ => {}
    });
    let (finished, outputs) = told.unwrap();
    assert_eq!((lost, text(&outputs)), (vec!["w1".to_owned()], numbers(40)));
    assert_eq!((finished.parts[0].n_units, finished.parts[1].n_units), (40, 0));
}

#[test]
fn what_waits_behind_a_unit_that_does_not_end_is_done_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let hired = [hire(&["do=/bin/echo"], Security::default()), hire(&["do=/bin/sleep"], Security::default())];
    // Numbers from here on take the sleeper for ever.
    let command = "name = \"do\"\nargs = [\"9{unit}\"]";
    let runner = runner(folder.path(), 12, command, &[&hired[0], &hired[1]]);
    let (finished, told) = done(&runner);
    assert_eq!(told, (0..12).map(|unit| format!("9{unit}\n")).collect::<String>());
    assert_eq!((finished.parts[0].n_units, finished.parts[1].n_units), (12, 0));
    assert!(finished.n_twins >= 2, "it was sent two at least: {}", finished.n_twins);
}

#[test]
fn two_runs_on_the_same_workers_do_not_meet() {
    let folder = tempfile::tempdir().unwrap();
    let hired = [0; 2].map(|_| hire(&["echo=/bin/echo"], Security::default()));
    let of = |name: &str, n_units: usize| {
        let mut runner = runner(folder.path(), n_units, ECHO, &[&hired[0], &hired[1]]);
        runner.folder = folder.path().join(name);
        done(&runner).1
    };
    let both = std::thread::scope(|scope| {
        let runs = [("first", 25), ("second", 35)].map(|(name, n_units)| scope.spawn(move || of(name, n_units)));
        runs.map(|run| run.join().unwrap())
    });
    assert_eq!(both, [numbers(25), numbers(35)]);
}

#[test]
fn a_unit_that_always_fails_ends_the_run_with_what_it_said() {
    let folder = tempfile::tempdir().unwrap();
    let hired = hire(&["sh=/bin/sh -c *"], Security::default());
    let command = "name = \"sh\"\nargs = [\"-c\", \"[ {unit} != 3 ] || { echo no such thing >&2; exit 7; }\"]";
    let ended = run(&runner(folder.path(), 5, command, &[&hired]), &|| false, &mut |_| {}).map(|_| ());
    let told = ended.unwrap_err().to_string();
    assert_eq!(told, "unit 3 failed 3 times, on w0 at last: it ended with status 7: no such thing");
}

#[track_caller]
fn check_nobody(hired: &Hired, command: &str, wanted: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut why = Vec::new();
    let ended = run(&runner(folder.path(), 5, command, &[hired]), &|| false, &mut |news| {
        if let News::Lost { why: told, .. } = news {
            why.push(told.to_owned());
        }
    });
    assert!(matches!(ended.map(|_| ()), Err(RunError::NoWorker)));
    assert!(why.len() == 1 && why[0].contains(wanted), "{why:?}");
}

#[test]
fn nothing_is_run_that_is_not_allowed() {
    let hired = hire(&["echo=/bin/echo"], Security::default());
    check_nobody(&hired, "name = \"sh\"", "it does not allow `sh`, only echo");
    check_nobody(
        &hired,
        "name = \"echo\"\nargs = [\"/etc/passwd\"]",
        "the argument `/etc/passwd` of `echo` is not allowed",
    );
    let token = Some(Token::new("a token of some length").unwrap());
    let guarded = hire(&["echo=/bin/echo"], Security { token, ..Security::default() });
    check_nobody(&guarded, ECHO, "token");
}

#[test]
fn a_unit_that_writes_too_much_fails() {
    let folder = tempfile::tempdir().unwrap();
    let hired = hire(&["sh=/bin/sh -c */*"], Security::default());
    let command = "name = \"sh\"\nargs = [\"-c\", \"head -c 20000000 /dev/zero\"]";
    let ended = run(&runner(folder.path(), 1, command, &[&hired]), &|| false, &mut |_| {}).map(|_| ());
    let told = ended.unwrap_err().to_string();
    assert!(told.contains("it wrote more than the worker's quota has room for: 16777216 bytes"), "{told}");
}

#[test]
fn units_read_inputs_that_come_once_and_what_is_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let hired = hire(&["cat=/bin/cat -"], Security::default());
    let path = folder.path().join("shared");
    std::fs::write(&path, "all read this\n").unwrap();
    let input = Input::new([path]).unwrap();
    let command = format!("name = \"cat\"\nargs = [\"{}\", \"-\"]", input.mark());
    for name in ["first", "second"] {
        let mut runner = runner(folder.path(), 3, &command, &[&hired]);
        runner.stdin = (0..3).map(|unit| format!("and {unit} this\n")).collect();
        (runner.inputs, runner.folder) = (vec![input.clone()], folder.path().join(name));
        let wanted: String = (0..3).map(|unit| format!("all read this\nand {unit} this\n")).collect();
        assert_eq!(done(&runner).1, wanted);
    }
}
