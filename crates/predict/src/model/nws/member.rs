//! The cheap predictors among which the Network Weather Service chooses.
//!
//! After Wolski, "Dynamically forecasting network performance using the Network Weather Service" (Cluster Computing 1,
//! 1998): means and medians of fixed and adapted windows, trimmed means, and smoothing with fixed and adapted gain.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::sorted::Sorted;

/// The longest window that any member looks back on.
pub(super) const LENGTH_MAX: usize = 51;

/// The shortest window to which an adapted one shrinks.
const LENGTH_MIN: usize = 2;

/// Amount by which the adapted gain moves at a step: from one end to the other in a few hundred.
const GAIN_STEP: f64 = 0.005;

/// The least adapted gain: the mean over about the last hundred.
const GAIN_MIN: f64 = 0.01;

/// The share of a window that a trimmed mean leaves out at either end, in hundredths.
const TRIMMED_PERCENT: usize = 15;

/// One predictor of the next sample, with what it keeps beside the recent samples that all share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Member {
    Last,
    RunningMean {
        n: u64,
        mean: f64,
    },
    Mean {
        length: usize,
    },
    Median {
        length: usize,
        sorted: Sorted,
    },
    TrimmedMean {
        length: usize,
        sorted: Sorted,
    },
    /// Mean of the window that is one longer, one shorter or the same, whichever would have forecast the last sample
    /// best.
    AdaptiveMean {
        length: usize,
    },
    AdaptiveMedian {
        sorted: Sorted,
    },
    Smoothing {
        gain: f64,
        level: f64,
    },
    /// Smoothing with a gain that goes down the gradient of the squared error, by its sign: `slope` is the level's
    /// derivative by the gain.
    Gradient {
        gain: f64,
        level: f64,
        slope: f64,
    },
}

impl Member {
    /// All there are, before any sample. The order settles ties.
    pub(super) fn all() -> Vec<Self> {
        let mut members = vec![Self::Last, Self::RunningMean { n: 0, mean: 0.0 }];
        members.extend([5, 10, 20, 31].map(|length| Self::Mean { length }));
        members.extend([5, 11, 21, 31].map(|length| Self::Median { length, sorted: Sorted::default() }));
        members.extend([31, 51].map(|length| Self::TrimmedMean { length, sorted: Sorted::default() }));
        members.extend([Self::AdaptiveMean { length: 0 }, Self::AdaptiveMedian { sorted: Sorted::default() }]);
        members.extend([0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 0.9].map(|gain| Self::Smoothing { gain, level: 0.0 }));
        members.push(Self::Gradient { gain: 0.5, level: 0.0, slope: 0.0 });
        members
    }

    /// Takes a sample, the last of `recent`, and says what it expects next. `recent` are the last
    /// [`LENGTH_MAX`] + 1 samples, or as many as there are.
    pub(super) fn step(&mut self, recent: &[f64]) -> f64 {
        let (sample, before) = recent.split_last().expect("a sample was just taken");
        let is_first = before.is_empty();
        match self {
            Self::Last => *sample,
            Self::RunningMean { n, mean } => {
                *n = n.saturating_add(1);
                *mean += (sample - *mean) / *n as f64;
                *mean
            }
            Self::Mean { length } => mean(last(recent, *length)),
            Self::Median { length, sorted } => {
                slide(sorted, *length, recent);
                sorted.median()
            }
            Self::TrimmedMean { length, sorted } => {
                slide(sorted, *length, recent);
                sorted.trimmed_mean(sorted.len() * TRIMMED_PERCENT / 100)
            }
            Self::AdaptiveMean { length } => {
                *length = adapted_mean(*length, *sample, before);
                mean(last(recent, *length))
            }
            Self::AdaptiveMedian { sorted } => {
                let length = adapted_median(sorted, *sample, before);
                sorted.insert(*sample);
                (length..sorted.len()).rev().for_each(|excess| sorted.remove(recent[recent.len() - 1 - excess]));
                sorted.median()
            }
            Self::Smoothing { gain, level } => {
                *level = if is_first { *sample } else { *level + *gain * (sample - *level) };
                *level
            }
            Self::Gradient { gain, level, slope } => {
                if is_first {
                    *level = *sample;
                    return *level;
                }
                let error = sample - *level;
                let downhill = error * *slope;
                if downhill != 0.0 {
                    *gain = (*gain + GAIN_STEP.copysign(downhill)).clamp(GAIN_MIN, 1.0);
                }
                *slope = (1.0 - *gain) * *slope + error;
                *level += *gain * error;
                *level
            }
        }
    }

