//! Share of the processor that is left to the application: time of work without messages by time of the same work with
//! them.
//!
//! Repetitions without messages ("dry") and with them ("wet") take turns, each beside the other, so that whatever
//! drifts in the machine hits both. The estimate is the median of the repetitions' ratios, which a burst of stolen time
//! in some of them does not move; its interval is the bootstrap's over repetitions, widened by what the clock cannot
//! tell.
//!
//! Messages take time from work and never give any, so that an availability lies in [0, 1]. What is known before the
//! measurement belongs into its interval (an interval cut to what is possible holds the true value as often as before),
//! but it must not hide what was seen: an estimate above 1 is never told as 1. Where the interval reaches below 1, all
//! that can be said is how much is available at least. Where it lies above 1 beyond noise, something else than messages
//! took time from the dry run, and nothing can be said.

use std::fmt;

use mpi_run::{AWAY_RATIO_MAX, ClockQuality};
use serde::{Deserialize, Serialize};
use statistics::{Interval, bootstrap, mad, median};
use units::Confidence;

/// Repetitions below this have an interval that says little: that of five is about all they spread over.
pub(crate) const N_REPETITIONS_MIN: usize = 5;
/// Dry runs that differ more, at the median, are of a machine that is busy with other things; the ratio is then a ratio
/// of those.
pub(crate) const UNSTEADY_RATIO: f64 = 0.25;

/// One measurement of the same work twice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Repetition {
    /// Nanoseconds that it took without messages.
    pub dry_ns: f64,
    /// Nanoseconds that it took with messages, all calls of MPI included.
    pub wet_ns: f64,
}

/// Estimate of an availability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Availability {
    /// An estimate within an interval. Both lie in [0, 1].
    Measured {
        /// The estimate, below 1.
        ratio: f64,
        /// Interval of the estimate, with the confidence of the run. It ends at 1 where noise would have allowed for
        /// more.
        interval: Interval,
    },
    /// A lower bound, in [0, 1]: at least this much with the confidence of the run, not to be told from all of the
    /// processor.
    AtLeast {
        /// The lower end of the interval.
        ratio: f64,
    },
    /// No estimate, because the figures mean nothing.
    NotMeasurable {
        /// The reason, in words.
        reason: String,
    },
}

/// Reasons why an availability cannot be estimated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Hindrance {
    /// Nothing was to be worked.
    #[error("there was no work")]
    NoWork,
    /// The clock cannot tell.
    #[error("the work takes {dry_ns:.0} ns, and this clock cannot resolve less than {shortest_ns:.0} ns to within 1 %")]
    TooShort {
        /// Median of the dry runs.
        dry_ns: f64,
        /// Shortest time that the clock resolves, in nanoseconds.
        shortest_ns: f64,
    },
    /// The work was not with messages either.
    #[error(
        "{n_received:.0} messages came in a repetition, and {needed:.0} would be few: \
         the partner did not run, or a message takes longer than a repetition"
    )]
    Silent {
        /// Number of messages received in a repetition, at the median.
        n_received: f64,
        /// Twice the queue.
        needed: f64,
    },
    /// No interval can be made.
    #[error("{n} repetitions are too few for an interval: at least {N_REPETITIONS_MIN} are needed")]
    TooFew {
        /// Repetitions made.
        n: usize,
    },
    /// A rank of the pair did not run.
    #[error(
        "a rank was off its core for {:.0} % of the time, but the limit is {:.0} %: what is left to work would be the scheduler's choice",
        100.0 * away_ratio, 100.0 * AWAY_RATIO_MAX
    )]
    OffCore {
        /// Share of the time, the worse of the two.
        away_ratio: f64,
    },
    /// Others were at work on the machine.
    #[error(
        "the machine was not steady: work without messages varied by {:.0} % at the median, but the limit is {:.0} %",
        100.0 * ratio, 100.0 * UNSTEADY_RATIO
    )]
    Unsteady {
        /// Median absolute deviation of the dry runs by their median.
        ratio: f64,
    },
    /// The dry run was hit by something else.
    #[error(
        "work without messages took {percent:.1} % longer than with them, at least {at_least_percent:.1} % beyond noise: \
         the dry run was disturbed"
    )]
    Disturbed {
        /// Excess of the time without messages at the median.
        percent: f64,
        /// Excess at the lower end of the interval.
        at_least_percent: f64,
    },
}

/// Settings of the estimation of an availability.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimator {
    /// Confidence of intervals.
    pub confidence: Confidence,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Quality of the worker's clock.
    pub clock: ClockQuality,
}

impl Estimator {
    /// Estimates the availability from `repetitions`, in which a rank was off its core for a share of `away_ratio`.
    #[must_use]
    pub(crate) fn availability(&self, repetitions: &[Repetition], away_ratio: f64) -> Availability {
        if away_ratio > AWAY_RATIO_MAX {
            return Availability::hindered(&Hindrance::OffCore { away_ratio });
        }
        match self.estimate(repetitions) {
            Ok((ratio, interval)) if ratio < 1.0 => Availability::Measured {
                ratio,
                interval: Interval { lower: interval.lower, upper: interval.upper.min(1.0) },
            },
            Ok((_, interval)) => Availability::AtLeast { ratio: interval.lower },
            Err(hindrance) => Availability::hindered(&hindrance),
        }
    }

