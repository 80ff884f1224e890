//! Many forecasts scored at once: a predictor is led over samples, and nothing is kept that a score does not need.
//!
//! What comes out is what an [`Evaluator`](super::Evaluator) makes of the same forecasts. An evaluator takes them one
//! at a time for as long as it lives; this knows where the samples end, and takes a tenth of the time.

use std::convert::Infallible;

use statistics::{Interval, Residuals};

use super::Naive;
use super::crps::Table;
use super::score::{Coverage, Errors, IntervalScores, LeadScore};
use crate::forecast::Forecast;
use crate::predictor::Predictor;

/// Half the widths of the normal intervals that are scored, in standard errors: of 50, 80 and 95 %.
const HALF_WIDTHS: [f64; N_INTERVALS] = [0.674_489_750_196_081_7, 1.281_551_565_544_600_4, 1.959_963_984_540_054];

/// Penalty of a miss, per unit of its distance: 2 / (1 - confidence).
const PENALTIES: [f64; N_INTERVALS] = [4.0, 10.0, 40.0];

const N_INTERVALS: usize = 3;

/// Leads predictors over samples and scores what they forecast; holds memory that runs share.
#[derive(Clone, Debug)]
pub struct Backtest {
    leads: Vec<usize>,
    forecast: Forecast,
    sums: Vec<Sums>,
    /// Errors of each lead one after the other, in the order of their origins.
    errors: Vec<f64>,
    /// One step ahead, NaN in a gap.
    one_step: Vec<f64>,
}

/// Source of forecasts in a backtest: a [`Predictor`], or a forecaster of another make, which may fail on the way.
pub trait Forecaster {
    /// The error of a forecaster that fails.
    type Error;

    /// Forecasts leads 1 to `n_leads` in place of what `forecast` holds.
    ///
    /// # Errors
    /// The backtest ends with them.
    fn forecast_into(&mut self, n_leads: usize, forecast: &mut Forecast) -> Result<(), Self::Error>;

    /// Takes the next sample, NaN for a gap.
    ///
    /// # Errors
    /// The backtest ends with them.
    fn step(&mut self, sample: f64) -> Result<(), Self::Error>;
}

impl Forecaster for Predictor {
    type Error = Infallible;

    fn forecast_into(&mut self, n_leads: usize, forecast: &mut Forecast) -> Result<(), Infallible> {
        Self::forecast_into(self, n_leads, forecast);
        Ok(())
    }

    fn step(&mut self, sample: f64) -> Result<(), Infallible> {
        Self::step(self, sample);
        Ok(())
    }
}

impl Backtest {
    /// Builds a backtest of these leads.
    ///
    /// # Panics
    /// When they do not rise from at least 1.
    #[must_use]
    pub fn new(leads: &[usize]) -> Self {
        assert!(leads.is_sorted_by(|low, high| low < high), "leads rise");
        assert!(leads.first().is_none_or(|first| *first > 0), "lead 0 is the sample itself");
        Self {
            leads: leads.to_vec(),
            forecast: Forecast::default(),
            sums: Vec::new(),
            errors: Vec::new(),
            one_step: Vec::new(),
        }
    }

    /// Steps `predictor` over `samples`, which follow on those that it has seen, gaps as NaN. Ahead of each sample it
    /// forecasts all leads, and a forecast is scored where its sample is among `samples`. The predictor is handed each
    /// sample only after it made the forecasts before it.
    ///
    /// Errors are scaled by the one-step mean absolute error of LAST on `scaled_on`, as a rule what the model was
    /// fitted to.
    pub fn run(&mut self, predictor: &mut Predictor, samples: &[f64], scaled_on: &[f64]) -> Vec<LeadScore> {
        let Ok(scores) = self.try_run(predictor, samples, scaled_on);
        scores
    }

    /// Runs any forecaster over the samples, as [`Backtest::run`] does a predictor.
    ///
    /// # Errors
    /// Those of the forecaster.
    ///
    /// # Panics
    /// When a forecast is shorter than it has to be.
    pub fn try_run<F: Forecaster>(
        &mut self,
        forecaster: &mut F,
        samples: &[f64],
        scaled_on: &[f64],
    ) -> Result<Vec<LeadScore>, F::Error> {
        let n_leads_max = self.leads.last().copied().unwrap_or(0);
        self.sums.clear();
        self.sums.resize(self.leads.len(), Sums::default());
        self.one_step.clear();
        self.errors.clear();
        self.errors.resize(self.leads.len() * samples.len(), f64::NAN);
        for (origin, sample) in samples.iter().enumerate() {
            forecaster.forecast_into(n_leads_max, &mut self.forecast)?;
            self.one_step.push(self.forecast.means.first().map_or(f64::NAN, |mean| sample - mean));
            self.score(origin, samples);
            forecaster.step(*sample)?;
        }
        Ok(self.scores(samples.len(), Naive::over(scaled_on)))
    }

