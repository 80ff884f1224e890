//! Traces of arrival over time: recorded, or made from a seed.

use std::f64::consts::TAU;
use std::fmt;
use std::str::FromStr;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use series::Series;

/// The rate at which media could arrive, in media seconds per second, at even steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// A word or two.
    pub name: String,
    step_seconds: f64,
    rates: Vec<f64>,
    /// The rate that decoding can keep up with, at the same steps; empty where it is no limit.
    decoding_rates: Vec<f64>,
}

/// The reason why a series is no trace.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// It does not say how far its samples are apart.
    #[error("`{0}` has no times: a trace of arrival says how far its samples are apart")]
    NoStep(String),
    /// There is nothing to play.
    #[error("`{0}` has no samples")]
    Empty(String),
    /// A value that is no rate.
    #[error(
        "`{name}` has {value} as sample {at}, and a rate of arrival is a number from 0 on, in media seconds per second"
    )]
    Value {
        /// The trace.
        name: String,
        /// The number of the sample, from 1.
        at: usize,
        /// The value of the sample.
        value: f64,
    },
}

/// Traces that are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 0.95 with a little noise: a link that is just too slow.
    Steady,
    /// Good and bad spells of some 20 s, 1.2 and 0.75.
    Markov,
    /// 1.1 down to 0.85 in the middle, and back.
    Step,
    /// Rates from 1.2 down to 0.7 in two minutes, again and again.
    Saw,
    /// Segments of 4 s that come at once, every 4 s.
    Bursts,
    /// 1.02, and nothing for 20 s in the middle.
    Outage,
    /// Sender whose clock, or encoder, makes 0.97 s in a second.
    SlowSender,
    /// A disk that others use: 1.2, and every minute 12 s at a quarter.
    SlowDisk,
    /// A mobile link: a slow random walk with short dips.
    Mobile,
    /// An arrival of 1.2, and a CPU that decodes at 1.5 and, for 40 s of every two minutes, at 0.85.
    Starved,
}

/// A text that names no kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind of trace: {known}", known = Kind::ALL.map(Kind::name).join(", "))]
pub struct UnknownKind(String);

/// Samples of a made trace are half a second apart.
const STEP_SECONDS: f64 = 0.5;

impl Kind {
    /// All kinds, in the order of tables.
    pub const ALL: [Self; 10] = [
        Self::Steady,
        Self::Markov,
        Self::Step,
        Self::Saw,
        Self::Bursts,
        Self::Outage,
        Self::SlowSender,
        Self::SlowDisk,
        Self::Mobile,
        Self::Starved,
    ];

    /// Returns the kind as it is written on a command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Markov => "markov",
            Self::Step => "step",
            Self::Saw => "saw",
            Self::Bursts => "bursts",
            Self::Outage => "outage",
            Self::SlowSender => "slow-sender",
            Self::SlowDisk => "slow-disk",
            Self::Mobile => "mobile",
            Self::Starved => "starved",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

impl Trace {
    /// Builds a trace from a series of rates. A gap is taken for the sample before it, and before the first one for
    /// nothing.
    ///
    /// # Errors
    /// [`TraceError`]: no step, no samples, or values that are no rates.
    pub fn new(name: &str, series: &Series) -> Result<Self, TraceError> {
        let step = series.grid().map(|grid| grid.step.length().as_secs_f64()).filter(|step| *step > 0.0);
        let step_seconds = step.ok_or_else(|| TraceError::NoStep(name.to_owned()))?;
        Self::of_rates(name, step_seconds, series.samples())
    }

    /// Builds a trace from rates that are `step_seconds` apart, above 0. A gap is taken for the rate before it, and
    /// before the first one for nothing.
    ///
    /// # Errors
    /// [`TraceError`]: no rates, or values that are none.
    pub fn of_rates(name: &str, step_seconds: f64, samples: &[f64]) -> Result<Self, TraceError> {
        let mut last = 0.0;
        let mut rates = Vec::with_capacity(samples.len());
        for (idx, value) in samples.iter().enumerate() {
            if !value.is_nan() {
                last = *value;
            }
            if !(0.0..f64::INFINITY).contains(&last) {
                return Err(TraceError::Value { name: name.to_owned(), at: idx + 1, value: *value });
            }
            rates.push(last);
        }
        if rates.is_empty() {
            return Err(TraceError::Empty(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), step_seconds, rates, decoding_rates: Vec::new() })
    }

    /// Made from a seed, at least one sample long.
    #[must_use]
    pub fn made(kind: Kind, seconds: f64, seed: u64) -> Self {
        let n_samples = (seconds / STEP_SECONDS).ceil().max(1.0) as usize;
        // Each kind has a stream of chance of its own, so that one more kind changes no other.
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        chance.set_stream(kind as u64);
        let mut state = Course { chance, level: 1.0, is_bad: true, left: 0.0 };
        let at = |idx: usize| idx as f64 * STEP_SECONDS;
        let rates = (0..n_samples).map(|idx| state.rate(kind, at(idx), seconds).max(0.0)).collect();
        let busy = |at: f64| if at % 120.0 >= 80.0 { 0.85 } else { 1.5 };
        let decoding_rates =
            if kind == Kind::Starved { (0..n_samples).map(|idx| busy(at(idx))).collect() } else { Vec::new() };
        Self { name: kind.name().to_owned(), step_seconds: STEP_SECONDS, rates, decoding_rates }
    }

    /// Returns the trace on a processor of which there are these shares of a core, again and again, and which decodes
    /// and stretches `full_rate` media seconds per second with a whole one.
    #[must_use]
    pub fn on_processor(mut self, shares: &Trace, full_rate: f64) -> Self {
        let at = |idx: usize| full_rate * shares.rate_at(idx as f64 * self.step_seconds % shares.seconds());
        self.decoding_rates = (0..self.rates.len()).map(at).collect();
        self
    }

