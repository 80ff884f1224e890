//! A forecast on paper: as a table, as CSV, as JSON. Specified in docs/formats/cli.md.

use std::io::Write;
use std::time::Duration;

use predict::{Forecast, Intervals, SeasonStanding, Spec};
use serde::Serialize;
use series::Series;
use text::figure::six_digits;
use text::{Align, Table};
use units::Confidence;

use super::fitted;
use crate::speakers::{Detail, Speaker, season_line, step_in_time};

/// The fitted model, the samples that it was fitted to, and its forecast.
#[derive(Debug, Serialize)]
pub struct Prediction {
    model: String,
    confidence: f64,
    intervals: &'static str,
    n_samples: usize,
    n_gaps: usize,
    step_seconds: Option<f64>,
    step: Option<String>,
    origin: Option<String>,
    #[serde(skip)]
    step_in_time: Option<Duration>,
    fitted: Fitted,
    forecast: Vec<Lead>,
}

#[derive(Debug, Serialize)]
struct Fitted {
    coefficients: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    moving_average: Vec<f64>,
    mean: f64,
    innovation_variance: f64,
    n_samples: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    speakers: Vec<Speaker>,
    #[serde(skip_serializing_if = "Option::is_none")]
    season: Option<SeasonStanding>,
    /// Lengths in steps of seasons that it was given and that are longer than all samples.
    #[serde(skip)]
    unseen_seasons: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct Lead {
    lead: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    mean: f64,
    standard_error: f64,
    lower: f64,
    upper: f64,
}

impl Prediction {
    pub fn new(series: &Series, fitted: &fitted::Fitted, forecast: &Forecast, confidence: Confidence) -> Self {
        let model = fitted.model();
        let n_slots = series.samples().len();
        let time_of = |idx| series.grid().and_then(|grid| Some(grid.text_of(grid.time_of(idx)?)));
        let lead = |lead: usize| {
            let interval = forecast.interval(lead, confidence);
            Lead {
                lead,
                time: time_of(n_slots - 1 + lead),
                mean: forecast.means()[lead - 1],
                standard_error: forecast.standard_errors()[lead - 1],
                lower: interval.lower,
                upper: interval.upper,
            }
        };
        Self {
            model: fitted.spec.to_string(),
            confidence: confidence.probability(),
            intervals: name(fitted.predictor.intervals()),
            n_samples: n_slots - series.n_gaps(),
            n_gaps: series.n_gaps(),
            step_seconds: series.grid().map(|grid| grid.step.length().as_secs_f64()),
            step: series.grid().map(|grid| grid.step.to_string()),
            origin: time_of(n_slots - 1),
            step_in_time: series.grid().and_then(step_in_time),
            fitted: Fitted {
                coefficients: model.coefficients(),
                moving_average: model.moving_average().to_vec(),
                mean: model.mean(),
                innovation_variance: model.innovation_variance(),
                n_samples: model.n_samples(),
                speakers: Speaker::all(model),
                season: model.season(),
                unseen_seasons: match &fitted.spec {
                    Spec::Seasonal { periods } | Spec::Auto { periods, .. } => {
                        periods.steps().filter(|period| *period > n_slots as f64).collect()
                    }
                    _ => Vec::new(),
                },
            },
            forecast: (1..=forecast.n_leads()).map(lead).collect(),
        }
    }

    pub fn write_table(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut table = Table::new(&self.columns());
        for lead in &self.forecast {
            table.row(lead.cells(six_digits));
        }
        write!(out, "{table}")?;
        if !self.fitted.speakers.is_empty() {
            writeln!(out, "\n{} weighs, for the next value:", self.model)?;
            write!(out, "{}", Speaker::table(&self.fitted.speakers, Detail::Short))?;
        }
        if let Some(season) = &self.fitted.season {
            writeln!(out, "\n{}", season_line(season, self.step_in_time))?;
        }
        for period in &self.fitted.unseen_seasons {
            let n = self.n_samples + self.n_gaps;
            writeln!(
                out,
                "\na season of {period} steps is longer than the {n} that are known: nothing is known of it"
            )?;
        }
        Ok(())
    }

    /// No cell holds a comma or a quote, so none needs quoting.
    pub fn write_csv(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        writeln!(out, "{}", self.columns().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(","))?;
        for lead in &self.forecast {
            writeln!(out, "{}", lead.cells(|value| value.to_string()).join(","))?;
        }
        Ok(())
    }

    fn columns(&self) -> Vec<(&'static str, Align)> {
        let time = self.origin.as_ref().map(|_| ("time", Align::Left));
        let figures = ["mean", "standard_error", "lower", "upper"].map(|name| (name, Align::Right));
        [("lead", Align::Right)].into_iter().chain(time).chain(figures).collect()
    }
}

/// Returns the name as `--intervals` takes it.
fn name(intervals: Intervals) -> &'static str {
    match intervals {
        Intervals::Empirical => "empirical",
        Intervals::Adaptive => "adaptive",
        _ => "normal",
    }
}

impl Lead {
    fn cells(&self, show: impl Fn(f64) -> String) -> Vec<String> {
        let figures = [self.mean, self.standard_error, self.lower, self.upper].map(show);
        let time = self.time.clone();
        [self.lead.to_string()].into_iter().chain(time).chain(figures).collect()
    }
}
