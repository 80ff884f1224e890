//! Detection of level shifts: change points after which a series is at a level where it has never been.

use serde::{Deserialize, Serialize};

/// A deviation that is so many mean absolute ones away is none that dies out as those before did.
const SHIFT: f64 = 6.0;

/// It has come to rest where so many of the last samples in a row are not further from it than so many.
const AT_REST: f64 = 2.0;
const N_AT_REST: u32 = 3;

/// Up to so many a deviation is usual.
const USUAL: f64 = 4.0;

/// Deviations without which nothing counts as new: so many periods, and so many.
const N_PERIODS_KNOWN: f64 = 0.5;
const N_KNOWN: f64 = 64.0;

/// A shift takes back the one before where so little of the larger one is left of both.
const TAKEN_BACK: f64 = 0.25;

/// Shifts up to so many times one that was taken back are expected to be taken back as well, and for how many periods.
const ALIKE: f64 = 1.25;
const MEMORY: f64 = 10.0;

/// Past deviations of a series from its level and season, and the last shift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Shifts {
    period: f64,
    n: f64,
    /// The mean absolute deviation, smoothed.
    typical: f64,
    /// The size of a shift that was taken back, and for how many steps that is to be remembered.
    taken_back: f64,
    n_remembered: f64,
    last: f64,
    /// The furthest of the deviations that came back, of as many periods.
    furthest: f64,
    /// Deviations that have been large and on one side, up to now, and their sum.
    n_beyond: usize,
    sum_beyond: f64,
    /// The largest of them, smoothed.
    most_beyond: f64,
    is_new: bool,
    n_at_rest: u32,
}

/// The level has moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shift {
    pub(super) by: f64,
    /// Steps since it began.
    pub(super) n_new: usize,
}

impl Shifts {
    pub(super) fn new(period: f64) -> Self {
        Self {
            period,
            n: 0.0,
            typical: 0.0,
            taken_back: 0.0,
            n_remembered: 0.0,
            last: 0.0,
            furthest: 0.0,
            n_beyond: 0,
            sum_beyond: 0.0,
            most_beyond: 0.0,
            is_new: false,
            n_at_rest: 0,
        }
    }

    /// Whether this can be what became of `fresh`.
    pub(super) fn is_like(&self, fresh: &Self) -> bool {
        let is_amount = |value: f64| value.is_finite() && value >= 0.0;
        self.period == fresh.period
            && [self.n, self.typical, self.taken_back, self.n_remembered, self.furthest, self.most_beyond]
                .into_iter()
                .all(is_amount)
            && self.last.is_finite()
            && self.sum_beyond.is_finite()
    }

    /// Takes a deviation from level and season, and the same over the last few steps, which is larger by `lag` where
    /// the samples rest. There is no shift unless it `may` be one.
    pub(super) fn learn(&mut self, deviation: f64, smoothed: f64, lag: f64, may: bool) -> Option<Shift> {
        self.n_remembered = (self.n_remembered - 1.0).max(0.0);
        self.furthest *= 1.0 - 1.0 / (MEMORY * self.period);
        let size = smoothed.abs();
        if deviation * smoothed.signum() > AT_REST * self.typical {
            self.n_beyond = self.n_beyond.saturating_add(1);
            self.sum_beyond += deviation;
            self.most_beyond = self.most_beyond.max(size);
        } else {
            self.furthest = self.furthest.max(self.most_beyond).max(size);
            (self.n_beyond, self.sum_beyond, self.most_beyond) = (0, 0.0, 0.0);
        }
        let is_known = self.n >= N_KNOWN.max(N_PERIODS_KNOWN * self.period);
        let known = if self.n_remembered > 0.0 { ALIKE * self.taken_back } else { 0.0 };
        self.is_new = is_known && size > known.max(SHIFT * self.typical);
        let is_at_rest = (deviation - smoothed + lag).abs() <= AT_REST * self.typical;
        self.n_at_rest = if is_at_rest { self.n_at_rest.saturating_add(1) } else { 0 };
        // A constant series has no level but its own.
        if may && self.is_new && self.typical > 0.0 && self.n_at_rest >= N_AT_REST {
            return Some(self.shift());
        }
        let usual = if is_known { size.min(USUAL * self.typical) } else { size };
        self.n = (self.n + 1.0).min(self.period.max(N_KNOWN));
        self.typical += (usual - self.typical) / self.n;
        None
    }

    /// Returns the number of steps for which the series has been going where it has not been for long; 0 where it has
    /// been there before.
    pub(super) fn n_adrift(&self) -> usize {
        if self.is_new && self.most_beyond > ALIKE * self.furthest { self.n_beyond } else { 0 }
    }

    fn shift(&mut self) -> Shift {
        (self.furthest, self.most_beyond, self.is_new) = (0.0, 0.0, false);
        let (n_new, sum) = (std::mem::take(&mut self.n_beyond), std::mem::take(&mut self.sum_beyond));
        let by = sum / n_new.max(1) as f64;
        let most = by.abs().max(self.last.abs());
        if (by + self.last).abs() < TAKEN_BACK * most {
            (self.taken_back, self.n_remembered) = (most, MEMORY * self.period);
        }
        self.last = by;
        Shift { by, n_new }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Outlook, Periods};
    use crate::random::Random;

    const DAY: f64 = 48.0;

    /// Whether a series of 40 days that deviates by a process of this kind has ever shifted.
    #[track_caller]
    fn check_has_none(phi: f64, season: impl Fn(f64) -> f64) {
        for seed in 1..=5 {
            let (mut chance, mut deviation) = (Random::seeded(seed), 0.0);
            let mut outlook = Outlook::new(Periods::new(&[DAY, 7.0 * DAY]).unwrap(), 48);
            for t in 0..40 * DAY as u64 {
                let normal = (0..12).map(|_| chance.uniform()).sum::<f64>() - 6.0;
                deviation = phi * deviation + normal;
                outlook.step(season(t as f64) + deviation);
            }
            assert_eq!(outlook.level.shifts.last, 0.0, "{seed}");
        }
    }

    #[test]
    fn what_only_wanders_has_no_shift() {
        check_has_none(0.0, |_| 0.0);
        check_has_none(0.95, |_| 0.0);
        check_has_none(1.0, |_| 0.0);
        let is_weekend = |t: f64| (t / DAY).floor() % 7.0 >= 5.0;
        check_has_none(0.5, |t| if is_weekend(t) { 0.0 } else { 6.0 * (std::f64::consts::TAU * t / DAY).sin() });
    }
}
