//! How well models forecast recorded traces: fitted before a random moment, judged after it (RPS section 5.3).

use predict::{Forecast, Predictor, Spec, fit};
use rayon::prelude::*;
use serde::Serialize;
use units::Confidence;

use crate::trace::Trace;

/// Samples that a model is fitted to, or half of a trace that is shorter than twice this.
const N_FIT: usize = 600;

/// At most so many samples after the fit are forecast.
const N_TEST_MAX: usize = 2000;

/// At least so many, ten times the longest lead, so that a score rests on something.
const N_TEST_MIN: usize = 300;

/// The longest lead that is forecast.
const N_LEADS: usize = 30;

/// The leads that are reported one by one.
pub const LEADS: [usize; 4] = [1, 5, 10, N_LEADS];

/// A trace and the moment in it that parts fit from test.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    fit: &'a [f64],
    test: &'a [f64],
    /// Of the known samples in `test`, divided by their number.
    variance: f64,
}

/// What a model reached, over all cases that it could be fitted in.
#[derive(Clone, Debug, Serialize)]
pub struct Accuracy {
    /// Text of the specification.
    pub model: String,
    /// Cases whose fit failed; they are in none of the figures.
    pub n_failed: usize,
    /// Figures of [`LEADS`].
    pub leads: Vec<LeadAccuracy>,
    /// The least share of samples inside their 95 % interval at any lead from 1 to 30.
    pub coverage_ratio_min: f64,
    /// The greatest.
    pub coverage_ratio_max: f64,
}

/// What a model reached at one lead.
#[derive(Clone, Debug, Serialize)]
pub struct LeadAccuracy {
    /// Steps ahead.
    pub lead: usize,
    /// Mean squared error over the variance of the test part: median of the cases.
    pub mse_over_variance_median: f64,
    /// Mean absolute error in the unit of the trace: mean of the cases.
    pub mean_absolute_error: f64,
    /// The share of all samples of all cases that lay inside their 95 % interval.
    pub coverage_ratio: f64,
}

/// `n_cases` moments, the traces taking turns, drawn with this seed.
///
/// # Panics
/// When there is no trace, or one is too short to be parted.
#[must_use]
pub fn cases(traces: &[Trace], n_cases: usize, seed: u64) -> Vec<Case<'_>> {
    let mut state = seed;
    let draw = |case_idx: usize, state: &mut u64| {
        let samples = &traces[case_idx % traces.len()].samples;
        let n_fit = N_FIT.min(samples.len() / 2);
        let n_moments = samples.len().checked_sub(n_fit + N_TEST_MIN).expect("a trace long enough to be parted") + 1;
        let moment = n_fit + (next_random(state) % n_moments as u64) as usize;
        let test = &samples[moment..samples.len().min(moment + N_TEST_MAX)];
        Case { fit: &samples[moment - n_fit..moment], test, variance: variance(test) }
    };
    (0..n_cases).map(|case_idx| draw(case_idx, &mut state)).collect()
}

/// SplitMix64 (Steele, Lea and Flood 2014).
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn variance(samples: &[f64]) -> f64 {
    let known = || samples.iter().filter(|sample| !sample.is_nan());
    let n_known = known().count() as f64;
    let mean = known().sum::<f64>() / n_known;
    known().map(|sample| (sample - mean).powi(2)).sum::<f64>() / n_known
}

