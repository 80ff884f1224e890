//! Looks at the kernel's counters between quanta: after each detour, and at random moments to know what moves anyway.

use std::path::Path;

use clock::Stopwatch;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::cause::Look;
use super::counter::{Counters, Reading, thread_time_ns};
use super::detour::Baseline;

/// Looks take no more of the time than this; detours beyond that are not looked at.
const BLIND_RATIO_MAX: f64 = 0.05;
/// Looks at random moments take about this share of the time.
const CONTROL_RATIO: f64 = 0.015;
/// Random moments are at least so far apart in the mean, in nanoseconds.
const CONTROL_NS_MIN: f64 = 2e6;
/// Looks that are kept: with a dozen moves each, some 100 MB at the very most.
const N_LOOKS_MAX: usize = 200_000;

/// Watches over one core, on its thread.
#[derive(Debug)]
pub(crate) struct Watch {
    clock: Stopwatch,
    counters: Counters,
    baseline: Baseline,
    last: Reading,
    /// The run's clock and the thread's when the last look ended.
    since: (u64, u64),
    begun_ns: u64,
    next_control_ns: u64,
    chance: ChaCha8Rng,
    looks: Vec<Look>,
    blind_ns: u64,
}

/// Results of a watch.
#[derive(Debug)]
pub(crate) struct Watched {
    /// All looks.
    pub looks: Vec<Look>,
    /// Time that they took, in nanoseconds.
    pub blind_ns: u64,
    /// Files that were not read, and why.
    pub missing: Vec<String>,
    /// Names of interrupts beside their labels.
    pub descriptions: Vec<(Box<str>, String)>,
    /// Whether the kernel takes interrupts out of a thread's processor time.
    pub is_interrupt_time_known: bool,
}

impl Watch {
    /// Begins, on the thread that works on core `cpu`; `baseline` tells detours from other quanta while the run goes
    /// on.
    #[must_use]
    pub(crate) fn start(clock: Stopwatch, cpu: u32, baseline: Baseline, seed: u64) -> Self {
        let mut counters = Counters::open(Path::new("/proc"), cpu, &clock);
        let last = counters.read();
        let begun_ns = clock.elapsed_ns();
        let mut watch = Self {
            clock,
            counters,
            baseline,
            last,
            since: (begun_ns, thread_time_ns()),
            begun_ns,
            next_control_ns: 0,
            chance: ChaCha8Rng::seed_from_u64(seed ^ u64::from(cpu)),
            looks: Vec::new(),
            blind_ns: 0,
        };
        watch.next_control_ns = watch.draw_control();
        watch
    }

    /// Looks after quantum `idx`, which ended at `end_ns` and took `length_ns`, if a look is due.
    /// Returns whether it looked, which takes time.
    pub(crate) fn after(&mut self, idx: usize, end_ns: u64, length_ns: u64) -> bool {
        let is_detour = self.baseline.detour_ns(length_ns as f64).is_some();
        let is_due = is_detour || end_ns >= self.next_control_ns;
        if !is_due || !self.may_look(end_ns) || self.looks.len() >= N_LOOKS_MAX {
            return false;
        }
        self.look(is_detour.then_some(idx), end_ns);
        true
    }

    /// Ends it.
    #[must_use]
    pub(crate) fn end(mut self) -> Watched {
        Watched {
            is_interrupt_time_known: self.last.interrupt_ticks > 0,
            descriptions: self.counters.descriptions(),
            missing: self.counters.missing().to_vec(),
            looks: self.looks,
            blind_ns: self.blind_ns,
        }
    }

    /// The first few are free, since there is no time yet that they could be a share of.
    fn may_look(&self, now_ns: u64) -> bool {
        let spent = self.blind_ns as f64 + self.counters.cost_ns();
        spent <= BLIND_RATIO_MAX * (now_ns - self.begun_ns) as f64 + 10.0 * self.counters.cost_ns()
    }

    fn look(&mut self, detour: Option<usize>, end_ns: u64) {
        let off_core_ns = (end_ns - self.since.0).saturating_sub(thread_time_ns().saturating_sub(self.since.1));
        let reading = self.counters.read();
        let (interrupts, soft_interrupts) = reading.moved_since(&self.last);
        self.looks.push(Look {
            detour,
            at_ns: end_ns,
            window_ns: end_ns - self.since.0,
            off_core_ns,
            run_delay_ns: self
                .counters
                .has_run_delay()
                .then(|| reading.run_delay_ns.saturating_sub(self.last.run_delay_ns)),
            involuntary: reading.involuntary.saturating_sub(self.last.involuntary),
            steal_ticks: reading.steal_ticks.saturating_sub(self.last.steal_ticks),
            interrupts,
            soft_interrupts,
        });
        self.last = reading;
        self.next_control_ns = self.draw_control();
        self.since = (self.clock.elapsed_ns(), thread_time_ns());
        self.blind_ns += self.since.0 - end_ns;
    }

    /// Even from half to one and a half of the mean distance, so that no clockwork falls in step with it.
    fn draw_control(&mut self) -> u64 {
        let mean_ns = (self.counters.cost_ns() / CONTROL_RATIO).max(CONTROL_NS_MIN);
        self.clock.elapsed_ns() + (mean_ns * (0.5 + self.chance.random::<f64>())) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASELINE: Baseline = Baseline { centre_ns: 1_000.0, spread_ns: 1.0, limit_ns: 100.0 };

    #[test]
    fn a_detour_is_looked_at_and_an_ordinary_quantum_is_not() {
        let clock = Stopwatch::start();
        let mut watch = Watch::start(clock, mpi_run::allowed_cpus()[0], BASELINE, 1);
        watch.next_control_ns = u64::MAX;
        assert!(!watch.after(0, clock.elapsed_ns(), 1_050));
        assert!(watch.after(1, clock.elapsed_ns(), 5_000));
        // However long that took on a busy machine.
        (watch.next_control_ns, watch.blind_ns) = (0, 0);
        assert!(watch.after(2, clock.elapsed_ns(), 1_000));
        let watched = watch.end();
        assert_eq!(watched.looks.iter().map(|look| look.detour).collect::<Vec<_>>(), [Some(1), None]);
        assert!(watched.blind_ns > 0);
    }

    #[test]
    fn looks_do_not_take_more_time_than_they_may() {
        let clock = Stopwatch::start();
        let mut watch = Watch::start(clock, mpi_run::allowed_cpus()[0], BASELINE, 1);
        watch.next_control_ns = u64::MAX;
        watch.blind_ns = 1_000_000_000_000;
        assert!(!watch.after(1, clock.elapsed_ns(), 5_000));
    }
}
