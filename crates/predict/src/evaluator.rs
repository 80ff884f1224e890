//! Agreement of forecasts with the samples that followed, per lead time, independent of any predictor (RPS section
//! 5.2.3).

mod backtest;
mod crps;
mod score;
mod track;

pub use backtest::{Backtest, Forecaster};
pub use score::{Coverage, Errors, IntervalScores, LeadScore};

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use statistics::Residuals;
use track::Track;

use crate::forecast::Forecast;

/// Compares samples with the forecasts that were made for them.
///
/// An error is sample minus forecast. At each step it takes the sample that came and the forecast made right
/// after it; what that forecast said of lead `h` is scored when the `h`-th following sample is in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluator {
    tracks: Vec<Track>,
    n_errors_max: usize,
    naive: Naive,
}

impl Evaluator {
    /// Scores leads 1 to `n_leads` over all errors there ever are; memory grows with them.
    #[must_use]
    pub fn new(n_leads: usize) -> Self {
        Self::with_window(&(1..=n_leads).collect::<Vec<_>>(), usize::MAX)
    }

    /// Scores the given leads, each over its last `n_errors_max` errors.
    ///
    /// # Panics
    /// When a lead is 0 or `n_errors_max` is 0.
    #[must_use]
    pub fn with_window(leads: &[usize], n_errors_max: usize) -> Self {
        assert!(n_errors_max > 0, "a score needs at least one error");
        let tracks = leads.iter().map(|lead| Track::new(*lead)).collect();
        Self { tracks, n_errors_max, naive: Naive::default() }
    }

    /// Scales errors by the one-step mean absolute error of LAST on these samples, as a rule those that the model was
    /// fitted to, rather than on those that are scored. Without two known neighbours among them nothing changes.
    #[must_use]
    pub fn scaled_on(mut self, samples: &[f64]) -> Self {
        self.naive.given = Naive::over(samples);
        self
    }

    /// Scores what was said of this sample, then notes the forecast made with it known, if one was made. A
    /// forecast may be shorter than the longest lead; the rest of the leads then go without.
    pub fn step(&mut self, sample: f64, forecast: Option<&Forecast>) {
        self.naive.step(sample, self.n_errors_max);
        for track in &mut self.tracks {
            track.score(sample, self.n_errors_max);
            track.note(forecast);
        }
    }

    /// One score per lead, in the order given at the start.
    #[must_use]
    pub fn scores(&self) -> Vec<LeadScore> {
        let naive_error = self.naive.mean_absolute();
        self.tracks.iter().map(|track| track.to_score(naive_error)).collect()
    }

    /// The errors that the score of `lead` is over, oldest first, for the tests that `statistics` has; empty for a
    /// lead that is not scored. Moments without a sample or without a forecast are left out.
    #[must_use]
    pub fn errors(&self, lead: usize) -> Vec<f64> {
        self.track(lead).map_or_else(Vec::new, Track::errors)
    }

    /// Whether the one-step errors are noise, and whether it is normal: over the errors that the score of lead 1 is
    /// over, with gaps where they were. `None` where lead 1 is not scored.
    #[must_use]
    pub fn residuals(&self) -> Option<Residuals> {
        self.track(1).map(|track| Residuals::test(&track.errors_and_gaps(), None, 0))
    }

    fn track(&self, lead: usize) -> Option<&Track> {
        self.tracks.iter().find(|track| track.lead() == lead)
    }
}

/// The error that LAST would have made at one step: the scale of scaled errors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Naive {
    last: Option<f64>,
    /// Magnitudes of the last changes between known neighbours, oldest first.
    changes: VecDeque<f64>,
    given: Option<f64>,
}

impl Naive {
    /// `None` without two known neighbours.
    fn over(samples: &[f64]) -> Option<f64> {
        let mut naive = Self::default();
        samples.iter().for_each(|sample| naive.step(*sample, usize::MAX));
        naive.mean_absolute()
    }

    fn step(&mut self, sample: f64, n_max: usize) {
        let sample = Some(sample).filter(|sample| sample.is_finite());
        if let (Some(last), Some(sample)) = (self.last, sample) {
            if self.changes.len() == n_max {
                self.changes.pop_front();
            }
            self.changes.push_back((sample - last).abs());
        }
        self.last = sample;
    }

