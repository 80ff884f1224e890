//! `foretop iow`: a benchmark of file systems that times each operation.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use iow::{Access, Mode, Plan, Run};
use program::{Failure, written};
use record::{Format, Output};
use record_file::RecordFile;
use statistics::quantile;
use text::Table;
use text::figure::{bytes_per_sec, span_ns};
use text::help::examples;
use units::ByteCount;

/// Measure a file system: records of one size or of several, each operation timed
#[derive(Parser)]
#[command(name = "foretop-iow", bin_name = "foretop iow", version, max_term_width = 100)]
#[command(after_help = examples(&[
    "foretop iow --sweep 64B..64MiB",
    "foretop iow --size 128KiB --access direct --mode read --tasks 4 --out measured",
    "foretop iow --sweep 4KiB..256KiB --step 4KiB --operations 256",
]))]
struct Iow {
    /// The folder in which files are made
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    /// The size of each record
    #[arg(long, value_name = "SIZE", default_value = "64KiB", conflicts_with = "sweep")]
    size: ByteCount,

    /// A range of sizes, each twice the one before
    #[arg(long, value_name = "SIZE..SIZE", value_parser = sizes)]
    sweep: Option<(ByteCount, ByteCount)>,

    /// The difference between sizes, instead of a doubling
    #[arg(long, value_name = "SIZE", requires = "sweep")]
    step: Option<ByteCount>,

    /// The data of each file, in as many records as needed, at most 65,536
    #[arg(long, value_name = "SIZE", default_value = "64MiB", conflicts_with = "operations")]
    total: ByteCount,

    /// The number of records in each file
    #[arg(long, value_name = "N")]
    operations: Option<u64>,

    /// The distance from the beginning of one record to that of the next [default: its size]
    #[arg(long, value_name = "SIZE")]
    stride: Option<ByteCount>,

    /// The offset of the first record
    #[arg(long, value_name = "SIZE", default_value = "0B")]
    begin: ByteCount,

    /// The operation: reading makes the files first, untimed
    #[arg(long, value_enum, default_value_t = FileMode::Create)]
    mode: FileMode,

    /// The path of operations through the kernel
    #[arg(long, value_enum, default_value_t = How::Buffered)]
    access: How,

    /// The number of concurrent tasks, each with files of its own
    #[arg(long, value_name = "N", default_value_t = 1)]
    tasks: u32,

    /// The number of files of each task, one after the other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    files: u32,

    /// Drop a file from the page cache before the file is used
    #[arg(long)]
    clear_caches: bool,

    /// Write a file of records, HOST_DATE.iow, with the time of each operation
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FileMode {
    /// Create files
    Create,
    /// Overwrite files
    Write,
    /// Read files
    Read,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// Use the page cache
    Buffered,
    /// Bypass the page cache
    Direct,
    /// Write each record to the device before the next
    Synchronous,
}

/// More records of a file say no more, and their times take memory.
const OPERATIONS_MAX: u64 = 65_536;

fn sizes(text: &str) -> Result<(ByteCount, ByteCount), String> {
    let (from, to) =
        text.split_once("..").ok_or_else(|| format!("`{text}` is no range of sizes; write `64B..64MiB`"))?;
    let size = |text: &str| text.parse::<ByteCount>().map_err(|error| error.to_string());
    let (from, to) = (size(from)?, size(to)?);
    if from.bytes() == 0 || from > to {
        return Err(format!("`{text}` holds no sizes; write the smaller one first, as in `64B..64MiB`"));
    }
    Ok((from, to))
}

fn main() -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    let done = Iow::parse().run(&mut out);
    program::end("foretop iow", done, &mut out, &mut io::stderr().lock())
}

fn failed(error: iow::Error) -> Failure {
    match error {
        iow::Error::Plan { .. } => Failure::usage(error),
        error => Failure::of(error),
    }
}

