//! Tests that only root can run: a disk that is really full, a network of its own, an installed package.

mod crossval;
mod lan;
mod package;
mod wan;

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use testkit::{PATIENCE, wait_until};

use crate::command::foretop;
use crate::node::Running;

/// Room for SQLite's log to reach its usual 4 MiB and be folded into the database a few times.
const DISK_SIZE: &str = "16m";

/// A signal that every Linux host has, and that is never a gap.
const SIGNAL: &str = "load.1m";

#[test]
#[ignore = "needs root; run by make test"]
fn a_full_disk_is_said_and_what_was_measured_meanwhile_is_written_when_there_is_room() {
    let disk = SmallDisk::mount();
    let node = start_on(&disk);

    disk.fill();
    let problem = wait_until("the node says that it cannot write", PATIENCE, || store_problem(&node));
    assert!(problem.contains("full"), "the cause is in `{problem}`");
    let full_at = last_time(&node);
    let still_full_at =
        wait_until("it goes on measuring", PATIENCE, || Some(last_time(&node)).filter(|t| *t > full_at));
    let forecast = node.get(&format!("/api/v1/series/{SIGNAL}/forecast?horizon=1s"));
    assert_eq!(forecast["mean"].as_array().map(Vec::len), Some(50), "it goes on forecasting: {forecast}");

    disk.free();
    wait_until("the store has caught up", PATIENCE, || has_caught_up(&node).then_some(()));
    assert_eq!(store_problem(&node), None);

    drop(node);
    check_integrity(disk.path());
    let node = start_on(&disk);
    let path = format!("/api/v1/series/{SIGNAL}/samples?from={full_at}&to={still_full_at}");
    let samples = node.get(&path);
    let values = samples["values"].as_array().expect("an array of values");
    assert!(values.iter().any(Value::is_number), "what was measured on a full disk is on the disk: {samples}");
}

/// Store and log are on the same disk, so that the log's failures come together with the store's.
fn start_on(disk: &SmallDisk) -> Running {
    let log = File::options().create(true).append(true).open(disk.path().join("log")).unwrap();
    let args = ["up", "--listen", "127.0.0.1:0", "--every", "20ms", "--log", "debug", "--data-dir"];
    Running::spawn_logging(foretop().args(args).arg(disk.path()), log)
}

/// The sentence of `/healthz` about the store, while there is one.
fn store_problem(node: &Running) -> Option<String> {
    let health = node.get("/healthz");
    let problems = health["problems"].as_array().expect("an array of problems");
    let problem = problems.iter().filter_map(Value::as_str).find(|text| text.contains("store cannot be written"))?;
    assert_eq!(health["status"], "degraded");
    Some(problem.to_owned())
}

fn has_caught_up(node: &Running) -> bool {
    let health = node.get("/healthz");
    health["status"] == "ok" && health["store"]["ok"] == true && health["store"]["backlog_samples"] == 0
}

/// When the last sample was taken; RFC 3339 in UTC, so that later is greater.
fn last_time(node: &Running) -> String {
    let series = node.get(&format!("/api/v1/series/{SIGNAL}"));
    series["last"]["time"].as_str().expect("a time").to_owned()
}

fn check_integrity(data_dir: &Path) {
    let path = database_in(data_dir);
    let database = rusqlite::Connection::open(&path).unwrap();
    let verdict: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok", "{}", path.display());
}

/// The SQLite file in a folder, whatever it is called.
fn database_in(folder: &Path) -> PathBuf {
    let is_database = |path: &PathBuf| {
        let mut magic = [0; 16];
        File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"SQLite format 3\0"
    };
    let mut files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.find(is_database).expect("a database in the data directory")
}

/// A file system in memory that is soon full; it goes away with the value.
struct SmallDisk {
    mount_point: TempDir,
}

impl SmallDisk {
    fn mount() -> Self {
        let mount_point = tempfile::tempdir().unwrap();
        let options = format!("size={DISK_SIZE}");
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "foretop-test"])
            .arg(mount_point.path())
            .status()
            .expect("mount starts");
        assert!(status.success(), "mounting a tmpfs needs root: {status}");
        Self { mount_point }
    }

    fn path(&self) -> &Path {
        self.mount_point.path()
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }

    /// Takes all the room that is left.
    fn fill(&self) {
        let mut filler = File::create(self.filler()).unwrap();
        let error = loop {
            if let Err(error) = filler.write_all(&[0; 4096]) {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
    }

    fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.path()).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("{} is still mounted", self.path().display());
        }
    }
}
