//! A file of samples.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use jiff::tz::TimeZone;
use series::csv::{Column, CsvError, DecimalMark, Options};
use series::{Resampling, Series};

use super::time_zone;
use crate::terminal::say;

/// The file of samples, and the part of it to read.
#[derive(Args, Clone, Debug)]
pub struct SampleFile {
    /// CSV with or without times and a header, or one number per line; `-` reads standard input
    #[arg(value_name = "FILE|-")]
    pub file: String,

    /// The column of samples, by its header or its number from 1
    #[arg(long, value_name = "NAME|N", value_parser = column)]
    column: Option<Column>,

    /// The column of times [default: the first if it holds dates, else one called time, ts, timestamp, date, datetime
    /// or year]
    #[arg(long, value_name = "NAME|N", value_parser = column)]
    time_column: Option<Column>,

    /// The time zone of times without an offset, and of days and months, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", value_parser = time_zone)]
    pub zone: Option<TimeZone>,

    /// The character between cells [default: the tab or semicolon of the first lines, else the comma]
    #[arg(long, value_name = "CHARACTER|tab", value_parser = separator)]
    separator: Option<u8>,

    /// The decimal mark [default: the point between commas, else the one that the numbers show]
    #[arg(long, value_enum, value_name = "MARK")]
    decimal: Option<Mark>,

    /// Read only the first N rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows: Option<u64>,
}

/// Values of `--decimal`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mark {
    /// 1.5; commas may separate thousands.
    #[value(alias = ".")]
    Point,
    /// 1,5; points may separate thousands.
    #[value(alias = ",")]
    Comma,
}

impl SampleFile {
    /// Reads the series, on the step that its times suggest, and warns of samples that share a step.
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
            zone: self.zone.clone(),
            separator: self.separator,
            decimal_mark: self.decimal.map(|mark| match mark {
                Mark::Point => DecimalMark::Point,
                Mark::Comma => DecimalMark::Comma,
            }),
            resample: step.map(|step| (step, Resampling::Mean)),
            n_rows_max: self.rows.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX)),
        };
        let (reader, name): (Box<dyn Read>, &str) = match self.file.as_str() {
            "-" => (Box::new(io::stdin().lock()), "standard input"),
            path => (Box::new(File::open(path).with_context(|| format!("cannot open `{path}`"))?), path),
        };
        let series = series::csv::read(reader, &options)
            .map_err(with_option)
            .with_context(|| format!("cannot take a series from `{name}`"))?;
        if let Some(merged) = series.merged() {
            say(&format!("foretop: warning: in `{name}`, {merged}"));
        }
        Ok(series)
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

fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ => Err("it is one character such as `;` or `,`, or `tab`".to_owned()),
    }
}

/// Adds the option that helps, where there is one.
fn with_option(error: CsvError) -> anyhow::Error {
    let option = match error {
        CsvError::UnclearDecimalMark { .. } => "state the decimal mark with --decimal point or --decimal comma",
        CsvError::ManyColumns { are_numbers: true, .. } => {
            "if the commas are decimal marks, state it with --separator ';' --decimal comma"
        }
        CsvError::Ragged { .. } => {
            "cells are separated by tabs or semicolons if the first two lines have equally many, else by commas; if this file has others, state them with --separator, and if commas are its decimal marks, add --decimal comma"
        }
        CsvError::RepeatedTime { .. } => "state the time zone of these times with --zone, such as --zone Europe/Berlin",
        CsvError::SkippedTime { .. } => "state another --zone, or none if these times are in UTC",
        _ => return error.into(),
    };
    anyhow::Error::new(error).context(option)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_separator_is_one_character() {
        assert_eq!((separator(";"), separator("tab"), separator("\t")), (Ok(b';'), Ok(b'\t'), Ok(b'\t')));
        for text in ["", ";;", "\"", "5", "\u{a7}"] {
            assert!(separator(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_unclear_decimal_mark_names_its_option_and_its_cell() {
        let error = series::csv::read(&b"\"1,5\"\n"[..], &Options::default()).unwrap_err();
        let error = format!("{:#}", with_option(error));
        assert!(error.contains("--decimal comma: line 1, column 1: `1,5`"), "{error}");
    }
}
