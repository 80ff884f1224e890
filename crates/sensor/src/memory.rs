//! Memory and swap space, from `/proc/meminfo`.
//!
//! Not parsed by the `procfs` crate, which makes a map of all fifty lines at every read and panics on a line that it
//! does not expect.

use std::{path::Path, sync::Arc};

use signal::{Family, Signal, row};

use crate::ReadError;
use crate::error::Absence;
use crate::file::{KernelFile, value_of};
use crate::tick::{Sensor, Tick};

const AVAILABLE: &Family = row("memory.available");
const SWAP_USED: &Family = row("swap.used");
const SWAP_FREE: &Family = row("swap.free");

/// The kernel's `kB` has 1,024 bytes.
const KIB: f64 = 1024.0;

/// Returns the bytes of `/proc/meminfo` that are not available.
pub(crate) fn in_use(text: &[u8]) -> Option<u64> {
    let (total, available) = (value_of(text, "MemTotal:")?, value_of(text, "MemAvailable:")?);
    Some(total.saturating_sub(available).saturating_mul(1024))
}

/// Memory and swap space. Without swap its space is 0.
pub(crate) struct Memory {
    file: KernelFile,
    available: Arc<Signal>,
    swap_used: Arc<Signal>,
    swap_free: Arc<Signal>,
}

impl Memory {
    pub(crate) fn open(root: &Path) -> Result<Memory, Absence> {
        let file = KernelFile::open(root, "proc/meminfo")?;
        let total = total_bytes(root);
        let available = Signal::listed(AVAILABLE, None);
        Ok(Memory {
            file,
            available: Arc::new(match total {
                Some(total) => available.up_to(total as f64),
                None => available,
            }),
            swap_used: Signal::only(SWAP_USED),
            swap_free: Signal::only(SWAP_FREE),
        })
    }
}

/// Returns the memory that the host has, in bytes, if its kernel gives it.
pub(crate) fn total_bytes(root: &Path) -> Option<u64> {
    let text = &mut Vec::new();
    let total = value_of(KernelFile::at(root.join("proc/meminfo")).read(text).ok()?, "MemTotal:")?;
    total.checked_mul(KIB as u64)
}

impl Sensor for Memory {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let text = self.file.read(tick.text)?;
        let amount = |key, needed| value_of(text, key).ok_or_else(|| self.file.malformed(needed, text));
        let available = amount("MemAvailable:", "a line `MemAvailable:`")?;
        let swap = amount("SwapTotal:", "a line `SwapTotal:`")?;
        let swap_free = amount("SwapFree:", "a line `SwapFree:`")?;
        tick.readings.push(&self.available, available as f64 * KIB);
        tick.readings.push(&self.swap_used, swap.saturating_sub(swap_free) as f64 * KIB);
        tick.readings.push(&self.swap_free, swap_free as f64 * KIB);
        Ok(())
    }
}
