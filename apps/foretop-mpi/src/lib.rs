//! Common parts of the MPI programs: how they start, what output can be chosen, and how they end.
//!
//! Every rank parses the same arguments, but only rank 0 reports what is wrong with them, and all end with the same
//! exit status: 0 done, 1 the work failed, 2 the command or its files make no sense.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, Parser, ValueEnum};
use clock::Stopwatch;
use mpi_run::{Ending, Header, Measurement, Outcome, Session, Writer, library};
use program::{Failure, Progress};

/// Asks a program for its MPI library, before MPI is begun: `foretop mpi` finds the launcher by the answer.
pub const LIBRARY_FLAG: &str = "--mpi-library";

/// Output of a run's results.
#[derive(Args, Clone, Debug)]
pub struct Output {
    /// Write all results to this file, as JSON Lines, while they are measured; `foretop mpi plot` draws them
    #[arg(long, value_name = "FILE.jsonl", help_heading = "Results")]
    pub out: Option<PathBuf>,
    /// Format of the output
    #[arg(long, value_enum, default_value_t, help_heading = "Results")]
    pub format: Format,
    /// Do not print progress
    #[arg(long, short, help_heading = "Results")]
    pub quiet: bool,
    /// Seed for all random draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Format of printed results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Table for people
    #[default]
    Table,
    /// JSON as in the result file; see docs/formats/mpi-results.md
    Json,
    /// One row per rank, size or iteration class
    Csv,
}

/// Limit on the time of `MPI_Finalize` once all ranks have come to it. MPICH 4.0.2 may wait in it for ever, over TCP
/// (pmodels/mpich#6596).
const FINALIZE_LIMIT: Duration = Duration::from_secs(10);

/// Runs a program under MPI from its arguments to its exit status. `body` runs on all ranks.
pub fn run<A: Parser>(body: impl FnOnce(&Session, A) -> Result<(), Ending>) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.iter().skip(1).any(|argument| argument == LIBRARY_FLAG) {
        return ExitCode::from(status(say(&library())));
    }
    let session = match Session::start() {
        Ok(session) => session,
        Err(failure) => return ExitCode::from(tell(&failure)),
    };
    let status = match A::try_parse_from(arguments) {
        Ok(arguments) => match body(&session, arguments) {
            Ok(()) => 0,
            Err(ending) if ending.is_mine_to_tell => tell(&ending.failure),
            Err(ending) => ending.failure.status(),
        },
        Err(error) => {
            let is_asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            if session.is_first() {
                // Nothing is left to be done when the terminal is gone.
                let _ = error.print();
            }
            if is_asked_for { 0 } else { 2 }
        }
    };
    session.wait_for_all();
    thread::spawn(move || {
        clock::sleep(FINALIZE_LIMIT);
        signal_hook::low_level::exit(i32::from(status));
    });
    drop(session);
    ExitCode::from(status)
}

/// Runs a program that was asked not to use MPI. A launcher that started it all the same, in several copies, is refused
/// by the first.
pub fn run_alone<A: Parser>(body: impl FnOnce(A) -> Result<(), Failure>) -> ExitCode {
    if let Some(rank) = launched_rank() {
        let refusal = Failure::usage("started by an MPI launcher, but asked not to use MPI: leave out one of the two");
        return ExitCode::from(if rank == 0 { tell(&refusal) } else { refusal.status() });
    }
    match A::try_parse() {
        Ok(arguments) => ExitCode::from(status(body(arguments))),
        Err(error) => {
            // Nothing is left to be done when the terminal is gone.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

/// This process's position among those that a launcher started; `None` where none did.
fn launched_rank() -> Option<u32> {
    // Set by Open MPI, by launchers with PMIx, and by Hydra and others with PMI.
    let positions = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"];
    positions.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// The head of this run's results, the same on all ranks. Collective.
#[must_use]
pub fn header(session: &Session, measurement: &dyn Measurement, seed: u64, clock: &Stopwatch) -> Header {
    let typed = std::env::args().skip(1).collect();
    session.header(measurement, typed, seed, clock)
}

/// Begins the result file on rank 0; on others a writer that writes nothing. Collective.
///
/// # Errors
/// On all ranks, when rank 0 cannot write there.
pub fn writer(session: &Session, out: Option<&Path>, header: &Header) -> Result<Writer, Ending> {
    let out = out.filter(|_| session.is_first());
    session.agree(Writer::create(out, header).map_err(Failure::of))
}

/// Says on standard error how far rank 0 is, unless it is to be quiet.
#[derive(Debug)]
pub struct Teller {
    progress: Option<Progress>,
}

impl Teller {
    /// One that speaks on rank 0 only.
    #[must_use]
    pub fn new(session: &Session, output: &Output) -> Self {
        Self { progress: (session.is_first() && !output.quiet).then(Progress::start) }
    }

    /// Says, now and then, how much of `what` is done.
    pub fn tell(&mut self, what: &str, done: u64, total: u64) {
        let line = self.progress.as_mut().and_then(|progress| progress.line(clock::instant(), what, done, total));
        if let Some(line) = line {
            // Progress that nobody can see is not worth an end.
            let _ = writeln!(io::stderr().lock(), "{line}");
        }
    }
}

/// Prints what rank 0 has to say on standard output.
///
/// # Errors
/// When standard output takes nothing more.
pub fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written =
        out.write_all(text.as_bytes()).and_then(|()| if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") });
    match written.and_then(|()| out.flush()) {
        // A reader that went away had enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::work(format!("cannot print: {error}"))),
        _ => Ok(()),
    }
}

/// Prints a finished result in the form asked for, on rank 0 only. `kind` is what CSV has rows of. Collective.
///
/// # Errors
/// On all ranks, when a record is not of its form, or standard output takes nothing more.
pub fn print_first(
    session: &Session,
    measurement: &dyn Measurement,
    outcome: &Outcome,
    format: Format,
    kind: &str,
) -> Result<(), Ending> {
    let print = || {
        // A result that cannot be read back is a failure in any form.
        let table = measurement.table(outcome).map_err(Failure::of)?;
        match format {
            Format::Table => say(&table),
            Format::Csv => say(&outcome.csv(kind)),
            Format::Json => say(&outcome.json_lines()),
        }
    };
    session.agree(if session.is_first() { print() } else { Ok(()) })
}

fn tell(failure: &Failure) -> u8 {
    let program = std::env::args().next().unwrap_or_default();
    let program =
        Path::new(&program).file_name().map_or("foretop-mpi".into(), |name| name.to_string_lossy().into_owned());
    let _ = writeln!(io::stderr().lock(), "{program}: {failure}");
    failure.status()
}

/// The exit status of what was done without MPI, and its failure told.
#[must_use]
fn status(result: Result<(), Failure>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(failure) => tell(&failure),
    }
}