    /// `None` while no two samples were neighbours.
    fn mean_absolute(&self) -> Option<f64> {
        let n = self.changes.len() as f64;
        self.given.or_else(|| (n > 0.0).then(|| self.changes.iter().map(|change| change / n).sum()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast(means: &[f64], standard_error: f64) -> Forecast {
        Forecast { means: means.to_vec(), standard_errors: vec![standard_error; means.len()], ..Forecast::default() }
    }

    #[test]
    fn each_lead_is_scored_against_the_sample_it_was_for() {
        let mut evaluator = Evaluator::new(2);
        evaluator.step(0.0, Some(&forecast(&[10.0, 20.0], 1.0)));
        evaluator.step(11.0, Some(&forecast(&[30.0, 40.0], 1.0)));
        evaluator.step(23.0, None);
        evaluator.step(44.0, None);
        let scores = evaluator.scores();
        assert_eq!(scores[0].expected_mean_squared, Some(1.0));
        let mean_errors: Vec<_> = scores.iter().map(|score| score.errors.map(|errors| errors.mean)).collect();
        // Lead 1: 11 - 10 and 23 - 30. Lead 2: 23 - 20 and 44 - 40.
        assert_eq!(mean_errors, [Some(-3.0), Some(3.5)]);
    }

    #[test]
    fn coverage_counts_what_fell_inside() {
        let mut evaluator = Evaluator::new(1);
        for error in [0.5, -1.0, 1.5, 3.0] {
            evaluator.step(f64::NAN, Some(&forecast(&[0.0], 1.0)));
            evaluator.step(error, None);
        }
        assert_eq!(evaluator.scores()[0].coverage, Some(Coverage { p50: 0.25, p80: 0.5, p95: 0.75 }));
    }

    #[test]
    fn a_gap_is_counted_and_not_scored() {
        let mut evaluator = Evaluator::new(1);
        evaluator.step(1.0, Some(&forecast(&[1.0], 1.0)));
        evaluator.step(f64::NAN, Some(&forecast(&[1.0], 1.0)));
        let score = &evaluator.scores()[0];
        assert_eq!((score.n, score.n_unscored, score.errors), (0, 1, None));
    }

    #[test]
    fn tests_of_one_step_errors_know_of_gaps() {
        let mut evaluator = Evaluator::new(1);
        let samples = [1.0, 3.0, 2.0, f64::NAN, f64::NAN, 9.0, 4.0, 6.0, 5.0];
        samples.iter().for_each(|sample| evaluator.step(*sample, Some(&forecast(&[0.0], 1.0))));
        // The first sample had no forecast.
        assert_eq!(evaluator.track(1).unwrap().errors_and_gaps().len(), 8);
        let residuals = evaluator.residuals().unwrap();
        assert_eq!((residuals.n, residuals.normality.unwrap().n), (6, 6));
        assert_eq!(Evaluator::with_window(&[2], 9).residuals(), None);
    }

    #[test]
    fn a_window_forgets_the_oldest_errors() {
        let mut evaluator = Evaluator::with_window(&[1], 2);
        for sample in [0.0, 9.0, 1.0, 2.0] {
            evaluator.step(sample, Some(&forecast(&[0.0], 1.0)));
        }
        assert_eq!(evaluator.scores()[0].errors.map(|errors| errors.max), Some(2.0));
    }

    #[test]
    fn an_exact_forecast_without_an_error_bar_is_covered() {
        let mut evaluator = Evaluator::new(1);
        evaluator.step(5.0, Some(&forecast(&[5.0], 0.0)));
        evaluator.step(5.0, None);
        assert_eq!(evaluator.scores()[0].coverage.map(|coverage| coverage.p50), Some(1.0));
    }

    #[test]
    fn an_interval_score_is_the_width_and_what_a_miss_costs() {
        let mut evaluator = Evaluator::new(1);
        for error in [0.5, 4.0] {
            evaluator.step(f64::NAN, Some(&forecast(&[0.0], 1.0)));
            evaluator.step(error, None);
        }
        // Half widths 0.674, 1.282, 1.960; beyond the upper end an error costs 2/(1 - confidence) = 4, 10, 40 times
        // what it is.
        let expected = [(0.674_489_750, 4.0), (1.281_551_566, 10.0), (1.959_963_985, 40.0)]
            .map(|(reach, price)| 2.0 * reach + price * (4.0 - reach) / 2.0);
        let IntervalScores { p50, p80, p95 } = evaluator.scores()[0].interval_scores.unwrap();
        for (score, expected) in [p50, p80, p95].iter().zip(expected) {
            // Kept as 32-bit floats.
            assert!((score / expected - 1.0).abs() < 1e-6, "{score} is not {expected}");
        }
    }

    #[test]
    fn scaled_errors_are_1_for_last() {
        let samples = [1.0, 4.0, 3.0, f64::NAN, 9.0, 7.0];
        let mut evaluator = Evaluator::new(1);
        for sample in samples {
            evaluator.step(sample, Some(&forecast(&[sample], 1.0)).filter(|_| sample.is_finite()));
        }
        assert_eq!(evaluator.scores()[0].mean_absolute_scaled, Some(1.0));
        let on_others = evaluator.scaled_on(&[0.0, 4.0, 0.0]);
        assert_eq!(on_others.scores()[0].mean_absolute_scaled, Some(0.5));
    }

    #[test]
    fn a_constant_series_has_no_scale() {
        let mut evaluator = Evaluator::new(1);
        (0..3).for_each(|_| evaluator.step(5.0, Some(&forecast(&[4.0], 1.0))));
        assert_eq!(evaluator.scores()[0].mean_absolute_scaled, None);
    }

    #[test]
    fn errors_of_any_size_are_scored() {
        for scale in [1e300, 1e-300] {
            let mut evaluator = Evaluator::new(1);
            for error in [0.5, 4.0] {
                evaluator.step(f64::NAN, Some(&forecast(&[0.0], scale)));
                evaluator.step(error * scale, None);
            }
            let score = &evaluator.scores()[0];
            assert!((score.interval_scores.unwrap().p95 / scale - 44.720_650).abs() < 1e-5);
            assert!(score.crps.unwrap() / scale > 1.0);
        }
    }

    #[test]
    fn the_errors_of_a_lead_are_handed_out() {
        let mut evaluator = Evaluator::with_window(&[1], 2);
        [0.0, 9.0, 1.0, 2.0].iter().for_each(|sample| evaluator.step(*sample, Some(&forecast(&[0.0], 1.0))));
        assert_eq!((evaluator.errors(1), evaluator.errors(2)), (vec![1.0, 2.0], vec![]));
    }
}
