//! A series that is on its way to where it has never been, of which no regression has learned anything.

use serde::{Deserialize, Serialize};

/// It has gone on for so many steps at least.
const N_MIN: usize = 6;

/// Its second half has gone this share as fast as the whole: a jump that came to rest is no drift.
const GOES_ON: f64 = 0.5;

/// Stretches of equal length into which the time of a series is cut to test whether it is a straight line, and the
/// statistic beyond which it is one: a random walk has such a statistic in 0.2 % of cases.
const N_STRETCHES: usize = 8;
const T_LINE: f64 = 5.0;

/// A straight line that has gone on for so many steps.
///
/// For how long it will is not known. What has gone on for n steps is taken to go on for t more with probability n / (n
/// + t), as whatever is met at a moment of chance (Gott 1993): half of all go on for as long again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Drift {
    /// Slope by step.
    slope: f64,
    n: f64,
}

impl Drift {
    /// Computes the drift of the last `n` steps, whose sample before them, in their middle and at their end are given;
    /// `None` where it is none.
    pub(super) fn over(n: usize, [before, middle, last]: [f64; 3]) -> Option<Self> {
        let (slope, later) = ((last - before) / n as f64, (last - middle) / (n - n / 2) as f64);
        (n >= N_MIN && slope != 0.0 && later / slope >= GOES_ON).then_some(Self { slope, n: n as f64 })
    }

    /// Computes the drift of a series that has been on a straight line for `n` steps, ever since it began; `None` if it
    /// moves no more than a random walk may (Student's t of the movements over stretches of equal length). `ago`
    /// returns the sample so many steps before the last one.
    pub(super) fn ever_since(n: usize, ago: impl Fn(usize) -> Option<f64>) -> Option<Self> {
        let [before, middle, last] = [ago(n)?, ago(n - n / 2)?, ago(0)?];
        let line = Self::over(n, [before, middle, last])?;
        let n_stretches = N_STRETCHES.min(n);
        let length = n / n_stretches;
        let (mut sum, mut sum_of_squares) = (0.0, 0.0);
        for idx in 0..n_stretches {
            let movement = ago(idx * length)? - ago((idx + 1) * length)?;
            sum += movement;
            sum_of_squares += movement * movement;
        }
        let explained = sum * sum / n_stretches as f64;
        let variance = (sum_of_squares - explained) / (n_stretches - 1) as f64;
        if explained <= T_LINE * T_LINE * variance {
            return None;
        }
        // What gets slower goes on as it did of late.
        let later = (last - middle) / (n - n / 2) as f64;
        Some(if later.abs() < line.slope.abs() { Self { slope: later, ..line } } else { line })
    }

    /// The same line, which began so many steps ago, although its slope is that of fewer.
    pub(super) fn since(self, n: usize) -> Self {
        Self { n: n as f64, ..self }
    }

    pub(super) fn slope(&self) -> f64 {
        self.slope
    }

    /// Returns the amount by which the drift moves within so many steps at most with this probability.
    pub(super) fn quantile(&self, lead: usize, probability: f64) -> f64 {
        let share = if self.slope > 0.0 { probability } else { 1.0 - probability };
        let goes_on_for = self.n * share / (1.0 - share).max(f64::MIN_POSITIVE);
        self.slope * goes_on_for.min(lead as f64)
    }

    /// Returns the amount by which the drift moves from lead `known` to a later one with this probability, if it lasts
    /// until `known`.
    pub(super) fn quantile_beyond(&self, known: usize, lead: usize, probability: f64) -> f64 {
        let moved = self.quantile(lead, probability) - self.slope * known as f64;
        // It has not ended before.
        if moved * self.slope > 0.0 { moved } else { 0.0 }
    }

    /// Whether samples can have led here.
    pub(super) fn is_sound(&self) -> bool {
        self.slope.is_finite() && self.n.is_finite() && self.n > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Outlook, Periods};
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_line_goes_on_for_as_long_again_with_probability_one_half() {
        let drift = Drift::over(8, [1.0, 3.0, 5.0]).unwrap();
        assert_eq!(drift.quantile(4, 0.5), 2.0, "all of the way");
        assert_eq!(drift.quantile(100, 0.5), 4.0);
        assert_eq!(drift.quantile(100, 0.75), 12.0);
        let down = Drift::over(8, [5.0, 3.0, 1.0]).unwrap();
        assert_eq!((down.quantile(100, 0.5), down.quantile(100, 0.25)), (-4.0, -12.0));
    }

