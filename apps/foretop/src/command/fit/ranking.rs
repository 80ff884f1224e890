//! Several models by one criterion, on paper.

use std::io::Write;

use anyhow::Context;
use clap::ValueEnum;
use predict::{Ranked, Spec};
use serde::Serialize;
use text::figure::six_digits;
use text::{Align, Table};

/// Text shows the best ones; JSON has all.
const N_SHOWN_MAX: usize = 20;

/// The criterion that is least for the best model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// Akaike's information criterion.
    Aic,
    /// Akaike's criterion, corrected for few samples.
    Aicc,
    /// Schwarz's (Bayesian) criterion, which prefers fewer coefficients.
    Bic,
    /// The mean squared one-step error on the last quarter of the samples, which the fit does not use.
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

impl Ranking {
    /// Fits every one of `specs`. The best, and all of them in their order.
    ///
    /// # Errors
    /// When none of them has a score.
    pub fn of(specs: &[Spec], samples: &[f64], criterion: Criterion) -> anyhow::Result<(Spec, Self)> {
        let ranked = predict::select(specs, samples, criterion.over(samples.len()));
        let ranking = ranked.iter().map(Row::from).collect();
        let Some(Ranked { spec, score }) = ranked.into_iter().next() else {
            anyhow::bail!("there is no model to rank");
        };
        score.with_context(|| format!("none of {} models can be ranked", specs.len()))?;
        Ok((spec, Self { criterion, ranking }))
    }

    pub fn write(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let header = match self.criterion {
            Criterion::Aic => "AIC",
            Criterion::Aicc => "AICc",
            Criterion::Bic => "BIC",
            Criterion::OutOfSample => "squared error",
        };
        let mut table = Table::new(&[("model", Align::Left), (header, Align::Right)]);
        let n_ranked = self.ranking.iter().filter_map(|row| row.score).count();
        for Row { model, score, .. } in self.ranking.iter().take(n_ranked.min(N_SHOWN_MAX)) {
            table.row([model.clone(), score.map_or_else(String::new, six_digits)]);
        }
        write!(out, "{table}")?;
        if n_ranked > N_SHOWN_MAX {
            writeln!(out, "and {} more", n_ranked - N_SHOWN_MAX)?;
        }
        for failure in self.ranking.iter().filter_map(|row| row.failure.as_ref()) {
            writeln!(out, "not ranked: {failure}")?;
        }
        Ok(writeln!(out)?)
    }
}

impl Criterion {
    fn over(self, n_samples: usize) -> predict::Criterion {
        match self {
            Self::Aic => predict::Criterion::Aic,
            Self::Aicc => predict::Criterion::Aicc,
            Self::Bic => predict::Criterion::Bic,
            Self::OutOfSample => predict::Criterion::OutOfSample { n_train: n_samples - n_samples / 4, lead: 1 },
        }
    }
}

impl From<&Ranked> for Row {
    fn from(Ranked { spec, score }: &Ranked) -> Self {
        Self {
            model: spec.to_string(),
            score: score.as_ref().ok().copied(),
            failure: score.as_ref().err().map(ToString::to_string),
        }
    }
}
