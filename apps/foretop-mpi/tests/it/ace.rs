//! foretop-ace. No test depends on how long anything takes: machines that run tests are shared, and ranks may share
//! cores.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use ace::Pattern;
use ace::record::{
    ANOMALY, APPLICATION, Anomaly, CELL, CLOCK, ClockResult, MODEL, Model, PING_PONG, POINT, Part, Planned, Point,
    RANK, RankResult, SWEEP, SweepResult,
};
use mpi_run::{Outcome, Placing, allowed_cpus};
use mpi_trace::Mode;
use procfs::process::Process;
use procfs::ticks_per_second;
use testkit::wait_until;

use crate::launch::{ACE, command, launch, turn};

/// Long enough for ranks that share cores with everything else.
const LIMIT: Duration = Duration::from_secs(120);

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn both_phases_are_measured_and_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let out = launch(
        ACE,
        2,
        &["--load", "20", "--size", "4KiB", "--iterations", "50", "--quick", "--quiet", "--out", text(&path)],
    )
    .out();
    assert!(out.contains("application a1: ring, blocking, 4KiB a message, load 20 %, 2 ranks, 50 cycles"), "{out}");

    let outcome = Outcome::read(&path).unwrap();
    let points: Vec<Point> = outcome.all(POINT).unwrap();
    assert!(points.iter().all(|point| point.span_ns > 0.0));
    assert_eq!(
        points.iter().filter(|point| point.what == "ring").map(|point| point.size_bytes).collect::<Vec<_>>(),
        [4_096]
    );
    let models: Vec<Model> = outcome.all(MODEL).unwrap();
    assert_eq!(models.iter().map(|model| model.what.as_str()).collect::<Vec<_>>(), [PING_PONG]);

    let plans: Vec<Planned> = outcome.all(APPLICATION).unwrap();
    let predicted = &plans[0].predicted;
    assert!((predicted.communication_ns / predicted.cycle_ns - 0.2).abs() < 1e-9);
    assert!((predicted.compute_ns + predicted.communication_ns - predicted.cycle_ns).abs() < 1e-6);
    assert!((predicted.run_ns - 50.0 * (predicted.cycle_ns + predicted.synchronization_ns)).abs() < 1.0);

    let ranks: Vec<RankResult> = outcome.all(RANK).unwrap();
    assert_eq!(ranks.iter().map(|rank| (rank.rank, rank.world_rank)).collect::<Vec<_>>(), [(0, 0), (1, 1)]);
    for rank in &ranks {
        for part in [&rank.cycle, &rank.compute, &rank.synchronization, &rank.communication] {
            assert_eq!(part.count, 50);
        }
        let parts_ns = rank.compute.mean_ns + rank.synchronization.mean_ns + rank.communication.mean_ns;
        assert!((rank.cycle.mean_ns - parts_ns).abs() < 1.0, "{rank:?}");
        assert!((rank.run_ns - 50.0 * rank.cycle.mean_ns).abs() < 100.0, "{rank:?}");
        let error = 100.0 * (rank.run_ns / rank.benchmarked_once.run_ns - 1.0);
        assert!((rank.benchmarked_once.error_percent - error).abs() < 1e-6);
        assert!((rank.benchmarked_once.run_ns / predicted.run_ns - 1.0).abs() < 1e-9);
    }
    let clocks: Vec<ClockResult> = outcome.all(CLOCK).unwrap();
    assert!(clocks.len() == 2 && clocks.iter().all(|clock| clock.cycle_overhead_ns.unwrap() > 0.0));
}

