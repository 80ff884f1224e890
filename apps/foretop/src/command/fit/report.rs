//! Report of a fit. The JSON is specified in docs/formats/cli.md.

use std::io::Write;
use std::time::Duration;

use predict::{Inference, Model, SeasonStanding};
use serde::Serialize;
use statistics::{Residuals, StatisticError};
use text::figure::six_digits;
use text::{Align, Table};

use crate::speakers::{Detail, Speaker, season_line};
use crate::whiteness::{Normality, Whiteness};

/// A fitted model, its coefficients, and what its errors look like.
#[derive(Debug, Serialize)]
pub struct Report {
    model: String,
    n_samples: usize,
    n_gaps: usize,
    parameters: Vec<Parameter>,
    innovation_variance: f64,
    log_likelihood: Option<f64>,
    aic: Option<f64>,
    aicc: Option<f64>,
    bic: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    speakers: Vec<Speaker>,
    #[serde(skip_serializing_if = "Option::is_none")]
    season: Option<SeasonStanding>,
    errors: Errors,
}

#[derive(Debug, Serialize)]
struct Parameter {
    name: String,
    value: f64,
    standard_error: Option<f64>,
}

/// The tests of the one-step errors. What cannot be had is `None`, and the reason is among `unavailable`.
#[derive(Debug, Serialize)]
struct Errors {
    n: usize,
    whiteness: Option<Whiteness>,
    normality: Option<Normality>,
    unavailable: Vec<String>,
}

impl Report {
    /// `n_lags` is how many lags the errors are tested at; by default as many as R's correlogram has, and ten more than
    /// there are coefficients.
    pub fn of(model: &Model, samples: &[f64], n_lags: Option<usize>) -> Self {
        let inference = Inference::of(model, samples);
        let parameters = inference.as_ref().map_or(&[][..], |inference| &inference.parameters);
        let n_fitted = parameters.iter().filter(|parameter| parameter.name != "mean").count();
        Self {
            model: model.spec().to_string(),
            n_samples: model.n_samples(),
            n_gaps: samples.iter().filter(|sample| sample.is_nan()).count(),
            parameters: parameters.iter().map(Parameter::from).collect(),
            innovation_variance: model.innovation_variance(),
            log_likelihood: inference.as_ref().and_then(|inference| inference.log_likelihood),
            aic: inference.as_ref().and_then(Inference::aic),
            aicc: inference.as_ref().and_then(Inference::aicc),
            bic: inference.as_ref().and_then(Inference::bic),
            speakers: Speaker::all(model),
            season: model.season(),
            errors: Errors::of(&model.one_step_errors(samples), n_lags, n_fitted),
        }
    }

    /// `step` is that of the samples, if they have times.
    pub fn write(&self, step: Option<Duration>, out: &mut dyn Write) -> anyhow::Result<()> {
        let gaps = if self.n_gaps == 0 { String::new() } else { format!(" and {} gaps", self.n_gaps) };
        writeln!(out, "{}, fitted to {} samples{gaps}", self.model, self.n_samples)?;
        if !self.parameters.is_empty() {
            writeln!(out)?;
            write!(out, "{}", self.table())?;
        }
        if !self.speakers.is_empty() {
            writeln!(out)?;
            write!(out, "{}", Speaker::table(&self.speakers, Detail::Full))?;
        }
        if let Some(season) = &self.season {
            writeln!(out, "\n{}", season_line(season, step))?;
        }
        writeln!(out)?;
        for (name, sentence) in self.sentences() {
            writeln!(out, "{name:<19}  {sentence}")?;
        }
        for reason in &self.errors.unavailable {
            writeln!(out, "not available: {reason}")?;
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let columns = [("parameter", Align::Left), ("estimate", Align::Right), ("standard error", Align::Right)];
        let mut table = Table::new(&columns);
        for Parameter { name, value, standard_error } in &self.parameters {
            table.row([name.clone(), six_digits(*value), standard_error.map_or_else(|| "-".to_owned(), six_digits)]);
        }
        table
    }

    fn sentences(&self) -> Vec<(&'static str, String)> {
        let mut sentences = vec![("innovation variance", six_digits(self.innovation_variance))];
        if let Some(log_likelihood) = self.log_likelihood {
            let show = |criterion: Option<f64>| criterion.map_or_else(|| "-".to_owned(), six_digits);
            let [aic, aicc, bic] = [self.aic, self.aicc, self.bic].map(show);
            sentences.push(("log-likelihood", six_digits(log_likelihood)));
            sentences.push(("criteria", format!("AIC {aic}, AICc {aicc}, BIC {bic}")));
        }
        if let Some(noise) = &self.errors.whiteness {
            sentences.extend(["one-step errors", "", ""].into_iter().zip(noise.sentences()));
        }
        let name = if self.errors.whiteness.is_some() { "" } else { "one-step errors" };
        sentences.extend(self.errors.normality.iter().map(|line| (name, line.sentence())));
        sentences
    }
}

impl Errors {
    fn of(errors: &[f64], n_lags: Option<usize>, n_fitted: usize) -> Self {
        let found = Residuals::test(errors, n_lags, n_fitted);
        let mut unavailable = Vec::new();
        let mut refused = |error: StatisticError| unavailable.push(error.to_string());
        let whiteness = found.whiteness.map_err(&mut refused).ok().map(Whiteness::from);
        let normality = found.normality.map_err(&mut refused).ok().map(Normality::from);
        Self { n: found.n, whiteness, normality, unavailable }
    }
}

impl From<&predict::Parameter> for Parameter {
    fn from(parameter: &predict::Parameter) -> Self {
        let predict::Parameter { name, value, standard_error } = parameter.clone();
        Self { name, value, standard_error }
    }
}