impl Iow {
    fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        self.out.as_deref().map_or(Ok(()), record_file::make_folder)?;
        let place = iow::place(&self.folder).map_err(failed)?;
        let at = text::printable(&format!("{} ({}, {})", place.device, place.file_system, place.options));
        written(writeln!(out, "{} on {at}, {} tasks", self.folder.display(), self.tasks))?;
        let mut runs = Vec::new();
        for size in self.all_sizes()? {
            runs.push(self.measured(size)?);
        }
        written(write!(out, "\n{}", table(&runs)))?;
        let speeds: Vec<(u64, f64)> = runs.iter().map(|run| (run.plan.size_bytes, run.bytes_per_sec())).collect();
        written(out.write_all(regions(&speeds).as_bytes()))?;
        if let Some(folder) = &self.out {
            let path = recorded(folder, &runs)?;
            written(writeln!(out, "\n{}", path.display()))?;
        }
        Ok(())
    }

    fn all_sizes(&self) -> Result<Vec<u64>, Failure> {
        const SIZES_MAX: usize = 1000;
        let Some((from, to)) = self.sweep else { return Ok(vec![self.size.bytes()]) };
        let mut sizes = vec![from.bytes()];
        while let Some(last) = sizes.last().copied() {
            let next = self.step.map_or(last.saturating_mul(2), |step| last.saturating_add(step.bytes()));
            if next > to.bytes() || next == last {
                break;
            }
            if sizes.len() >= SIZES_MAX {
                return Err(Failure::usage(format!("a sweep of more than {SIZES_MAX} sizes; take larger steps")));
            }
            sizes.push(next);
        }
        Ok(sizes)
    }

    fn measured(&self, size: u64) -> Result<Run, Failure> {
        let n_operations =
            self.operations.unwrap_or_else(|| (self.total.bytes() / size.max(1)).clamp(1, OPERATIONS_MAX));
        let plan = Plan {
            folder: self.folder.clone(),
            files: 0..=self.files - 1,
            mode: match self.mode {
                FileMode::Create => Mode::Create,
                FileMode::Write => Mode::Write,
                FileMode::Read => Mode::Read,
            },
            access: match self.access {
                How::Buffered => Access::Buffered,
                How::Direct => Access::Direct,
                How::Synchronous => Access::Synchronous,
            },
            n_operations,
            first_byte: self.begin.bytes(),
            size_bytes: size,
            stride_bytes: self.stride.map_or(size, ByteCount::bytes),
            n_tasks: self.tasks,
            clears_caches: self.clear_caches,
            removes: true,
        };
        if plan.mode != Mode::Create {
            let first = Plan { mode: Mode::Create, access: Access::Buffered, removes: false, ..plan.clone() };
            iow::run(&first).map_err(failed)?;
        }
        iow::run(&plan).map_err(failed)
    }
}

fn table(runs: &[Run]) -> Table {
    let mut table = Table::of_figures(&["record", "operations", "median", "90 %", "most", "speed", "user", "system"]);
    for run in runs {
        let times = run.times_ns();
        let at = |share: f64| quantile(&times, share).map(span_ns).unwrap_or_default();
        table.row([
            ByteCount::new(run.plan.size_bytes).to_string(),
            times.len().to_string(),
            at(0.5),
            at(0.9),
            at(1.0),
            bytes_per_sec(run.bytes_per_sec()),
            span_ns(run.user_ns as f64),
            span_ns(run.system_ns as f64),
        ]);
    }
    table
}

fn regions(speeds: &[(u64, f64)]) -> String {
    let size = |bytes| ByteCount::new(bytes).to_string();
    let line = |region: &iow::Region| {
        format!("{} to {}: {}\n", size(region.from_bytes), size(region.to_bytes), region.law.words())
    };
    let lines: String = iow::regions(speeds).iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn recorded(folder: &Path, runs: &[Run]) -> Result<PathBuf, Failure> {
    let instrument = format!("foretop-iow {}", env!("CARGO_PKG_VERSION"));
    let RecordFile { path, file, head } = RecordFile::begin(folder, "iow", instrument)?;
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    let write = || -> Result<(), record::Error> {
        let mut output = Output::new(Format::Own, BufWriter::new(file))?;
        for (name, text) in head.iter().chain([&("Commandline".to_owned(), command)]) {
            output.attribute(name, text)?;
        }
        let of = output.define(iow::run_type())?;
        for values in runs.iter().flat_map(iow::run_values) {
            output.record(of, &values)?;
        }
        output.finish().map(|_| ())
    };
    write().map_err(Failure::of)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_help_has_examples_and_the_exit_status() {
        Iow::command().debug_assert();
        let help = Iow::command().render_long_help().to_string();
        assert!(help.contains("Example") && help.contains("Exit status:"), "{help}");
    }
}
