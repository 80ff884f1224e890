//! Whether a rank had its core while it was measured: wall time against processor time of its thread.
//!
//! A rank that works or waits in MPI keeps its core busy, so that the two agree. Where wall time is longer, others were
//! on the core: another rank, another program, or another guest of the machine where the kernel is told of stolen time.
//! Waits then end when a time slice ends, and say nothing of MPI. A library that sleeps while it waits looks the same.

use clock::{Stopwatch, thread_cpu};
use statistics::median;

/// Off its core for more than this share of the time, a rank's figures describe time slicing.
pub const AWAY_RATIO_MAX: f64 = 0.1;

/// Number of empty windows that measure the time of a look.
const N_LOOKS: usize = 51;

/// Shortest interruption: whoever is on the core in between takes longer than this, for two switches alone; what is
/// shorter is a look that took longer once.
const SHORTEST_NS: f64 = 2_000.0;

/// Adds up windows of time that a rank was measured in.
#[derive(Debug)]
pub struct Presence<'a> {
    clock: &'a Stopwatch,
    /// Difference of the two times in an empty window.
    look_ns: f64,
    wall_ns: f64,
    away_ns: f64,
}

impl<'a> Presence<'a> {
    /// Starts without any window.
    #[must_use]
    pub fn new(clock: &'a Stopwatch) -> Self {
        let looks: Vec<f64> = (0..N_LOOKS)
            .map(|_| {
                let ((), wall_ns, processor_ns) = timed(clock, || ());
                wall_ns - processor_ns
            })
            .collect();
        Self { clock, look_ns: median(&looks).unwrap_or(0.0), wall_ns: 0.0, away_ns: 0.0 }
    }

    /// Runs `work` in a window.
    #[inline]
    pub fn watch<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let (result, wall_ns, processor_ns) = timed(self.clock, work);
        let away_ns = wall_ns - processor_ns - self.look_ns;
        self.wall_ns += wall_ns;
        self.away_ns += if away_ns > SHORTEST_NS { away_ns } else { 0.0 };
        result
    }

    /// Returns the share of all windows so far in which this thread did not run, from 0 to 1, and clears them.
    pub fn take_away_ratio(&mut self) -> f64 {
        let (wall_ns, away_ns) = (std::mem::take(&mut self.wall_ns), std::mem::take(&mut self.away_ns));
        away_ns / wall_ns.max(1.0)
    }
}

/// Returns the result of `work`, with wall and processor time in nanoseconds.
#[inline]
fn timed<R>(clock: &Stopwatch, work: impl FnOnce() -> R) -> (R, f64, f64) {
    let (wall, processor) = (clock.elapsed_ns(), thread_cpu());
    let result = work();
    let (processor, wall) = (thread_cpu() - processor, clock.elapsed_ns() - wall);
    (result, wall as f64, processor.as_nanos() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_is_away() {
        let clock = Stopwatch::start();
        let mut presence = Presence::new(&clock);
        presence.watch(|| std::thread::park_timeout(std::time::Duration::from_millis(20)));
        assert!(presence.take_away_ratio() > 0.5);
        assert_eq!(presence.take_away_ratio(), 0.0);
    }
}
