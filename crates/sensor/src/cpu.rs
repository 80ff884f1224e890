//! The use of the cores' time, and the number of tasks that run, from `/proc/stat`.
//!
//! Not parsed by the `procfs` crate, which numbers the cores one after the other and so takes one for another when a
//! core is offline.
//! Fields: `Documentation/filesystems/proc.rst`, section 1.7.

use std::{path::Path, sync::Arc, time::Duration};

use signal::{Family, Readings, Signal, row};

use crate::ReadError;
use crate::availability::{self, Running, Split};
use crate::error::Absence;
use crate::file::{KernelFile, fields, lines, number};
use crate::roster::Roster;
use crate::tick::{Sensor, Tick};

const AVAILABILITY: &Family = row("cpu.availability.vmstat");
const RUNNABLE: &Family = row("tasks.runnable");
const BLOCKED: &Family = row("tasks.blocked");

/// The signals of all cores together, in the order of [`Shares::values`].
const ALL: [&Family; 11] = [
    row("cpu.busy"),
    row("cpu.user"),
    row("cpu.nice"),
    row("cpu.system"),
    row("cpu.idle"),
    row("cpu.iowait"),
    row("cpu.irq"),
    row("cpu.softirq"),
    row("cpu.steal"),
    row("cpu.guest"),
    row("cpu.guest_nice"),
];

/// The signals of one core, in the same order.
const CORE: [&Family; 11] = [
    row("cpu.{core}.busy"),
    row("cpu.{core}.user"),
    row("cpu.{core}.nice"),
    row("cpu.{core}.system"),
    row("cpu.{core}.idle"),
    row("cpu.{core}.iowait"),
    row("cpu.{core}.irq"),
    row("cpu.{core}.softirq"),
    row("cpu.{core}.steal"),
    row("cpu.{core}.guest"),
    row("cpu.{core}.guest_nice"),
];

/// The cores, the tasks on them, and the availability that follows from both.
pub(crate) struct Cpu {
    file: KernelFile,
    all: Meter,
    cores: Roster<Meter>,
    runnable: Arc<Signal>,
    blocked: Arc<Signal>,
    availability: Arc<Signal>,
    running: Running,
}

impl Cpu {
    pub(crate) fn open(root: &Path) -> Result<Cpu, Absence> {
        Ok(Cpu {
            file: KernelFile::open(root, "proc/stat")?,
            all: Meter::new(ALL.map(Signal::only)),
            cores: Roster::new(),
            runnable: Signal::only(RUNNABLE),
            blocked: Signal::only(BLOCKED),
            availability: Signal::only(AVAILABILITY),
            running: Running::default(),
        })
    }

    /// Hands out the number of running tasks and what a new one would get.
    fn push_tasks(&mut self, stat: &Stat, tick: &mut Tick<'_>) {
        // The one that reads is running while it reads, and is not what it wants to know about.
        tick.n_running = stat.n_running.saturating_sub(1);
        let n_running = tick.n_running as f64;
        tick.readings.push(&self.runnable, n_running);
        tick.readings.push(&self.blocked, stat.n_blocked as f64);
        let smoothed = self.running.smooth(tick.at, n_running);
        let available = stat.shares.map(|shares| availability::by_vmstat(shares.split(), smoothed, stat.n_cores));
        tick.by_vmstat = available;
        tick.readings.push_some(&self.availability, available);
    }
}

/// The values of the host as a whole in one reading of the file.
#[derive(Default)]
struct Stat {
    shares: Option<Shares>,
    n_cores: u32,
    n_running: u64,
    n_blocked: u64,
    n_forks: Option<u64>,
}

