//! Detours: quanta that took longer than undisturbed ones by more than chance and the clock explain.
//!
//! How long an undisturbed quantum takes is not its minimum, which is a lucky one, nor its median, which noise moves:
//! it is the centre of a normal curve through the quickest quarter of the quanta, so that up to three quarters of them
//! may be disturbed. It is found in windows of [`WINDOW`] quanta, since the processor's frequency changes; a core that
//! is slower for a while is told of apart, as slow, and not as one long row of detours.

use mpi_run::ClockQuality;
use statistics::{median, quantile_of_sorted};

/// Quanta that share an undisturbed length: enough to find it to about a hundredth of its spread.
pub(crate) const WINDOW: usize = 1_000;
/// Number of spreads above the centre that chance does not reach in 10^8 quanta.
const N_SPREADS: f64 = 6.0;
/// A window is slow when its undisturbed quanta take so much longer than the middle window's.
const SLOW_RATIO: f64 = 0.02;
/// Standard normal quantiles at 1/100 and 1/4.
const Z_01: f64 = -2.326_347_9;
const Z_25: f64 = -0.674_489_75;

/// Loss of time, in one piece as far as can be distinguished.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Detour {
    /// Position of the quantum.
    pub idx: usize,
    /// Start of that quantum, in nanoseconds of the run's clock.
    pub at_ns: u64,
    /// The detour began at most so long after that.
    pub within_ns: f64,
    /// Length of the detour, in nanoseconds.
    pub length_ns: f64,
}

/// Length of the undisturbed quanta of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Baseline {
    /// Centre, in nanoseconds.
    pub centre_ns: f64,
    /// Standard deviation, in nanoseconds.
    pub spread_ns: f64,
    /// Quanta that take longer than `centre_ns` by more than this hold a detour.
    pub limit_ns: f64,
}

/// All detours among some quanta, and how they were told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Detection {
    /// Baseline of each window.
    pub baselines: Vec<Baseline>,
    /// Quantum and length of each, in their order.
    pub detours: Vec<(usize, f64)>,
    /// Share of quanta in slow windows.
    pub slow_ratio: f64,
    /// Time that slow windows cost beyond what the middle one would have taken, in nanoseconds.
    pub slow_ns: f64,
}

/// The shortest detour that a clock tells: each of two looks is wrong by up to a step, and takes its time.
#[must_use]
pub(crate) fn clock_limit_ns(clock: &ClockQuality) -> f64 {
    2.0 * (clock.resolution_ns as f64 + clock.cost_ns)
}

impl Baseline {
    /// Estimates the baseline of quanta in any order, with a limit of at least `clock_limit_ns`. `None` without any.
    #[must_use]
    pub(crate) fn of(lengths_ns: &[u32], clock_limit_ns: f64) -> Option<Self> {
        let mut sorted: Vec<f64> = lengths_ns.iter().copied().map(f64::from).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let (q01, q25) = (quantile_of_sorted(&sorted, 0.01)?, quantile_of_sorted(&sorted, 0.25)?);
        let spread_ns = (q25 - q01) / (Z_25 - Z_01);
        let centre_ns = q25 - Z_25 * spread_ns;
        Some(Self { centre_ns, spread_ns, limit_ns: (N_SPREADS * spread_ns).max(clock_limit_ns) })
    }

    /// Returns the excess of a quantum's length over the centre, if that is a detour.
    #[must_use]
    pub(crate) fn detour_ns(&self, length_ns: f64) -> Option<f64> {
        Some(length_ns - self.centre_ns).filter(|excess| *excess > self.limit_ns)
    }
}

