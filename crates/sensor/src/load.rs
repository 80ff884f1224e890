//! Load averages, from `/proc/loadavg`, and the CPU availability that follows from them.

use std::{path::Path, sync::Arc};

use procfs::{FromRead, LoadAverage};
use signal::{Family, Signal, row};

use crate::error::Absence;
use crate::file::KernelFile;
use crate::tick::{Sensor, Tick};
use crate::{ReadError, availability};

const AVERAGES: [&Family; 3] = [row("load.1m"), row("load.5m"), row("load.15m")];
const AVAILABILITY: &Family = row("cpu.availability.loadavg");

/// The load averages. Comes after [`Cpu`](crate::cpu::Cpu) in a tick, which counts the cores.
pub(crate) struct Load {
    file: KernelFile,
    averages: [Arc<Signal>; 3],
    availability: Arc<Signal>,
}

impl Load {
    pub(crate) fn open(root: &Path) -> Result<Load, Absence> {
        Ok(Load {
            file: KernelFile::open(root, "proc/loadavg")?,
            averages: AVERAGES.map(Signal::only),
            availability: Signal::only(AVAILABILITY),
        })
    }
}

impl Sensor for Load {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let text = self.file.read(tick.text)?;
        let malformed = || self.file.malformed("three load averages, 0 or more", text);
        let load = LoadAverage::from_read(text).map_err(|_| malformed())?;
        let averages = [load.one, load.five, load.fifteen].map(as_written);
        if averages.iter().any(|average| !average.is_finite() || *average < 0.0) {
            return Err(malformed());
        }
        for (signal, average) in self.averages.iter().zip(averages) {
            tick.readings.push(signal, average);
        }
        let available = tick.n_cores.map(|n_cores| availability::by_load(averages[0], n_cores));
        tick.by_load = available;
        tick.readings.push_some(&self.availability, available);
        Ok(())
    }
}

/// The average with the two decimals that the kernel wrote, which are lost in single precision: 0.06, not 0.05999….
fn as_written(average: f32) -> f64 {
    (f64::from(average) * 100.0).round() / 100.0
}
