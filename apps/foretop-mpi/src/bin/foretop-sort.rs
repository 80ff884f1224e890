//! `foretop-sort`: a parallel sort that drives files, processors, memory and messages in turn. See the crate `sort`.
#![forbid(unsafe_code)]

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use foretop_mpi::{run, say};
use mpi_run::{Ending, Session, gather};
use program::Failure;
use record::{Format, Output};
use record_file::RecordFile;
use sort::{Plan, Sorted, records};
use units::ByteCount;

/// Sort random numbers in parallel, on purpose inefficiently, as a workload whose phases drive one part of the system
/// each.
///
/// Ranks read their sections of one file, sort them, exchange overlaps with their neighbours until there are none, and
/// write one file. Each change of activity has a time stamp. The result is checked: one that is not in order is exit
/// status 1.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Arguments {
    /// All numbers together, 8 bytes each; each rank has the same whole number of them
    #[arg(long, default_value = "32MiB")]
    size: ByteCount,
    /// Folder of the files, which all ranks must have access to
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// Access of ranks to their sections
    #[arg(long, value_enum, default_value_t = Access::Collective)]
    access: Access,
    /// Keep the files
    #[arg(long)]
    keep: bool,
    /// Write a file of records HOST_DATE.sort into this folder, with sort-summary and sort-trace; one for each host
    #[arg(long, value_name = "FOLDER", help_heading = "Results")]
    out: Option<PathBuf>,
    /// Title for readers of the file
    #[arg(long, help_heading = "Results")]
    title: Option<String>,
    /// Seed for all random draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Access {
    /// All together, in one call
    Collective,
    /// Each by itself
    Independent,
}

fn main() -> ExitCode {
    run(|session: &Session, arguments: Arguments| under_mpi(session, &arguments))
}

fn under_mpi(session: &Session, arguments: &Arguments) -> Result<(), Ending> {
    let plan = Plan {
        folder: arguments.folder.clone(),
        size: arguments.size,
        access: match arguments.access {
            Access::Collective => sort::Access::Collective,
            Access::Independent => sort::Access::Independent,
        },
        keeps_files: arguments.keep,
        seed: arguments.seed,
    };
    session.agree(arguments.out.as_deref().map_or(Ok(()), record_file::make_folder))?;
    let of_host = sort::run(session, &plan)?;
    let written = match (&arguments.out, &of_host) {
        (Some(folder), Some(ranks)) => record(folder, arguments.title.as_deref(), ranks).map(Some),
        _ => Ok(None),
    };
    let written = session.agree(written)?;
    let told = gather(session.world(), &(of_host.unwrap_or_default(), written));
    let print = |told: Vec<(Vec<Sorted>, Option<PathBuf>)>| {
        let (ranks, files): (Vec<_>, Vec<_>) = told.into_iter().unzip();
        let mut ranks = ranks.concat();
        ranks.sort_by_key(|rank| rank.rank);
        let files: String = files.iter().flatten().map(|path| format!("{}\n", path.display())).collect();
        say(&(records::table(&ranks) + &files))
    };
    session.agree(told.map_or(Ok(()), print))
}

/// Writes what ranks of this host did.
fn record(folder: &Path, title: Option<&str>, ranks: &[Sorted]) -> Result<PathBuf, Failure> {
    let instrument = format!("foretop-sort {}", env!("CARGO_PKG_VERSION"));
    let RecordFile { path, file, mut head } = RecordFile::begin(folder, "sort", instrument)?;
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    head.extend([("Library".to_owned(), mpi_run::library()), ("Commandline".to_owned(), command)]);
    head.extend(title.map(|title| ("Title".to_owned(), title.to_owned())));
    let write = || -> Result<(), record::Error> {
        let mut output = Output::new(Format::Own, BufWriter::new(file))?;
        for (name, text) in &head {
            output.attribute(name, text)?;
        }
        let (summary, trace) = (output.define(records::summary_type())?, output.define(records::trace_type())?);
        for rank in ranks {
            output.record(summary, &records::summary_values(rank))?;
        }
        // In the order of time, as a merge expects it.
        let mut stamps: Vec<_> =
            ranks.iter().flat_map(|rank| rank.stamps.iter().zip(records::trace_values(rank))).collect();
        stamps.sort_by_key(|(stamp, _)| stamp.at_ns);
        for (_, values) in stamps {
            output.record(trace, &values)?;
        }
        output.finish().map(|_| ())
    };
    write().map_err(Failure::of)?;
    Ok(path)
}
