//! Traffic to and from swap, from `/proc/vmstat`.
//!
//! The `procfs` crate reads this file from `/proc` only.

use std::path::Path;

use signal::{Family, Signal, row};

use crate::ReadError;
use crate::counter::Rate;
use crate::error::Absence;
use crate::file::{KernelFile, value_of};
use crate::tick::{Sensor, Tick};

const SWAP_IN: &Family = row("swap.in");
const SWAP_OUT: &Family = row("swap.out");

/// Traffic to and from swap, counted by the kernel in pages.
pub(crate) struct Swap {
    file: KernelFile,
    read: Rate,
    written: Rate,
}

impl Swap {
    pub(crate) fn open(root: &Path) -> Result<Swap, Absence> {
        let file = KernelFile::open(root, "proc/vmstat")?;
        // Whether there are such lines is settled when the kernel is built. A file that cannot be read is left to the
        // ticks.
        if file.read(&mut Vec::new()).is_ok_and(|text| value_of(text, "pswpin").is_none()) {
            return Err(Absence::NoSwap);
        }
        let page_bytes = procfs::page_size() as f64;
        let rate = |family| Rate::new(Signal::only(family), page_bytes);
        Ok(Swap { file, read: rate(SWAP_IN), written: rate(SWAP_OUT) })
    }
}

impl Sensor for Swap {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let text = self.file.read(tick.text)?;
        let pages = |key, needed| value_of(text, key).ok_or_else(|| self.file.malformed(needed, text));
        let read = pages("pswpin", "a line `pswpin`")?;
        let written = pages("pswpout", "a line `pswpout`")?;
        self.read.step(tick.at, read, tick.readings);
        self.written.step(tick.at, written, tick.readings);
        Ok(())
    }
}
