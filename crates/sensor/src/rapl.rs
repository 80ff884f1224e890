//! Power of processors and memory, from the counters of energy in `/sys/class/powercap/intel-rapl:*`.
//!
//! Processors by AMD have the same directories. Since kernel 5.10 only root may read the energy: then there is none.
//! Format: `Documentation/power/powercap/powercap.rst`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use signal::{Family, Readings, Signal, row};

use crate::ReadError;
use crate::counter::Rate;
use crate::tick::{Sensor, Tick};
use crate::value_file::{integer_at, names_in, word_at};

const POWER: &Family = row("rapl.{zone}.power");

const MICRO: f64 = 1e-6;

/// No zone takes that much. A counter that went back and would mean more was reset, as after a suspension.
const POWER_WATTS_MAX: f64 = 2000.0;

/// Zones that are read: eight processors have this many.
const N_ZONES_MAX: usize = 32;

/// The zones that this user may read.
pub(crate) struct Rapl {
    zones: Vec<Zone>,
}

impl Rapl {
    pub(crate) fn open(root: &Path) -> Option<Rapl> {
        let class = root.join("sys/class/powercap");
        // `intel-rapl-mmio:0` counts the energy of `intel-rapl:0` once more.
        let names = names_in(&class).into_iter().filter(|name| name.starts_with("intel-rapl:"));
        let mut zones: Vec<Zone> = Vec::new();
        for name in names.take(N_ZONES_MAX) {
            let Some(label) = label_of(&class, &name) else { continue };
            let is_taken = zones.iter().any(|zone| zone.label == label);
            zones.extend(Zone::open(&class.join(name), label).filter(|_| !is_taken));
        }
        (!zones.is_empty()).then_some(Rapl { zones })
    }
}

impl Sensor for Rapl {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        for zone in &mut self.zones {
            match count_at(&zone.energy, tick.text) {
                Some(count) => zone.step(tick.at, count, tick.readings),
                None => zone.restart(),
            }
        }
        Ok(())
    }
}

/// The name of the zone in the directory `name`, after that of the zone it is a part of: `package-0 core`.
fn label_of(class: &Path, name: &str) -> Option<Vec<u8>> {
    let own = word_at(&class.join(name).join("name"))?;
    let parent = name.rsplit_once(':').filter(|(parent, _)| parent.contains(':'));
    Some(match parent {
        Some((parent, _)) => [&word_at(&class.join(parent).join("name"))?[..], &own].join(&b' '),
        None => own,
    })
}

fn count_at(energy: &Path, text: &mut Vec<u8>) -> Option<u64> {
    u64::try_from(integer_at(energy, text)?).ok()
}

struct Zone {
    label: Vec<u8>,
    energy: PathBuf,
    /// The count after which the counter starts again.
    range_uj: u64,
    last: Option<(Duration, u64)>,
    /// The energy since the first read, however often the counter started again.
    total_uj: u64,
    power: Rate,
}

impl Zone {
    fn open(directory: &Path, label: Vec<u8>) -> Option<Zone> {
        let (energy, text) = (directory.join("energy_uj"), &mut Vec::new());
        count_at(&energy, text)?;
        let range_uj = count_at(&directory.join("max_energy_range_uj"), text).unwrap_or(0);
        let power = Rate::new(Signal::labelled(POWER, &label), MICRO);
        Some(Zone { label, energy, range_uj, last: None, total_uj: 0, power })
    }

    fn restart(&mut self) {
        self.last = None;
        self.power.restart();
    }

    fn step(&mut self, at: Duration, count: u64, readings: &mut Readings) {
        if let Some((last_at, last)) = self.last {
            let possible = at.saturating_sub(last_at).as_secs_f64() * POWER_WATTS_MAX / MICRO;
            let wrapped = || self.range_uj.checked_sub(last)?.checked_add(count);
            match count.checked_sub(last).or_else(wrapped).filter(|&grown| grown as f64 <= possible) {
                Some(grown) => self.total_uj = self.total_uj.saturating_add(grown),
                None => self.power.restart(),
            }
        }
        self.last = Some((at, count));
        self.power.step(at, self.total_uj, readings);
    }
}