    /// The rates, at even steps.
    #[must_use]
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// Returns the time from one rate to the next.
    #[must_use]
    pub fn step_seconds(&self) -> f64 {
        self.step_seconds
    }

    /// Returns the length of the trace.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.rates.len() as f64 * self.step_seconds
    }

    /// The rate at a moment; at the last sample's after the end.
    #[must_use]
    pub fn rate_at(&self, seconds: f64) -> f64 {
        self.rates[self.idx(seconds).min(self.rates.len() - 1)]
    }

    /// The rate that decoding keeps up with at a moment; infinite where it is no limit.
    #[must_use]
    pub fn decoding_rate_at(&self, seconds: f64) -> f64 {
        let idx = self.idx(seconds).min(self.decoding_rates.len().saturating_sub(1));
        self.decoding_rates.get(idx).copied().unwrap_or(f64::INFINITY)
    }

    /// Whether decoding is a limit at all.
    #[must_use]
    pub fn limits_decoding(&self) -> bool {
        !self.decoding_rates.is_empty()
    }

    fn idx(&self, seconds: f64) -> usize {
        // Steps of a tenth do not add up exactly.
        ((seconds + 1e-6) / self.step_seconds) as usize
    }
}

/// State that a made trace carries from sample to sample.
struct Course {
    chance: ChaCha8Rng,
    level: f64,
    is_bad: bool,
    /// Seconds until the next change.
    left: f64,
}

impl Course {
    fn rate(&mut self, kind: Kind, at: f64, seconds: f64) -> f64 {
        match kind {
            Kind::Steady => 0.95 + self.noise(0.05),
            Kind::Markov => {
                self.change_after((20.0, 20.0));
                if self.is_bad { 0.75 } else { 1.2 + self.noise(0.1) }
            }
            Kind::Step => {
                (if (seconds / 3.0..2.0 * seconds / 3.0).contains(&at) { 0.85 } else { 1.1 }) + self.noise(0.05)
            }
            Kind::Saw => 1.2 - 0.5 * (at % 120.0) / 120.0 + self.noise(0.05),
            Kind::Bursts => {
                if at % 4.0 < STEP_SECONDS {
                    4.0 / STEP_SECONDS
                } else {
                    0.0
                }
            }
            Kind::Outage => {
                if (seconds / 2.0..seconds / 2.0 + 20.0).contains(&at) {
                    0.0
                } else {
                    1.02 + self.noise(0.05)
                }
            }
            Kind::SlowSender => 0.97 + self.noise(0.01),
            Kind::SlowDisk => {
                if at % 60.0 >= 48.0 {
                    0.25
                } else {
                    1.2 + self.noise(0.1)
                }
            }
            Kind::Mobile => {
                self.level += self.noise(0.03) + 0.01 * (1.0 - self.level);
                self.change_after((30.0, 2.0));
                if self.is_bad { 0.2 * self.level } else { self.level + 0.1 * (TAU * at / 15.0).sin() }
            }
            Kind::Starved => 1.2 + self.noise(0.05),
        }
    }

    /// A uniform draw of so much to either side.
    fn noise(&mut self, half_width: f64) -> f64 {
        half_width * (2.0 * self.chance.random::<f64>() - 1.0)
    }

    /// Turns good to bad and back, after times with these means.
    fn change_after(&mut self, (good_seconds, bad_seconds): (f64, f64)) {
        self.left -= STEP_SECONDS;
        if self.left <= 0.0 {
            self.is_bad = !self.is_bad;
            let mean_seconds = if self.is_bad { bad_seconds } else { good_seconds };
            self.left = -mean_seconds * (1.0 - self.chance.random::<f64>()).ln();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_trace_again() {
        for kind in Kind::ALL {
            let trace = Trace::made(kind, 600.0, 1);
            assert_eq!(trace, Trace::made(kind, 600.0, 1));
            assert!(trace.rates.iter().all(|rate| (0.0..10.0).contains(rate)), "{kind}");
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert_ne!(Trace::made(Kind::Markov, 600.0, 1), Trace::made(Kind::Markov, 600.0, 2));
    }

    #[test]
    fn a_processor_s_shares_bound_decoding_again_and_again() {
        let shares = Trace::of_rates("shares", 1.0, &[1.0, 0.25]).unwrap();
        let trace = Trace::of_rates("link", 0.5, &[1.0; 8]).unwrap().on_processor(&shares, 3.0);
        let rates: Vec<f64> = (0..8).map(|idx| trace.decoding_rate_at(f64::from(idx) * 0.5)).collect();
        assert_eq!(rates, [3.0, 3.0, 0.75, 0.75, 3.0, 3.0, 0.75, 0.75]);
    }

    #[test]
    fn what_is_no_rate_is_refused_by_its_place() {
        let timed = [0.0, 1.0, 2.0].map(|at| (units::Timestamp::from_nanos((at * 1e9) as i64), at));
        let series = Series::from_timed(&timed).unwrap();
        assert_eq!(Trace::new("x", &series).unwrap().rate_at(1.5), 1.0);
        let series = Series::from_timed(&timed.map(|(at, value)| (at, 1.0 - value))).unwrap();
        assert_eq!(Trace::new("x", &series), Err(TraceError::Value { name: "x".into(), at: 3, value: -1.0 }));
        assert_eq!(Trace::new("x", &Series::untimed(vec![1.0])), Err(TraceError::NoStep("x".into())));
    }
}