    /// The median ratio and its interval, which begins in [0, 1] and ends above its beginning, perhaps beyond 1.
    fn estimate(&self, repetitions: &[Repetition]) -> Result<(f64, Interval), Hindrance> {
        let dry: Vec<f64> = repetitions.iter().map(|repetition| repetition.dry_ns).collect();
        let middle = median(&dry).unwrap_or(0.0);
        self.check(&dry, middle)?;
        let ratios: Vec<f64> =
            repetitions.iter().map(|repetition| repetition.dry_ns / repetition.wet_ns.max(f64::MIN_POSITIVE)).collect();
        let too_few = Hindrance::TooFew { n: ratios.len() };
        let ratio = median(&ratios).ok_or(too_few.clone())?;
        let interval = bootstrap(&ratios, median, self.confidence, self.seed).ok_or(too_few)?;
        // Both spans end and begin up to a step beside the truth.
        let blur = (self.clock.resolution_ns as f64).max(self.clock.cost_ns) / middle;
        let interval = Interval { lower: interval.lower * (1.0 - blur), upper: interval.upper * (1.0 + blur) };
        if interval.lower > 1.0 {
            let percent = |ratio: f64| 100.0 * (ratio - 1.0);
            return Err(Hindrance::Disturbed { percent: percent(ratio), at_least_percent: percent(interval.lower) });
        }
        Ok((ratio, interval))
    }

    fn check(&self, dry: &[f64], middle: f64) -> Result<(), Hindrance> {
        if dry.len() < N_REPETITIONS_MIN {
            return Err(Hindrance::TooFew { n: dry.len() });
        }
        let shortest_ns = self.clock.shortest_measurable().as_nanos() as f64;
        if middle < shortest_ns {
            return Err(Hindrance::TooShort { dry_ns: middle, shortest_ns });
        }
        let ratio = mad(dry).unwrap_or(f64::INFINITY) / middle;
        if ratio > UNSTEADY_RATIO { Err(Hindrance::Unsteady { ratio }) } else { Ok(()) }
    }
}

impl Availability {
    /// Returns the availability of a measurement that means nothing.
    #[must_use]
    pub fn hindered(hindrance: &Hindrance) -> Self {
        Self::NotMeasurable { reason: hindrance.to_string() }
    }

    /// Returns the availability of a run without work.
    #[must_use]
    pub fn without_work() -> Self {
        Self::hindered(&Hindrance::NoWork)
    }

    /// Returns the interval of the availability; `None` if nothing is known.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        match self {
            Self::Measured { interval, .. } => Some(*interval),
            Self::AtLeast { ratio } => Some(Interval { lower: *ratio, upper: 1.0 }),
            Self::NotMeasurable { .. } => None,
        }
    }

    /// A single number to draw: the estimate, or the middle of where it lies.
    #[must_use]
    pub fn middle(&self) -> Option<f64> {
        match self {
            Self::Measured { ratio, .. } => Some(*ratio),
            Self::AtLeast { ratio } => Some(0.5 * (ratio + 1.0)),
            Self::NotMeasurable { .. } => None,
        }
    }
}