/// Messages on both sides of the size from which libraries wait for the receiver.
fn check_every_pattern(mode: Mode) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.jsonl");
    let patterns: Vec<Pattern> = Pattern::ALL
        .into_iter()
        .filter(|pattern| *pattern != Pattern::Halo3d && (mode == Mode::Blocking || !pattern.is_collective()))
        .collect();
    let names: Vec<String> = patterns.iter().map(ToString::to_string).collect();
    let arguments = ["sweep", "--sizes", "1B,256KiB", "--loads", "50", "--iterations", "3", "--quick", "--quiet"];
    let more = ["--patterns", &names.join(","), "--mode", mode.name(), "--out", text(&path)];
    launch(ACE, 4, &[&arguments[..], &more[..]].concat()).out();
    let results: Vec<SweepResult> = Outcome::read(&path).unwrap().all(SWEEP).unwrap();
    let seen: BTreeSet<(Pattern, u64)> =
        results.iter().map(|result| (result.key.pattern, result.key.size_bytes)).collect();
    assert_eq!(seen.len(), 2 * patterns.len(), "{seen:?}");
    assert!(results.iter().all(|result| result.n_ranks == 4 && result.run_ns > 0.0));
}

#[test]
fn every_pattern_ends_with_blocking_sends_of_any_size() {
    check_every_pattern(Mode::Blocking);
}

#[test]
fn every_point_to_point_pattern_ends_with_non_blocking_sends() {
    check_every_pattern(Mode::NonBlocking);
}

#[test]
fn every_point_to_point_pattern_ends_with_sends_that_wait_for_their_receives() {
    check_every_pattern(Mode::Synchronous);
}

#[test]
fn applications_of_a_file_share_the_ranks_as_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let (config, path) = (folder.path().join("apps.toml"), folder.path().join("run.jsonl"));
    let of_example = include_str!("../../../../examples/mpi/two-applications.toml");
    fs::write(&config, of_example.replace("1000", "7").replace("500", "9")).unwrap();
    launch(ACE, 4, &["--config", text(&config), "--quick", "--quiet", "--out", text(&path)]).out();
    let outcome = Outcome::read(&path).unwrap();
    let plans: Vec<Planned> = outcome.all(APPLICATION).unwrap();
    let told: Vec<_> =
        plans.iter().map(|plan| (plan.application.name.as_str(), plan.world_ranks.clone(), plan.n_cycles)).collect();
    assert_eq!(told, [("solver", vec![0, 2], 7), ("shuffle", vec![1, 3], 9)]);
    assert!(plans[1].size_max_bytes as f64 > plans[1].size_mean_bytes);
    let ranks: Vec<RankResult> = outcome.all(RANK).unwrap();
    assert_eq!(ranks.iter().map(|rank| rank.world_rank).collect::<Vec<_>>(), [0, 2, 1, 3]);
}

#[test]
fn what_makes_no_sense_is_told_once_and_nothing_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let (typo, twice) = (folder.path().join("typo.toml"), folder.path().join("twice.toml"));
    let application = "[[application]]\nname = \"a\"\npattern = \"ring\"\nsize = \"1KiB\"\nload_percent = 50\n";
    fs::write(&typo, format!("{application}iteratons = 5\n")).unwrap();
    fs::write(&twice, format!("{application}iterations = 5\ntime = \"1s\"\n")).unwrap();
    let cases: [(u32, &[&str], &str); 10] = [
        (1, &[], "ring does not fit 1 ranks: it needs at least 2; 2 would fit"),
        (2, &["--load", "0"], "load 0 is not from 1 to 95"),
        (2, &["--load", "100"], "load 100 is not from 1 to 95"),
        (
            2,
            &["--pattern", "halo-2d"],
            "halo-2d does not fit 2 ranks: it needs a product of two numbers from 2 up; 4 would fit",
        ),
        (2, &["--size", "2GiB"], "MPI counts the bytes of a message with 32 bits"),
        (2, &["--pattern", "alltoall", "--size", "1.5GiB"], "MPI counts them with 32 bits"),
        (
            2,
            &["--pattern", "gather", "--mode", "synchronous"],
            "gather is a collective operation, which has no synchronous mode",
        ),
        (2, &["--iterations", "5", "--time", "1s"], "cannot be used with"),
        (2, &["--config", text(&typo)], "unknown field `iteratons`"),
        (2, &["--config", text(&twice)], "has both iterations and a time"),
    ];
    for (n_ranks, arguments, told) in cases {
        let ended = launch(ACE, n_ranks, arguments);
        assert_eq!(ended.status, Some(2), "{arguments:?}: {}", ended.err);
        assert_eq!(ended.err.matches(told).count(), 1, "{arguments:?}: {}", ended.err);
        assert_eq!(ended.out, "", "{arguments:?}");
    }
}

