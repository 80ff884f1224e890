//! `foretop kernel show|extract|merge|split|plot`: what is in files of records.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use picture::{Kind, Size};
use program::{Failure, written};
use record::info::Info;
use record::{Items, Output};
use record_file::create;
use record_view::{Bands, By, Clock, Input, Line, Merged, Plot as What};
use text::figure::counted;
use text::help::examples;
use units::span;

use super::record::FileFormat;
use crate::capture::describe;

fn open(path: &Path) -> Result<Items<'static>, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::work(format!("`{}`: {error}", path.display()));
    let file = File::open(path).map_err(|error| wrong(&error))?;
    record::read(BufReader::new(file)).map_err(|error| wrong(&error))
}

/// A file to be merged. What it says of its clock may stand at its end, so that it is read twice.
pub fn input(label: String, path: &Path) -> Result<Input<'static>, Failure> {
    let (said, result) = record_view::structure(open(path)?);
    result.map_err(wrong(path))?;
    Ok(Input { label, clock: Clock::of(&said), items: open(path)? })
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn wrong(path: &Path) -> impl Fn(record_view::Error) -> Failure + '_ {
    move |error| Failure::work(format!("`{}`: {}", path.display(), Failure::of(error).message))
}

/// List the content of a file of records: types, their numbers of records, fields
#[derive(Args)]
#[command(after_help = examples(&["foretop kernel show measured/host_20261123180000.kernel"]))]
pub struct Show {
    /// A file of records, in the own format or SDDF
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Show {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let (found, result) = record_view::structure(open(&self.file)?);
        let info = Info { head: found.attributes, types: found.types };
        for line in info.text().lines() {
            written(writeln!(out, "{}", text::printable(line)))?;
        }
        result.map_err(wrong(&self.file))
    }
}

/// Write fields of all records of a type as CSV or Parquet, exactly
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop kernel extract host.kernel 'VM Summary' start_ns PageFaults.count",
    "foretop kernel extract host.kernel 'VM Summary' --format parquet --out vm.parquet",
]))]
pub struct Extract {
    /// A file of records, in the own format or SDDF
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The type, as `foretop kernel show` lists it
    #[arg(value_name = "RECORD")]
    record: String,

    /// Its fields [default: all]
    #[arg(value_name = "FIELD")]
    fields: Vec<String>,

    /// The format of the output
    #[arg(long, value_enum, default_value_t = TableFormat::Csv)]
    format: TableFormat,

    /// The output file, which Parquet needs [default for CSV: standard output]
    #[arg(long, value_name = "FILE", required_if_eq("format", "parquet"))]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TableFormat {
    /// One record a line; an array's items are separated by spaces
    Csv,
    /// Columns; arrays are lists, units and meanings are in the metadata
    Parquet,
}

/// A reader that went away had enough.
fn is_gone(error: &csv::Error) -> bool {
    matches!(error.kind(), csv::ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
}

impl Extract {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let items = open(&self.file)?;
        let file = self.out.as_deref().map(create).transpose()?.map(BufWriter::new);
        let extracted = match (self.format, file) {
            (TableFormat::Csv, None) => record_view::extract(items, &self.record, &self.fields, out),
            (TableFormat::Csv, Some(file)) => record_view::extract(items, &self.record, &self.fields, file),
            (TableFormat::Parquet, Some(file)) => record_view::extract_parquet(items, &self.record, &self.fields, file),
            (TableFormat::Parquet, None) => unreachable!("clap has asked for a file"),
        };
        match extracted {
            Err(record_view::Error::Write(error)) if is_gone(&error) => Ok(()),
            extracted => extracted.map(|_| ()).map_err(wrong(&self.file)),
        }
    }
}

/// Merge several files into one, their records in the order of time, with a text .info beside it
///
/// Times are on the clock of the first file. Those of files of other hosts are converted to it if `foretop kernel
/// receive` has compared the clocks; the .info has the possible error.
#[derive(Args)]
#[command(after_help = examples(&["foretop kernel merge host.kernel program.records --out both.sort-merge"]))]
pub struct Merge {
    /// Files of records, in the own format or SDDF
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    files: Vec<PathBuf>,

