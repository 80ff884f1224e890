//! Thermal throttling of x86 processors, from `/sys/devices/system/cpu/cpu*/thermal_throttle`.
//!
//! Each logical CPU counts the events of its core and of its package, so one CPU of each core and one of each package
//! is read. The counts are added up as differences, because those of a CPU that goes offline go with it.
//! Source: `drivers/thermal/intel/therm_throt.c`.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use signal::{Family, Signal, row};

use crate::ReadError;
use crate::counter::Rate;
use crate::tick::{Sensor, Tick};
use crate::value_file::{integer_at, names_in, word_at};

const CORES: &Family = row("cpu.core_throttles");
const PACKAGES: &Family = row("cpu.package_throttles");

/// Throttling of the cores and of the packages.
pub(crate) struct Throttling {
    sums: [CounterSum; 2],
}

impl Throttling {
    /// The counts, if the processors that are online keep any.
    pub(crate) fn open(root: &Path) -> Option<Throttling> {
        let cpus = root.join("sys/devices/system/cpu");
        let (mut cores, mut packages) = (CounterSum::new(CORES), CounterSum::new(PACKAGES));
        let (mut seen_cores, mut seen_packages) = (HashSet::new(), HashSet::new());
        for name in names_in(&cpus) {
            let cpu = cpus.join(name);
            let counts = cpu.join("thermal_throttle");
            let package = word_at(&cpu.join("topology/physical_package_id"));
            let siblings = word_at(&cpu.join("topology/thread_siblings_list"));
            let (Some(package), Some(siblings), true) = (package, siblings, counts.is_dir()) else { continue };
            if seen_cores.insert(siblings) {
                cores.add(counts.join("core_throttle_count"));
            }
            if seen_packages.insert(package) {
                packages.add(counts.join("package_throttle_count"));
            }
        }
        (!seen_cores.is_empty()).then_some(Throttling { sums: [cores, packages] })
    }
}

impl Sensor for Throttling {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        for sum in &mut self.sums {
            sum.read(tick);
        }
        Ok(())
    }
}

/// The counters in several files, added up.
struct CounterSum {
    /// Each file, and its count when it was read last.
    counters: Vec<(PathBuf, Option<u64>)>,
    sum: u64,
    rate: Rate,
}

impl CounterSum {
    fn new(family: &'static Family) -> CounterSum {
        CounterSum { counters: Vec::new(), sum: 0, rate: Rate::new(Signal::only(family), 1.0) }
    }

    fn add(&mut self, path: PathBuf) {
        self.counters.push((path, None));
    }

    fn read(&mut self, tick: &mut Tick<'_>) {
        let mut n_read = 0;
        for (path, last) in &mut self.counters {
            let count = integer_at(path, tick.text).and_then(|count| u64::try_from(count).ok());
            n_read += usize::from(count.is_some());
            let grown = last.zip(count).map_or(0, |(last, count)| count.saturating_sub(last));
            self.sum = self.sum.saturating_add(grown);
            *last = count;
        }
        if n_read == 0 {
            self.rate.restart();
        } else {
            self.rate.step(tick.at, self.sum, tick.readings);
        }
    }
}
