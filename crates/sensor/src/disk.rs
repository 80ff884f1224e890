//! Traffic of the disks, from `/proc/diskstats`.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use procfs::DiskStat;
use signal::{Family, Readings, Signal, row};

use crate::ReadError;
use crate::counter::Rate;
use crate::error::Absence;
use crate::file::{KernelFile, lines};
use crate::roster::Roster;
use crate::tick::{Sensor, Tick};

const READ: &Family = row("disk.{device}.read");
const WRITTEN: &Family = row("disk.{device}.written");
const READS: &Family = row("disk.{device}.reads");
const WRITES: &Family = row("disk.{device}.writes");
const BUSY: &Family = row("disk.{device}.busy");

/// The size of the kernel's sectors, whatever the disk does.
const SECTOR_BYTES: f64 = 512.0;

const MILLISECOND: f64 = 1e-3;

/// The whole disks. Partitions are left out, and so are loop and memory devices that nobody ever used.
pub(crate) struct Disks {
    file: KernelFile,
    /// Has a directory for each whole disk, and none for a partition.
    block: PathBuf,
    disks: Roster<Option<Disk>>,
}

impl Disks {
    pub(crate) fn open(root: &Path) -> Result<Disks, Absence> {
        let block = root.join("sys/block");
        if !block.is_dir() {
            return Err(Absence::NoFile { file: "sys/block" });
        }
        Ok(Disks { file: KernelFile::open(root, "proc/diskstats")?, block, disks: Roster::new() })
    }
}

impl Sensor for Disks {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let text = self.file.read(tick.text)?;
        for line in lines(text) {
            let stat = parse(line).ok_or_else(|| self.file.malformed("a disk and its counts", line))?;
            if is_unused(&stat) {
                continue;
            }
            let make = || is_whole(&self.block, &stat.name).then(|| Disk::new(stat.name.as_bytes()));
            if let Some(disk) = self.disks.call(stat.name.as_bytes(), make) {
                disk.step(tick.at, &stat, tick.readings);
            }
        }
        self.disks.forget_uncalled();
        Ok(())
    }
}

fn parse(line: &[u8]) -> Option<DiskStat> {
    DiskStat::from_line(std::str::from_utf8(line).ok()?).ok()
}

/// Whether this is a loop or memory device without a single operation, as a dozen of them are on most hosts.
fn is_unused(stat: &DiskStat) -> bool {
    (stat.name.starts_with("loop") || stat.name.starts_with("ram")) && stat.reads == 0 && stat.writes == 0
}

fn is_whole(block: &Path, name: &str) -> bool {
    // A slash in the name of a device is an exclamation mark in the name of its directory.
    block.join(name.replace('/', "!")).is_dir()
}

struct Disk {
    read: Rate,
    written: Rate,
    reads: Rate,
    writes: Rate,
    busy: Rate,
}

impl Disk {
    fn new(name: &[u8]) -> Disk {
        let rate = |family, per_count| Rate::new(Signal::labelled(family, name), per_count);
        Disk {
            read: rate(READ, SECTOR_BYTES),
            written: rate(WRITTEN, SECTOR_BYTES),
            reads: rate(READS, 1.0),
            writes: rate(WRITES, 1.0),
            busy: rate(BUSY, MILLISECOND),
        }
    }

    fn step(&mut self, at: Duration, stat: &DiskStat, readings: &mut Readings) {
        self.read.step(at, stat.sectors_read, readings);
        self.written.step(at, stat.sectors_written, readings);
        self.reads.step(at, stat.reads, readings);
        self.writes.step(at, stat.writes, readings);
        self.busy.step(at, stat.time_in_progress, readings);
    }
}
