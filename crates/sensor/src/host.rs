//! The host: all its sensors, read tick by tick.

use std::{fmt, fs, path::Path, time::Duration};

use signal::{Readings, Source};

use crate::battery::Batteries;
use crate::cgroup::{CgroupCpu, CgroupMemory};
use crate::cpu::{Cpu, Times};
use crate::cpu_availability::CpuAvailability;
use crate::disk::Disks;
use crate::error::Absence;
use crate::filesystem::Filesystems;
use crate::gpu::Gpus;
use crate::hwmon::Hwmon;
use crate::hybrid::{Hybrid, SpinningProbe};
use crate::load::Load;
use crate::memory::Memory;
use crate::net::Net;
use crate::raid::Raids;
use crate::rapl::Rapl;
use crate::swap::Swap;
use crate::table::Tables;
use crate::throttling::Throttling;
use crate::tick::{Sensor, Tick};
use crate::time_sync::TimeSync;
use crate::watched::{WatchList, WatchedProcesses};
use crate::zfs::Zfs;
use crate::{HybridError, HybridSettings, OpenError, ReadError, pressure};

/// A host, seen through the files of its kernel.
pub struct Host {
    sensors: Vec<Box<dyn Sensor + Send>>,
    absent: Vec<Absent>,
    n_errors: u64,
    last_error: Option<ReadError>,
    text: Vec<u8>,
    cores: Vec<(u64, Times)>,
}

/// Returns the name of the host whose files are under `root`, if its kernel gives one.
#[must_use]
pub fn host_name(root: &Path) -> Option<String> {
    let name = fs::read_to_string(root.join("proc/sys/kernel/hostname")).ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Returns the number of online cores of the host whose files are under `root`, if its kernel gives it.
#[must_use]
pub fn n_cores(root: &Path) -> Option<usize> {
    let stat = fs::read_to_string(root.join("proc/stat")).ok()?;
    let names = stat.lines().filter_map(|line| line.strip_prefix("cpu"));
    Some(names.filter(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit())).count())
}

/// Signals that this host does not offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Which: a pattern of ids, as in `pressure.*`.
    pub signal: &'static str,
    /// Why, as a part of a sentence.
    pub reason: String,
}

impl Host {
    /// Finds out what the host offers whose files are under `root`: `/`, or where a tree was recorded.
    ///
    /// Signals that are missing are listed by [`absent`](Host::absent) and not looked for again, without those of
    /// hardware that many hosts do not have, such as fans and batteries.
    ///
    /// # Errors
    /// [`OpenError::NoProc`] when there is no directory `proc` under `root`.
    pub fn open(root: &Path) -> Result<Host, OpenError> {
        let mut host = Host::open_none(root)?;
        host.add("cpu.*", Cpu::open(root));
        host.add("load.*", Load::open(root));
        for (signal, opened) in pressure::open(root) {
            host.add(signal, opened);
        }
        host.sensors.push(Box::new(CpuAvailability::open(root)));
        host.add("memory.*", Memory::open(root));
        host.add("swap.*", Swap::open(root));
        host.add("net.*", Net::open(root));
        host.add("disk.*", Disks::open(root));
        host.add("filesystem.*", Filesystems::open(root));
        host.sensors.push(Box::new(Tables::open(root)));
        host.add_some(Raids::open(root));
        host.add_some(Zfs::open(root));
        host.add_some(Throttling::open(root));
        host.add_some(Hwmon::open(root));
        host.add_some(Rapl::open(root));
        host.add_some(Gpus::open(root));
        host.add_some(Batteries::open(root));
        host.add_some(TimeSync::open(root));
        host.add("cgroup.cpu.*", CgroupCpu::open(root));
        host.add("cgroup.memory.*", CgroupMemory::open(root));
        Ok(host)
    }

    /// The load averages alone, `load.*`, which are read in some microseconds.
    ///
    /// # Errors
    /// [`OpenError::NoProc`] when there is no directory `proc` under `root`.
    pub fn open_load(root: &Path) -> Result<Host, OpenError> {
        let mut host = Host::open_none(root)?;
        host.add("load.*", Load::open(root));
        Ok(host)
    }

    /// CPU availability, `cpu.availability` and what it is made of, `cpu.*` and `pressure.*`.
    ///
    /// # Errors
    /// [`OpenError::NoProc`] when there is no directory `proc` under `root`.
    pub fn open_availability(root: &Path) -> Result<Host, OpenError> {
        let mut host = Host::open_none(root)?;
        host.add("cpu.*", Cpu::open(root));
        for (signal, opened) in pressure::open(root) {
            host.add(signal, opened);
        }
        host.sensors.push(Box::new(CpuAvailability::open(root)));
        Ok(host)
    }

