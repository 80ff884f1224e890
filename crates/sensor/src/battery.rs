//! The charge and the power of batteries, from `/sys/class/power_supply`.
//!
//! Format: `Documentation/ABI/testing/sysfs-class-power`. Batteries of mice and the like, whose scope is a device,
//! are left out.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use signal::{Family, Signal, row};

use crate::ReadError;
use crate::device::Devices;
use crate::tick::{Sensor, Tick};
use crate::value_file::{ValueFile, integer_at, names_in, word_at};

const CHARGE: &Family = row("battery.{battery}.charge");
const POWER: &Family = row("battery.{battery}.power");

const PERCENT: f64 = 100.0;
const MICRO: f64 = 1e6;

/// Batteries that are read: a laptop has one or two.
const N_BATTERIES_MAX: usize = 8;

/// The batteries of the host.
pub(crate) struct Batteries {
    class: PathBuf,
    batteries: Devices<Battery>,
}

impl Batteries {
    pub(crate) fn open(root: &Path) -> Option<Batteries> {
        let class = root.join("sys/class/power_supply");
        class.is_dir().then(|| Batteries { class, batteries: Devices::new() })
    }
}

impl Sensor for Batteries {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let list = || {
            let found = names_in(&self.class).into_iter().filter_map(|name| Battery::open(&self.class, &name));
            found.take(N_BATTERIES_MAX).collect()
        };
        for battery in self.batteries.at(tick.at, list) {
            battery.charge.read(tick.text, tick.readings);
            let power = battery.power_watts(tick.text);
            tick.readings.push_some(&battery.power, power);
        }
        Ok(())
    }
}

struct Battery {
    directory: PathBuf,
    charge: ValueFile,
    power: Arc<Signal>,
}

impl Battery {
    fn open(class: &Path, name: &str) -> Option<Battery> {
        let directory = class.join(name);
        let is_of_device = word_at(&directory.join("scope")).is_some_and(|scope| scope == b"Device");
        let is_battery = word_at(&directory.join("type"))? == b"Battery" && !is_of_device;
        let signal = |family| Signal::labelled(family, name.as_bytes());
        let charge = ValueFile::new(directory.join("capacity"), signal(CHARGE), PERCENT);
        is_battery.then(|| Battery { directory, charge, power: signal(POWER) })
    }

    /// The power, without the sign by which some drivers tell apart giving and taking.
    fn power_watts(&self, text: &mut Vec<u8>) -> Option<f64> {
        let mut ask = |file| Some(integer_at(&self.directory.join(file), text)?.unsigned_abs() as f64 / MICRO);
        ask("power_now").or_else(|| Some(ask("current_now")? * ask("voltage_now")?))
    }
}
