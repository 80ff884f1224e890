//! Folders as programs leave them: good ones, broken ones, dead ones.

use std::fs;

use mpi_job::{Process, RingFile};
use mpi_trace::{Operation, RingHeader, RingKind};
use tempfile::TempDir;
use testkit::mpi::{CAPACITY, Program, TREE, ring};
use units::Timestamp;

use super::*;

/// Jobs in a folder of their own, and a clock that stands still.
struct World {
    root: TempDir,
    clock: Arc<clock::Manual>,
    jobs: Jobs,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let clock = Arc::new(clock::Manual::at(Timestamp::from_nanos(1_800_000_000_000_000_000)));
        let place = root.path().join("jobs");
        let jobs = Jobs::new(place, "here".into(), Arc::clone(&clock) as Arc<dyn Clock>, Watch::default());
        Self { root, clock, jobs }
    }

    fn folder(&self, job: &str) -> Folder {
        Folder::create(&self.root.path().join("jobs").join(job)).unwrap()
    }

    /// Does the followers' own work of each quarter of a second.
    fn poll(&self) {
        self.clock.pass(Duration::from_secs(1));
        for one in self.jobs.followed.lock().unwrap().values() {
            one.place.lock().as_mut().unwrap().poll(self.clock.monotonic());
        }
    }
}

#[test]
fn a_job_that_somebody_looks_at_is_seen_from_what_its_rings_hold_on() {
    let world = World::new();
    let program = Program::start(&world.folder("heat"));
    program.run(0..50);
    let seen = world.jobs.detail("heat").unwrap();
    let analysis = &seen.analyses[0];
    assert_eq!((analysis.tree.as_str(), analysis.n_calls, analysis.n_incomplete), ("flat", 50, 0));
    let culprit =
        "Rank 2 keeps the others waiting: at root it is last in 100 % of calls, and they wait 1.00 ms on average.";
    assert_eq!(analysis.culprit.as_deref(), Some(culprit));
    assert_eq!((seen.n_read, seen.n_lost, seen.n_left_out), (50 * 7, 0, 0));
    assert_eq!((seen.about.n_ranks, seen.about.ranks, seen.about.is_running), (3, vec![0, 1, 2], true));
    let [allreduce] = &seen.operations[..] else { panic!("{:?}", seen.operations) };
    assert_eq!((allreduce.operation.as_str(), allreduce.n_calls, allreduce.size_bytes), ("MPI_Allreduce", 150, 1200));
    // Of 4 ms, two ranks are in the call for 2 and one for 1; the last call has nothing after it.
    assert!((allreduce.time_ratio - 5.0 / 12.0).abs() < 0.01, "{}", allreduce.time_ratio);
    assert_eq!(seen.calls_per_second, 0.0);

    program.run(50..150);
    world.poll();
    let seen = world.jobs.detail("heat").unwrap();
    assert_eq!((seen.analyses[0].n_calls, seen.calls_per_second, seen.records_per_second), (150, 300.0, 700.0));
    assert_eq!(seen.by_rank[2].n_calls, 150);
    assert_eq!(world.jobs.analysis("heat", None, None).unwrap().n_calls, 150);
    assert_eq!(world.jobs.analysis("heat", Some("flat"), Some(Flow::All)).unwrap().n_calls, 150);
    let error = world.jobs.analysis("heat", Some("deep"), None).unwrap_err().to_string();
    assert_eq!(error, "the job has no tree `deep`; there is flat");
    let error = world.jobs.analysis("heat", None, Some(Flow::ToRoot)).unwrap_err();
    assert!(matches!(error, JobsError::UnknownFlow { .. }), "{error}");
}

#[test]
fn calls_of_each_flow_have_figures_of_their_own() {
    let world = World::new();
    let program = Program::start(&world.folder("heat"));
    program.run(0..20);
    program.call(Operation::REDUCE, 20..50, 1_000_000);
    program.call(Operation::BCAST, 50..60, 0);
    let seen = world.jobs.detail("heat").unwrap();
    let flows: Vec<_> = seen.analyses.iter().map(|one| (one.tree.as_str(), one.flow, one.n_calls)).collect();
    let of = |flow, n_calls| ("flat", flow, n_calls);
    assert_eq!(flows, [of(api::MpiFlow::ToRoot, 30), of(api::MpiFlow::All, 20), of(api::MpiFlow::FromRoot, 10)]);
    assert_eq!(seen.analyses[0].operations, BTreeMap::from([("MPI_Reduce".to_owned(), 30)]));
    assert_eq!(world.jobs.analysis("heat", None, None).unwrap().flow, Flow::ToRoot);
    assert_eq!(world.jobs.analysis("heat", None, Some(Flow::FromRoot)).unwrap().n_calls, 10);
}

#[test]
fn a_stage_above_its_forecast_is_told_for_a_while() {
    let world = World::new();
    let program = Program::start(&world.folder("heat"));
    program.run(0..10);
    let slow = || world.jobs.detail("heat").unwrap().analyses[0].slow.clone();
    let interval = |calls: std::ops::Range<u32>, late_ns: u64| {
        program.run_late(calls, late_ns);
        (0..4).for_each(|_| world.poll());
        // Somebody goes on looking.
        slow()
    };
    let mut calls = (1..).map(|turn| 10 * turn..10 * turn + 10);
    for calls in calls.by_ref().take(15) {
        assert_eq!(interval(calls, 1_000_000), []);
    }
    let told = interval(calls.next().unwrap(), 5_000_000);
    // Both that come in time wait for the third.
    let about = |slow: &api::MpiSlow| (slow.part.clone(), slow.contributor, slow.mean_seconds, slow.expected_seconds);
    let wait = |contributor| ("arrival wait".to_owned(), Some(contributor), 0.005, 0.001);
    assert_eq!(told.iter().map(about).collect::<Vec<_>>(), [wait(0), wait(1)]);
    assert!(told.iter().all(|slow| slow.is_wait && slow.ago_seconds == 1.0 && slow.upper_seconds < 0.005), "{told:?}");
    interval(calls.next().unwrap(), 1_000_000);
    assert_eq!(slow()[0].ago_seconds, 5.0);
    calls.take(8).for_each(|calls| drop(interval(calls, 1_000_000)));
    assert_eq!(slow(), []);
}

