//! Disks that software RAIDs lack, from `/sys/block/md*/md/degraded`, which arrays without spare disks do not have.
//!
//! Format: `Documentation/admin-guide/md.rst`.

use std::path::{Path, PathBuf};

use signal::{Family, Signal, row};

use crate::ReadError;
use crate::device::Devices;
use crate::tick::{Sensor, Tick};
use crate::value_file::{ValueFile, names_in};

const DEGRADED: &Family = row("md.{array}.degraded");

/// Arrays that are read.
const N_ARRAYS_MAX: usize = 64;

/// The software RAIDs.
pub(crate) struct Raids {
    block: PathBuf,
    arrays: Devices<ValueFile>,
}

impl Raids {
    pub(crate) fn open(root: &Path) -> Option<Raids> {
        let block = root.join("sys/block");
        block.is_dir().then(|| Raids { block, arrays: Devices::new() })
    }
}

impl Sensor for Raids {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let list = || {
            let arrays = names_in(&self.block).into_iter().filter_map(|name| {
                let file = self.block.join(&name).join("md/degraded");
                let signal = Signal::labelled(DEGRADED, name.as_bytes());
                file.exists().then(|| ValueFile::new(file, signal, 1.0))
            });
            arrays.take(N_ARRAYS_MAX).collect()
        };
        for array in self.arrays.at(tick.at, list) {
            array.read(tick.text, tick.readings);
        }
        Ok(())
    }
}
