//! `foretop ask`: what a signal will be, in one line.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use node_api::{self as api, Client, ClientError, moment};
use serde::Serialize;
use text::{figure, printable};
use units::{Confidence, Timestamp, span};

use crate::argument::{NodeArgs, TextOrJson, positive_span};
use crate::help::examples;
use crate::near_name::explain_unknown_signal;
use crate::terminal::write_json;

/// Ask a node what a signal will be
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop ask cpu.availability --horizon 30s",
    "foretop ask load.1m --horizon 5min --confidence 0.8 --format json",
]))]
pub struct Ask {
    /// The signal; `foretop signals` lists them
    signal: String,

    /// How far ahead
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = positive_span)]
    horizon: Duration,

    /// Share of cases in which the interval should hold the value, between 0 and 1
    #[arg(long, value_name = "SHARE", default_value = "0.95")]
    confidence: Confidence,

    /// How to print the answer
    #[arg(long, value_enum, default_value = "text")]
    format: TextOrJson,

    #[command(flatten)]
    node: NodeArgs,
}

/// The answer: one lead of a forecast, and where it starts from. Specified in docs/formats/cli.md.
#[derive(Debug, PartialEq, Serialize)]
struct Answer {
    id: String,
    unit: String,
    origin: Timestamp,
    time: Timestamp,
    lead_seconds: f64,
    confidence: f64,
    model: String,
    /// Of a model that weighs several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    speakers: Vec<api::Weighed>,
    mean: f64,
    standard_error: f64,
    lower: f64,
    upper: f64,
    last: Option<f64>,
}

impl Ask {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let client = self.node.client()?;
        let answer = self.answer(&client).map_err(|error| explain_unknown_signal(&client, &self.signal, error))?;
        match self.format {
            TextOrJson::Json => write_json(out, &answer)?,
            TextOrJson::Text => writeln!(out, "{}", sentence(&self.signal, &answer))?,
        }
        Ok(())
    }

    fn answer(&self, client: &Client) -> Result<Answer, ClientError> {
        let forecast = client.forecast(&self.signal, self.horizon, self.confidence)?;
        let detail = client.detail(&self.signal)?;
        answer(forecast, detail.series.last).ok_or_else(|| ClientError::NotANode {
            url: client.url().clone(),
            reason: "its forecast is empty".to_owned(),
        })
    }
}

/// `None` when the forecast has no lead at all, or lists of different lengths.
fn answer(forecast: api::Forecast, last: Option<api::LastSample>) -> Option<Answer> {
    let n_leads = forecast.mean.len();
    let idx = n_leads.checked_sub(1)?;
    Some(Answer {
        time: moment(forecast.origin, forecast.step_seconds, n_leads),
        lead_seconds: forecast.step_seconds * n_leads as f64,
        mean: forecast.mean[idx],
        standard_error: *forecast.standard_error.get(idx)?,
        lower: *forecast.lower.get(idx)?,
        upper: *forecast.upper.get(idx)?,
        last: last.and_then(|sample| sample.value),
        id: forecast.id,
        unit: forecast.unit,
        origin: forecast.origin,
        confidence: forecast.confidence,
        model: forecast.model,
        speakers: forecast.speakers,
    })
}

/// Models named on the line; it has to fit on a terminal.
const N_SPEAKERS: usize = 2;

/// `cpu.availability in 30s: 0.93 (95 %: 0.81 to 1.00), 0.97 now, by AR(16)`.
fn sentence(signal: &str, answer: &Answer) -> String {
    let show = |value| figure::format(value, &answer.unit);
    // Shares such as 0.95 times 100 are a rounding error away from a whole number.
    let percent = (answer.confidence * 1e8).round() / 1e6;
    let lead = span::format(Duration::try_from_secs_f64(answer.lead_seconds).unwrap_or_default());
    let last = answer.last.map_or_else(|| "no value".to_owned(), show);
    printable(&format!(
        "{signal} in {lead}: {} ({percent} %: {} to {}), {last} now, by {}",
        show(answer.mean),
        show(answer.lower),
        show(answer.upper),
        by(answer)
    ))
}

/// `AR(16)`; `AUTO (AR(2) 62 %, MEAN 38 %)`.
fn by(answer: &Answer) -> String {
    let speaker = |one: &api::Weighed| format!("{} {:.0} %", one.model, 100.0 * one.weight_ratio);
    let mut speakers: Vec<String> = answer.speakers.iter().take(N_SPEAKERS).map(speaker).collect();
    let n_more = answer.speakers.len().saturating_sub(N_SPEAKERS);
    speakers.extend((n_more > 0).then(|| format!("{n_more} more")));
    if speakers.is_empty() { answer.model.clone() } else { format!("{} ({})", answer.model, speakers.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast() -> api::Forecast {
        api::Forecast {
            id: "cpu.availability.vmstat".into(),
            unit: "ratio".into(),
            origin: Timestamp::from_nanos(0),
            step_seconds: 15.0,
            confidence: 0.95,
            model: "AR(16)".into(),
            model_speaking: Vec::new(),
            speakers: Vec::new(),
            mean: vec![0.9, 0.931],
            standard_error: vec![0.05, 0.06],
            lower: vec![0.8, 0.812],
            upper: vec![1.0, 1.0],
        }
    }

    #[test]
    fn the_answer_is_the_last_lead() {
        let last = api::LastSample { time: Timestamp::from_nanos(0), value: Some(0.97) };
        let answer = answer(forecast(), Some(last)).unwrap();
        assert_eq!(answer.time.to_string(), "1970-01-01T00:00:30Z");
        assert_eq!(
            sentence("cpu.availability", &answer),
            "cpu.availability in 30s: 0.93 (95 %: 0.81 to 1.00), 0.97 now, by AR(16)"
        );
    }

    #[test]
    fn the_models_that_auto_weighs_are_named() {
        let weighed = |model: &str, weight_ratio| api::Weighed { model: model.to_owned(), weight_ratio };
        let speakers = vec![weighed("AR(2)", 0.616), weighed("MEAN", 0.2), weighed("LAST", 0.184)];
        let answer = answer(api::Forecast { model: "AUTO".into(), speakers, ..forecast() }, None).unwrap();
        assert_eq!(by(&answer), "AUTO (AR(2) 62 %, MEAN 20 %, 1 more)");
    }

    #[test]
    fn a_confidence_of_many_nines_is_shown_whole() {
        let answer = answer(api::Forecast { confidence: 0.9995, ..forecast() }, None).unwrap();
        assert_eq!(sentence("x", &answer), "x in 30s: 0.93 (99.95 %: 0.81 to 1.00), no value now, by AR(16)");
    }

    #[test]
    fn a_forecast_without_leads_is_no_answer() {
        assert_eq!(answer(api::Forecast { mean: Vec::new(), ..forecast() }, None), None);
        assert_eq!(answer(api::Forecast { upper: Vec::new(), ..forecast() }, None), None);
    }
}
