//! The store: what it thins and removes, what it keeps through a crash, and how much it holds back.

use std::sync::Arc;

use super::*;
use crate::engine::about::{About, Origin};
use crate::engine::scored_live::Said;

const HOUR: Duration = Duration::from_secs(3600);
const LARGE: ByteCount = ByteCount::new(1 << 40);

pub(super) fn about(key: i64) -> About {
    let empty: Arc<str> = "".into();
    let origin = Origin::Pushed { unit: empty.clone(), sentence: empty, model: "LAST".into() };
    About { key, id: format!("series {key}").into(), origin, step: Duration::from_secs(1), created: at(0) }
}

pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_nanos(seconds * 1_000_000_000)
}

fn open(directory: Option<&Path>, retention: Duration) -> (Store, Running) {
    Opened::open(directory, retention, LARGE).unwrap().run(&Watch::default()).unwrap()
}

/// Ticks of two series, one a second, the second of them with gaps.
pub(super) fn tick(seconds: i64) -> Batch {
    let row = |key, value| Row { time: at(seconds), key, value };
    let mut rows = vec![row(1, (seconds % 97) as f64)];
    if seconds % 3 == 0 {
        rows.push(row(2, -(seconds as f64)));
    }
    Batch { rows, tick: Some(Moment { label: at(seconds), now: at(seconds) }), ..Batch::default() }
}

/// Seconds and values of a series.
pub(super) fn values(store: &Store, key: i64, range: std::ops::Range<i64>) -> Vec<(i64, f64)> {
    let range = at(range.start)..at(range.end);
    let samples = store.read(|sql| read::samples(sql, key, Duration::from_secs(1), range.clone())).unwrap();
    samples.iter().map(|sample| (sample.time.as_nanos() / 1_000_000_000, sample.mean)).collect()
}

fn count(store: &Store, table: &str) -> i64 {
    store.read(|sql| sql.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))).unwrap()
}

#[test]
fn thinning_keeps_the_means_of_what_it_deletes() {
    let (store, _running) = open(None, Duration::from_secs(600));
    store.put(Batch { added: vec![about(1), about(2)], ..Batch::default() });
    for seconds in 0..2400 {
        store.put(tick(seconds));
        // So that ageing gets its turn as in ordinary life.
        if seconds % 60 == 0 {
            store.flush().unwrap();
        }
    }
    store.flush().unwrap();
    let oldest = testkit::wait_until("old samples are deleted", testkit::PATIENCE, || {
        store.put(Batch { tick: Some(Moment { label: at(2399), now: at(2399) }), ..Batch::default() });
        store.flush().unwrap();
        store.read(read::extent).unwrap().0.filter(|oldest| *oldest >= at(1200))
    });
    // Whole stretches go, so that samples stay up to ten minutes longer than the retention.
    assert_eq!(oldest, at(1200));
    for key in [1, 2] {
        let minutes = store.read(|sql| read::minutes(sql, key, at(0)..at(2340))).unwrap();
        assert_eq!(minutes.len(), 39);
        for minute in minutes {
            let begin = minute.time.as_nanos() / 1_000_000_000;
            let values: Vec<f64> = (begin..begin + 60)
                .flat_map(|seconds| tick(seconds).rows)
                .filter(|row| row.key == key)
                .map(|row| row.value)
                .collect();
            assert_eq!(minute.n as usize, values.len());
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            // SQLite sums with compensation, so the last digits differ.
            assert!((minute.mean - mean).abs() < 1e-9, "{} instead of {mean}", minute.mean);
        }
    }
}

/// Values whose last bits matter.
pub(super) fn odd_value(seconds: i64) -> f64 {
    (seconds as f64).sqrt().sin()
}

pub(super) fn odd_tick(seconds: i64) -> Batch {
    let row = |key| Row { time: at(seconds), key, value: odd_value(seconds + key) };
    let (lead, target) = (Duration::from_secs(10), at(seconds + 10));
    let said = Said { key: 1, target, lead, mean: odd_value(seconds), standard_error: 0.25 };
    let said = if seconds % 10 == 0 { vec![said] } else { Vec::new() };
    Batch { rows: vec![row(1), row(2)], said, ..tick(seconds) }
}

