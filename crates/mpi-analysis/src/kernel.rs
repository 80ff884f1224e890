//! Kernel counters of ranks while they ran, to be read beside the times of their stages.

use std::collections::BTreeMap;

use mpi_trace::file::KernelNote;
use mpi_trace::{Alignment, Recording};
use serde::Serialize;
use units::Rank;

/// Samples kept of a rank; the oldest go. A megabyte of memory.
const N_SAMPLES_MAX: usize = 1 << 14;

/// Samples of each rank, by their moments on the clock of rank 0's host.
#[derive(Clone, Debug, Default)]
pub struct KernelLog(BTreeMap<Rank, BTreeMap<u64, KernelNote>>);

/// Kernel counters of a host in some span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Kernel {
    /// Time between the samples.
    pub span_ns: u64,
    /// Context switches of the ranks' main threads that they did not ask for.
    pub n_forced_switches: u64,
    /// Context switches of the ranks' main threads when they waited for something.
    pub n_voluntary_switches: u64,
    /// Total time in which the ranks' main threads were ready to run and had no processor.
    pub waited_ns: u64,
    /// Steal time: time that the hypervisor gave to others, of all processors.
    pub stolen_ns: u64,
}

impl KernelLog {
    /// Builds the log of what was recorded.
    #[must_use]
    pub fn of(recordings: &[Recording]) -> Self {
        let mut log = Self::default();
        for recording in recordings {
            let alignment = recording.alignment();
            recording.kernel.iter().for_each(|sample| log.take(recording.head.rank, &alignment, *sample));
        }
        log
    }

    /// Takes a sample of a rank, whose host's clock stands to that of rank 0's host like this.
    pub fn take(&mut self, rank: Rank, alignment: &Alignment, sample: KernelNote) {
        let samples = self.0.entry(rank).or_default();
        samples.insert(alignment.ns(sample.monotonic_ns), sample);
        if samples.len() > N_SAMPLES_MAX {
            samples.pop_first();
        }
    }

    /// Returns the counters of the host that these ranks are on: between the last samples before and the first ones
    /// after a span of time, or all of the run. None where no rank has two samples.
    #[must_use]
    pub fn during(&self, ranks: impl IntoIterator<Item = Rank>, span_ns: Option<(u64, u64)>) -> Option<Kernel> {
        let (from, until) = span_ns.unwrap_or((0, u64::MAX));
        let mut kernel = None;
        for samples in ranks.into_iter().filter_map(|rank| self.0.get(&rank)) {
            let before = samples.range(..=from).next_back().or_else(|| samples.first_key_value());
            let after = samples.range(until..).next().or_else(|| samples.last_key_value());
            let (Some((start, before)), Some((end, after))) = (before, after) else { continue };
            if start >= end {
                continue;
            }
            let sum: &mut Kernel = kernel.get_or_insert_default();
            sum.span_ns = sum.span_ns.max(end - start);
            sum.n_forced_switches += after.forced_switches.saturating_sub(before.forced_switches);
            sum.n_voluntary_switches += after.voluntary_switches.saturating_sub(before.voluntary_switches);
            sum.waited_ns += after.waited_ns.saturating_sub(before.waited_ns);
            // All ranks of a host see the same.
            sum.stolen_ns = sum.stolen_ns.max(after.stolen_ns.saturating_sub(before.stolen_ns));
        }
        kernel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_samples_around_a_span_are_told() {
        let mut log = KernelLog::default();
        for (rank, at) in [(0, 10_u64), (0, 20), (0, 30), (1, 12), (1, 31)] {
            let sample =
                KernelNote { monotonic_ns: at, forced_switches: at, stolen_ns: 2 * at, ..KernelNote::default() };
            log.take(rank, &Alignment::default(), sample);
        }
        let told = |ranks: &[Rank], span| {
            let kernel = log.during(ranks.iter().copied(), span)?;
            Some((kernel.span_ns, kernel.n_forced_switches, kernel.stolen_ns))
        };
        assert_eq!(told(&[0], Some((21, 25))), Some((10, 10, 20)));
        assert_eq!(told(&[0, 1], Some((13, 15))), Some((19, 10 + 19, 38)));
        assert_eq!(told(&[0, 1], None), Some((20, 20 + 19, 40)));
        assert_eq!(told(&[7], None), None);
    }
}
