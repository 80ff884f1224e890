//! `foretop predict`: fits a model to samples from a file and prints what it says is to come.

mod horizon;
mod output;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::Context;
use clap::{Args, ValueEnum};
use horizon::Horizon;
use output::Prediction;
use predict::Spec;
use series::Series;
use series::csv::{Column, Options};
use units::Confidence;

use crate::cli::examples;
use crate::failure::OrUsage;

/// Fit a model to the samples in a file, and forecast what comes after them
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop predict trace.csv --model 'AR(16)' --horizon 30",
    "foretop predict trace.csv --column cpu --horizon 2h --format csv",
    "vmstat 1 100 | awk 'NR>2 {print $15}' | foretop predict - --model 'BM(32)'",
]))]
pub struct Predict {
    #[command(flatten)]
    source: Source,

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

/// Where samples come from. Shared with `replay`.
#[derive(Args, Clone, Debug)]
pub struct Source {
    /// CSV with or without times and a header, or a number a line; `-` reads standard input
    #[arg(value_name = "FILE|-")]
    pub file: String,

    /// The column of samples, by its header or its number from 1
    #[arg(long, value_name = "NAME|N", value_parser = column)]
    column: Option<Column>,

    /// Read the first N rows only
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows: Option<u64>,
}

impl Source {
    /// Reads the series.
    ///
    /// # Errors
    /// When the file cannot be opened, or does not hold a series.
    pub fn read(&self) -> anyhow::Result<Series> {
        let options = Options {
            column: self.column.clone(),
            n_rows_max: self.rows.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX)),
            ..Options::default()
        };
        let (reader, name): (Box<dyn Read>, &str) = match self.file.as_str() {
            "-" => (Box::new(io::stdin().lock()), "standard input"),
            path => (Box::new(File::open(path).with_context(|| format!("cannot open `{path}`"))?), path),
        };
        series::csv::read(reader, &options).with_context(|| format!("cannot take a series from `{name}`"))
    }

    /// The file's name without folder and extension; `stdin` for standard input.
    pub fn stem(&self) -> String {
        match self.file.as_str() {
            "-" => "stdin".to_owned(),
            path => Path::new(path).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()),
        }
    }
}

fn column(text: &str) -> Result<Column, std::convert::Infallible> {
    Ok(text.parse().map_or_else(|_| Column::Name(text.to_owned()), Column::Number))
}