    #[test]
    fn what_rests_or_has_just_begun_is_no_drift() {
        for (n, samples) in [(8, [1.0, 5.0, 5.0]), (5, [1.0, 3.0, 5.0]), (8, [1.0, 1.0, 1.0]), (8, [1.0, 6.0, 5.0])] {
            assert_eq!(Drift::over(n, samples), None, "{n} {samples:?}");
        }
    }

    /// A disk that stood still for two days and has been filling for so many steps, and what is said of it six hours
    /// ahead.
    fn filling(n_filling: u32) -> Outlook {
        let mut chance = Random::seeded(1);
        let mut outlook = Outlook::new(Periods::new(&[288.0]).unwrap(), 72).within(0.0, 1.0);
        let still = std::iter::repeat_n(0.2, 576);
        let fills = (1..=n_filling).map(|step| 0.2 + 0.01 * f64::from(step));
        still.chain(fills).for_each(|used| outlook.step(used + 0.002 * (chance.uniform() - 0.5)));
        outlook
    }

    /// A series that has fallen by 60 a step, for `n` steps, ever since it is known.
    fn falling(n: u32, noise: f64) -> Outlook {
        let mut chance = Random::seeded(7);
        let mut outlook = Outlook::new(Periods::new(&[1440.0, 10_080.0]).unwrap(), 720).within(0.0, 24_000.0);
        (0..n).for_each(|t| outlook.step(20_000.0 - 60.0 * f64::from(t) + noise * (chance.uniform() - 0.5)));
        outlook
    }

    #[test]
    fn a_series_that_is_known_for_minutes_and_has_only_fallen_goes_on_to_fall() {
        for n in [8, 12, 20, 30, 60, 120, 160] {
            let (outlook, lead) = (falling(n, 30.0), n as usize);
            let right = 20_000.0 - 60.0 * f64::from(2 * n - 1);
            let now = 20_000.0 - 60.0 * f64::from(n - 1);
            let median = outlook.quantile(lead, 0.5).unwrap();
            assert!((median - right).abs() < 0.2 * (now - right), "{n}: {median} for {right}");
            let medians = outlook.quantiles(3 * lead, 0.5);
            let rise = medians.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
            assert!(rise < 1.0, "{n}: the median rises by {rise} in a step");
            // It goes on for twice as long again with a probability of a third.
            let [far, right] = [outlook.quantile(3 * lead, 0.3).unwrap(), (right - 120.0 * f64::from(n)).max(0.0)];
            assert!(far < right + 0.3 * (now - right), "{n}: {far} for {right}");
        }
    }

    #[test]
    fn what_falls_in_minutes_is_foreseen_to_run_out_in_hours() {
        let paths = falling(120, 30.0).paths(1000, 240, 1);
        let runs_out = |path: usize| (1..=240).any(|lead| paths.at(lead)[path] < 500.0);
        let share = (0..1000).filter(|path| runs_out(*path)).count() as f64 / 1000.0;
        // 206 steps are missing.
        assert!((share - 120.0 / 326.0).abs() < 0.15, "{share}");
    }

    #[test]
    fn a_random_walk_follows_no_line() {
        let is_line = |seed: &u64| {
            let mut chance = Random::seeded(*seed);
            let mut walk = vec![0.0];
            for t in 0..64 {
                walk.push(walk[t] + (0..12).map(|_| chance.uniform()).sum::<f64>() - 6.0);
            }
            Drift::ever_since(64, |age| walk.get(64 - age).copied()).is_some()
        };
        let n_lines = (0..500).filter(is_line).count();
        assert!(n_lines <= 3, "{n_lines} of 500");
    }

    #[test]
    fn a_disk_that_begins_to_fill_is_forecast_to_go_on() {
        let outlook = filling(60);
        let median = |lead| outlook.quantile(lead, 0.5).unwrap();
        assert!((median(5) - 0.85).abs() < 0.01 && (median(15) - 0.95).abs() < 0.01, "{} {}", median(5), median(15));
        let full = outlook.paths(1000, 72, 1);
        let is_full = |path: usize| (1..=72).any(|lead| full.at(lead)[path] > 0.95);
        let share = (0..1000).filter(|path| is_full(*path)).count() as f64 / 1000.0;
        // 15 steps are missing.
        assert!((share - 60.0 / 75.0).abs() < 0.05, "{share}");
        assert!(filling(0).level.drift().is_none(), "it stands still");
    }
}
