//! Arguments that several commands share.

use std::io::{self, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use des::Protocol;
use mpi_run::{Measurement, Outcome, Writer};
use mpi_sim::Settings;
use mpi_sim::result::Simulation;
use picture::{Kind, Picture};
use program::{Failure, Progress};

/// Settings that do not change the result, if the statement about tags is true.
#[derive(Args, Clone, Copy, Debug)]
pub struct Running {
    /// The protocol by which ranks learn that nothing earlier can arrive: sequential, nmp, cep, nmp+cep, the last three
    /// with +det, or quantum=LENGTH, which is exact only up to the least latency
    #[arg(long, value_name = "PROTOCOL", default_value = "sequential", help_heading = "Running")]
    protocol: Protocol,

    /// The number of ranks that may run at a time
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Running")]
    workers: NonZero<u32>,

    /// Assume that no two ranks send the same tag to one rank: with sequential and with the +det protocols, a receive
    /// of any source that names its tag then waits for no other rank
    #[arg(long, help_heading = "Running")]
    unique_tags: bool,
}

/// Destination of results.
#[derive(Args, Clone, Debug)]
pub struct Out {
    /// Write all results to this file, as JSON Lines
    #[arg(long, value_name = "FILE.jsonl", help_heading = "Results")]
    out: Option<PathBuf>,
}

/// The kinds of pictures that an argument may name.
pub fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::NAMES).map(|name| name.parse().expect("these are the names of the kinds"))
}

impl Running {
    pub fn settings(self) -> Settings {
        Settings { protocol: self.protocol, n_workers: self.workers, has_unique_tags: self.unique_tags }
    }
}

impl Out {
    /// A result that begins with this header.
    pub fn writer(&self, header: &mpi_run::Header) -> Result<Writer, Failure> {
        Writer::create(self.out.as_deref(), header).map_err(Failure::of)
    }
}

/// Writes a picture to `folder/name`, and gives the file's name.
pub fn draw(picture: &Picture, kind: Kind, folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    let file = folder.join(format!("{name}.{}", kind.extension()));
    std::fs::write(&file, picture.encode(kind).map_err(Failure::of)?)
        .map_err(|error| Failure::work(format!("cannot write `{}`: {error}", file.display())))?;
    Ok(file)
}

/// Says on standard error, now and then, how far a long command is.
#[derive(Debug)]
pub struct Teller(Progress);

impl Teller {
    pub fn new() -> Self {
        Self(Progress::start())
    }

    pub fn tell(&mut self, what: &str, done: u64, total: u64) {
        if let Some(line) = self.0.line(clock::instant(), what, done, total) {
            // Progress that nobody can see is not worth an end.
            let _ = writeln!(io::stderr().lock(), "{line}");
        }
    }
}

/// A result of the simulator.
pub fn result(path: &Path) -> Result<Outcome, Failure> {
    let outcome = Outcome::read(path).map_err(Failure::of)?;
    if outcome.header.program == Simulation.name() {
        return Ok(outcome);
    }
    let program = &outcome.header.program;
    Err(Failure::usage(format!("`{}` is a result of `{program}`, not of the simulator", path.display())))
}

/// Returns the arguments as typed, for the head of a result.
pub fn typed() -> Vec<String> {
    std::env::args().skip(1).collect()
}