#[test]
fn a_sweep_that_broke_off_goes_on_after_its_last_whole_cell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.jsonl");
    let sweep = |loads: &str| {
        let arguments = [
            "sweep",
            "--loads",
            loads,
            "--sizes",
            "1KiB",
            "--iterations",
            "2",
            "--quick",
            "--quiet",
            "--out",
            text(&path),
        ];
        launch(ACE, 2, &arguments)
    };
    sweep("10,50").out();
    let whole = fs::read_to_string(&path).unwrap();
    let first_cell = whole.find("\"ace.cell\"").unwrap();
    let kept = first_cell + whole[first_cell..].find('\n').unwrap() + 1;
    // The second cell broke off in the middle of a line.
    fs::write(&path, &whole[..kept + 300]).unwrap();

    let refused = sweep("10,80");
    assert_eq!(refused.status, Some(2), "{}", refused.err);
    assert!(refused.err.contains("other arguments"), "{}", refused.err);

    sweep("10,50").out();
    let resumed = fs::read_to_string(&path).unwrap();
    assert_eq!(resumed[..kept], whole[..kept], "the first cell was left as it was");
    let outcome = Outcome::read(&path).unwrap();
    assert_eq!(outcome.records.iter().filter(|(kind, _)| kind == CELL).count(), 2);
    assert_eq!(
        outcome.all::<SweepResult>(SWEEP).unwrap().iter().map(|result| result.key.load_percent).collect::<Vec<_>>(),
        [10.0, 50.0]
    );
}

#[test]
fn a_rank_that_dies_ends_all_and_leaves_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let arguments = ["--size", "1KiB", "--time", "10min", "--quick", "--quiet", "--out", text(&path)];
    let mut launched = command(ACE, &Placing { n_ranks: 2, ..Placing::default() }, &arguments);
    let _turn = turn();
    let mut launcher = launched.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("phase two", LIMIT, || {
        fs::read_to_string(&path).ok().filter(|text| text.contains("\"ace.application\""))
    });
    let rank = wait_until("a rank", LIMIT, || descendants_running(launcher.id(), ACE).pop());
    let killed = std::process::Command::new("kill").args(["-9", &rank.to_string()]).status().unwrap();
    assert!(killed.success());
    let status = wait_until("the launcher's end", LIMIT, || launcher.try_wait().unwrap());
    assert!(!status.success());
    let outcome = Outcome::read(&path).unwrap();
    assert_eq!(outcome.all::<Planned>(APPLICATION).unwrap().len(), 1);
    assert_eq!(outcome.all::<RankResult>(RANK).unwrap(), []);
}

/// Processes below `ancestor` that run `program`.
fn descendants_running(ancestor: u32, program: &str) -> Vec<u32> {
    let program = fs::canonicalize(program).unwrap();
    let parent_of = |pid: u32| -> Option<u32> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
    };
    let is_below = |pid: u32| std::iter::successors(Some(pid), |&pid| parent_of(pid)).any(|pid| pid == ancestor);
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.into_iter()
        .filter(|&pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program) && is_below(pid))
        .collect()
}

/// A process that does nothing but compute, until it is dropped.
struct Neighbour(Child);

