//! foretop-noise.

use std::process::Command;

use mpi_run::{Measurement, Outcome};
use noise::Noise;
use noise::record::{Core, InjectedNoise, Late, NodeLate, Part, RankTimes, Row, kind};

use crate::launch::{Ended, NOISE, launch};

fn alone(arguments: &[&str]) -> Ended {
    let output = Command::new(NOISE).args(arguments).output().expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

#[track_caller]
fn check_refused(ended: &Ended, words: &str) {
    assert_eq!(ended.status, Some(2), "{}", ended.err);
    assert_eq!(ended.err.matches(words).count(), 1, "{}", ended.err);
    assert_eq!(ended.out, "");
}

/// Two parts on two ranks with noise on one of them: what is counted fits together, whatever the load of this machine.
#[test]
fn iterations_are_counted_on_all_ranks_and_noise_is_made_where_it_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noise.jsonl");
    let arguments = ["--work", "1ms,allreduce", "--time", "300ms", "--threshold", "2ms,5ms", "--inject", "200us/10ms"];
    let out = ["--inject-ranks", "1", "--quiet", "--out", path.to_str().unwrap()];
    let printed = launch(NOISE, 2, &[&arguments[..], &out[..]].concat()).out();
    let outcome = Outcome::read(&path).unwrap();
    assert_eq!(printed.trim_end(), Noise.table(&outcome).unwrap().trim_end());

    let parts: Vec<Part> = outcome.all(kind::PART).unwrap();
    assert_eq!(parts.iter().map(|part| part.work.as_str()).collect::<Vec<_>>(), ["1ms", "allreduce"]);
    let late: Vec<Late> = outcome.all(kind::LATE).unwrap();
    let nodes: Vec<NodeLate> = outcome.all(kind::NODE).unwrap();
    let ranks: Vec<RankTimes> = outcome.all(kind::RANK).unwrap();
    for part in &parts {
        assert!(part.n_iterations >= 10, "{part:?}");
        let of_ranks: Vec<&RankTimes> = ranks.iter().filter(|rank| rank.work == part.work).collect();
        assert_eq!(of_ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>(), [0, 1]);
        assert!(of_ranks.iter().all(|rank| rank.iteration.count == part.n_iterations));
        for row in Row::ALL {
            let of_row: Vec<&Late> = late.iter().filter(|late| late.work == part.work && late.row == row).collect();
            assert_eq!(of_row.len(), 3);
            // A higher threshold has no more iterations, and no rank loses more than the run took.
            let is_falling =
                |pair: &[&Late]| pair[0].threshold_ns < pair[1].threshold_ns && pair[0].n_late >= pair[1].n_late;
            assert!(of_row.windows(2).all(is_falling), "{of_row:?}");
            assert!(of_row.iter().all(|late| late.n_late <= part.n_iterations));
            assert!(of_row.iter().all(|late| late.lost_ratio.is_some() == (row == Row::Iteration)));
            assert!(of_row.iter().all(|late| late.lost_ratio.is_none_or(|ratio| ratio <= 1.000_001)), "{of_row:?}");
            // Both ranks are on one host, so that its late iterations are all there are.
            let of_host: Vec<u64> =
                nodes.iter().filter(|node| node.work == part.work && node.row == row).map(|node| node.n_late).collect();
            assert_eq!(of_host, of_row.iter().map(|late| late.n_late).collect::<Vec<_>>());
        }
    }
    let injected: Vec<InjectedNoise> = outcome.all(kind::INJECTED).unwrap();
    assert_eq!(
        injected.iter().map(|noise| noise.place.as_str()).collect::<Vec<_>>(),
        ["rank 1, work 1ms", "rank 1, work allreduce"]
    );
    assert!(
        injected.iter().all(|noise| noise.injected.n_pulses > 0 && noise.injected.mean_length_ns >= 200_000.0),
        "{injected:?}"
    );
    let names: Vec<String> = Noise.pictures(&outcome).unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["time-0", "time-1", "late-1ms", "late-allreduce"]);
}

#[test]
fn plans_that_make_no_sense_are_refused_by_one_rank() {
    check_refused(&launch(NOISE, 2, &["--threshold", "5ms,2ms"]), "threshold 2ms does not exceed the one before it");
    check_refused(&launch(NOISE, 2, &["--inject", "1ms/10ms", "--inject-ranks", "2"]), "there is no rank 2");
}

#[test]
fn a_launcher_and_a_run_without_mpi_contradict_each_other() {
    check_refused(&launch(NOISE, 2, &["--local", "--time", "1s"]), "started by an MPI launcher");
}

#[test]
fn a_host_is_watched_without_a_launcher() {
    let out = alone(&["--local", "--time", "400ms", "--inject", "200us/5ms", "--quiet", "--format", "json"]).out();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("local.jsonl");
    std::fs::write(&path, out).unwrap();
    let outcome = Outcome::read(&path).unwrap();
    assert_eq!(outcome.header.mpi, "none");
    let cores: Vec<Core> = outcome.all(kind::CORE).unwrap();
    assert_eq!(cores.len(), 2 * outcome.header.ranks[0].cpus.len());
    let injected: Vec<InjectedNoise> = outcome.all(kind::INJECTED).unwrap();
    assert!(injected.iter().all(|noise| noise.injected.n_pulses > 0), "{injected:?}");
    // Pulses are detours that are found at all; how exactly is measured on an idle machine.
    assert!(cores.iter().any(|core| core.n_detours > 0 && core.lengths.max_ns >= 100_000.0), "{cores:?}");
    assert!(Noise.pictures(&outcome).unwrap().iter().any(|(name, _)| name.starts_with("spectrum-core-")));
}

#[test]
fn what_cannot_be_watched_is_refused_before_it_begins() {
    check_refused(&alone(&["--local", "--cpus", "60000"]), "core 60000 is not allowed here");
    check_refused(&alone(&["--local", "--time", "0s"]), "--time is 0");
    check_refused(&alone(&["--local", "--quantum", "100ns", "--time", "100ms"]), "is too short for this clock");
    check_refused(&alone(&["--local", "--work", "2ms"]), "cannot be used with");
    check_refused(&alone(&["--local", "--quick", "--time", "2s"]), "cannot be used with");
    check_refused(&alone(&["--local", "--inject", "6ms/10ms"]), "at least twice its length");
}