/// Gives the store the ticks of `range`, with time to pack and to thin once a minute of them.
pub(super) fn live_through(store: &Store, range: std::ops::Range<i64>, tick: impl Fn(i64) -> Batch) {
    for seconds in range {
        store.put(tick(seconds));
        if seconds % 60 == 59 {
            settle(store);
        }
    }
    settle(store);
}

/// Waits until the store has aged as well: it does so before it writes the next batch.
fn settle(store: &Store) {
    store.flush().unwrap();
    store.put(Batch::default());
    store.flush().unwrap();
}

#[test]
fn what_is_packed_is_read_as_it_was_written() {
    let (store, _running) = open(None, HOUR);
    store.put(Batch { added: vec![about(1), about(2)], ..Batch::default() });
    live_through(&store, 0..1900, odd_tick);
    testkit::wait_until("three stretches are packed", testkit::PATIENCE, || {
        store.put(Batch { tick: odd_tick(1899).tick, ..Batch::default() });
        store.flush().unwrap();
        (count(&store, "sample_block") == 6).then_some(())
    });
    assert_eq!((count(&store, "sample"), count(&store, "forecast_block")), (200, 3));
    for key in [1, 2] {
        let written: Vec<(i64, f64)> = (0..1900).map(|seconds| (seconds, odd_value(seconds + key))).collect();
        assert_eq!(values(&store, key, 0..2000), written);
        assert_eq!(values(&store, key, 599..1201), written[599..1201]);
    }
    let range = at(0)..at(2000);
    let (lead, step) = (Duration::from_secs(10), Duration::from_secs(1));
    let said = store.read(|sql| read::forecasts(sql, 1, lead, step, range.clone())).unwrap();
    assert_eq!(said.len(), 190);
    for (k, said) in (0..).zip(said) {
        assert_eq!((said.target, said.standard_error), (at(10 * k + 10), 0.25));
        assert!((said.mean - odd_value(10 * k)).abs() <= 0.25 / 1000.0);
    }
}

#[test]
fn a_sample_that_comes_after_its_stretch_was_packed_takes_its_place_there() {
    let (store, _running) = open(None, HOUR);
    store.put(Batch { added: vec![about(1), about(2)], ..Batch::default() });
    let is_late = |seconds: &i64| (100..110).contains(seconds);
    let without = |seconds| if is_late(&seconds) { Batch::default() } else { odd_tick(seconds) };
    live_through(&store, 0..1300, without);
    assert_eq!(count(&store, "sample WHERE t_ns < 1200000000000"), 0);
    // Some that are late, and some that are known, with other values.
    let row = |seconds| Row {
        time: at(seconds),
        key: 1,
        value: if is_late(&seconds) { odd_value(seconds + 1) } else { 7.0 },
    };
    store.put(Batch { rows: (95..115).map(row).collect(), ..Batch::default() });
    store.flush().unwrap();
    let written: Vec<(i64, f64)> = (0..1300).map(|seconds| (seconds, odd_value(seconds + 1))).collect();
    assert_eq!(values(&store, 1, 0..1300), written);
    live_through(&store, 1300..1900, odd_tick);
    assert_eq!(count(&store, "sample WHERE t_ns < 1200000000000"), 0);
    assert_eq!(values(&store, 1, 0..1300), written);
    let minutes = store.read(|sql| read::minutes(sql, 1, at(60)..at(180))).unwrap();
    assert_eq!(minutes.iter().map(|minute| minute.n).collect::<Vec<_>>(), [60, 60]);
}

#[test]
fn more_samples_than_a_part_holds_come_back_in_order() {
    let (store, _running) = open(None, HOUR);
    let nanos = |k: i64| Timestamp::from_nanos(k * 10_000_000);
    let rows =
        |range: std::ops::Range<i64>| range.map(|k| Row { time: nanos(k), key: 1, value: odd_value(k) }).collect();
    store.put(Batch { added: vec![about(1)], rows: rows(0..59_000), ..Batch::default() });
    live_through(&store, 600..700, tick);
    assert_eq!(count(&store, "sample_block"), 8);
    let read = |store: &Store| {
        let samples = store.read(|sql| read::samples(sql, 1, Duration::from_millis(10), at(0)..at(600))).unwrap();
        samples.into_iter().map(|sample| (sample.time, sample.mean)).collect::<Vec<_>>()
    };
    assert!(read(&store).into_iter().eq((0..59_000).map(|k| (nanos(k), odd_value(k)))));
    // What comes late and last is put behind, not packed again.
    store.put(Batch { rows: rows(59_000..60_000), ..Batch::default() });
    live_through(&store, 1200..1300, tick);
    assert!(read(&store).into_iter().eq((0..60_000).map(|k| (nanos(k), odd_value(k)))));
}