impl Detection {
    /// Finds them in quanta in the order of time. None as long as `whole_ns` was undisturbed, so that such ones do not
    /// tell how long undisturbed ones take. Nothing is found where all are so long.
    #[must_use]
    pub(crate) fn of(lengths_ns: &[u32], clock_limit_ns: f64, whole_ns: Option<u32>) -> Self {
        let candidates = |quanta: &[u32]| -> Vec<u32> {
            quanta.iter().copied().filter(|length| whole_ns.is_none_or(|whole| *length < whole)).collect()
        };
        let Some(of_all) = Baseline::of(&candidates(lengths_ns), clock_limit_ns) else {
            return Self { baselines: Vec::new(), detours: Vec::new(), slow_ratio: 0.0, slow_ns: 0.0 };
        };
        let windows: Vec<&[u32]> = windows(lengths_ns);
        let baseline = |window: &&[u32]| {
            let candidates = candidates(window);
            // Of a few, chance makes any curve.
            if candidates.len() < window.len() / 20 {
                of_all
            } else {
                Baseline::of(&candidates, clock_limit_ns).unwrap_or(of_all)
            }
        };
        let baselines: Vec<Baseline> = windows.iter().map(baseline).collect();
        let mut detours = Vec::new();
        let mut first = 0;
        for (window, baseline) in windows.iter().zip(&baselines) {
            let found = window.iter().enumerate();
            detours
                .extend(found.filter_map(|(idx, &length)| Some((first + idx, baseline.detour_ns(f64::from(length))?))));
            first += window.len();
        }
        let (slow_ratio, slow_ns) = slowness(&windows, &baselines, whole_ns);
        Self { baselines, detours, slow_ratio, slow_ns }
    }

    /// Returns the baseline of a quantum's window.
    #[must_use]
    pub(crate) fn baseline(&self, idx: usize) -> Option<&Baseline> {
        self.baselines.get((idx / WINDOW).min(self.baselines.len().saturating_sub(1)))
    }

    /// The middle one of the windows' baselines, by their centres.
    #[must_use]
    pub(crate) fn typical(&self) -> Option<Baseline> {
        let mut sorted = self.baselines.clone();
        sorted.sort_unstable_by(|a, b| a.centre_ns.total_cmp(&b.centre_ns));
        sorted.get(sorted.len() / 2).copied()
    }
}

/// Whole windows; the last one takes what is left over.
fn windows(lengths_ns: &[u32]) -> Vec<&[u32]> {
    let n_windows = (lengths_ns.len() / WINDOW).max(1);
    let (whole, last) = lengths_ns.split_at((n_windows - 1) * WINDOW);
    whole.chunks(WINDOW).chain([last]).filter(|window| !window.is_empty()).collect()
}

/// Share of quanta in slow windows, and what those cost. Where quanta are told by what they lose of `whole_ns`, that is
/// what being slow is a share of.
fn slowness(windows: &[&[u32]], baselines: &[Baseline], whole_ns: Option<u32>) -> (f64, f64) {
    let centres: Vec<f64> = baselines.iter().map(|baseline| baseline.centre_ns).collect();
    let middle = median(&centres).unwrap_or(0.0);
    let limit = middle + SLOW_RATIO * whole_ns.map_or(middle, f64::from);
    let n: usize = windows.iter().map(|window| window.len()).sum();
    let slow = windows.iter().zip(baselines).filter(|(_, baseline)| baseline.centre_ns > limit);
    let (mut n_slow, mut slow_ns) = (0, 0.0);
    for (window, baseline) in slow {
        n_slow += window.len();
        slow_ns += window.len() as f64 * (baseline.centre_ns - middle);
    }
    (n_slow as f64 / (n as f64).max(1.0), slow_ns)
}