impl Sensor for Cpu {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let text = self.file.read(tick.text)?;
        let mut stat = Stat::default();
        let (mut has_all, mut has_running) = (false, false);
        for line in lines(text) {
            let times = || Times::parse(line).ok_or_else(|| self.file.malformed("ten counts of time", line));
            let count = || fields(line).nth(1).and_then(number).ok_or_else(|| self.file.malformed("a count", line));
            match fields(line).next() {
                Some(b"cpu") => (has_all, stat.shares) = (true, self.all.step(tick.at, times()?, tick.readings)),
                Some(b"procs_running") => (has_running, stat.n_running) = (true, count()?),
                Some(b"processes") => stat.n_forks = Some(count()?),
                Some(b"procs_blocked") => stat.n_blocked = count()?,
                Some(name) => {
                    let core = name.strip_prefix(b"cpu");
                    if let Some((core, idx)) = core.and_then(|core| Some((core, number(core)?))) {
                        let meter = self.cores.call(core, || Meter::of_core(core));
                        let times = times()?;
                        meter.step(tick.at, times, tick.readings);
                        tick.cores.push((idx, times));
                        stat.n_cores += 1;
                    }
                }
                None => {}
            }
        }
        if !has_all || !has_running || stat.n_cores == 0 {
            return Err(self.file.malformed("lines `cpu`, `cpu` with a number, and `procs_running`", text));
        }
        self.cores.forget_uncalled();
        tick.n_cores = Some(stat.n_cores);
        tick.n_forks = stat.n_forks;
        self.push_tasks(&stat, tick);
        Ok(())
    }
}

/// The time of one core, or of all of them, from one read to the next.
struct Meter {
    signals: [Arc<Signal>; 11],
    last: Option<(Duration, Times)>,
}

impl Meter {
    fn new(signals: [Arc<Signal>; 11]) -> Meter {
        Meter { signals, last: None }
    }

    fn of_core(core: &[u8]) -> Meter {
        Meter::new(CORE.map(|family| Signal::labelled(family, core)))
    }

    /// Hands out how the time from the last read to `at` was spent, if any passed.
    ///
    /// When the kernel has counted nothing since, as happens at high rates because it counts in steps of 10 ms, the
    /// last read stays the one to compare with.
    fn step(&mut self, at: Duration, times: Times, readings: &mut Readings) -> Option<Shares> {
        let (last_at, last) = *self.last.get_or_insert((at, times));
        if at <= last_at || times.total() == last.total() {
            return None;
        }
        self.last = Some((at, times));
        let shares = times.shares_since(last)?;
        for (signal, share) in self.signals.iter().zip(shares.values()) {
            readings.push(signal, share);
        }
        Some(shares)
    }
}

/// Time spent since the host started, in the kernel's ticks, in the order of the file: user, nice, system, idle,
/// iowait, irq, softirq, steal, guest, guest_nice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times([u64; 10]);

impl Times {
    pub(crate) fn parse(line: &[u8]) -> Option<Times> {
        let mut times = [0; 10];
        let mut counts = fields(line).skip(1);
        for time in &mut times {
            *time = number(counts.next()?)?;
        }
        Some(Times(times))
    }

    /// The time in programs and in the kernel on behalf of tasks, in the kernel's ticks.
    pub(crate) fn of_tasks(self) -> u64 {
        self.0[..3].iter().sum()
    }

    /// All the time there was. The last two are part of the first two and not counted again.
    fn total(self) -> u128 {
        self.0[..8].iter().map(|&time| u128::from(time)).sum()
    }

    /// Returns the shares of the time since `earlier`; none if there was a reset.
    ///
    /// The kernel works out idle and iowait anew at each read and they can step back a little; such a step counts as
    /// no time. When even the total went back, the counters started again.
    fn shares_since(self, earlier: Times) -> Option<Shares> {
        let spent = self.spent_since(earlier)?;
        let total: f64 = spent[..8].iter().sum();
        (total > 0.0).then(|| Shares(spent.map(|spent| spent / total)))
    }

    /// The time since `earlier`, in the kernel's ticks and in the order of the file; none when there was a reset.
    pub(crate) fn spent_since(self, earlier: Times) -> Option<[f64; 10]> {
        self.total().checked_sub(earlier.total())?;
        let mut spent = [0.0; 10];
        for (spent, (now, then)) in spent.iter_mut().zip(self.0.into_iter().zip(earlier.0)) {
            *spent = now.saturating_sub(then) as f64;
        }
        Some(spent)
    }
}

/// Shares of the time between two reads, in the order of [`Times`].
#[derive(Clone, Copy)]
struct Shares([f64; 10]);

impl Shares {
    /// Returns the share that is not idle, and then each share.
    fn values(self) -> impl Iterator<Item = f64> {
        std::iter::once(1.0 - self.split().idle).chain(self.0)
    }

    fn split(self) -> Split {
        let [user, nice, system, idle, iowait, irq, softirq, ..] = self.0;
        Split { user: user + nice, system: system + irq + softirq, idle: idle + iowait }
    }
}
