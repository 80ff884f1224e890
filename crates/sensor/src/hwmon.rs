//! Temperatures, fans and power, from `/sys/class/hwmon`; temperatures from `/sys/class/thermal` if no chip has one.
//!
//! A sensor is named after its chip and its label, or its number if it has no label; chips of one name are told apart
//! by the device that each belongs to, because the numbers of chips change from boot to boot.
//! Formats: `Documentation/hwmon/sysfs-interface.rst`; `Documentation/driver-api/thermal/sysfs-api.rst`.

use std::{
    collections::HashSet,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use signal::{Family, Signal, row};

use crate::ReadError;
use crate::device::{Devices, is_asleep};
use crate::tick::{Sensor, Tick};
use crate::value_file::{ValueFile, integer_at, names_in, word_at};

const TEMPERATURE: &Family = row("temperature.{sensor}");
const FAN: &Family = row("fan.{sensor}");
const POWER: &Family = row("power.{sensor}");

/// Thousandths of a degree stand for temperatures, in both directories.
const MILLI: f64 = 1e3;

/// Each quantity: its family, how its files begin and end, the better one first, and what they count one as.
const QUANTITIES: [(&Family, &str, &[&str], f64); 3] = [
    (TEMPERATURE, "temp", &["_input"], MILLI),
    (FAN, "fan", &["_input"], 1.0),
    (POWER, "power", &["_input", "_average"], 1e6),
];

/// Sensors read of each quantity: a server has one for each core and memory module, and those of a chip are alike.
const N_SENSORS_MAX: usize = 64;

/// Bytes of a label. A longer one is no label.
const LABEL_BYTES_MAX: usize = 64;

/// A chip that asks the disk at each reading, which keeps some disks from spinning down.
const DISK_CHIP: &[u8] = b"drivetemp";

/// The sensors of the hardware.
pub(crate) struct Hwmon {
    root: PathBuf,
    sensors: Devices<HardwareSensor>,
}

impl Hwmon {
    /// The sensors of the hardware, if the kernel has a place for any.
    pub(crate) fn open(root: &Path) -> Option<Hwmon> {
        let has_place = ["hwmon", "thermal"].iter().any(|class| root.join("sys/class").join(class).is_dir());
        has_place.then(|| Hwmon { root: root.to_owned(), sensors: Devices::new() })
    }
}

impl Sensor for Hwmon {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        for sensor in self.sensors.at(tick.at, || find_sensors(&self.root)) {
            sensor.read(tick);
        }
        Ok(())
    }
}

struct HardwareSensor {
    value: ValueFile,
    /// Says 1 while the value is none.
    fault: Option<PathBuf>,
    /// The device, if it can be suspended.
    device: Option<PathBuf>,
}

impl HardwareSensor {
    fn read(&self, tick: &mut Tick<'_>) {
        let is_faulty = |fault: &PathBuf| integer_at(fault, tick.text) == Some(1);
        if self.fault.as_ref().is_some_and(is_faulty) {
            return;
        }
        if self.device.as_ref().is_some_and(|device| is_asleep(device, tick.text)) {
            return;
        }
        self.value.read(tick.text, tick.readings);
    }
}

fn find_sensors(root: &Path) -> Vec<HardwareSensor> {
    let class = root.join("sys/class/hwmon");
    let mut chips: Vec<Chip> = names_in(&class).iter().filter_map(|name| Chip::open(&class.join(name))).collect();
    chips.sort_unstable();
    let mut sensors = Vec::new();
    for (family, start, ends, per_unit) in QUANTITIES {
        let of_chip = |chip| Channel::of(chip, start, ends);
        let mut channels: Vec<Channel<'_>> = chips.iter().flat_map(of_chip).collect();
        // The first ones of each chip come first, so that no chip with many keeps all others out.
        channels.sort_by_key(|channel| channel.number);
        let mut names = HashSet::new();
        let named = channels.iter().filter_map(|channel| {
            let name = channel.name(&chips, &channels);
            names.insert(name.clone()).then(|| {
                channel.sensor(ValueFile::new(channel.path.clone(), Signal::labelled(family, &name), per_unit))
            })
        });
        sensors.extend(named.take(N_SENSORS_MAX));
        if start == "temp" && sensors.is_empty() {
            sensors = find_zones(root);
        }
    }
    sensors
}

