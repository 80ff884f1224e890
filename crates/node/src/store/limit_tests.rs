//! A store that is full: what goes first, what readers see meanwhile, and what a clock that is set back does to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::tests::{about, at, live_through, odd_tick, odd_value, values};
use super::*;

/// Bytes that some hours of twenty odd series fill, with all levels of downsampling.
const TINY: ByteCount = ByteCount::new(512 << 10);

const N_SERIES: i64 = 20;

/// A store on disk, because in memory nothing is kept for longer than an hour.
fn open_tiny(directory: &Path) -> (Store, Running) {
    let week = Duration::from_secs(7 * 86_400);
    let (store, running) = Opened::open(Some(directory), week, TINY).unwrap().run(&Watch::default()).unwrap();
    store.put(Batch { added: (0..N_SERIES).map(about).collect(), ..Batch::default() });
    (store, running)
}

/// Samples that compress badly, once in ten seconds.
fn wide_tick(seconds: i64) -> Batch {
    if seconds % 10 != 0 {
        return Batch::default();
    }
    let rows = (0..N_SERIES).map(|key| Row { time: at(seconds), key, value: odd_value(seconds + key) });
    Batch { rows: rows.collect(), tick: odd_tick(seconds).tick, ..Batch::default() }
}

/// Returns the number of samples in the means of a series, and the moments of the first minute and of the first hour.
fn n_in_means(store: &Store, key: i64) -> (u32, Option<i64>, Option<i64>) {
    let minutes = store.read(|sql| read::minutes(sql, key, at(-86_400)..at(86_400))).unwrap();
    let first = |table| {
        let sql = format!("SELECT min(t_ns) / 1000000000 FROM {table} WHERE series = ?1");
        store.read(|connection| connection.query_row(&sql, [key], |row| row.get(0))).unwrap()
    };
    (minutes.iter().map(|mean| mean.n).sum(), first("minute"), first("hour"))
}

fn n_bytes_used(store: &Store) -> u64 {
    let pragma = |name| store.read(|sql| sql.pragma_query_value(None, name, |row| row.get::<_, u64>(0))).unwrap();
    (pragma("page_count") - pragma("freelist_count")) * pragma("page_size")
}

#[test]
fn a_full_store_thins_samples_then_minutes_and_keeps_every_mean() {
    let directory = tempfile::tempdir().unwrap();
    let (store, _running) = open_tiny(directory.path());
    let (mut first_samples, mut first_minutes, mut first_hours) = (Vec::new(), Vec::new(), Vec::new());
    for hour in 0..20 {
        live_through(&store, hour * 3600..(hour + 1) * 3600, wide_tick);
        assert!(n_bytes_used(&store) <= TINY.bytes(), "{} bytes after {hour} hours", n_bytes_used(&store));
        let (n, minute, hour_mean) = n_in_means(&store, 3);
        // The last minute is not over.
        assert_eq!(i64::from(n), (hour + 1) * 360 - 6);
        first_samples.push(store.read(read::extent).unwrap().0.unwrap());
        first_minutes.push(minute.unwrap());
        first_hours.push(hour_mean);
    }
    assert_eq!((first_samples[0], first_minutes[0]), (at(0), 0), "nothing goes before the store is full");
    let thinned = first_samples.iter().position(|first| *first > at(0)).expect("samples are thinned");
    let aged = first_minutes.iter().position(|first| *first > 0).expect("minutes are thinned");
    assert!(thinned < aged, "samples go before minutes: {first_samples:?} {first_minutes:?}");
    assert!(first_samples.is_sorted() && first_minutes.is_sorted(), "the oldest goes first");
    assert_eq!(first_hours.last().unwrap(), &Some(0), "hours stay");
    let newest = 20 * 3600;
    assert!(*first_samples.last().unwrap() <= at(newest - 1800), "the last half hour stays");
    let last: Vec<(i64, f64)> =
        (newest - 1800..newest).step_by(10).map(|seconds| (seconds, odd_value(seconds + 3))).collect();
    assert_eq!(values(&store, 3, newest - 1800..newest), last);
}