#[test]
fn what_is_overwritten_before_it_is_read_is_counted() {
    let world = World::new();
    let program = Program::start(&world.folder("heat"));
    program.run(0..10);
    world.jobs.detail("heat").unwrap();
    program.run(10..2_010);
    world.poll();
    let seen = world.jobs.detail("heat").unwrap();
    assert_eq!(seen.n_read + seen.n_lost, 7 * 2_010);
    // The first rank writes twice as many stages as the others, so that its ring holds half as many calls.
    assert!(seen.n_lost > 0 && seen.analyses[0].n_calls >= 10 + CAPACITY / 2 - 1, "{}", seen.analyses[0].n_calls);
}

#[test]
fn a_job_is_followed_until_nobody_asks() {
    let world = World::new();
    Program::start(&world.folder("heat")).run(0..1);
    world.jobs.detail("heat").unwrap();
    let place = Arc::clone(&world.jobs.followed.lock().unwrap()["heat"].place);
    world.clock.pass(FOLLOW_FOR + Duration::from_secs(1));
    let is_over = || place.lock().is_none().then_some(());
    testkit::wait_until("the job is given up", testkit::PATIENCE, is_over);
    assert_eq!(world.jobs.detail("heat").unwrap().watched_seconds, 0.0);
}

#[test]
fn at_most_eight_jobs_are_followed() {
    let world = World::new();
    let jobs: Vec<String> = (0..=N_FOLLOWED_MAX).map(|job| format!("job-{job}")).collect();
    let _rings: Vec<_> = jobs.iter().map(|job| ring(&world.folder(job), RingKind::Calls, 0)).collect();
    jobs[..N_FOLLOWED_MAX].iter().for_each(|job| drop(world.jobs.detail(job).unwrap()));
    assert!(matches!(world.jobs.detail(&jobs[N_FOLLOWED_MAX]), Err(JobsError::TooMany)));
    assert!(world.jobs.detail(&jobs[0]).is_ok());
}

#[test]
fn broken_folders_are_shown_as_what_they_are() {
    let world = World::new();
    let folder = world.folder("broken");
    let rings: Vec<RingFile> = [RingKind::Calls, RingKind::Stages].map(|kind| ring(&folder, kind, 0)).into();
    fs::write(folder.path().join("calls-1-0.ring"), [7; 9_000]).unwrap();
    fs::write(folder.path().join("tree.toml"), "format = 2").unwrap();
    fs::write(folder.path().join("rank-0.jsonl"), "\u{0}nonsense").unwrap();
    let seen = world.jobs.detail("broken").unwrap();
    assert_eq!(seen.about.problems.len(), 3, "{:?}", seen.about.problems);
    assert!(seen.about.problems[1].starts_with("tree.toml: this file has format 2"), "{:?}", seen.about.problems);
    assert!(seen.analyses.is_empty() && seen.about.program.is_none());

    // The file is mended, and found at the next look.
    folder.set_tree(TREE).unwrap();
    (0..=8).for_each(|_| world.poll());
    let seen = world.jobs.detail("broken").unwrap();
    assert_eq!((seen.about.problems.len(), seen.analyses.len()), (1, 1), "{:?}", seen.about.problems);
    drop(rings);

    world.folder("empty");
    fs::write(world.root.path().join("jobs/file"), "").unwrap();
    let listed: Vec<String> = world.jobs.list().unwrap().jobs.into_iter().map(|job| job.job).collect();
    assert_eq!(listed, ["broken"]);
    for job in ["empty", "file", "none", "..", "../jobs/broken", ""] {
        assert!(matches!(world.jobs.detail(job), Err(JobsError::UnknownJob { .. })), "{job}");
    }
}

#[test]
fn dead_jobs_are_listed_last_and_shown_as_ended() {
    let world = World::new();
    let dead = world.folder("a-dead-one");
    let this = Process::this();
    let header =
        RingHeader { pid_started: this.started - 1, ..ring(&world.folder("running"), RingKind::Calls, 0).header };
    dead.create_ring(CAPACITY, &header).unwrap();
    let listed = world.jobs.list().unwrap().jobs;
    let jobs: Vec<(&str, bool)> = listed.iter().map(|job| (job.job.as_str(), job.is_running)).collect();
    assert_eq!(jobs, [("running", true), ("a-dead-one", false)]);
    assert!(!world.jobs.detail("a-dead-one").unwrap().about.is_running);
}

#[test]
fn a_job_whose_folder_goes_while_somebody_looks_stays_as_it_was() {
    let world = World::new();
    let folder = world.folder("heat");
    let program = Program::start(&folder);
    program.run(0..5);
    world.jobs.detail("heat").unwrap();
    folder.remove().unwrap();
    (0..=8).for_each(|_| world.poll());
    let seen = world.jobs.detail("heat").unwrap();
    assert_eq!((seen.about.is_running, seen.analyses[0].n_calls), (false, 5));
}
