//! Sweeps over record sizes on several file systems, through the page cache and past it.

use std::path::Path;

use iow::{Access, Mode, Plan};
use kernel_study::Answer;
use kernel_study::machine::{Sweep, regions};
use program::Failure;

use super::Bench;
use super::disk::Disk;

/// Powers of two.
const SIZES: std::ops::RangeInclusive<u32> = 9..=26;
const QUICK_SIZES: std::ops::RangeInclusive<u32> = 9..=20;
/// Written in all with each size, or less where that were more records than the second.
const TOTAL_BYTES: u64 = 64 << 20;
const QUICK_TOTAL_BYTES: u64 = 4 << 20;
const N_RECORDS_MAX: u64 = 4_096;
const QUICK_RECORDS_MAX: u64 = 256;
/// Rounds of which the median counts: now and then the device is busy with what was written before.
const N_ROUNDS: usize = 3;
const DISK_BYTES: u64 = 256 << 20;
const MEMORY: &str = "/dev/shm";

pub fn answer(bench: &Bench) -> Result<Vec<Answer>, Failure> {
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
            match sweep(folder, access, bench.is_quick) {
                Ok(speeds) => {
                    sweeps.push(Sweep { place: place.clone(), is_direct: access == Access::Direct, speeds });
                }
                Err(failure) => left_out.push(format!("{place}: {}", failure.message)),
            }
        }
    }
    let mut conditions = format!(
        "files made anew in records of {} B to {} KiB, each size {} MiB or {} records, whichever is less; the median of {} rounds",
        1 << sizes(bench).start(),
        (1 << sizes(bench).end()) >> 10,
        if bench.is_quick { QUICK_TOTAL_BYTES } else { TOTAL_BYTES } >> 20,
        if bench.is_quick { QUICK_RECORDS_MAX } else { N_RECORDS_MAX },
        if bench.is_quick { 1 } else { N_ROUNDS },
    );
    conditions.extend(left_out.iter().map(|why| format!("; without {why}")));
    Ok(vec![regions(&sweeps, conditions)])
}

fn sizes(bench: &Bench) -> std::ops::RangeInclusive<u32> {
    if bench.is_quick { QUICK_SIZES } else { SIZES }
}

fn place(folder: &Path) -> Result<String, Failure> {
    let place = iow::place(folder).map_err(Failure::of)?;
    Ok(format!("{} on {}", place.file_system, place.device))
}

/// Bytes a second by record size.
fn sweep(folder: &Path, access: Access, is_quick: bool) -> Result<Vec<(u64, f64)>, Failure> {
    let (sizes, total, most, n_rounds) = match is_quick {
        true => (QUICK_SIZES, QUICK_TOTAL_BYTES, QUICK_RECORDS_MAX, 1),
        false => (SIZES, TOTAL_BYTES, N_RECORDS_MAX, N_ROUNDS),
    };
    let speed = |power: u32| {
        let size_bytes = 1 << power;
        let plan = Plan {
            folder: folder.to_owned(),
            files: 0..=0,
            mode: Mode::Create,
            access,
            n_operations: (total / size_bytes).clamp(1, most),
            first_byte: 0,
            size_bytes,
            stride_bytes: size_bytes,
            n_tasks: 1,
            clears_caches: false,
            removes: true,
        };
        let rounds = (0..n_rounds).map(|_| Ok(iow::run(&plan).map_err(Failure::of)?.bytes_per_sec()));
        let rounds = rounds.collect::<Result<Vec<f64>, Failure>>()?;
        Ok((size_bytes, statistics::median(&rounds).unwrap_or(0.0)))
    };
    sizes.map(speed).collect()
}