impl fmt::Display for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured { ratio, interval } => {
                write!(f, "{ratio:.3} [{:.3}, {:.3}]", interval.lower, interval.upper)
            }
            // Rounded down: what is said holds.
            Self::AtLeast { ratio } => write!(f, "at least {:.3}", (1e3 * ratio).floor() / 1e3),
            Self::NotMeasurable { reason } => write!(f, "not measurable: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const CLOCK: ClockQuality = ClockQuality { resolution_ns: 20, cost_ns: 25.0 };

    fn estimator(seed: u64) -> Estimator {
        Estimator { confidence: Confidence::P95, seed, clock: CLOCK }
    }

    fn constant(dry_ns: f64, wet_ns: f64, n: usize) -> Availability {
        estimator(1).availability(&vec![Repetition { dry_ns, wet_ns }; n], 0.0)
    }

    #[track_caller]
    fn check_reason(found: &Availability, words: &str) {
        let Availability::NotMeasurable { reason } = found else { panic!("{found}") };
        assert!(reason.contains(words), "{reason}");
    }

    /// A machine that runs a run of known availability: what it is, and how it is disturbed.
    struct Machine {
        availability: f64,
        dry_ns: f64,
        noise: f64,
        drift: f64,
        stolen: f64,
        n: usize,
    }

    impl Machine {
        fn any(chance: &mut ChaCha8Rng) -> Self {
            let is_full = chance.random_bool(0.25);
            Self {
                availability: if is_full { 1.0 } else { chance.random_range(0.002..1.0) },
                dry_ns: 10.0_f64.powf(chance.random_range(3.0..7.5)),
                noise: 10.0_f64.powf(chance.random_range(-4.0..-0.7)),
                drift: chance.random_range(-0.3..0.3),
                stolen: chance.random_range(0.0..0.15),
                n: chance.random_range(7..40),
            }
        }

        /// Noise and steal are alike for both kinds of work, and make it longer; drift is slow.
        fn run(&self, chance: &mut ChaCha8Rng) -> Vec<Repetition> {
            let slowness = |idx: usize, chance: &mut ChaCha8Rng| {
                let drifted = 1.0 + self.drift * idx as f64 / (2 * self.n) as f64;
                let stolen = if chance.random_bool(self.stolen) { chance.random_range(0.05..3.0) } else { 0.0 };
                let noise = -self.noise * chance.random_range(f64::EPSILON..1.0_f64).ln();
                drifted * (1.0 + noise + stolen)
            };
            let mut repetition = |idx: usize| {
                let (first, second) = (slowness(2 * idx, chance), slowness(2 * idx + 1, chance));
                let (dry, wet) = if idx.is_multiple_of(2) { (first, second) } else { (second, first) };
                Repetition {
                    dry_ns: (self.dry_ns * dry).round(),
                    wet_ns: (self.dry_ns / self.availability * wet).round(),
                }
            };
            (0..self.n).map(&mut repetition).collect()
        }
    }

    #[test]
    fn no_availability_of_a_thousand_runs_lies_outside_of_what_is_possible_and_intervals_hold_the_truth() {
        let mut chance = ChaCha8Rng::seed_from_u64(20);
        let (mut n_told, mut n_right) = (0, 0);
        for seed in 0..1_000 {
            let machine = Machine::any(&mut chance);
            let found = estimator(seed).availability(&machine.run(&mut chance), 0.0);
            let Some(interval) = found.interval() else { continue };
            let middle = found.middle().unwrap();
            assert!((0.0..=1.0).contains(&middle) && 0.0 <= interval.lower && interval.upper <= 1.0, "{found}");
            assert!(interval.lower <= middle && middle <= interval.upper, "{found}");
            n_told += 1;
            n_right += usize::from(interval.contains(machine.availability));
        }
        assert!(n_told >= 800, "only {n_told} of 1,000 runs could be told");
        // Of 95 %: three standard errors of so many runs are 2.3 points; the bootstrap of a median of few is not exact.
        let share = n_right as f64 / n_told as f64;
        assert!((0.92..=0.99).contains(&share), "{n_right} of {n_told} intervals hold the truth");
    }

    #[test]
    fn what_no_noise_touches_is_exact() {
        let Availability::Measured { ratio, interval } = constant(40_000.0, 50_000.0, 9) else { panic!() };
        assert_eq!(ratio, 0.8);
        // The clock's blur of 25 ns of 40 us remains.
        assert!((interval.lower - 0.8 * (1.0 - 0.000_625)).abs() < 1e-12 && interval.upper > 0.8);
    }

    #[test]
    fn an_estimate_at_1_or_a_little_above_is_told_as_a_lower_bound() {
        for wet_ns in [40_000.0, 39_990.0] {
            let Availability::AtLeast { ratio } = constant(40_000.0, wet_ns, 9) else { panic!() };
            assert!((0.999..=1.0).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn an_interval_that_noise_takes_over_1_ends_there() {
        let spread = [0.9, 0.96, 0.97, 0.98, 1.02, 1.03, 1.04, 0.95, 0.94];
        let repetitions = spread.map(|ratio| Repetition { dry_ns: ratio * 1e6, wet_ns: 1e6 });
        let Availability::Measured { ratio, interval } = estimator(1).availability(&repetitions, 0.0) else { panic!() };
        assert_eq!((ratio, interval.upper), (0.97, 1.0));
        assert!(interval.lower < 0.97);
    }

    #[test]
    fn what_cannot_be_told_has_its_reason() {
        check_reason(&constant(40_000.0, 39_000.0, 9), "2.6 % longer than with them, at least 2.5 % beyond noise");
        let away = estimator(1).availability(&[Repetition { dry_ns: 40_000.0, wet_ns: 50_000.0 }; 9], 0.104);
        check_reason(&away, "off its core for 10 % of the time, but the limit is 10 %");
        check_reason(&constant(2_000.0, 3_000.0, 9), "cannot resolve less than 2500 ns");
        check_reason(&constant(40_000.0, 50_000.0, 4), "4 repetitions are too few");
        check_reason(&constant(f64::NAN, 50_000.0, 9), "cannot resolve less");
        let unsteady: Vec<_> = (1..10).map(|n| Repetition { dry_ns: 1e5 * f64::from(n), wet_ns: 1e6 }).collect();
        check_reason(&estimator(1).availability(&unsteady, 0.0), "varied by 40 %");
        check_reason(&Availability::without_work(), "no work");
    }
}
