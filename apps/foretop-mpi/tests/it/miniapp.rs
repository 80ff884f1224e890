//! foretop-miniapp.

use miniapp::Miniapp;
use miniapp::record::{Noised, RankTimes, Relaxed, RunSeen, kind};
use mpi_run::{Measurement, Outcome};

use crate::launch::{MINIAPP, launch};

/// What a run left behind.
struct Result {
    run: RunSeen,
    ranks: Vec<RankTimes>,
    relaxed: Vec<Relaxed>,
    noised: Vec<Noised>,
}

#[track_caller]
fn result(n_ranks: u32, arguments: &[&str]) -> Result {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("miniapp.jsonl");
    let out = ["--quiet", "--out", path.to_str().unwrap()];
    let printed = launch(MINIAPP, n_ranks, &[arguments, &out].concat()).out();
    let outcome = Outcome::read(&path).unwrap();
    assert_eq!(printed.trim_end(), Miniapp.table(&outcome).unwrap().trim_end());
    assert!(!Miniapp.pictures(&outcome).unwrap().is_empty());
    let run = outcome.all(kind::RUN).unwrap().remove(0);
    Result {
        run,
        ranks: outcome.all(kind::RANK).unwrap(),
        relaxed: outcome.all(kind::SOR).unwrap(),
        noised: outcome.all(kind::NOISE).unwrap(),
    }
}

#[test]
fn sums_are_counted_timed_and_right_on_each_rank() {
    let Result { run, ranks, .. } = result(3, &["gsum", "--calls", "150", "--size", "256B"]);
    assert_eq!((run.app.as_str(), run.size_bytes, run.n_calls, run.n_wrong), ("gsum", 256, 150, 0));
    assert_eq!(ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>(), [0, 1, 2]);
    for rank in &ranks {
        assert_eq!((rank.call.count, rank.work.count, rank.exchange.count), (150, 0, 0));
        assert!(
            rank.call_last_median_ns >= rank.call.min_ns * 0.99 && rank.call_last_median_ns <= rank.call.max_ns * 1.01
        );
    }
}

#[test]
fn sums_of_several_sizes_in_turn_are_right() {
    let Result { run, .. } = result(2, &["gsum", "--calls", "50", "--sizes", "3"]);
    assert_eq!((run.size_bytes, run.n_sizes, run.n_calls, run.n_wrong), (8, 3, 50, 0));
}

#[test]
fn others_wait_for_a_straggler() {
    let Result { run, ranks, .. } = result(2, &["gsum", "--calls", "50", "--straggler", "1:20ms"]);
    assert_eq!(run.straggler.as_deref(), Some("1:20ms"));
    assert_eq!((ranks[0].work.count, ranks[1].work.count), (0, 50));
    // Who is not late waits in the call for the one who is.
    assert!(ranks[0].call.median_ns > ranks[1].call.median_ns, "{ranks:?}");
}

#[test]
fn sorting_is_tuned_to_a_share_of_the_time() {
    let Result { run, ranks, .. } = result(2, &["compute-gsum", "--calls", "50", "--share", "90%"]);
    assert_eq!((run.app.as_str(), run.communication_ratio_asked, run.n_wrong), ("compute-gsum", Some(0.9), 0));
    assert!(run.n_sorted >= 1 && ranks.iter().all(|rank| rank.work.count == 50), "{run:?}");
    // How near it comes depends on what else runs on this machine; that more work is done for a ninth of the share does
    // not.
    let more = result(2, &["compute-gsum", "--calls", "10", "--share", "10%"]).run;
    assert!(more.n_sorted > run.n_sorted, "{} and {}", more.n_sorted, run.n_sorted);
}

#[test]
fn a_relaxation_has_the_same_points_on_any_number_of_ranks() {
    let words = ["sor", "--data", "random", "--points", "40", "--epsilon", "0", "--iterations", "25"];
    let alone = result(1, &words).relaxed;
    let together = result(3, &words).relaxed;
    assert_eq!((alone[0].n_iterations, alone[0].is_converged), (25, false));
    assert_eq!(alone[0].checksum, together[0].checksum);
}

