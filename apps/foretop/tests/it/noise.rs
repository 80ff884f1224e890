//! `foretop mpi noise` on one host, without MPI and without its programs.

use mpi_run::{Measurement, Outcome};
use noise::Noise;
use noise::record::{Core, InjectedNoise, Late, Part, RankTimes, Row, kind};

use crate::command::{Ended, end_of, foretop};

/// With nothing of MPI to be found.
fn noise(arguments: &[&str]) -> Ended {
    let nowhere = tempfile::tempdir().unwrap();
    end_of(foretop().env("FORETOP_MPI_PROGRAMS", nowhere.path()).args(["mpi", "noise"]).args(arguments))
}

#[track_caller]
fn measured(arguments: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noise.jsonl");
    let out = ["--quiet", "--out", path.to_str().unwrap()];
    let printed = noise(&[arguments, &out].concat()).output();
    let outcome = Outcome::read(&path).unwrap();
    assert_eq!(outcome.header.mpi, "none");
    assert_eq!(printed.trim_end(), Noise.table(&outcome).unwrap().trim_end());
    outcome
}

#[track_caller]
fn check_refused(arguments: &[&str], words: &str) {
    let ended = noise(arguments);
    assert_eq!((ended.status, ended.stdout.as_str()), (2, ""), "{}", ended.stderr);
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
}

#[test]
fn a_host_is_watched_without_mpi() {
    let outcome = measured(&["--local", "--time", "400ms", "--inject", "200us/5ms"]);
    let cores: Vec<Core> = outcome.all(kind::CORE).unwrap();
    assert_eq!(cores.len(), 2 * outcome.header.ranks[0].cpus.len());
    let injected: Vec<InjectedNoise> = outcome.all(kind::INJECTED).unwrap();
    assert!(injected.iter().all(|noise| noise.injected.n_pulses > 0), "{injected:?}");
    // Pulses are detours that are found at all; how exactly is measured on an idle machine.
    assert!(cores.iter().any(|core| core.n_detours > 0 && core.lengths.max_ns >= 100_000.0), "{cores:?}");
    assert!(Noise.pictures(&outcome).unwrap().iter().any(|(name, _)| name.starts_with("spectrum-core-")));
}

/// What is counted fits together, whatever the load of this machine.
#[track_caller]
fn check_threads(is_apart: bool) {
    let arguments = ["--threads", "3", "--work", "1ms,allreduce", "--time", "200ms", "--inject", "200us/10ms"];
    let chosen = ["--inject-ranks", "2"];
    let more: &[&str] = if is_apart { &["--no-allreduce"] } else { &[] };
    let outcome = measured(&[&arguments[..], &chosen, more].concat());
    assert_eq!(outcome.header.ranks.iter().map(|place| place.rank).collect::<Vec<_>>(), [0, 1, 2]);
    let parts: Vec<Part> = outcome.all(kind::PART).unwrap();
    assert_eq!(parts.iter().map(|part| part.work.as_str()).collect::<Vec<_>>(), ["1ms", "allreduce"]);
    let late: Vec<Late> = outcome.all(kind::LATE).unwrap();
    let ranks: Vec<RankTimes> = outcome.all(kind::RANK).unwrap();
    for part in &parts {
        assert!(part.is_apart == is_apart && part.n_iterations >= 10, "{part:?}");
        let of_part: Vec<&RankTimes> = ranks.iter().filter(|rank| rank.work == part.work).collect();
        assert!(of_part.len() == 3 && of_part.iter().all(|rank| rank.iteration.count == part.n_iterations));
        // Who never meets has no communication.
        assert!(of_part.iter().all(|rank| (rank.communication.max_ns == 0.0) == is_apart));
        let rows = |row: Row| late.iter().filter(|late| late.work == part.work && late.row == row).count();
        assert_eq!(Row::ALL.map(rows), [4, if is_apart { 0 } else { 4 }, 4]);
    }
    let injected: Vec<InjectedNoise> = outcome.all(kind::INJECTED).unwrap();
    let places: Vec<&str> = injected.iter().map(|noise| noise.place.as_str()).collect();
    assert_eq!(places, ["rank 2, work 1ms", "rank 2, work allreduce"]);
}

#[test]
fn threads_of_one_process_meet_in_an_allreduce() {
    check_threads(false);
}

#[test]
fn threads_of_one_process_may_do_without_it() {
    check_threads(true);
}

#[test]
fn what_cannot_be_measured_is_refused_before_it_begins() {
    check_refused(&["--local", "--cpus", "60000"], "core 60000 is not allowed here");
    check_refused(&["--local", "--time", "0s"], "--time is 0");
    check_refused(&["--local", "--quantum", "100ns", "--time", "100ms"], "is too short for this clock");
    check_refused(&["--local", "--work", "2ms"], "cannot be used with");
    check_refused(&["--local", "--quick", "--time", "2s"], "cannot be used with");
    check_refused(&["--local", "--inject", "6ms/10ms"], "at least twice its length");
    check_refused(&["--threads", "0"], "0 is not in 1..=4096");
    check_refused(&["--threads", "2", "--local"], "cannot be used with");
    check_refused(&["--threads", "2", "--cpus", "0"], "cannot be used with");
    check_refused(&["--threads", "2", "--inject", "1ms/10ms", "--inject-ranks", "2"], "there is no rank 2");
}