impl Neighbour {
    /// The kernel calls a process what the file is called that it was started from.
    fn start(folder: &Path, name: &str) -> Self {
        let shell = folder.join(name);
        if !shell.exists() {
            std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
        }
        Self(std::process::Command::new(shell).args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Neither waits nor exchanges nor pairs, which all end when a time slice does.
fn check_nobody_is_blamed(outcome: &Outcome) {
    let anomalies: Vec<Anomaly> = outcome.all(ANOMALY).unwrap();
    assert!(anomalies.iter().all(|anomaly| anomaly.part == Part::Compute), "{anomalies:?}");
}

#[test]
fn a_busy_neighbour_is_named_and_no_pair_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let arguments = ["--size", "64KiB", "--time", "500ms", "--quick", "--quiet", "--out", text(&path)];
    let mut launcher = command(ACE, &Placing { n_ranks: 2, ..Placing::default() }, &arguments);
    let ended = {
        let _turn = turn();
        // One for each core, so that there is none on which ranks are alone.
        let _neighbours: Vec<Neighbour> =
            allowed_cpus().iter().map(|_| Neighbour::start(folder.path(), "busy-neighbour")).collect();
        launcher.output().unwrap()
    };
    let out = String::from_utf8_lossy(&ended.stdout);
    assert!(out.contains("  off core: rank "), "{out}\n{ended:?}");
    assert!(out.contains("`busy-neighbour` (process "), "{out}");
    check_nobody_is_blamed(&Outcome::read(&path).unwrap());
}

#[test]
fn a_rank_that_was_stopped_for_a_while_was_off_its_core() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    // Exchanges so long that what a cycle has beside them hardly counts: the run takes about as long as it was to, and
    // says more than once how far it is.
    let arguments = ["--size", "1MiB", "--time", "8s", "--quick", "--out", text(&path)];
    let mut launched = command(ACE, &Placing { n_ranks: 2, ..Placing::default() }, &arguments);
    let _turn = turn();
    let mut launcher = launched.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(launcher.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(told.any(|line| line.contains("phase two, cycles: ")), "no line tells that phase two's clock runs");
    let ranks = descendants_running(launcher.id(), ACE);
    let signal = |name: &str| {
        let sent = std::process::Command::new("kill").args([name, &ranks[0].to_string()]).status().unwrap();
        assert!(sent.success());
    };
    let other = Process::new(ranks[1].cast_signed()).unwrap();
    let ticks = || other.stat().unwrap().utime + other.stat().unwrap().stime;
    signal("-STOP");
    // It computes, or waits by computing: the rank that was stopped is away for this second at least.
    let until = ticks() + ticks_per_second();
    wait_until("a second of the other rank", LIMIT, || (ticks() >= until).then_some(()));
    signal("-CONT");
    told.for_each(drop);
    assert!(wait_until("the launcher's end", LIMIT, || launcher.try_wait().unwrap()).success());
    let outcome = Outcome::read(&path).unwrap();
    // The rank tells how far it is between two blocks, where nothing is measured; it may not have begun the next one
    // when it was stopped.
    let away_ns: Vec<f64> = outcome
        .all::<RankResult>(RANK)
        .unwrap()
        .iter()
        .map(|rank| rank.away.unwrap().run_ratio * rank.run_ns + rank.between_blocks_ns)
        .collect();
    assert!(away_ns.iter().any(|away_ns| *away_ns > 0.9e9), "{away_ns:?}");
    check_nobody_is_blamed(&outcome);
}

#[test]
fn a_trace_becomes_an_application_without_a_launcher() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, config) = (folder.path().join("trace.csv"), folder.path().join("apps.toml"));
    let mut rows = "rank,start_ns,end_ns,call,peer,size_bytes\n".to_owned();
    for cycle in 0..5 {
        let start = cycle * 5_000_000;
        for (rank, peer) in [(0, 1), (1, 0)] {
            let (first, second) = if rank == 0 { ("MPI_Send", "MPI_Recv") } else { ("MPI_Recv", "MPI_Send") };
            rows += &format!("{rank},{},{},{first},{peer},4096\n", start + 4_000_000, start + 4_500_000);
            rows += &format!("{rank},{},{},{second},{peer},4096\n", start + 4_500_000, start + 5_000_000);
        }
    }
    fs::write(&trace, rows).unwrap();
    let launched = launch(ACE, 2, &["fit", text(&trace)]);
    assert!(launched.status == Some(2) && launched.err.contains("started by an MPI launcher"), "{}", launched.err);
    let fitted = std::process::Command::new(ACE).args(["fit", text(&trace)]).output().unwrap();
    assert!(fitted.status.success(), "{}", String::from_utf8_lossy(&fitted.stderr));
    fs::write(&config, &fitted.stdout).unwrap();
    let out = launch(ACE, 2, &["--config", text(&config), "--quick", "--quiet"]).out();
    assert!(out.contains("4KiB a message"), "{out}");
}