#[test]
fn a_relaxation_converges_and_without_a_test_goes_on() {
    let words = ["sor", "--points", "24", "--epsilon", "0.5", "--iterations", "2000"];
    let Result { run, relaxed, ranks, .. } = result(2, &words);
    assert!(relaxed[0].is_converged && relaxed[0].changed.is_some_and(|changed| changed < 0.5), "{relaxed:?}");
    assert!(run.n_calls < 2000 && ranks.iter().all(|rank| rank.call.count == run.n_calls), "{run:?}");
    let Result { ranks, relaxed, .. } =
        result(2, &["sor", "--points", "24", "--allreduce", "none", "--iterations", "50"]);
    assert!(ranks.iter().all(|rank| rank.call.count == 0 && rank.exchange.count == 50), "{ranks:?}");
    assert_eq!((relaxed[0].n_iterations, relaxed[0].changed), (50, None));
}

#[test]
fn a_grid_is_made_larger_for_a_smaller_share_of_communication() {
    let side = |share| result(2, &["sor", "--blocked-share", share, "--iterations", "5"]).relaxed[0].side;
    let (busy, blocked) = (side("30%"), side("95%"));
    assert!(busy > blocked, "{busy} and {blocked}");
}

#[test]
fn plans_that_make_no_sense_are_refused_by_one_rank() {
    for (arguments, words) in [
        (&["gsum", "--size", "6B"][..], "multiple of 4B"),
        (&["gsum", "--straggler", "2:1ms"], "there is no rank 2"),
        (&["sor", "--allreduce", "sometimes"], "`sometimes` is not an allreduce"),
    ] {
        let ended = launch(MINIAPP, 2, arguments);
        assert_eq!((ended.status, ended.out.as_str()), (Some(2), ""), "{}", ended.err);
        assert_eq!(ended.err.matches(words).count(), 1, "{}", ended.err);
    }
}

#[test]
fn what_a_relaxation_brought_is_replayed_and_asked_for_in_either_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("random.txt");
    let file = path.to_str().unwrap();
    let words = ["contributions", "--data", "random", "--points", "24", "--strips", "6", "--epsilon", "10", "--file"];
    let printed = launch(MINIAPP, 1, &[&words[..], &[file]].concat()).out();
    assert!(printed.contains("24 x 24 points in 6 strips"), "{printed}");
    let n_iterations = std::fs::read_to_string(&path).unwrap().lines().count() as u64 - 1;
    // Two solves: each but its last call says to go on. Without the library for conditional ones, they are plain.
    for test in ["plain", "conditional"] {
        let calls = (2 * n_iterations).to_string();
        let words = ["noise-allreduce", "--work", "10us", "--epsilon", "10", "--calls", &calls, "--allreduce", test];
        let Result { run, noised, .. } = result(2, &[&words[..], &["--contributions", file]].concat());
        assert_eq!((run.app.as_str(), run.n_calls, run.n_wrong), ("noise-allreduce", 2 * n_iterations, 0));
        assert_eq!((noised[0].n_true, noised[0].n_exact), (2 * n_iterations - 2, 2 * n_iterations));
        assert!(!noised[0].is_conditional && noised[0].work_ns == 10_000, "{noised:?}");
    }
}

#[test]
fn a_relaxation_converges_alike_if_its_test_is_a_conditional_one() {
    let words = ["sor", "--points", "24", "--epsilon", "0.5", "--iterations", "2000", "--allreduce"];
    let [plain, conditional] = ["plain", "conditional"].map(|test| result(2, &[&words[..], &[test]].concat()).relaxed);
    assert!(plain[0].is_converged && conditional[0].is_converged, "{conditional:?}");
    assert_eq!((&plain[0].checksum, plain[0].n_iterations), (&conditional[0].checksum, conditional[0].n_iterations));
}
