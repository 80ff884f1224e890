//! Scopes as files.

use std::sync::Arc;
use std::time::Duration;

use clock::{Clock, Manual};
use event_space::{LoadBalance, Opened, Pull, Scope, Tuple};
use mpi_trace::Subject;
use units::Timestamp;

use crate::space::Job;

fn here(job: &Job, host: usize) -> Opened {
    Opened::Here(Box::new(job.read(host)))
}

const LAST: &str = r#"
format = 1

[[stage]]
name = "h0"
read = "h0"
filter = { operation = "MPI_Allreduce" }
reduce = "last-arrival"

[[stage]]
name = "h1"
read = "h1"
reduce = "last-arrival"
scatter = 8

[[stage]]
name = "front-end"
gather = ["h0", "h1"]
helpers = 2
every = "10ms"
"#;

#[test]
fn a_file_says_what_a_monitor_pulls_and_how_often() {
    let job = Job::new(2, 1 << 10);
    let manual = Arc::new(Manual::at(Timestamp::from_nanos(0)));
    let clock: Arc<dyn Clock> = Arc::clone(&manual) as Arc<dyn Clock>;
    let scope = Scope::parse(LAST).unwrap();
    let (last, buffers) = scope.build(&job.tree, &job.hosts, &clock, &mut |host, _| here(&job, host)).unwrap();
    let mut monitor = LoadBalance::new(last);
    job.call(0, 3);
    assert_eq!((monitor.step(), monitor.weights[&job.entry(3)]), (3, 1));
    job.call(1, 3);
    assert_eq!(monitor.step(), 0, "it pulled again at once");
    manual.pass(Duration::from_millis(10));
    assert_eq!((monitor.step(), monitor.weights[&job.entry(3)]), (3, 2));
    // Other monitors read what passed on the way.
    let mut seen: Vec<Tuple> = Vec::new();
    buffers["h1"].reader().pull(&mut seen);
    let is_entry =
        |tuple: &Tuple| matches!(tuple.event.subject, Subject::Stage { collector, .. } if collector == job.entry(3));
    assert!(seen.len() == 2 && seen.iter().all(is_entry), "{seen:?}");
}

#[test]
fn spans_in_place_of_stamps() {
    let job = Job::new(1, 1 << 10);
    let clock: Arc<dyn Clock> = Arc::new(Manual::at(Timestamp::from_nanos(0)));
    let scope = Scope::parse(
        "format = 1\n[[stage]]\nname = \"a\"\nread = \"h0\"\nfilter = { collectors = [0] }\nconvert = \"span\"\n",
    );
    let (mut last, _) = scope.unwrap().build(&job.tree, &job.hosts, &clock, &mut |host, _| here(&job, host)).unwrap();
    job.call(0, 1);
    let mut taken = Vec::new();
    last.pull(&mut taken);
    assert!(taken.len() == 1 && taken[0].event.start == 0 && taken[0].event.end > 0, "{taken:?}");
}

#[track_caller]
fn check_refused(text: &str, told: &str) {
    let job = Job::new(2, 64);
    let clock: Arc<dyn Clock> = Arc::new(Manual::at(Timestamp::from_nanos(0)));
    let built = Scope::parse(text)
        .and_then(|scope| scope.build(&job.tree, &job.hosts, &clock, &mut |host, _| here(&job, host)).map(drop));
    let error = built.unwrap_err().to_string();
    assert!(error.contains(told), "`{told}` is not in: {error}");
}

#[test]
fn files_that_make_no_sense_are_refused() {
    let stage = |keys: &str| format!("format = 1\n[[stage]]\nname = \"a\"\n{keys}\n");
    check_refused("format = 2\nstage = []", "the format is 2");
    check_refused("format = 1\nstage = []", "a scope has at least one");
    check_refused(&stage(""), "either `read` or `gather`");
    check_refused(&stage("read = \"nowhere\""), "no host `nowhere`");
    check_refused(&stage("gather = [\"a\"]"), "`a` is no stage before it");
    check_refused(&stage("read = \"h0\"\nhelpers = 1"), "1 helpers");
    check_refused(&stage("gather = []\nhelpers = 65"), "65 helpers");
    check_refused(&stage("read = \"h0\"\nevery = \"10\""), "stage `a`");
    check_refused(&stage("read = \"h0\"\nscatter = 0"), "a buffer of 0 tuples");
    check_refused(&stage("read = \"h0\"\nfilter = { operation = \"MPI_Sing\" }"), "`MPI_Sing` is no MPI call");
    check_refused(&stage("read = \"h0\"\nat = \"h1\""), "only a stage that gathers");
    check_refused(
        &stage("read = \"h0\"\n[[stage]]\nname = \"b\"\nread = \"h1\""),
        "stage `a`: no later stage gathers it",
    );
}

#[test]
fn the_example_of_the_format_is_a_scope() {
    let page = include_str!("../../../../docs/formats/event-scope.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    Scope::parse(example).unwrap();
}
