//! A series that is on its way to where it has never been, of which no regression has learned anything.

use serde::{Deserialize, Serialize};

/// It has gone on for so many steps at least.
const N_MIN: usize = 6;

/// Its second half has gone this share as fast as the whole: a jump that came to rest is no drift.
const GOES_ON: f64 = 0.5;

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
