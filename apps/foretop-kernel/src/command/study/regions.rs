//! Sweeps over record sizes on several file systems, through the page cache and past it.

use std::path::Path;

use iow::{Access, Mode, Plan};
use kernel_study::Answer;
use kernel_study::machine::{Sweep, regions};
use program::Failure;
use units::ByteCount;

use super::Bench;
use super::disk::Disk;

/// The amount that is written.
struct Extent {
    /// Record sizes, as powers of two.
    powers: std::ops::RangeInclusive<u32>,
    /// The total of each size, or less if that were more than so many records.
    total: ByteCount,
    n_records_max: u64,
    /// The number of rounds of which the median counts: now and then the device is busy with what was written before.
    n_rounds: usize,
}

const FULL: Extent = Extent { powers: 9..=26, total: ByteCount::new(64 << 20), n_records_max: 4_096, n_rounds: 3 };
const QUICK: Extent = Extent { powers: 9..=20, total: ByteCount::new(4 << 20), n_records_max: 256, n_rounds: 1 };
const DISK_BYTES: u64 = 256 << 20;
const MEMORY: &str = "/dev/shm";

pub fn answer(bench: &Bench) -> Result<Vec<Answer>, Failure> {
    let extent = if bench.is_quick { QUICK } else { FULL };
    let mut left_out = Vec::new();
    let mut disks = Vec::new();
    for kind in ["ext4", "ext2"] {
        match Disk::make(bench.scratch, kind, kind, DISK_BYTES) {
            Ok(disk) => disks.push((format!("{kind} in a file"), disk)),
            Err(failure) => left_out.push(format!("{kind} in a file: {}", failure.message)),
        }
    }
    let memory = tempfile::tempdir_in(MEMORY).map_err(|error| Failure::work(format!("`{MEMORY}`: {error}")));
    let mut places = vec![(place(bench.scratch)?, bench.scratch)];
    match &memory {
        Ok(folder) => places.push((place(folder.path())?, folder.path())),
        Err(failure) => left_out.push(failure.message.clone()),
    }
    places.extend(disks.iter().map(|(name, disk)| (name.clone(), disk.folder())));
    let mut sweeps = Vec::new();
    for (place, folder) in places {
        for access in [Access::Buffered, Access::Direct] {
            match sweep(folder, access, &extent) {
                Ok(speeds) => {
                    sweeps.push(Sweep { place: place.clone(), is_direct: access == Access::Direct, speeds });
                }
                Err(failure) => left_out.push(format!("{place}: {}", failure.message)),
            }
        }
    }
    let [least, most] = [extent.powers.start(), extent.powers.end()].map(|power| ByteCount::new(1 << power));
    let mut conditions = format!(
        "files made anew in records of {least} to {most}, each size {} or {} records, whichever is less; rounds: {}",
        extent.total, extent.n_records_max, extent.n_rounds
    );
    conditions.extend(left_out.iter().map(|why| format!("; without {why}")));
    Ok(vec![regions(&sweeps, conditions)])
}

fn place(folder: &Path) -> Result<String, Failure> {
    let place = iow::place(folder).map_err(Failure::of)?;
    Ok(format!("{} on {}", place.file_system, place.device))
}

/// Bytes a second by record size.
fn sweep(folder: &Path, access: Access, extent: &Extent) -> Result<Vec<(u64, f64)>, Failure> {
    let speed = |power: u32| {
        let size_bytes = 1 << power;
        let plan = Plan {
            folder: folder.to_owned(),
            files: 0..=0,
            mode: Mode::Create,
            access,
            n_operations: (extent.total.bytes() / size_bytes).clamp(1, extent.n_records_max),
            first_byte: 0,
            size_bytes,
            stride_bytes: size_bytes,
            n_tasks: 1,
            clears_caches: false,
            removes: true,
        };
        let rounds = (0..extent.n_rounds).map(|_| Ok(iow::run(&plan).map_err(Failure::of)?.bytes_per_sec()));
        let rounds = rounds.collect::<Result<Vec<f64>, Failure>>()?;
        Ok((size_bytes, statistics::median(&rounds).unwrap_or(0.0)))
    };
    extent.powers.clone().map(speed).collect()
}