#[test]
fn a_sample_of_an_earlier_minute_is_worked_into_its_mean() {
    let (store, _running) = open(None, HOUR);
    store.put(Batch { added: vec![about(1)], ..Batch::default() });
    (0..130).for_each(|seconds| store.put(tick(seconds)));
    store.flush().unwrap();
    testkit::wait_until("means are made", testkit::PATIENCE, || {
        (store.read(read::extent).unwrap().1 == at(120)).then_some(())
    });
    let late = [5, 6].map(|seconds| Row { time: at(seconds), key: 7, value: seconds as f64 });
    store.put(Batch { rows: late.to_vec(), ..Batch::default() });
    store.flush().unwrap();
    let minutes = store.read(|sql| read::minutes(sql, 7, at(0)..at(60))).unwrap();
    assert_eq!(minutes, [read::Mean { time: at(0), mean: 5.5, n: 2 }]);
}

#[test]
fn a_removed_series_leaves_nothing_behind() {
    let (store, _running) = open(None, HOUR);
    store.put(Batch { added: vec![about(1), about(2)], ..Batch::default() });
    (0..200).for_each(|seconds| store.put(tick(seconds)));
    store.put(Batch { removed: vec![1], ..Batch::default() });
    testkit::wait_until("it is swept", testkit::PATIENCE, || {
        store.put(Batch { tick: Some(Moment { label: at(200), now: at(200) }), ..Batch::default() });
        store.flush().unwrap();
        (count(&store, "series") == 1).then_some(())
    });
    assert_eq!(count(&store, "sample WHERE series = 1"), 0);
    assert_eq!(count(&store, "minute WHERE series = 1"), 0);
    assert_eq!(count(&store, "sample WHERE series = 2"), 67);
}

#[test]
fn a_clock_that_jumped_deletes_nothing_for_a_while() {
    let (store, _running) = open(None, HOUR);
    (0..100).for_each(|seconds| store.put(tick(seconds)));
    let jumped = 1_000_000;
    for seconds in [jumped, jumped + 60, jumped + 120] {
        store.put(tick(seconds));
        store.flush().unwrap();
    }
    assert_eq!((values(&store, 1, 0..100).len(), values(&store, 2, 0..100).len()), (100, 34));
}

#[test]
fn what_was_committed_is_there_after_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let copy = tempfile::tempdir().unwrap();
    let (store, _running) = open(Some(directory.path()), HOUR);
    store.put(Batch { added: vec![about(1)], ..Batch::default() });
    live_through(&store, 0..700, odd_tick);
    // The files as a killed process leaves them: the log is not worked in, nothing is closed.
    for file in ["foretop.db", "foretop.db-wal"] {
        std::fs::copy(directory.path().join(file), copy.path().join(file)).unwrap();
    }
    let (after, _running) = open(Some(copy.path()), HOUR);
    assert_eq!((count(&after, "sample"), count(&after, "sample_block")), (200, 2));
    let written: Vec<(i64, f64)> = (0..700).map(|seconds| (seconds, odd_value(seconds + 1))).collect();
    assert_eq!(values(&after, 1, 0..700), written);
    let check: String = after.read(|sql| sql.query_row("PRAGMA integrity_check", [], |row| row.get(0))).unwrap();
    assert_eq!(check, "ok");
}