    fn open_none(root: &Path) -> Result<Host, OpenError> {
        let proc = root.join("proc");
        if !proc.is_dir() {
            return Err(OpenError::NoProc { path: proc });
        }
        Ok(Host {
            sensors: Vec::new(),
            absent: Vec::new(),
            n_errors: 0,
            last_error: None,
            text: Vec::new(),
            cores: Vec::new(),
        })
    }

    /// Reads every sensor once, `at` this moment, and puts what they say in place of what was in `readings`.
    ///
    /// `at` is the time since any fixed moment by a clock that is never set; rates are over the time between two
    /// of them. A file that cannot be read or understood gives no readings at this tick, is counted by
    /// [`n_errors`](Host::n_errors), and keeps no other from being read.
    pub fn read(&mut self, at: Duration, readings: &mut Readings) {
        readings.truncate(0);
        self.cores.clear();
        let mut tick = Tick {
            at,
            n_cores: None,
            cores: &mut self.cores,
            n_running: 0,
            n_forks: None,
            waited_us: None,
            by_load: None,
            by_vmstat: None,
            text: &mut self.text,
            readings,
        };
        for sensor in &mut self.sensors {
            let n_before = tick.readings.len();
            if let Err(error) = sensor.read(&mut tick) {
                tick.readings.truncate(n_before);
                self.n_errors += 1;
                self.last_error = Some(error);
            }
        }
    }

    /// Adds the hybrid sensor: `cpu.availability.hybrid`, and what it costs.
    ///
    /// From the next read on, a process spins for a moment once in a while, at this process's priority: with the
    /// default settings for 1.5 seconds a minute, 2.5 % of a core. A probe that fails is counted as an error of the
    /// sensor's at the tick that hears of it.
    ///
    /// # Errors
    /// [`HybridError`] for a probe that is too short, and for probes that take more than half of the time.
    pub fn start_hybrid(&mut self, settings: HybridSettings) -> Result<(), HybridError> {
        settings.check()?;
        self.sensors.push(Box::new(Hybrid::new(settings, SpinningProbe::default())));
        Ok(())
    }

    /// Adds the signals of the programs, units and containers on `list`, `process.*`, on the host whose files are under
    /// `root`.
    ///
    /// From the next read on, each read lists all processes. With an empty list, nothing is added.
    pub fn start_watch(&mut self, root: &Path, list: &WatchList) {
        if !list.is_empty() {
            self.sensors.push(Box::new(WatchedProcesses::open(root, list)));
        }
    }

    /// Returns the signals that this host does not offer, each with the reason.
    #[must_use]
    pub fn absent(&self) -> &[Absent] {
        &self.absent
    }

    /// Returns how many times a file could not be read or understood.
    #[must_use]
    pub fn n_errors(&self) -> u64 {
        self.n_errors
    }

    /// Returns the latest error.
    #[must_use]
    pub fn last_error(&self) -> Option<&ReadError> {
        self.last_error.as_ref()
    }

    /// Adds a sensor of hardware or of a part of the kernel that many hosts do not have, which is not worth a reason.
    fn add_some<S: Sensor + Send + 'static>(&mut self, opened: Option<S>) {
        self.sensors.extend(opened.map(|sensor| Box::new(sensor) as _));
    }

    fn add<S: Sensor + Send + 'static>(&mut self, signal: &'static str, opened: Result<S, Absence>) {
        match opened {
            Ok(sensor) => self.sensors.push(Box::new(sensor)),
            Err(absence) => self.absent.push(Absent { signal, reason: absence.to_string() }),
        }
    }
}

impl Source for Host {
    fn read(&mut self, at: Duration, readings: &mut Readings) {
        Host::read(self, at, readings);
    }

    fn n_errors(&self) -> u64 {
        self.n_errors
    }

    fn last_error(&self) -> Option<String> {
        self.last_error.as_ref().map(ToString::to_string)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("n_sensors", &self.sensors.len())
            .field("absent", &self.absent)
            .field("n_errors", &self.n_errors)
            .field("last_error", &self.last_error)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_on_line_are_counted() {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sensor/four_core_no_pressure");
        assert_eq!(n_cores(&recorded.join("0")), Some(4));
        assert_eq!(n_cores(&recorded.join("1")), Some(3), "core 1 is off line");
        assert_eq!(n_cores(Path::new("/nonexistent")), None);
    }

    #[test]
    fn a_host_has_the_name_that_its_kernel_says() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(host_name(root.path()), None);
        fs::create_dir_all(root.path().join("proc/sys/kernel")).unwrap();
        fs::write(root.path().join("proc/sys/kernel/hostname"), "db1\n").unwrap();
        assert_eq!(host_name(root.path()), Some("db1".to_owned()));
    }
}