    /// The merged file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// A field with a record's time; the first one that its type has counts; may be repeated
    #[arg(long = "time", value_name = "FIELD", default_values_t = ["start_ns".to_owned(), "at_ns".to_owned()])]
    times: Vec<String>,

    /// The file's format
    #[arg(long, value_enum, default_value_t = FileFormat::Own)]
    format: FileFormat,
}

impl Merge {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        // Files of one name in several folders keep them apart.
        let is_unique =
            |path: &PathBuf| self.files.iter().filter(|other| file_name(other) == file_name(path)).count() == 1;
        let label = |path: &PathBuf| if is_unique(path) { file_name(path) } else { path.display().to_string() };
        let inputs = self.files.iter().map(|path| input(label(path), path)).collect::<Result<Vec<_>, Failure>>()?;
        let file = create(&self.out)?;
        let mut output = Output::new(self.format.into(), BufWriter::new(file)).map_err(Failure::of)?;
        let merged = record_view::merge(inputs, &self.times, &mut output).map_err(|error| {
            // Half a merge would be in the way of the next try.
            let _ = std::fs::remove_file(&self.out);
            Failure::of(error)
        })?;
        output.finish().map_err(Failure::of)?;
        let Merged { structure, n_records, n_without_time } = merged;
        describe(&self.out, Info { head: structure.attributes, types: structure.types })?;
        written(writeln!(out, "{} in {}", counted(n_records, "record"), self.out.display()))?;
        if n_without_time > 0 {
            written(writeln!(out, "note: at the beginning, without a time: {}", counted(n_without_time, "record")))?;
        }
        Ok(())
    }
}

/// Split a file into several, the inverse of merge: each record goes to one of them, and each has a text .info with
/// counts
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop kernel split both.sort-merge --by file --out apart",
    "foretop kernel split host.kernel --by time --span 10min --out apart",
]))]
pub struct Split {
    /// A file of records, in the own format or SDDF
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The property that the records of a part have in common
    #[arg(long, value_enum)]
    by: SplitBy,

    /// The length of a part in time
    #[arg(long, value_parser = span::parse, required_if_eq("by", "time"))]
    span: Option<Duration>,

    /// A field with a record's time; the first one that its type has counts; may be repeated
    #[arg(long = "time", value_name = "FIELD", default_values_t = ["start_ns".to_owned(), "at_ns".to_owned()])]
    times: Vec<String>,

    /// The folder of the parts
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    out: PathBuf,

    /// The format of the parts
    #[arg(long, value_enum, default_value_t = FileFormat::Own)]
    format: FileFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SplitBy {
    /// The file that a merged record is from
    File,
    /// The field `host` of the record, else the HostName of its file
    Host,
    /// The field `instrument` of the record, else the Instrument of its file
    Instrument,
    /// The type
    Record,
    /// The time, in spans that begin with the first record's
    Time,
}

impl Split {
    fn by(&self) -> By {
        let about = |field: &str, attribute: &str| By::About { field: field.into(), attribute: attribute.into() };
        match self.by {
            SplitBy::File => By::File,
            SplitBy::Host => about("host", "HostName"),
            SplitBy::Instrument => about("instrument", "Instrument"),
            SplitBy::Record => By::Record,
            SplitBy::Time => {
                let span_ns = self.span.unwrap_or_default().as_nanos().try_into().unwrap_or(u64::MAX);
                By::Time { fields: self.times.clone(), span_ns }
            }
        }
    }

    /// Returns the path of a part: under its own name if it was a file once, else under that of the whole with the
    /// part's within.
    fn path(&self, part: &str) -> PathBuf {
        let plain = |name: &str| name.replace(|c: char| !c.is_alphanumeric() && !"._-".contains(c), "_");
        let name = file_name(&self.file);
        self.out.join(match (self.by, part) {
            (SplitBy::File, "") => name,
            (SplitBy::File, part) => plain(part),
            (_, part) => {
                let within = if part.is_empty() { "unknown".into() } else { plain(part) };
                match name.rsplit_once('.') {
                    Some((stem, ending)) => format!("{stem}.{within}.{ending}"),
                    None => format!("{name}.{within}"),
                }
            }
        })
    }

    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.span.is_some_and(|span| span.is_zero()) {
            return Err(Failure::usage("a span of no length; give one such as `--span 10min`"));
        }
        let make = |part: &str| create(&self.path(part)).map(BufWriter::new).map_err(std::io::Error::other);
        let (parts, read) =
            record_view::split(open(&self.file)?, &self.by(), self.format.into(), make).map_err(wrong(&self.file))?;
        let whole = file_name(&self.file);
        let mut n_all = 0;
        for part in parts {
            let path = self.path(&part.name);
            let n: u64 = part.structure.types.iter().map(|(_, n)| n).sum();
            n_all += n;
            let mut head = part.structure.attributes;
            head.insert(0, ("SplitFrom".into(), whole.clone()));
            describe(&path, Info { head, types: part.structure.types })?;
            written(writeln!(out, "{} in {}", counted(n, "record"), path.display()))?;
        }
        written(writeln!(out, "{} in all", counted(n_all, "record")))?;
        read.map_err(wrong(&self.file))
    }
}

