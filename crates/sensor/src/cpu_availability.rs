//! The part of the cores that a new process would get: a share of one for a single thread, and the number for several.
//!
//! Nothing is run to find out. The kernel says what each task used and waited for, and the scheduler's own rules say
//! what one more would leave of it. How each number enters, and where this ends:
//! `docs/decisions/cpu-availability.md`.

mod confined;
mod core;
mod core_set;
mod exits;
mod fair;
mod group;
mod home;
mod model;
mod placement;
mod population;
mod recent;
mod record;
mod rest;
mod scene;
mod task;
mod thread;
mod waiting;

use std::{path::Path, sync::Arc, time::Duration};

use signal::{Family, Signal, row};

use crate::ReadError;
use crate::file::KernelFile;
use crate::tick::{Sensor, Tick};

use self::{
    core::Cores, exits::Exits, group::Groups, home::Home, model::Scene, population::Population, rest::Rest,
    thread::Now, waiting::Waiting,
};

const SHARE: &Family = row("cpu.availability");
const CORES: &Family = row("cpu.availability.{threads}");

/// The shortest time between two looks at the host; in between, the result of the last look is returned again.
///
/// A little less than a second, so that a node with a step of one second looks at each step.
const PERIOD: Duration = Duration::from_millis(900);

/// The sensor of the cores that a new process would get. Comes after the sensors of `/proc/stat` and of the CPU's
/// pressure in a tick.
pub(crate) struct CpuAvailability {
    uptime: Option<KernelFile>,
    cores: Cores,
    groups: Groups,
    population: Population,
    waiting: Waiting,
    rest: Rest,
    exits: Exits,
    home: Home,
    share: Arc<Signal>,
    by_threads: Vec<(u32, Arc<Signal>)>,
    found_at: Option<Duration>,
    found: Vec<(Arc<Signal>, f64)>,
}

impl CpuAvailability {
    /// Opens the sensor. Each of the files that it reads itself may be missing.
    pub(crate) fn open(root: &Path) -> CpuAvailability {
        CpuAvailability {
            uptime: KernelFile::open(root, "proc/uptime").ok(),
            cores: Cores::default(),
            groups: Groups::open(root),
            population: Population::open(root),
            waiting: Waiting::open(root),
            rest: Rest::default(),
            exits: Exits::open(root),
            home: Home::default(),
            share: Signal::only(SHARE),
            by_threads: Vec::new(),
            found_at: None,
            found: Vec::new(),
        }
    }

    /// Looks at the host; none before two looks.
    fn look(&mut self, tick: &mut Tick<'_>, n_cores: u32) -> Option<Scene> {
        let at = tick.at;
        let now = Now { at, uptime: self.uptime.as_ref().and_then(|file| uptime(file, tick.text)) };
        self.cores.read(at, tick.cores);
        self.waiting.read(at, tick.n_running, n_cores, tick.waited_us, tick.text);
        self.population.read(now, &mut self.groups);
        self.exits.read(at, tick.n_forks, &mut self.groups);
        self.groups.forget_old(at);
        self.home.read(at, &mut self.groups);
        let span = self.found_at.map_or(Duration::ZERO, |found_at| at.saturating_sub(found_at));
        self.found_at = Some(at);
        self.scene(now, span)
    }

    /// One signal for each power of two up to the number of cores, and one for all of them.
    fn count_threads(&mut self, n_cores: u32) {
        if self.by_threads.last().map_or(1, |(n_threads, _)| *n_threads) == n_cores {
            return;
        }
        let powers = (1..32).map(|power| 1_u32 << power).take_while(|n_threads| *n_threads < n_cores);
        let counts = powers.chain((n_cores > 1).then_some(n_cores));
        let signal = |n_threads: u32| Signal::labelled(CORES, n_threads.to_string().as_bytes());
        self.by_threads = counts.map(|n_threads| (n_threads, signal(n_threads))).collect();
    }
}

impl Sensor for CpuAvailability {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        // Without it the host's cores are unknown, which is an error of another sensor's.
        let Some(n_cores) = tick.n_cores else { return Ok(()) };
        // The first answer takes two looks, and nobody has to wait for it.
        let is_due =
            self.found.is_empty() || self.found_at.is_none_or(|found_at| tick.at.saturating_sub(found_at) >= PERIOD);
        if is_due {
            self.count_threads(n_cores);
            self.found.clear();
            if let Some(scene) = self.look(tick, n_cores) {
                self.found.push((Arc::clone(&self.share), scene.cores_for(1)));
                let by_threads = self.by_threads.iter();
                self.found
                    .extend(by_threads.map(|(n_threads, signal)| (Arc::clone(signal), scene.cores_for(*n_threads))));
            }
        }
        for (signal, value) in &self.found {
            tick.readings.push(signal, *value);
        }
        Ok(())
    }
}

/// The first number of `/proc/uptime`, in seconds.
fn uptime(file: &KernelFile, text: &mut Vec<u8>) -> Option<Duration> {
    let text = std::str::from_utf8(file.read(text).ok()?).ok()?;
    Duration::try_from_secs_f64(text.split_ascii_whitespace().next()?.parse().ok()?).ok()
}