#[test]
fn a_reader_sees_a_whole_history_while_it_is_thinned() {
    let directory = tempfile::tempdir().unwrap();
    let (store, _running) = open_tiny(directory.path());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut n_looks = 0;
            while !is_over.load(Ordering::Relaxed) || n_looks == 0 {
                let (first, samples) = store
                    .read(|sql| {
                        let samples = read::samples(sql, 3, Duration::from_secs(10), at(0)..at(86_400))?;
                        Ok((read::extent(sql)?.0, samples))
                    })
                    .unwrap();
                let first = first.map_or(0, |first| first.as_nanos() / 1_000_000_000);
                for (seconds, sample) in (first..).step_by(10).zip(&samples) {
                    assert_eq!((sample.time, sample.mean), (at(seconds), odd_value(seconds + 3)), "from {first} on");
                }
                n_looks += 1;
            }
        });
        live_through(&store, 0..8 * 3600, wide_tick);
        is_over.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert!(store.read(read::extent).unwrap().0 > Some(at(0)), "nothing was thinned");
    assert!(n_bytes_used(&store) <= TINY.bytes());
    assert_eq!(store.status().problem, None);
}

/// One moment of the store, held while the store goes on.
#[test]
fn a_reader_that_takes_its_time_keeps_what_it_began_with() {
    let directory = tempfile::tempdir().unwrap();
    let (store, _running) = open_tiny(directory.path());
    live_through(&store, 0..3600, wide_tick);
    let slow =
        Connection::open_with_flags(directory.path().join("foretop.db"), rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY);
    let mut slow = slow.unwrap();
    let moment = slow.transaction().unwrap();
    let look = || read::samples(&moment, 3, Duration::from_secs(10), at(0)..at(3600)).unwrap();
    let before = look();
    live_through(&store, 3600..8 * 3600, wide_tick);
    assert!(store.read(read::extent).unwrap().0 > Some(at(0)), "nothing was thinned");
    assert_eq!((before.len(), look()), (360, before));
}

#[test]
fn a_file_that_holds_less_gets_shorter() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = Opened::open(Some(directory.path()), MINUTE, TINY).unwrap().writer;
    let n_pages =
        |writer: &Connection| writer.pragma_query_value(None, "page_count", |row| row.get::<_, u64>(0)).unwrap();
    let empty = n_pages(&writer);
    writer.execute("INSERT INTO sample_block VALUES (0, 1, 0, 1, zeroblob(20000000))", []).unwrap();
    let full = n_pages(&writer);
    writer.execute("DELETE FROM sample_block", []).unwrap();
    let mut limit = limit::Limit::new(TINY);
    for _ in 0..10 {
        limit.work(&mut writer, at(0)).unwrap();
    }
    let after = n_pages(&writer);
    assert!(full > empty + 4000 && after < full / 2, "{empty}, {full}, {after} pages");
}

#[test]
fn a_clock_that_is_set_back_neither_loses_nor_doubles_what_is_packed() {
    // Labels go on ahead of the wall clock, which is set back by two hours after one; pushed samples carry the time
    // that their program sees.
    let directory = tempfile::tempdir().unwrap();
    let (store, _running) = open_tiny(directory.path());
    let set_back = 3600;
    let tick = |seconds: i64| {
        let wall = if seconds < set_back { seconds } else { seconds - 7200 };
        let mut batch = wide_tick(seconds);
        batch.rows.retain(|row| row.key < 3);
        batch.rows.extend((seconds % 10 == 0).then(|| Row { time: at(wall), key: 3, value: odd_value(seconds) }));
        batch.tick = batch.tick.map(|tick| Moment { now: at(wall), ..tick });
        batch
    };
    live_through(&store, 0..3 * 3600, tick);
    let newest = 3 * 3600;
    let written: Vec<(i64, f64)> = (0..newest).step_by(10).map(|seconds| (seconds, odd_value(seconds + 1))).collect();
    assert_eq!(values(&store, 1, 0..newest), written);
    // What was there first stays.
    let pushed = (-3600..3600).step_by(10).map(|wall| (wall, odd_value(if wall < 0 { wall + 7200 } else { wall })));
    assert_eq!(values(&store, 3, -7200..newest), pushed.collect::<Vec<_>>());
    assert_eq!(n_in_means(&store, 1).0, 3 * 360 - 6);
    assert_eq!(store.status().problem, None);
}
