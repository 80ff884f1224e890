//! `foretop kernel show|extract|merge|plot`: what is in files of records.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use picture::{Kind, Size};
use program::{Failure, written};
use record::{Items, Output, info};
use record_view::Plot as What;
use text::help::examples;

use super::record::FileFormat;

fn open(path: &Path) -> Result<Items<'static>, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::work(format!("`{}`: {error}", path.display()));
    let file = File::open(path).map_err(|error| wrong(&error))?;
    record::read(BufReader::new(file)).map_err(|error| wrong(&error))
}

fn wrong(path: &Path) -> impl Fn(record_view::Error) -> Failure + '_ {
    move |error| Failure::work(format!("`{}`: {}", path.display(), Failure::of(error).message))
}

/// List what a file of records holds: types, how many of each, fields
#[derive(Args)]
#[command(after_help = examples(&["foretop kernel show measured/host_20261123180000.kernel"]))]
pub struct Show {
    /// In the own format or SDDF
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Show {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let (found, result) = record_view::structure(open(&self.file)?);
        let info = info::Info { head: found.attributes, types: found.types };
        for line in info.text().lines() {
            written(writeln!(out, "{}", text::printable(line)))?;
        }
        result.map_err(wrong(&self.file))
    }
}

/// Write fields of all records of a type as CSV, exactly
#[derive(Args)]
#[command(after_help = examples(&["foretop kernel extract host.kernel 'VM Summary' start_ns PageFaults.count"]))]
pub struct Extract {
    /// In the own format or SDDF
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The type, as `foretop kernel show` lists it
    #[arg(value_name = "RECORD")]
    record: String,

    /// Its fields [default: all]
    #[arg(value_name = "FIELD")]
    fields: Vec<String>,
}

/// A reader that went away had enough.
fn is_gone(error: &csv::Error) -> bool {
    matches!(error.kind(), csv::ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
}

impl Extract {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let extracted = record_view::extract(open(&self.file)?, &self.record, &self.fields, out);
        match extracted {
            Err(record_view::Error::Write(error)) if is_gone(&error) => Ok(()),
            extracted => extracted.map(|_| ()).map_err(wrong(&self.file)),
        }
    }
}

/// Make one file of several, their records in the order of time
#[derive(Args)]
#[command(after_help = examples(&["foretop kernel merge host.kernel program.records --out both.sort-merge"]))]
pub struct Merge {
    /// In the own format or SDDF
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    files: Vec<PathBuf>,

    /// The merged file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// A field that tells a record's time; the first one that its type has counts; may be repeated
    #[arg(long = "time", value_name = "FIELD", default_values_t = ["start_ns".to_owned(), "at_ns".to_owned()])]
    times: Vec<String>,

    /// The file's format
    #[arg(long, value_enum, default_value_t = FileFormat::Own)]
    format: FileFormat,
}

impl Merge {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let named =
            |path: &PathBuf| Ok((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), open(path)?));
        let inputs = self.files.iter().map(named).collect::<Result<Vec<_>, Failure>>()?;
        let file = File::create_new(&self.out)
            .map_err(|error| Failure::work(format!("cannot make the file `{}`: {error}", self.out.display())))?;
        let mut output = Output::new(self.format.into(), BufWriter::new(file)).map_err(Failure::of)?;
        let merged = record_view::merge(inputs, &self.times, &mut output).map_err(Failure::of)?;
        output.finish().map_err(Failure::of)?;
        written(writeln!(out, "{} records in {}", merged.n_records, self.out.display()))?;
        if merged.n_without_time > 0 {
            written(writeln!(out, "note: {} records without a time stand at the beginning", merged.n_without_time))?;
        }
        Ok(())
    }
}

/// Draw any field of a type against any other
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop kernel plot host.kernel 'VM Summary' start_ns PageFaults.count --by node --out faults.svg",
]))]
pub struct Plot {
    /// In the own format or SDDF
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The type, as `foretop kernel show` lists it
    #[arg(value_name = "RECORD")]
    record: String,

    /// The field to the right
    #[arg(value_name = "X")]
    x: String,

    /// The field upward
    #[arg(value_name = "Y")]
    y: String,

    /// A field with a line for each of its values
    #[arg(long, value_name = "FIELD")]
    by: Option<String>,

    /// The picture, .svg or .png
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

const SIZE: Size = Size { width: 900.0, height: 420.0 };

impl Plot {
    pub fn run(self, _out: &mut dyn Write) -> Result<(), Failure> {
        let ending = self.out.extension().unwrap_or_default().to_string_lossy();
        let kind: Kind = ending.parse().map_err(Failure::usage)?;
        let files = self.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let what = What { record: self.record, x: self.x, y: self.y, by: self.by, files };
        let panel = record_view::plot(open(&self.file)?, &what).map_err(wrong(&self.file))?;
        let bytes = panel.picture(SIZE).encode(kind).map_err(Failure::of)?;
        std::fs::write(&self.out, bytes)
            .map_err(|error| Failure::work(format!("cannot write `{}`: {error}", self.out.display())))
    }
}
