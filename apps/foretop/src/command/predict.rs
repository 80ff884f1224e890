//! `foretop predict`: fits a model to samples from a file and prints what it says is to come.

mod horizon;
mod output;

use std::io::Write;

use clap::{Args, ValueEnum};
use horizon::Horizon;
use output::Prediction;
use predict::Spec;
use units::Confidence;

use crate::argument::SampleFile;
use crate::failure::OrUsage;
use crate::help::examples;

/// Fit a model to samples in a file, and forecast the next
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop predict trace.csv --model 'AR(16)' --horizon 30",
    "foretop predict trace.csv --column cpu --horizon 2h --format csv",
    "vmstat 1 100 | awk 'NR>2 {print $15}' | foretop predict - --model 'BM(32)'",
]))]
pub struct Predict {
    #[command(flatten)]
    source: SampleFile,

    /// The model to fit; `foretop models` lists them
    #[arg(long, value_name = "TEXT", default_value = "AR(16)")]
    model: Spec,

    /// How far ahead: a number of steps, or a length of time when the samples have times
    #[arg(long, value_name = "STEPS|TIME", default_value = "30")]
    horizon: Horizon,

    /// Share of cases in which the interval is to hold the value, between 0 and 1
    #[arg(long, value_name = "SHARE", default_value = "0.95")]
    confidence: Confidence,

    /// How to print the forecast
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Format {
    /// For people, six digits.
    Table,
    /// For spreadsheets, full precision.
    Csv,
    /// For programs, full precision; see docs/formats/cli.md.
    Json,
}

impl Predict {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let series = self.source.read()?;
        let n_leads = self.horizon.steps(series.grid()).or_usage()?;
        let model = predict::fit(&self.model, series.samples())?;
        let forecast = model.predictor().forecast(n_leads);
        let prediction = Prediction::new(&series, &model, &forecast, self.confidence);
        match self.format {
            Format::Table => prediction.write_table(out),
            Format::Csv => prediction.write_csv(out),
            Format::Json => Ok(crate::terminal::write_json(out, &prediction)?),
        }
    }
}
