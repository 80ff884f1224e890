//! Several models by one criterion.

use std::io::Write;

use clap::ValueEnum;
use predict::{Inference, Spec};
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
    #[serde(serialize_with = "as_text")]
    model: Spec,
    score: Option<f64>,
    /// Why there is no score.
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

/// Not one candidate has a score.
#[derive(Debug, thiserror::Error)]
#[error("none of {n} models can be ranked; {model}: {failure}")]
pub struct NoScore {
    n: usize,
    model: Spec,
    failure: String,
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
    /// Fits every one of `specs`, which [`check`] found to compare, and ranks them.
    ///
    /// # Errors
    /// When none of them has a score.
    pub fn of(specs: &[Spec], samples: &[f64], criterion: Criterion) -> Result<Self, NoScore> {
        let mut ranking: Vec<Row> = specs.iter().map(|spec| Row::of(spec, samples, criterion)).collect();
        // Stable, so that of equally good ones the first asked for is the best.
        ranking.sort_by(|left, right| {
            let place = |row: &Row| row.score.unwrap_or(f64::INFINITY);
            place(left).total_cmp(&place(right))
        });
        match &ranking[0] {
            Row { score: None, failure, model } => {
                Err(NoScore { n: specs.len(), model: model.clone(), failure: failure.clone().unwrap_or_default() })
            }
            _ => Ok(Self { criterion, ranking }),
        }
    }

    /// The one with the least score.
    pub fn best(&self) -> &Spec {
        &self.ranking[0].model
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
            table.row([row.model.to_string(), row.score.map_or_else(String::new, six_digits)]);
        }
        table.write(out)?;
        if ranked.len() > N_SHOWN_MAX {
            writeln!(out, "and {} more", ranked.len() - N_SHOWN_MAX)?;
        }
        for row in failed {
            writeln!(out, "{}: {}", row.model, row.failure.as_deref().unwrap_or_default())?;
        }
        Ok(writeln!(out)?)
    }
}

impl Row {
    fn of(spec: &Spec, samples: &[f64], criterion: Criterion) -> Self {
        let (score, failure) = match score(spec, samples, criterion) {
            Ok(score) => (Some(score), None),
            Err(failure) => (None, Some(failure)),
        };
        Self { model: spec.clone(), score, failure }
    }
}

fn score(spec: &Spec, samples: &[f64], criterion: Criterion) -> Result<f64, String> {
    if criterion == Criterion::OutOfSample {
        return out_of_sample(spec, samples);
    }
    let model = predict::fit(spec, samples).map_err(|error| error.to_string())?;
    let inference = Inference::of(&model, samples).ok_or("it has no likelihood; --by out-of-sample ranks it")?;
    let score = match criterion {
        Criterion::Aic => inference.aic(),
        Criterion::Aicc => inference.aicc(),
        Criterion::Bic | Criterion::OutOfSample => inference.bic(),
    };
    score.filter(|score| score.is_finite()).ok_or_else(|| "the samples are too few for the criterion".to_owned())
}

/// The mean squared one-step error on the last quarter of the samples of a model that was fitted to the others.
fn out_of_sample(spec: &Spec, samples: &[f64]) -> Result<f64, String> {
    let n_fitted = samples.len() - samples.len() / 4;
    let mut predictor = predict::fit(spec, &samples[..n_fitted]).map_err(|error| error.to_string())?.predictor();
    let (mut n, mut sum) = (0, 0.0);
    for sample in &samples[n_fitted..] {
        let error = sample - predictor.forecast(1).means()[0];
        if error.is_finite() {
            (n, sum) = (n + 1, sum + error * error);
        }
        predictor.step(*sample);
    }
    if n == 0 { Err("there is no sample to try it on".to_owned()) } else { Ok(sum / f64::from(n)) }
}

fn n_differences(spec: &Spec) -> usize {
    match spec {
        Spec::Arima { n_differences, .. } => *n_differences,
        Spec::Refit { model, .. } => n_differences(model),
        _ => 0,
    }
}

fn as_text<S: serde::Serializer>(spec: &Spec, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(spec)
}
