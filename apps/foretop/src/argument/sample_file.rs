//! A file of samples.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use series::csv::{Column, Options};
use series::{Resampling, Series};

/// Which file, and what of it.
#[derive(Args, Clone, Debug)]
pub struct SampleFile {
    /// CSV with or without times and a header, or one number per line; `-` reads standard input
    #[arg(value_name = "FILE|-")]
    pub file: String,

    /// The column of samples, by its header or its number from 1
    #[arg(long, value_name = "NAME|N", value_parser = column)]
    column: Option<Column>,

    /// The column of times [default: the first, if it holds dates]
    #[arg(long, value_name = "NAME|N", value_parser = column)]
    time_column: Option<Column>,

    /// Read only the first N rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows: Option<u64>,
}

impl SampleFile {
    /// Reads the series, on the step that its times suggest.
    ///
    /// # Errors
    /// When the file cannot be opened, or does not hold a series.
    pub fn read(&self) -> anyhow::Result<Series> {
        self.read_at(None)
    }

    /// Reads the series, brought to means over `step` where there is one.
    ///
    /// # Errors
    /// When the file cannot be opened, or does not hold a series.
    pub fn read_at(&self, step: Option<Duration>) -> anyhow::Result<Series> {
        let options = Options {
            column: self.column.clone(),
            time_column: self.time_column.clone(),
            resample: step.map(|step| (step, Resampling::Mean)),
            n_rows_max: self.rows.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX)),
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
