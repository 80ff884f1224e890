//! Several models by one criterion.

use std::io::Write;

use clap::ValueEnum;
use predict::{FitError, Inference, Spec};
use serde::Serialize;

use crate::text::{Align, Table, six_digits};

/// Text shows the best ones; JSON has all.
const N_SHOWN_MAX: usize = 20;

/// What is least for the best model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// Akaike's criterion.
    Aic,
    /// Akaike's, corrected for few samples.
    Aicc,
    /// Schwarz's criterion, which prefers fewer coefficients.
    Bic,
    /// The mean squared one-step error on samples that the fit has not seen: the last quarter.
    OutOfSample,
}

/// Candidates, best first, those without a score last.
#[derive(Debug, Serialize)]
pub struct Ranking {
    criterion: Criterion,
    ranking: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    model: String,
    score: Option<f64>,
    failure: Option<String>,
}

/// Candidates that one criterion cannot rank.
#[derive(Debug, thiserror::Error)]
#[error(
    "likelihoods of samples that are differenced a different number of times do not compare ({first} and {second}); use --by out-of-sample"
)]
pub struct Incomparable {
    first: Spec,
    second: Spec,
}

/// Why a candidate has no score.
#[derive(Debug, thiserror::Error)]
pub enum Unranked {
    #[error(transparent)]
    Fit(#[from] FitError),
    #[error("{0} has no likelihood; --by out-of-sample ranks it")]
    NoLikelihood(Spec),
    #[error("{0} has too many coefficients for the criterion on so few samples")]
    TooFew(Spec),
    #[error("{0} cannot be tried: the last quarter of the samples is gaps")]
    NothingToTry(Spec),
}

/// Not one candidate has a score.
#[derive(Debug, thiserror::Error)]
#[error("none of {n} models can be ranked; of the first: {first}")]
pub struct NoScore {
    n: usize,
    first: Unranked,
}

/// A likelihood is one of the samples as the model differences them.
pub fn check(specs: &[Spec], criterion: Criterion) -> Result<(), Incomparable> {
    let differs = specs.iter().find(|spec| n_differences(spec) != n_differences(&specs[0]));
    match differs {
        Some(second) if criterion != Criterion::OutOfSample => {
            Err(Incomparable { first: specs[0].clone(), second: second.clone() })
        }
        _ => Ok(()),
    }
}

impl Ranking {
    /// Fits every one of `specs`, which [`check`] found to compare. The best, and all of them in their order.
    ///
    /// # Errors
    /// When none of them has a score.
    pub fn of<'a>(specs: &'a [Spec], samples: &[f64], criterion: Criterion) -> Result<(&'a Spec, Self), NoScore> {
        let (mut ranked, mut unranked) = (Vec::new(), Vec::new());
        for spec in specs {
            match score(spec, samples, criterion) {
                Ok(score) => ranked.push((spec, score)),
                Err(reason) => unranked.push((spec, reason)),
            }
        }
        // Stable, so that of equally good ones the first asked for is the best.
        ranked.sort_by(|(_, left), (_, right)| left.total_cmp(right));
        let Some((best, _)) = ranked.first().copied() else {
            let (_, first) = unranked.swap_remove(0);
            return Err(NoScore { n: specs.len(), first });
        };
        let ranked = ranked.iter().map(|(spec, score)| Row::new(spec, Some(*score), None));
        let unranked = unranked.iter().map(|(spec, reason)| Row::new(spec, None, Some(reason)));
        Ok((best, Self { criterion, ranking: ranked.chain(unranked).collect() }))
    }

    pub fn write(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let header = match self.criterion {
            Criterion::Aic => "AIC",
            Criterion::Aicc => "AICc",
            Criterion::Bic => "BIC",
            Criterion::OutOfSample => "squared error",
        };
        let mut table = Table::new(&[("model", Align::Left), (header, Align::Right)]);
        let (ranked, failed): (Vec<&Row>, Vec<&Row>) = self.ranking.iter().partition(|row| row.score.is_some());
        for row in ranked.iter().take(N_SHOWN_MAX) {
            table.row([row.model.clone(), row.score.map_or_else(String::new, six_digits)]);
        }
        table.write(out)?;
        if ranked.len() > N_SHOWN_MAX {
            writeln!(out, "and {} more", ranked.len() - N_SHOWN_MAX)?;
        }
        for row in failed {
            writeln!(out, "not ranked: {}", row.failure.as_deref().unwrap_or_default())?;
        }
        Ok(writeln!(out)?)
    }
}

impl Row {
    fn new(spec: &Spec, score: Option<f64>, failure: Option<&Unranked>) -> Self {
        Self { model: spec.to_string(), score, failure: failure.map(ToString::to_string) }
    }
}

fn score(spec: &Spec, samples: &[f64], criterion: Criterion) -> Result<f64, Unranked> {
    let of_likelihood: fn(&Inference) -> Option<f64> = match criterion {
        Criterion::Aic => Inference::aic,
        Criterion::Aicc => Inference::aicc,
        Criterion::Bic => Inference::bic,
        Criterion::OutOfSample => return out_of_sample(spec, samples),
    };
    let model = predict::fit(spec, samples)?;
    let inference = Inference::of(&model, samples).filter(|inference| inference.log_likelihood.is_some());
    let inference = inference.ok_or_else(|| Unranked::NoLikelihood(spec.clone()))?;
    of_likelihood(&inference).filter(|score| score.is_finite()).ok_or_else(|| Unranked::TooFew(spec.clone()))
}

/// The mean squared one-step error on the last quarter of the samples of a model that was fitted to the others.
fn out_of_sample(spec: &Spec, samples: &[f64]) -> Result<f64, Unranked> {
    let n_fitted = samples.len() - samples.len() / 4;
    let mut predictor = predict::fit(spec, &samples[..n_fitted])?.predictor();
    let (mut n, mut sum) = (0, 0.0);
    for sample in &samples[n_fitted..] {
        let error = sample - predictor.forecast(1).means()[0];
        if error.is_finite() {
            (n, sum) = (n + 1, sum + error * error);
        }
        predictor.step(*sample);
    }
    if n == 0 { Err(Unranked::NothingToTry(spec.clone())) } else { Ok(sum / f64::from(n)) }
}

fn n_differences(spec: &Spec) -> usize {
    match spec {
        Spec::Arima { n_differences, .. } => *n_differences,
        Spec::Refit { model, .. } => n_differences(model),
        _ => 0,
    }
}