/// Adjacent ones joined, for quanta of fixed time, over which one detour goes on.
#[must_use]
pub(crate) fn joined(detours: &[(usize, f64)]) -> Vec<(usize, f64)> {
    let mut joined: Vec<(usize, f64)> = Vec::new();
    let mut last = None;
    for &(idx, length) in detours {
        match joined.last_mut() {
            Some(detour) if last == Some(idx.wrapping_sub(1)) => detour.1 += length,
            _ => joined.push((idx, length)),
        }
        last = Some(idx);
    }
    joined
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// About normal, by the sum of twelve even draws.
    fn quanta(n: usize, centre: f64, spread: f64) -> Vec<u32> {
        let mut chance = ChaCha8Rng::seed_from_u64(5);
        let mut draw = || (0..12).map(|_| chance.random::<f64>()).sum::<f64>() - 6.0;
        (0..n).map(|_| (centre + spread * draw()) as u32).collect()
    }

    #[test]
    fn chance_is_no_detour() {
        let detection = Detection::of(&quanta(20_500, 100_000.0, 200.0), 100.0, None);
        assert_eq!(detection.detours, []);
        assert_eq!((detection.slow_ratio, detection.baselines.len()), (0.0, 20));
        let typical = detection.typical().unwrap();
        assert!(
            (typical.centre_ns - 100_000.0).abs() < 60.0 && (150.0..250.0).contains(&typical.spread_ns),
            "{typical:?}"
        );
    }

    #[test]
    fn three_quarters_of_all_quanta_may_be_disturbed() {
        let mut lengths = quanta(4_000, 100_000.0, 200.0);
        lengths.iter_mut().enumerate().filter(|(idx, _)| idx % 10 < 7).for_each(|(_, length)| *length += 9_000);
        let detection = Detection::of(&lengths, 100.0, None);
        assert_eq!(detection.detours.len(), 2_800);
        assert!(detection.detours.iter().all(|(_, length)| (length - 9_000.0).abs() < 1_500.0));
    }

    #[test]
    fn a_clock_that_ticks_makes_no_noise() {
        // Quanta of 100 us by a clock with steps of 30 us: half of them look a third longer than the others.
        let lengths: Vec<u32> =
            (1..=5_000_u64).map(|k| ((k * 100 / 30 - (k - 1) * 100 / 30) * 30_000) as u32).collect();
        let limit = clock_limit_ns(&ClockQuality { resolution_ns: 30_000, cost_ns: 20.0 });
        assert_eq!(Detection::of(&lengths, limit, None).detours, []);
        assert!(!Detection::of(&lengths, 0.0, None).detours.is_empty());
    }

    #[test]
    fn a_slower_core_is_slow_and_not_noisy() {
        let mut lengths = quanta(5_000, 100_000.0, 200.0);
        lengths[2_000..3_000].iter_mut().for_each(|length| *length += 10_000);
        let detection = Detection::of(&lengths, 100.0, None);
        assert_eq!(detection.detours, []);
        assert_eq!(detection.slow_ratio, 0.2);
        assert!((detection.slow_ns / 1e7 - 1.0).abs() < 0.01, "{}", detection.slow_ns);
    }

    #[test]
    fn quanta_that_were_lost_altogether_do_not_tell_what_an_undisturbed_one_is() {
        // Time slices: of each 40 quanta, 34 are somebody else's, and one is cut in two.
        let lost = |k: u32| if k % 40 < 34 { 100_000 } else { (k % 40 / 39) * 50_000 + k % 3 * 100 };
        let lengths: Vec<u32> = (0..8_000).map(lost).collect();
        let detection = Detection::of(&lengths, 1_000.0, Some(100_000));
        // The first slice, 199 with the end of a quantum before them, and the last such end.
        assert_eq!(joined(&detection.detours).len(), 201);
        assert_eq!(Detection::of(&[100_000; 50], 1_000.0, Some(100_000)).baselines, []);
    }

    #[test]
    fn few_quanta_and_none_are_windows_as_well() {
        assert_eq!(Detection::of(&[], 1.0, None).baselines, []);
        assert_eq!(Detection::of(&[5, 5, 5, 9], 1.0, None).detours, [(3, 4.0)]);
    }

    #[test]
    fn a_detour_over_several_quanta_is_one() {
        assert_eq!(joined(&[(1, 2.0), (2, 10.0), (3, 1.0), (7, 4.0)]), [(1, 13.0), (7, 4.0)]);
    }
}
