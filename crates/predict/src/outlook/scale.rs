//! Scale on which a bounded quantity is forecast: its own, or one on which it has no bound and varies as much wherever
//! it is.
//!
//! A scale suits if short stretches vary as much at every level on it, which shows on the quantity's own scale as a
//! spread that goes with one over the slope of the scale (Guerrero 1993).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::means::Means;

/// Steps of a stretch.
const N_STRETCH: usize = 6;

/// Stretches after which a scale is chosen, and again whenever there are twice as many.
const N_CHOICE: u64 = 16;

/// A stretch that varies so many times as much as any before has a scale chosen as well.
const FURTHER: f64 = 8.0;

/// Another scale than the quantity's own has to be better by as much.
const BETTER: f64 = 0.9;

/// Offset that gives a bound itself a place on the scale, over the mean distance from it.
const OFFSET: f64 = 0.05;

/// A quantity that is at a bound for more than this share of the time has its own scale: elsewhere the way there and
/// back is a leap from which anything may be.
const AT_BOUND_MAX: f64 = 0.02;

/// Scale on which forecasts are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Scale {
    /// The quantity's own.
    Linear,
    /// The logarithm of the distance from the least possible value.
    Log,
    /// The logarithm of the ratio of the distances from both ends.
    Logit,
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Linear => "linear",
            Self::Log => "log",
            Self::Logit => "logit",
        })
    }
}

/// Transform from a quantity to its scale and back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Transform {
    pub(super) scale: Scale,
    /// Range of values that the quantity can have.
    range: (f64, f64),
    offset: f64,
}

/// Spread of short stretches of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Spread {
    stretch: [f64; N_STRETCH],
    n_in_stretch: usize,
    n: u64,
    /// Samples at a bound, of all in stretches.
    n_at_bound: u64,
    mean: f64,
    /// The largest standard deviation of a stretch.
    furthest: f64,
    /// Standard deviations of stretches, and their squares, on the quantity's own scale and on the other that it may
    /// have.
    own: Means<2>,
    other: Means<2>,
}

impl Transform {
    pub(super) const fn linear(range: (f64, f64)) -> Self {
        Self { scale: Scale::Linear, range, offset: 0.0 }
    }

    /// Whether a quantity of this range can have it.
    pub(super) fn is_of(&self, range: (f64, f64)) -> bool {
        let is_scale = self.scale == Scale::Linear || Scale::of(range) == Some(self.scale) && self.offset > 0.0;
        is_scale && self.range == range && self.offset.is_finite()
    }

    /// A gap is one on each scale.
    pub(super) fn to_scale(self, value: f64) -> f64 {
        let Self { scale, range: (low, high), offset } = self;
        let (below, above) = (value.clamp(low, high) - low + offset, high - value.clamp(low, high) + offset);
        match scale {
            Scale::Linear => value,
            Scale::Log => below.ln(),
            Scale::Logit => (below / above).ln(),
        }
    }

    /// Returns the value at a place on the scale. What is nothing the quantity can be is the end that is nearest.
    pub(super) fn to_value(self, scaled: f64) -> f64 {
        let Self { scale, range: (low, high), offset } = self;
        let value = match scale {
            Scale::Linear => scaled,
            Scale::Log => low - offset + scaled.exp().min(f64::MAX),
            Scale::Logit => low - offset + (high - low + 2.0 * offset) / (1.0 + (-scaled).exp()),
        };
        value.clamp(low, high)
    }

    /// One over the slope of the scale at a value.
    pub(super) fn width(self, value: f64) -> f64 {
        let Self { scale, range: (low, high), offset } = self;
        let (below, above) = (value - low + offset, high - value + offset);
        match scale {
            Scale::Linear => 1.0,
            Scale::Log => below,
            Scale::Logit => below * above / (below + above),
        }
    }
}

impl Scale {
    /// The one that a quantity of this range may have beside its own.
    fn of((low, high): (f64, f64)) -> Option<Self> {
        match (low.is_finite(), high.is_finite()) {
            (true, true) if low < high => Some(Self::Logit),
            (true, false) => Some(Self::Log),
            _ => None,
        }
    }
}

impl Spread {
    pub(super) fn new() -> Self {
        Self {
            stretch: [0.0; N_STRETCH],
            n_in_stretch: 0,
            n: 0,
            n_at_bound: 0,
            mean: 0.0,
            furthest: 0.0,
            own: Means::NONE,
            other: Means::NONE,
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        self.n_in_stretch < N_STRETCH
            && self.stretch.iter().all(|value| value.is_finite())
            && self.mean.is_finite()
            && self.furthest.is_finite()
            && self.own.is_sound()
            && self.other.is_sound()
    }

    /// Takes a sample, NaN for a gap, and says if there is a better way to the scale than the one so far.
    pub(super) fn learn(&mut self, sample: f64, so_far: Transform) -> Option<Transform> {
        let scale = Scale::of(so_far.range)?;
        if sample.is_nan() {
            self.n_in_stretch = 0;
            return None;
        }
        self.stretch[self.n_in_stretch] = sample;
        self.n_in_stretch = (self.n_in_stretch + 1) % N_STRETCH;
        if self.n_in_stretch > 0 {
            return None;
        }
        let mean = self.stretch.iter().sum::<f64>() / N_STRETCH as f64;
        let deviation =
            (self.stretch.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / N_STRETCH as f64).sqrt();
        self.n += 1;
        self.mean += (mean - self.mean) / self.n as f64;
        let (low, high) = so_far.range;
        self.n_at_bound += self.stretch.iter().filter(|value| !(low < **value && **value < high)).count() as u64;
        let other = Transform { scale, range: so_far.range, offset: OFFSET * (self.mean - low).min(high - self.mean) };
        for (means, width) in [(&mut self.own, 1.0), (&mut self.other, other.width(mean))] {
            if width > 0.0 {
                let scaled = deviation / width;
                means.learn([scaled, scaled * scaled], f64::INFINITY);
            }
        }
        let is_further = deviation > FURTHER * self.furthest;
        self.furthest = self.furthest.max(deviation);
        if self.n < N_CHOICE || !(self.n.is_power_of_two() || is_further) {
            return None;
        }
        let least = if so_far.scale == Scale::Linear { BETTER } else { 1.0 };
        let is_off_bounds = self.n_at_bound as f64 <= AT_BOUND_MAX * N_STRETCH as f64 * self.n as f64;
        let is_better = is_off_bounds && other.offset > 0.0 && variation(self.other) < least * variation(self.own);
        let chosen = if is_better { other } else { Transform::linear(so_far.range) };
        // Where the offset lies hardly matters.
        (chosen.scale != so_far.scale).then_some(chosen)
    }
}

/// The coefficient of variation of something, from its mean and that of its squares; NaN where nothing varies.
fn variation(of: Means<2>) -> f64 {
    let [mean, square] = of.means;
    (square - mean * mean).max(0.0).sqrt() / mean
}
