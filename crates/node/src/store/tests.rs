//! The store: what it thins and removes, what it keeps through a crash, and how much it holds back.

use std::sync::Arc;

use super::*;
use crate::engine::about::{About, Origin};

const HOUR: Duration = Duration::from_secs(3600);

fn about(key: i64) -> About {
    let empty: Arc<str> = "".into();
    let origin = Origin::Pushed { unit: empty.clone(), sentence: empty, model: "LAST".into() };
    About { key, id: format!("series {key}").into(), origin, step: Duration::from_secs(1), created: at(0) }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_nanos(seconds * 1_000_000_000)
}

fn open(directory: Option<&Path>, retention: Duration) -> (Store, Running) {
    Opened::open(directory, retention).unwrap().run().unwrap()
}

/// Ticks of two series, one a second, the second of them with gaps.
fn tick(seconds: i64) -> Batch {
    let row = |key, value| Row { time: at(seconds), key, value };
    let mut rows = vec![row(1, (seconds % 97) as f64)];
    if seconds % 3 == 0 {
        rows.push(row(2, -(seconds as f64)));
    }
    Batch { rows, tick: Some(Moment { label: at(seconds), now: at(seconds) }), ..Batch::default() }
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
        store.read(read::extent).unwrap().0.filter(|oldest| *oldest >= at(1740))
    });
    assert_eq!(oldest, at(1740));
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
    assert_eq!(count(&store, "sample WHERE t_ns < 100000000000"), 134);
}

#[test]
fn what_was_committed_is_there_after_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let copy = tempfile::tempdir().unwrap();
    let (store, _running) = open(Some(directory.path()), HOUR);
    store.put(Batch { added: vec![about(1)], ..Batch::default() });
    (0..100).for_each(|seconds| store.put(tick(seconds)));
    store.flush().unwrap();
    // The files as a killed process leaves them: the log is not worked in, nothing is closed.
    for file in ["foretop.db", "foretop.db-wal"] {
        std::fs::copy(directory.path().join(file), copy.path().join(file)).unwrap();
    }
    let (after, _running) = open(Some(copy.path()), HOUR);
    assert_eq!(count(&after, "sample"), 134);
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

/// What the first versions wrote into an empty store.
const VERSION_1: &str = "
    CREATE TABLE series (
        series INTEGER PRIMARY KEY, id TEXT NOT NULL, source TEXT NOT NULL, family TEXT, label TEXT, unit TEXT NOT NULL,
        sentence TEXT NOT NULL, step_ns INTEGER NOT NULL, model TEXT, created_ns INTEGER NOT NULL,
        removed INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE UNIQUE INDEX series_id ON series (id) WHERE removed = 0;
    CREATE TABLE sample (
        t_ns INTEGER NOT NULL, series INTEGER NOT NULL, value REAL NOT NULL, PRIMARY KEY (t_ns, series)
    ) WITHOUT ROWID, STRICT;
    CREATE TABLE minute (
        series INTEGER NOT NULL, t_ns INTEGER NOT NULL, mean REAL NOT NULL, min REAL NOT NULL, max REAL NOT NULL,
        n INTEGER NOT NULL, PRIMARY KEY (series, t_ns)
    ) WITHOUT ROWID, STRICT;
    CREATE TABLE forecast (
        t_ns INTEGER NOT NULL, series INTEGER NOT NULL, lead_ns INTEGER NOT NULL, mean REAL NOT NULL,
        standard_error REAL NOT NULL, PRIMARY KEY (t_ns, series, lead_ns)
    ) WITHOUT ROWID, STRICT;
    CREATE TABLE progress (minutes_until_ns INTEGER NOT NULL) STRICT;
    INSERT INTO progress VALUES (60000000000);
    PRAGMA application_id = 0x46545350;
    PRAGMA user_version = 1;
    INSERT INTO series VALUES
        (1, 'load.1m', 'sensor', 'load.1m', NULL, 'tasks', 'Load.', 1000000000, NULL, 0, 0),
        (2, 'mine', 'pushed', NULL, NULL, 'requests', 'My own.', 5000000000, 'AR(16)', 0, 0);
    INSERT INTO sample VALUES (60000000000, 1, 0.5), (61000000000, 1, 0.75), (60000000000, 2, 3.0);
    INSERT INTO minute VALUES (1, 0, 0.25, 0.0, 0.5, 60);
    INSERT INTO forecast VALUES (62000000000, 1, 1000000000, 0.8, 0.1);
";

/// What 0.1.0 has made of such a store, or of an empty one.
const VERSION_2: &str = "
    ALTER TABLE series ADD COLUMN feed TEXT;
    ALTER TABLE series ADD COLUMN kind TEXT;
    ALTER TABLE series ADD COLUMN labels TEXT;
    PRAGMA user_version = 2;
";

#[track_caller]
fn check_is_read(made_by: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let old = Connection::open(directory.path().join("foretop.db")).unwrap();
    made_by.iter().for_each(|sql| old.execute_batch(sql).unwrap());
    drop(old);
    let opened = Opened::open(Some(directory.path()), HOUR).unwrap();
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
    let (store, _running) = opened.run().unwrap();
    store.put(tick(62));
    store.flush().unwrap();
    assert_eq!((count(&store, "sample"), count(&store, "forecast")), (4, 1));
}

#[test]
fn a_store_of_version_1_is_brought_up_to_date() {
    check_is_read(&[VERSION_1]);
}

#[test]
fn a_store_that_0_1_0_made_is_read() {
    check_is_read(&[VERSION_1, VERSION_2]);
}