/// Draw any field of a type against any other, over bands that show a program's activity
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop kernel plot host.kernel 'VM Summary' start_ns PageFaults.count --by node --out faults.svg",
    "foretop kernel plot both.sort-merge 'VM Summary' end_ns PageFaults.time_ns --also 'CPU Utilization Summary' User.time_ns --share --most 2 --bands sort-trace event --bands-of rank=0 --out phases.svg",
]))]
pub struct Plot {
    /// A file of records, in the own format or SDDF
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The type, as `foretop kernel show` lists it
    #[arg(value_name = "RECORD")]
    record: String,

    /// The field of the horizontal axis
    #[arg(value_name = "X")]
    x: String,

    /// The field of the vertical axis
    #[arg(value_name = "Y")]
    y: String,

    /// A field with a line for each of its values
    #[arg(long, value_name = "FIELD")]
    by: Option<String>,

    /// Another type and its field for the vertical axis, in the same picture; may be repeated
    #[arg(long, num_args = 2, value_names = ["RECORD", "Y"])]
    also: Vec<String>,

    /// Divide the vertical field by the time that each record covers, from start_ns to end_ns: times become shares of
    /// it
    #[arg(long)]
    share: bool,

    /// The upper end of the vertical axis; values above it are marked there
    #[arg(long, value_name = "Y")]
    most: Option<f64>,

    /// Bands that show a program's activity: each record of this type begins one at its at_ns, named by this field, and
    /// ends the one before
    #[arg(long, num_args = 2, value_names = ["RECORD", "FIELD"])]
    bands: Vec<String>,

    /// Only bands of records whose field has this value, such as `rank=0`
    #[arg(long, value_name = "FIELD=VALUE", requires = "bands", value_parser = field_and_value)]
    bands_of: Option<(String, String)>,

    /// The picture, .svg or .png
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// The time of what a program traces.
const BAND_TIME: &str = "at_ns";

fn field_and_value(text: &str) -> Result<(String, String), String> {
    let (field, value) =
        text.split_once('=').ok_or_else(|| format!("`{text}` is no field with a value; write one such as `rank=0`"))?;
    Ok((field.into(), value.into()))
}

const SIZE: Size = Size { width: 900.0, height: 420.0 };

impl Plot {
    pub fn run(self, _out: &mut dyn Write) -> Result<(), Failure> {
        let ending = self.out.extension().unwrap_or_default().to_string_lossy();
        let kind: Kind = ending.parse().map_err(Failure::usage)?;
        let files = file_name(&self.file);
        let line = |record: &str, y: &str| Line { record: record.into(), y: y.into() };
        let also = self.also.chunks_exact(2).map(|pair| line(&pair[0], &pair[1]));
        let bands = self.bands.first_chunk().map(|[record, name]| Bands {
            record: record.clone(),
            time: BAND_TIME.into(),
            name: name.clone(),
            of: self.bands_of,
        });
        let what = What {
            lines: std::iter::once(line(&self.record, &self.y)).chain(also).collect(),
            x: self.x,
            by: self.by,
            bands,
            is_share: self.share,
            most: self.most,
            files,
        };
        let panel = record_view::plot(open(&self.file)?, &what).map_err(wrong(&self.file))?;
        let bytes = panel.picture(SIZE).encode(kind).map_err(Failure::of)?;
        std::fs::write(&self.out, bytes)
            .map_err(|error| Failure::work(format!("cannot write `{}`: {error}", self.out.display())))
    }
}
