//! foretop-comb: all that it measures is there, each figure in its range or with its reason, and nothing hangs.

use comb::record::{
    BUFFERING, Buffering, DRIFT, Drift, PING_PONG, POLLING, PWW, PingPong, Polling, PostWorkWait, TRANSFER, Transfer,
};
use comb::{Availability, Comb, Progress, VERDICT, Verdict};
use mpi_run::{Measurement, Outcome};
use serde::de::DeserializeOwned;

use crate::launch::{COMB, launch};

/// Runs it with a result file, and hands back what is in that.
#[track_caller]
fn measured(n_ranks: u32, arguments: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("comb.jsonl");
    let out =
        launch(COMB, n_ranks, &[arguments, &["--out", path.to_str().unwrap(), "--format", "json"]].concat()).out();
    let outcome = Outcome::read(&path).unwrap();
    assert!(!outcome.is_truncated);
    assert_eq!(out, outcome.json_lines());
    outcome
}

#[track_caller]
fn all<T: DeserializeOwned>(outcome: &Outcome, kind: &str, n: usize) -> Vec<T> {
    let records = outcome.all(kind).unwrap();
    assert_eq!(records.len(), n, "{kind}");
    records
}

#[track_caller]
fn check_possible(availability: &Availability) {
    let Some(range) = availability.interval() else {
        assert!(matches!(availability, Availability::NotMeasurable { reason } if !reason.is_empty()));
        return;
    };
    let middle = availability.middle().unwrap();
    assert!(
        0.0 <= range.lower && range.lower <= middle && middle <= range.upper && range.upper <= 1.0,
        "{availability}"
    );
}

#[test]
fn one_pair_measures_all_methods() {
    // 100 kB takes the way of long messages, which is another one in both libraries.
    let sweeps = ["--size", "0B,1KiB,100kB", "--work", "0s,30us", "--poll-interval", "200ns,20us", "--queue", "3"];
    let counts =
        ["--quick", "--trips", "5", "--cycles", "5", "--repetitions", "5", "--span", "200us", "--batches", "5"];
    let outcome = measured(2, &[&sweeps[..], &counts[..], &["--buffer", "80kB"]].concat());

    let trips: Vec<PingPong> = all(&outcome, PING_PONG, 16);
    assert!(trips.iter().all(|trip| trip.half_round_trip.median_ns > 0.0));
    assert_eq!((trips[0].size_bytes, trips[15].size_bytes), (0, 100_000));
    let transfers: Vec<Transfer> = all(&outcome, TRANSFER, 3);
    assert!(transfers.iter().all(|transfer| transfer.whole.median_ns > 0.0));

    let points: Vec<PostWorkWait> = all(&outcome, PWW, 6);
    for point in &points {
        assert_eq!((point.pair.worker, point.pair.support, point.n_cycles), (0, 1, 5));
        check_possible(&point.availability);
        assert_eq!(point.n_turns == 0, point.work_interval_ns == 0);
        let is_without_work =
            matches!(&point.availability, Availability::NotMeasurable { reason } if reason == "there was no work");
        assert_eq!(is_without_work, point.n_turns == 0);
    }
    for point in &all::<Polling>(&outcome, POLLING, 6) {
        assert!(point.n_polls >= 10 && point.wet.median_ns > 0.0 && point.queue == 3);
        check_possible(&point.availability);
    }

    let buffering: &Buffering = &all(&outcome, BUFFERING, 1)[0];
    assert_eq!((buffering.n_values, buffering.n_repetitions), (50_000, 5));
    // The mean of so many even numbers from [0, 1) has a deviation of 0.0013.
    assert!((buffering.total / 50_000.0 - 0.5).abs() < 0.007, "{}", buffering.total);
    assert!(buffering.speedup > 0.0 && buffering.speedup_interval.contains(buffering.speedup));

    assert_eq!(all::<Drift>(&outcome, DRIFT, 4).iter().filter(|drift| drift.after.is_none()).count(), 1);
    let sizes: Vec<u64> = all::<Verdict>(&outcome, VERDICT, 3).iter().map(|verdict| verdict.size_bytes).collect();
    assert_eq!(sizes, [0, 1024, 100_000]);
    let table = Comb.table(&outcome).unwrap();
    for section in ["Ping-pong, ranks 0 and 1", "Post-work-wait, 100kB", "Polling, 1KiB", "Double buffering", "Verdict"]
    {
        assert!(table.contains(section), "{section} is not in\n{table}");
    }
    // On a busy machine no availability may be measurable, and then there is nothing to draw of them.
    let names = Comb.pictures(&outcome).unwrap().into_iter().map(|(name, _)| name);
    assert_eq!(names.filter(|name| !name.ends_with("availability")).count(), 6);
}

#[test]
fn two_pairs_work_at_a_time_and_time_slicing_is_told_of() {
    let methods = ["--method", "pww,polling", "--pairing", "neighbours", "--both-work", "--size", "20kB"];
    let counts = ["--work", "20us", "--cycles", "5", "--poll-interval", "5us", "--repetitions", "5", "--span", "100us"];
    let outcome = measured(4, &[&methods[..], &counts[..], &["--queue", "1"]].concat());
    let pairs: Vec<_> =
        all::<PostWorkWait>(&outcome, PWW, 2).iter().map(|point| (point.pair.worker, point.pair.support)).collect();
    assert_eq!(pairs, [(0, 1), (2, 3)]);
    let points: Vec<Polling> = all(&outcome, POLLING, 2);
    points.iter().for_each(|point| check_possible(&point.availability));
    all::<PingPong>(&outcome, PING_PONG, 0);
    for verdict in all::<Verdict>(&outcome, VERDICT, 2) {
        let is_told = matches!(&verdict.progress, Progress::Undecided { reason } if reason.contains("time slicing"));
        assert_eq!(is_told, outcome.header.is_oversubscribed());
    }
}

#[test]
fn what_makes_no_sense_is_told_once_and_ends_all_ranks() {
    let cases: [(u32, &[&str], &str); 7] = [
        (1, &[], "1 rank makes no pairs: give an even number of ranks"),
        (3, &[], "3 ranks make no pairs"),
        (2, &["--size", "1KiB,2GiB"], "a message of 2GiB is too long"),
        (2, &["--size", "2147483647B", "--queue", "1024"], "bytes, and"),
        (2, &["--size", ""], "is not an amount of data"),
        (2, &["--method", "pww", "--queue", "2"], "--queue is for --method polling, which is not asked for"),
        (2, &["--poll-interval", "0s"], "an interval of 0s is not from 1ns"),
    ];
    for (n_ranks, arguments, words) in cases {
        let ended = launch(COMB, n_ranks, arguments);
        assert_eq!(ended.status, Some(2), "{arguments:?}: {}", ended.err);
        assert_eq!(ended.err.matches(words).count(), 1, "{arguments:?}: {}", ended.err);
        assert_eq!(ended.out, "");
    }
}