#[test]
fn a_backlog_is_bounded_and_the_oldest_go_first() {
    let inbox = Inbox::default();
    inbox.put(Batch { added: vec![about(1)], rows: vec![Row { time: at(0), key: 1, value: 0.0 }], ..Batch::default() });
    let rows = vec![Row { time: at(1), key: 1, value: 1.0 }; inbox::BACKLOG_SAMPLES_MAX];
    inbox.put(Batch { rows, ..Batch::default() });
    let status = inbox.status();
    assert_eq!((status.n_waiting, status.n_dropped), (inbox::BACKLOG_SAMPLES_MAX, 1));
    let Work::Write(batches) = inbox.take() else { panic!("nothing to write") };
    assert_eq!(batches[0].added.len(), 1, "the series itself was given up");
}

/// Content of an empty store of the first versions.
const VERSION_1: &str = include_str!("../../../../testdata/store/version-1.sql");

/// Content of such a store, or of an empty one, after 0.1.0 has opened it.
const VERSION_2: &str = include_str!("../../../../testdata/store/version-2.sql");

#[track_caller]
fn check_is_read(made_by: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let old = Connection::open(directory.path().join("foretop.db")).unwrap();
    made_by.iter().for_each(|sql| old.execute_batch(sql).unwrap());
    drop(old);
    let opened = Opened::open(Some(directory.path()), HOUR, LARGE).unwrap();
    let version: i64 = opened.writer.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, schema::VERSION);
    let series = read::series(&opened.writer).unwrap();
    let listed: Vec<_> = series.iter().map(|about| (about.key, &*about.id, about.unit(), about.is_pushed())).collect();
    assert_eq!(listed, [(1, "load.1m", "tasks", false), (2, "mine", "requests", true)]);
    let values = |key, step| {
        let samples = read::samples(&opened.writer, key, step, at(60)..at(70)).unwrap();
        samples.iter().map(|sample| sample.mean).collect::<Vec<_>>()
    };
    assert_eq!((values(1, series[0].step), values(2, series[1].step)), (vec![0.5, 0.75], vec![3.0]));
    assert_eq!(read::minutes(&opened.writer, 1, at(0)..at(60)).unwrap()[0].n, 60);
    let (store, _running) = opened.run(&Watch::default()).unwrap();
    store.put(tick(62));
    store.flush().unwrap();
    assert_eq!((count(&store, "sample"), count(&store, "forecast"), count(&store, "program_minute")), (4, 1, 0));
}

#[test]
fn what_0_1_0_wrote_is_packed_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let old = Connection::open(directory.path().join("foretop.db")).unwrap();
    [VERSION_1, VERSION_2].iter().for_each(|sql| old.execute_batch(sql).unwrap());
    old.execute_batch(
        "WITH RECURSIVE second (s) AS (SELECT 62 UNION ALL SELECT s + 1 FROM second WHERE s < 1999)
         INSERT INTO sample SELECT s * 1000000000, 1, s / 7.0 FROM second;",
    )
    .unwrap();
    drop(old);
    let (store, _running) = open(Some(directory.path()), HOUR);
    let before = values(&store, 1, 0..2000);
    testkit::wait_until("it is packed", testkit::PATIENCE, || {
        store.put(Batch { tick: tick(2000).tick, ..Batch::default() });
        store.flush().unwrap();
        (count(&store, "sample") == 200).then_some(())
    });
    assert_eq!(before.len(), 1940);
    assert_eq!(values(&store, 1, 0..2000), before);
    assert_eq!((count(&store, "forecast"), count(&store, "forecast_block")), (0, 1));
}

#[test]
fn a_store_of_version_1_is_brought_up_to_date() {
    check_is_read(&[VERSION_1]);
}

#[test]
fn a_store_that_0_1_0_made_is_read() {
    check_is_read(&[VERSION_1, VERSION_2]);
}

#[test]
fn a_panic_of_the_thread_is_told_at_once_to_whoever_waits_for_it_and_ends_the_node() {
    let watch = Watch::default();
    let (store, running) = Opened::open(None, HOUR, LARGE).unwrap().run(&watch).unwrap();
    store.break_thread();
    store.put(Batch { added: vec![about(1)], ..Batch::default() });
    assert_eq!(store.flush(), Err("its thread panicked".to_owned()));
    assert_eq!(store.status().problem.as_deref(), Some("its thread panicked"));
    drop(running);
    assert!(watch.fatal().unwrap().starts_with("the thread `store` panicked and cannot go on: "));
}