    /// Whether the errors one step ahead of the last run are noise, and whether it is normal, whether or not lead 1 is
    /// scored.
    #[must_use]
    pub fn residuals(&self) -> Residuals {
        Residuals::test(&self.one_step, None, 0)
    }

    fn score(&mut self, origin: usize, samples: &[f64]) {
        let Forecast { means, standard_errors, reaches, range } = &self.forecast;
        let (table, coming) = (Table::get(), &samples[origin..]);
        let tracks = self.leads.iter().zip(&mut self.sums).zip(self.errors.chunks_exact_mut(samples.len()));
        for ((lead, sums), errors) in tracks {
            let Some(sample) = coming.get(lead - 1) else { return };
            let (error, standard_error) = (sample - means[lead - 1], standard_errors[lead - 1]);
            sums.n_due += 1;
            if !error.is_finite() {
                continue;
            }
            errors[sums.n] = error;
            sums.take(error, standard_error, table.score(error, standard_error));
            if reaches.is_empty() && range.is_none() {
                sums.take_normal(error.abs(), standard_error);
            } else {
                let intervals = HALF_WIDTHS.map(|half_width| self.forecast.interval_of(*lead, half_width));
                sums.take_intervals(*sample, intervals);
            }
        }
    }

    fn scores(&mut self, n_samples: usize, scale: Option<f64>) -> Vec<LeadScore> {
        let scale = scale.filter(|scale| *scale > 0.0);
        let score = |(idx, (lead, sums)): (usize, (&usize, &Sums))| {
            let start = idx * n_samples;
            let errors = (sums.n > 0).then(|| sums.errors(&mut self.errors[start..start + sums.n]));
            let [p50, p80, p95] = sums.inside.map(|inside| inside / sums.n as f64);
            let coverage = Coverage { p50, p80, p95 };
            let [p50, p80, p95] = sums.interval_scores.map(|score| score / sums.n as f64);
            let interval_scores = IntervalScores { p50, p80, p95 };
            LeadScore {
                lead: *lead,
                n: sums.n,
                n_unscored: (sums.n_due - sums.n) as u64,
                errors,
                expected_mean_squared: errors.map(|_| sums.expected_squares / sums.n as f64),
                coverage: errors.map(|_| coverage),
                interval_scores: errors.map(|_| interval_scores),
                crps: errors.map(|_| sums.crps / sums.n as f64),
                mean_absolute_scaled: errors.zip(scale).map(|(errors, scale)| errors.mean_absolute / scale),
            }
        };
        self.leads.iter().zip(&self.sums).enumerate().map(score).collect()
    }
}

/// Sums over the forecasts of one lead.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Forecasts whose moment came.
    n_due: usize,
    /// Those that could be scored.
    n: usize,
    errors: f64,
    magnitudes: f64,
    squares: f64,
    expected_squares: f64,
    crps: f64,
    inside: [f64; N_INTERVALS],
    interval_scores: [f64; N_INTERVALS],
}

impl Sums {
    #[inline]
    fn take(&mut self, error: f64, standard_error: f64, crps: f64) {
        self.n += 1;
        self.errors += error;
        self.magnitudes += error.abs();
        self.squares += error * error;
        self.expected_squares += standard_error * standard_error;
        self.crps += crps;
    }

    #[inline]
    fn take_normal(&mut self, magnitude: f64, standard_error: f64) {
        for idx in 0..N_INTERVALS {
            let reach = HALF_WIDTHS[idx] * standard_error;
            self.inside[idx] += f64::from(u8::from(magnitude <= reach));
            self.interval_scores[idx] += 2.0 * reach + PENALTIES[idx] * (magnitude - reach).max(0.0);
        }
    }

    fn take_intervals(&mut self, sample: f64, intervals: [Interval; N_INTERVALS]) {
        for (idx, interval) in intervals.into_iter().enumerate() {
            let Interval { lower, upper } = interval;
            self.inside[idx] += f64::from(u8::from(interval.contains(sample)));
            let outside = (lower - sample).max(sample - upper).max(0.0);
            self.interval_scores[idx] += upper - lower + PENALTIES[idx] * outside;
        }
    }

    /// `errors` are all of them, and are left in another order.
    fn errors(&self, errors: &mut [f64]) -> Errors {
        let n = errors.len() as f64;
        let middle = errors.len() / 2;
        let is_even = errors.len().is_multiple_of(2);
        let (lower, upper_middle, _) = errors.select_nth_unstable_by(middle, f64::total_cmp);
        let lower_middle = lower.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let median = if is_even { f64::midpoint(lower_middle, *upper_middle) } else { *upper_middle };
        let (min, max) = errors
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), error| (min.min(*error), max.max(*error)));
        Errors {
            min,
            median,
            max,
            mean: self.errors / n,
            mean_absolute: self.magnitudes / n,
            mean_squared: self.squares / n,
        }
    }
}
