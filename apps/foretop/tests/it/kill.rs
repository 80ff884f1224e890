//! What a node leaves behind when it is killed, and when it is asked to end.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use testkit::{PATIENCE, wait_until};
use units::Timestamp;

use crate::node::{Running, folder};

/// What the issue asks for.
const N_KILLS: u64 = 20;
/// So many samples may be lost: those of a second. What a machine that stands still does not sample is not lost.
const LOSS_MAX: u64 = 20;
const SIGNAL: &str = "load.1m";

/// The label of the newest sample that the API shows, and how many samples there are since the start.
fn newest(node: &Running) -> (Timestamp, u64) {
    let series = node.get(&format!("/api/v1/series/{SIGNAL}"));
    let time = series["last"]["time"].as_str().unwrap();
    (time.parse().unwrap(), series["n_samples"].as_u64().unwrap())
}

/// Opens the store as any other tool would, which also replays what is in its log.
fn open(folder: &Path) -> Connection {
    let path = folder.join("foretop.db");
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap()
}

#[test]
fn twenty_kills_lose_no_more_than_a_second_each_and_leave_a_sound_file() {
    let folder = folder();
    for kill in 0..N_KILLS {
        let node = Running::in_folder(folder.path());
        let started = node.get("/api/v1/series")["node"]["started"].as_str().unwrap().parse().unwrap();
        // Another number of samples each time, so that the kills fall on all sides of the store's writes.
        let wanted = 1 + (kill * 7) % 31;
        let n_seen = wait_until("enough samples are in, and the disk keeps up", PATIENCE, || {
            let (_, n_samples) = newest(&node);
            let n_waiting = node.get("/healthz")["store"]["backlog_samples"].as_u64().unwrap();
            (n_samples >= wanted && n_waiting <= LOSS_MAX).then_some(n_samples)
        });
        node.kill();
        check_store(folder.path(), started, n_seen);
    }
}

#[test]
fn a_node_that_is_asked_to_end_loses_nothing() {
    let folder = folder();
    for signal in ["-TERM", "-INT"] {
        let node = Running::in_folder(folder.path());
        node.wait_for_samples(SIGNAL, 5);
        let (seen, _) = newest(&node);
        let (status, rest) = node.terminate(signal);
        assert_eq!((status.code(), rest.as_str()), (Some(0), ""));
        assert!(stored(&open(folder.path())).last().unwrap().0 >= seen.as_nanos());
    }
}

/// Checks the file, and how many of the samples that were seen in a run that began at `started` are not in it.
#[track_caller]
fn check_store(folder: &Path, started: Timestamp, n_seen: u64) {
    let store = open(folder);
    let verdict: String = store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let samples = stored(&store);
    assert!(samples.is_sorted_by(|a, b| a.0 < b.0), "a sample is stored twice");
    let n_stored = samples.iter().filter(|(time, _)| *time >= started.as_nanos()).count() as u64;
    assert!(n_stored + LOSS_MAX >= n_seen, "of {n_seen} samples only {n_stored} are stored");
}

/// Label and value of every stored sample of the signal, oldest first.
fn stored(store: &Connection) -> Vec<(i64, f64)> {
    let query = "SELECT t_ns, value FROM sample JOIN series USING (series) WHERE id = ? ORDER BY t_ns";
    let mut statement = store.prepare(query).unwrap();
    let rows = statement.query_map([SIGNAL], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}
