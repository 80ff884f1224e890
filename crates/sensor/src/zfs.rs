//! The cache of ZFS (ARC), from `/proc/spl/kstat/zfs/arcstats`.
//!
//! Format: a line for each number with its name, its type and its value; `module/os/linux/spl/spl-kstat.c` of OpenZFS.

use std::{path::Path, sync::Arc};

use signal::{Family, Signal, row};

use crate::ReadError;
use crate::file::{KernelFile, fields, lines, number};
use crate::tick::{Sensor, Tick};

const SIZE: &Family = row("zfs.arc.size");
const LIMIT: &Family = row("zfs.arc.limit");
const HITS: &Family = row("zfs.arc.hits");

/// The cache of ZFS.
pub(crate) struct Zfs {
    file: KernelFile,
    size: Arc<Signal>,
    limit: Arc<Signal>,
    share_of_hits: Arc<Signal>,
    /// The hits and misses at the last read.
    last: Option<(u64, u64)>,
}

impl Zfs {
    pub(crate) fn open(root: &Path) -> Option<Zfs> {
        let file = KernelFile::open(root, "proc/spl/kstat/zfs/arcstats").ok()?;
        Some(Zfs {
            file,
            size: Signal::only(SIZE),
            limit: Signal::only(LIMIT),
            share_of_hits: Signal::only(HITS),
            last: None,
        })
    }
}

impl Sensor for Zfs {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let text = self.file.read(tick.text)?;
        let value = |key, needed| value_of(text, key).ok_or_else(|| self.file.malformed(needed, text));
        let (size, limit) = (value("size", "a line `size`")?, value("c_max", "a line `c_max`")?);
        let (hits, misses) = (value("hits", "a line `hits`")?, value("misses", "a line `misses`")?);
        tick.readings.push(&self.size, size as f64);
        tick.readings.push(&self.limit, limit as f64);
        let last = self.last.replace((hits, misses));
        tick.readings.push_some(&self.share_of_hits, last.and_then(|last| share_of_hits(last, (hits, misses))));
        Ok(())
    }
}

/// The share of hits between two reads. None if there were neither hits nor misses, and if the counts started again.
fn share_of_hits(last: (u64, u64), now: (u64, u64)) -> Option<f64> {
    let (hits, misses) = (now.0.checked_sub(last.0)? as f64, now.1.checked_sub(last.1)? as f64);
    (hits + misses > 0.0).then(|| hits / (hits + misses))
}

/// The value on the line of `key`, after its type.
fn value_of(text: &[u8], key: &str) -> Option<u64> {
    let mut found = lines(text).map(fields).filter_map(|mut line| (line.next()? == key.as_bytes()).then_some(line));
    number(found.next()?.nth(1)?)
}