/// Fits and judges `spec` in every case.
#[must_use]
pub fn measure(spec: &Spec, cases: &[Case<'_>]) -> Accuracy {
    let judged: Vec<Option<Vec<LeadSums>>> = cases
        .par_iter()
        .map(|case| fit(spec, case.fit).ok().map(|model| judge(model.predictor(), case.test)))
        .collect();
    let fitted: Vec<(&Case<'_>, &Vec<LeadSums>)> =
        cases.iter().zip(&judged).filter_map(|(case, sums)| Some((case, sums.as_ref()?))).collect();
    let coverage_ratios: Vec<f64> = (0..N_LEADS).map(|idx| coverage_ratio(&fitted, idx)).collect();
    let of_lead = |lead: usize| {
        let sums = || fitted.iter().map(move |(case, leads)| (case.variance, &leads[lead - 1]));
        LeadAccuracy {
            lead,
            mse_over_variance_median: median(sums().map(|(variance, sums)| sums.squares / sums.n / variance).collect()),
            mean_absolute_error: sums().map(|(_, sums)| sums.magnitudes / sums.n).sum::<f64>() / fitted.len() as f64,
            coverage_ratio: coverage_ratios[lead - 1],
        }
    };
    Accuracy {
        model: spec.to_string(),
        n_failed: cases.len() - fitted.len(),
        leads: LEADS.into_iter().map(of_lead).collect(),
        coverage_ratio_min: coverage_ratios.iter().copied().fold(f64::INFINITY, f64::min),
        coverage_ratio_max: coverage_ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

/// Sums over the samples of one case, at one lead.
#[derive(Clone, Debug, Default)]
struct LeadSums {
    n: f64,
    squares: f64,
    magnitudes: f64,
    n_covered: f64,
}

fn judge(mut predictor: Predictor, test: &[f64]) -> Vec<LeadSums> {
    let mut sums = vec![LeadSums::default(); N_LEADS];
    let mut forecast = Forecast::default();
    for (origin, sample) in test.iter().enumerate() {
        // Made before `sample` is known.
        predictor.forecast_into(N_LEADS, &mut forecast);
        for (idx, (target, sums)) in test[origin..].iter().zip(&mut sums).enumerate() {
            sums.score(*target, &forecast, idx + 1);
        }
        predictor.step(*sample);
    }
    sums
}

impl LeadSums {
    fn score(&mut self, target: f64, forecast: &Forecast, lead: usize) {
        if target.is_nan() {
            return;
        }
        let error = target - forecast.means()[lead - 1];
        self.n += 1.0;
        self.squares += error * error;
        self.magnitudes += error.abs();
        self.n_covered += f64::from(u8::from(forecast.interval(lead, Confidence::P95).contains(target)));
    }
}

fn coverage_ratio(fitted: &[(&Case<'_>, &Vec<LeadSums>)], lead_idx: usize) -> f64 {
    let sums = || fitted.iter().map(|(_, leads)| &leads[lead_idx]);
    sums().map(|sums| sums.n_covered).sum::<f64>() / sums().map(|sums| sums.n).sum::<f64>()
}

/// NaN of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n.is_multiple_of(2) => f64::midpoint(values[n / 2 - 1], values[n / 2]),
        n => values[n / 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp() -> Vec<Trace> {
        vec![Trace { name: "ramp".to_owned(), samples: (0..2000).map(f64::from).collect() }]
    }

    #[test]
    fn the_error_of_the_last_value_on_a_ramp_is_the_lead() {
        let traces = ramp();
        let accuracy = measure(&Spec::Last, &cases(&traces, 5, 1));
        let errors: Vec<f64> = accuracy.leads.iter().map(|lead| lead.mean_absolute_error).collect();
        assert_eq!((accuracy.n_failed, errors), (0, vec![1.0, 5.0, 10.0, 30.0]));
    }

    #[test]
    fn a_case_whose_fit_fails_is_counted_and_in_no_figure() {
        let mut traces = ramp();
        traces.push(Trace { name: "gaps".to_owned(), samples: vec![f64::NAN; 2000] });
        let accuracy = measure(&Spec::Last, &cases(&traces, 6, 1));
        assert_eq!((accuracy.n_failed, accuracy.leads[0].mean_absolute_error), (3, 1.0));
    }

    #[test]
    fn a_seed_draws_the_same_cases_again() {
        let traces = ramp();
        let starts = |seed| cases(&traces, 20, seed).iter().map(|case| case.test[0]).collect::<Vec<_>>();
        assert_eq!(starts(7), starts(7));
        assert_ne!(starts(7), starts(8));
    }
}
