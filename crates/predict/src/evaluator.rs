//! How well forecasts agreed with what came, per lead time, independent of any predictor (RPS section 5.2.3).

use std::collections::VecDeque;

use units::Confidence;

use crate::forecast::{Forecast, half_width};

/// Compares samples with the forecasts that were made for them.
///
/// An error is sample minus forecast. At each step it takes the sample that came and the forecast made right
/// after it; what that forecast said of lead `h` is scored when the `h`-th following sample is in.
#[derive(Clone, Debug)]
pub struct Evaluator {
    tracks: Vec<Track>,
    n_errors_max: usize,
}

/// The score of one lead time.
#[derive(Clone, Debug, PartialEq)]
pub struct LeadScore {
    /// Steps ahead.
    pub lead: usize,
    /// Errors that the statistics are over.
    pub n: usize,
    /// Forecasts that came due in a gap and could not be scored, since the beginning.
    pub n_unscored: u64,
    /// `None` while nothing was scored.
    pub errors: Option<Errors>,
    /// `None` while nothing was scored.
    pub coverage: Option<Coverage>,
}

/// Statistics of errors, in the unit of the series (`mean_squared` in its square).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Least error.
    pub min: f64,
    /// Median error; the mean of the middle two when their number is even.
    pub median: f64,
    /// Greatest error.
    pub max: f64,
    /// Mean error: the bias.
    pub mean: f64,
    /// Mean of the errors' magnitudes.
    pub mean_absolute: f64,
    /// Mean of the errors' squares.
    pub mean_squared: f64,
}

/// The share of samples that fell inside the central intervals, each in [0, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// Of 50 % intervals.
    pub p50: f64,
    /// Of 80 % intervals.
    pub p80: f64,
    /// Of 95 % intervals.
    pub p95: f64,
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
        Self { tracks: leads.iter().map(|lead| Track::new(*lead)).collect(), n_errors_max }
    }

    /// Scores what was said of this sample, then notes the forecast made with it known, if one was made. A
    /// forecast may be shorter than the longest lead; the rest of the leads then go without.
    pub fn step(&mut self, sample: f64, forecast: Option<&Forecast>) {
        for track in &mut self.tracks {
            track.score(sample, self.n_errors_max);
            track.note(forecast);
        }
    }

    /// One score per lead, in the order given at the start.
    #[must_use]
    pub fn scores(&self) -> Vec<LeadScore> {
        self.tracks.iter().map(Track::to_score).collect()
    }
}

/// One lead time: what was said and is not due yet, and how wrong it turned out.
#[derive(Clone, Debug)]
struct Track {
    lead: usize,
    /// Mean and standard error said at each of the last `lead` steps, oldest first.
    pending: VecDeque<Option<(f64, f64)>>,
    /// Errors, and their magnitudes in standard errors, from which coverage follows at any confidence.
    scored: VecDeque<(f64, f64)>,
    n_unscored: u64,
}

impl Track {
    fn new(lead: usize) -> Self {
        assert!(lead > 0, "lead 0 is the sample itself");
        Self { lead, pending: VecDeque::new(), scored: VecDeque::new(), n_unscored: 0 }
    }

    fn score(&mut self, sample: f64, n_errors_max: usize) {
        if self.pending.len() < self.lead {
            return;
        }
        let Some((mean, standard_error)) = self.pending.pop_front().flatten() else {
            return;
        };
        let error = sample - mean;
        if !error.is_finite() {
            self.n_unscored += 1;
            return;
        }
        if self.scored.len() == n_errors_max {
            self.scored.pop_front();
        }
        let reach = if error == 0.0 { 0.0 } else { error.abs() / standard_error };
        self.scored.push_back((error, reach));
    }

    fn note(&mut self, forecast: Option<&Forecast>) {
        let said = forecast.filter(|forecast| forecast.n_leads() >= self.lead);
        self.pending.push_back(said.map(|said| (said.means()[self.lead - 1], said.standard_errors()[self.lead - 1])));
    }

    fn to_score(&self) -> LeadScore {
        let n = self.scored.len();
        let covered = |confidence| {
            let reach_max = half_width(confidence);
            self.scored.iter().filter(|(_, reach)| *reach <= reach_max).count() as f64 / n as f64
        };
        LeadScore {
            lead: self.lead,
            n,
            n_unscored: self.n_unscored,
            errors: (n > 0).then(|| Errors::of(self.scored.iter().map(|(error, _)| *error).collect())),
            coverage: (n > 0).then(|| Coverage {
                p50: covered(Confidence::P50),
                p80: covered(Confidence::P80),
                p95: covered(Confidence::P95),
            }),
        }
    }
}

impl Errors {
    /// Of at least one error, all finite.
    fn of(mut errors: Vec<f64>) -> Self {
        errors.sort_by(f64::total_cmp);
        let (n, middle) = (errors.len() as f64, errors.len() / 2);
        let is_even = errors.len().is_multiple_of(2);
        Self {
            min: errors[0],
            median: if is_even { f64::midpoint(errors[middle - 1], errors[middle]) } else { errors[middle] },
            max: errors[errors.len() - 1],
            mean: errors.iter().sum::<f64>() / n,
            mean_absolute: errors.iter().map(|error| error.abs()).sum::<f64>() / n,
            mean_squared: errors.iter().map(|error| error * error).sum::<f64>() / n,
        }
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
        let mean_errors: Vec<_> = scores.iter().map(|score| score.errors.map(|errors| errors.mean)).collect();
        // Lead 1: 11 - 10 and 23 - 30. Lead 2: 23 - 20 and 44 - 40.
        assert_eq!(mean_errors, [Some(-3.0), Some(3.5)]);
    }

    #[test]
    fn statistics_are_those_of_the_errors() {
        let errors = Errors::of(vec![3.0, -1.0, 0.0, 2.0]);
        let expected = Errors { min: -1.0, median: 1.0, max: 3.0, mean: 1.0, mean_absolute: 1.5, mean_squared: 3.5 };
        assert_eq!(errors, expected);
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
}
