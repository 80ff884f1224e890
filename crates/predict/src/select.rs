//! Selection among several models: by an information criterion, or by the errors that each makes out of sample.

use crate::fit::{FitError, fit};
use crate::forecast::Forecast;
use crate::inference::Inference;
use crate::spec::Spec;

/// Criterion by which candidates are ranked; less is better for all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Criterion {
    /// Akaike's, as [`Inference::aic`].
    Aic,
    /// Akaike's corrected for few samples, as [`Inference::aicc`].
    Aicc,
    /// Schwarz's, as [`Inference::bic`].
    Bic,
    /// The mean squared error of the forecasts that the model's predictor makes after a fit on the first samples, as it
    /// would on line. It needs no likelihood and so ranks models of every kind.
    OutOfSample {
        /// Number of samples at the beginning that the fit uses.
        n_train: usize,
        /// Number of steps ahead that the forecasts are for, at least 1.
        lead: usize,
    },
}

/// A candidate and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The candidate.
    pub spec: Spec,
    /// The criterion's value, less being better, or why there is none.
    pub score: Result<f64, NoScore>,
}

/// The reason why a candidate has no score.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoScore {
    /// It could not be fitted.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// It assumes no distribution, or has too many parameters for the criterion.
    #[error("{spec} has no likelihood for an information criterion to rank; rank it by its errors out of sample")]
    NoLikelihood {
        /// The candidate.
        spec: Spec,
    },
    /// Its likelihood is of other samples than that of the candidates before it.
    #[error(
        "the likelihood of {spec} is of {n_samples} samples and that of {other} of {n_other}: differencing leaves other samples, but \
         information criteria compare models of the same samples; rank them by errors out of sample"
    )]
    OtherSamples {
        /// The candidate.
        spec: Spec,
        /// Samples that its likelihood is of.
        n_samples: usize,
        /// The first candidate with a likelihood.
        other: Spec,
        /// Samples that the likelihood of that one is of.
        n_other: usize,
    },
    /// No forecast came due.
    #[error(
        "a fit on {n_train} of {n_samples} samples leaves no known sample {lead} steps ahead to compare {spec} with; fit it to fewer"
    )]
    NothingToScore {
        /// The candidate.
        spec: Spec,
        /// Samples that the fit was to use.
        n_train: usize,
        /// Samples given.
        n_samples: usize,
        /// Steps ahead.
        lead: usize,
    },
}

/// Fits every candidate to `samples` (NaN in gaps), the best first; those without a score come last. Equals stay in the
/// order given.
///
/// Differencing changes the samples that a likelihood is of: by a likelihood, candidates are ranked that difference as
/// often as the first one that has a likelihood, and the others say so.
#[must_use]
pub fn select(candidates: &[Spec], samples: &[f64], criterion: Criterion) -> Vec<Ranked> {
    let mut first = None;
    let mut ranked: Vec<Ranked> = candidates
        .iter()
        .map(|spec| {
            let score = match criterion {
                Criterion::OutOfSample { n_train, lead } => out_of_sample(spec, samples, n_train, lead.max(1)),
                _ => by_likelihood(spec, samples, criterion, &mut first),
            };
            Ranked { spec: spec.clone(), score }
        })
        .collect();
    let key = |ranked: &Ranked| ranked.score.as_ref().copied().unwrap_or(f64::INFINITY);
    ranked.sort_by(|one, other| one.score.is_err().cmp(&other.score.is_err()).then(key(one).total_cmp(&key(other))));
    ranked
}

/// The first candidate that has a likelihood, how often it differences, and how many samples the likelihood is of.
type First = Option<(Spec, usize, usize)>;

fn by_likelihood(spec: &Spec, samples: &[f64], criterion: Criterion, first: &mut First) -> Result<f64, NoScore> {
    let model = fit(spec, samples)?;
    let no_likelihood = || NoScore::NoLikelihood { spec: spec.clone() };
    let inference = Inference::of(&model, samples).ok_or_else(no_likelihood)?;
    let score = match criterion {
        Criterion::Aicc => inference.aicc(),
        Criterion::Bic => inference.bic(),
        Criterion::Aic | Criterion::OutOfSample { .. } => inference.aic(),
    };
    let score = score.ok_or_else(no_likelihood)?;
    let n_differences = spec.orders().map_or(0, |orders| orders.n_differences);
    let (other, of_other, n_other) = first.get_or_insert((spec.clone(), n_differences, inference.n_samples));
    if (*of_other, *n_other) != (n_differences, inference.n_samples) {
        let (other, n_other) = (other.clone(), *n_other);
        return Err(NoScore::OtherSamples { spec: spec.clone(), n_samples: inference.n_samples, other, n_other });
    }
    Ok(score)
}

fn out_of_sample(spec: &Spec, samples: &[f64], n_train: usize, lead: usize) -> Result<f64, NoScore> {
    let (train, test) = samples.split_at(n_train.min(samples.len()));
    let mut predictor = fit(spec, train)?.predictor();
    let mut forecast = Forecast::default();
    let (mut squares, mut n) = (0.0, 0_usize);
    for origin in 0..test.len().saturating_sub(lead - 1) {
        predictor.forecast_into(lead, &mut forecast);
        let error = test[origin + lead - 1] - forecast.means()[lead - 1];
        if error.is_finite() {
            squares += error * error;
            n += 1;
        }
        predictor.step(test[origin]);
    }
    if n == 0 {
        let n_samples = samples.len();
        return Err(NoScore::NothingToScore { spec: spec.clone(), n_train, n_samples, lead });
    }
    Ok(squares / n as f64)
}
