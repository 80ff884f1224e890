//! Reads and writes over two devices, one of which is slow at reading.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kernel::Traced;
use kernel_study::machine::{Served, served};
use kernel_study::{Answer, Part, Span};
use program::Failure;
use workload::ShortGroup;

use super::Bench;
use super::disk::Disk;
use super::eye::Eye;
use super::tool::last_words;
use crate::command::failed;

const DISK_BYTES: u64 = 96 << 20;
const RECORD_BYTES: u64 = 1 << 20;
/// Records on each device.
const N_RECORDS: u64 = 32;
const QUICK_RECORDS: u64 = 4;
/// Also beside neighbours no disk is that slow.
const SLOW_BYTES_PER_SEC: u64 = 5_000_000;

pub fn answer(bench: &Bench) -> Result<Vec<Answer>, Failure> {
    let fs = kernel::find("fs").map_err(failed)?;
    let mut eye = Eye::open()?;
    let disks = [
        Disk::make(bench.scratch, "first", "ext4", DISK_BYTES)?,
        Disk::make(bench.scratch, "second", "ext4", DISK_BYTES)?,
    ];
    let slow = ShortGroup::of_reads(disks[1].device()?, SLOW_BYTES_PER_SEC).map_err(Failure::of)?;
    eye.turn(&[fs], &[(fs, "Read"), (fs, "Write")])?;
    let n_records = if bench.is_quick { QUICK_RECORDS } else { N_RECORDS };
    let mut all = Vec::new();
    for (what, mode, point) in [("write", "create", "Write"), ("read", "read", "Read")] {
        let seen = eye.watch(Duration::from_secs(10), || both(&disks, mode, n_records, &slow))?;
        let (span, processes) = seen.done?;
        let server = |event: &Traced| processes.iter().position(|process| *process == event.process);
        let is_whole =
            |event: &&Traced| fs.points[event.point].name == point && event.returned == RECORD_BYTES.cast_signed();
        let part = |event: &Traced| {
            let span = Span { start_ns: event.begin_ns, end_ns: event.end_ns };
            Some(Part { server: server(event)? as u64, span, n_bytes: RECORD_BYTES })
        };
        let parts = seen.traced.iter().filter(is_whole).filter_map(part).collect();
        all.push(Served { what, span, parts });
    }
    let conditions = format!(
        "{n_records} records of 1 MiB on each of two file systems in files, past the page cache, by two processes at a time whose calls are traced in the kernel; \
         reads of the second are limited to {} MB/s by a control group",
        SLOW_BYTES_PER_SEC / 1_000_000
    );
    Ok(vec![served(
        "A write and a read over two devices, one slow at reading (table 7-5)",
        conditions,
        &all,
        ["first", "second"],
    )])
}

/// Runs it on both at a time. Gives when that was, and the processes.
fn both(disks: &[Disk; 2], mode: &str, n_records: u64, group: &ShortGroup) -> Result<(Span, [u32; 2]), Failure> {
    let program = std::env::current_exe().map_err(Failure::of)?.with_file_name("foretop-iow");
    let start_ns = clock::monotonic_ns();
    let started = disks.each_ref().map(|disk| begin(&program, disk, mode, n_records, group));
    let [one, other] = started;
    let (one, other) = (one?, other?);
    let processes = [one.id(), other.id()];
    for child in [one, other] {
        let done = child.wait_with_output().map_err(Failure::of)?;
        if !done.status.success() {
            return Err(Failure::work(last_words(&String::from_utf8_lossy(&done.stderr))));
        }
    }
    Ok((Span { start_ns, end_ns: clock::monotonic_ns() }, processes))
}

fn begin(program: &Path, disk: &Disk, mode: &str, n_records: u64, group: &ShortGroup) -> Result<Child, Failure> {
    let mut command: Command = group.command(program);
    command.arg("--folder").arg(disk.folder()).args(["--mode", mode, "--access", "direct", "--clear-caches"]);
    command.args(["--size", &format!("{RECORD_BYTES}B"), "--operations", &n_records.to_string()]);
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    started.map_err(|error| Failure::work(format!("cannot run `{}`: {error}", program.display())))
}