/// The temperatures of the thermal zones.
fn find_zones(root: &Path) -> Vec<HardwareSensor> {
    let class = root.join("sys/class/thermal");
    let zones = names_in(&class).into_iter().filter_map(|name| {
        let number = name.strip_prefix("thermal_zone")?.to_owned();
        Some((word_at(&class.join(&name).join("type"))?, number, class.join(name).join("temp")))
    });
    let zones: Vec<_> = zones.take(N_SENSORS_MAX).collect();
    let mut names = HashSet::new();
    let sensor = |(kind, number, path): &(Vec<u8>, String, PathBuf)| {
        let is_only = zones.iter().filter(|(other, ..)| other == kind).count() == 1;
        let name = if is_only { kind.clone() } else { joined(kind, number.as_bytes()) };
        let value = ValueFile::new(path.clone(), Signal::labelled(TEMPERATURE, &name), MILLI);
        names.insert(name).then_some(HardwareSensor { value, fault: None, device: None })
    };
    zones.iter().filter_map(sensor).collect()
}

fn joined(first: &[u8], second: &[u8]) -> Vec<u8> {
    [first, second].join(&b' ')
}

/// A chip with sensors. In order by name and device, whatever its number is.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Chip {
    name: Vec<u8>,
    device: Vec<u8>,
    directory: PathBuf,
}

impl Chip {
    fn open(hwmon: &Path) -> Option<Chip> {
        // Older drivers have all files at the device.
        let places = [hwmon.to_owned(), hwmon.join("device")];
        let (directory, name) =
            places.into_iter().find_map(|place| Some((place.clone(), word_at(&place.join("name"))?)))?;
        // The device of an NVMe disk is `nvme0` and has a number, too; the device of that is a place on the bus.
        let link = |from: &str| fs::read_link(hwmon.join(from)).ok();
        let device = link("device/device").or_else(|| link("device")).unwrap_or_else(|| hwmon.to_owned());
        let device = device.file_name()?.as_bytes().to_owned();
        (name != DISK_CHIP).then_some(Chip { name, device, directory })
    }
}

/// A sensor of a chip, before it has a name.
struct Channel<'a> {
    chip: &'a Chip,
    number: u32,
    label: Option<Vec<u8>>,
    path: PathBuf,
    fault: PathBuf,
}

impl<'a> Channel<'a> {
    fn of(chip: &'a Chip, start: &str, ends: &[&str]) -> Vec<Channel<'a>> {
        let mut channels: Vec<Channel<'a>> = Vec::new();
        let files = names_in(&chip.directory);
        for end in ends {
            for file in &files {
                let number = file.strip_prefix(start).and_then(|rest| rest.strip_suffix(end)?.parse().ok());
                let Some(number) = number.filter(|number| channels.iter().all(|channel| channel.number != *number))
                else {
                    continue;
                };
                let at = |what| chip.directory.join(format!("{start}{number}_{what}"));
                let label = word_at(&at("label")).filter(|label| label.len() <= LABEL_BYTES_MAX);
                channels.push(Channel { chip, number, label, path: chip.directory.join(file), fault: at("fault") });
            }
        }
        channels
    }

    fn name(&self, chips: &[Chip], channels: &[Channel<'_>]) -> Vec<u8> {
        let is_only = chips.iter().filter(|other| other.name == self.chip.name).count() == 1;
        let chip = if is_only { self.chip.name.clone() } else { joined(&self.chip.name, &self.chip.device) };
        let number = self.number.to_string();
        let Some(label) = &self.label else { return joined(&chip, number.as_bytes()) };
        let is_same = |other: &&Channel<'_>| other.chip == self.chip && other.label.as_ref() == Some(label);
        let is_only = channels.iter().filter(is_same).count() == 1;
        let name = joined(&chip, label);
        if is_only { name } else { joined(&name, number.as_bytes()) }
    }

    fn sensor(&self, value: ValueFile) -> HardwareSensor {
        let device = self.chip.directory.join("device");
        let can_sleep = word_at(&device.join("power/runtime_status")).is_some_and(|status| status != b"unsupported");
        HardwareSensor {
            value,
            fault: Some(self.fault.clone()).filter(|fault| fault.exists()),
            device: can_sleep.then_some(device),
        }
    }
}