    /// Whether this is `other` after the samples of which `recent` are the last, as a decoder must check.
    pub(super) fn is_sound(&self, other: &Self, recent: &[f64]) -> bool {
        let is_gain = |gain: f64| (GAIN_MIN..=1.0).contains(&gain);
        match (self, other) {
            (Self::Last, Self::Last) => true,
            (Self::RunningMean { n, mean }, Self::RunningMean { .. }) => *n >= recent.len() as u64 && mean.is_finite(),
            (Self::Mean { length }, Self::Mean { length: wanted }) => length == wanted,
            (Self::Median { length, sorted }, Self::Median { length: wanted, .. })
            | (Self::TrimmedMean { length, sorted }, Self::TrimmedMean { length: wanted, .. }) => {
                length == wanted && sorted.is_of(last(recent, *length))
            }
            (Self::AdaptiveMean { length }, Self::AdaptiveMean { .. }) => is_length(*length, recent),
            (Self::AdaptiveMedian { sorted }, Self::AdaptiveMedian { .. }) => {
                is_length(sorted.len(), recent) && sorted.is_of(last(recent, sorted.len()))
            }
            (Self::Smoothing { gain, level }, Self::Smoothing { gain: wanted, .. }) => {
                gain == wanted && level.is_finite()
            }
            (Self::Gradient { gain, level, slope }, Self::Gradient { .. }) => {
                is_gain(*gain) && level.is_finite() && slope.is_finite()
            }
            _ => false,
        }
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Last => f.write_str("last value"),
            Self::RunningMean { .. } => f.write_str("running mean"),
            Self::Mean { length } => write!(f, "mean of {length}"),
            Self::Median { length, .. } => write!(f, "median of {length}"),
            Self::TrimmedMean { length, .. } => write!(f, "trimmed mean of {length}"),
            Self::AdaptiveMean { .. } => f.write_str("adaptive mean"),
            Self::AdaptiveMedian { .. } => f.write_str("adaptive median"),
            Self::Smoothing { gain, .. } => write!(f, "smoothing by {gain}"),
            Self::Gradient { .. } => f.write_str("adaptive smoothing"),
        }
    }
}

fn is_length(length: usize, recent: &[f64]) -> bool {
    (1..=LENGTH_MAX.min(recent.len())).contains(&length)
}

/// The last `length`, or all where they are fewer.
fn last(recent: &[f64], length: usize) -> &[f64] {
    &recent[recent.len().saturating_sub(length)..]
}

/// Summed anew every time: for some dozens that takes nanoseconds, and no rounding piles up.
fn mean(window: &[f64]) -> f64 {
    sum(window) / window.len() as f64
}

/// Eight sums side by side.
fn sum(window: &[f64]) -> f64 {
    let (chunks, rest) = window.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for chunk in chunks {
        (0..8).for_each(|lane| sums[lane] += chunk[lane]);
    }
    sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

/// Moves a sorted window of at most `length` on by the last of `recent`.
fn slide(sorted: &mut Sorted, length: usize, recent: &[f64]) {
    let newest = recent[recent.len() - 1];
    if sorted.len() < length {
        sorted.insert(newest);
    } else {
        sorted.replace(recent[recent.len() - 1 - length], newest);
    }
}

/// The length to go on with, given what the windows of `length` and its neighbours before `sample` said of it.
fn adapted_mean(length: usize, sample: f64, before: &[f64]) -> usize {
    adapted(length, sample, before, |length| mean(last(before, length)))
}

fn adapted_median(sorted: &Sorted, sample: f64, before: &[f64]) -> usize {
    let length = sorted.len();
    adapted(length, sample, before, |other| match other.cmp(&length) {
        Ordering::Less => sorted.median_without(before[before.len() - length]),
        Ordering::Equal => sorted.median(),
        Ordering::Greater => sorted.median_with(before[before.len() - other]),
    })
}

/// A tie keeps the length, and a window that is not yet of the least length grows.
fn adapted(length: usize, sample: f64, before: &[f64], said: impl Fn(usize) -> f64) -> usize {
    if length < LENGTH_MIN {
        return length + 1;
    }
    let error = |length: usize| (sample - said(length)).abs();
    let (mut best, mut least) = (length, error(length));
    let longest = LENGTH_MAX.min(before.len());
    for other in [length - 1, length + 1] {
        if (LENGTH_MIN..=longest).contains(&other) {
            let error = error(other);
            if error < least {
                (best, least) = (other, error);
            }
        }
    }
    best
}
