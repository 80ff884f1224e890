//! See `mpi_measure::ace`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use foretop_mpi::{Output, header, rendered, run, say, writer};
use mpi_measure::clock::Clock;

#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(flatten)]
    output: Output,
}

fn main() -> ExitCode {
    run(|session, arguments: Arguments| {
        let clock = Clock::start();
        let header = header(session, "ace", arguments.output.seed, &clock, Vec::new());
        let writer = writer(session, arguments.output.out.as_deref(), &header)?;
        let told = if session.is_first() {
            say(&rendered(writer.outcome(), arguments.output.format, "ace", || format!("{header:#?}")))
        } else {
            Ok(())
        };
        session.agree(told)
    })
}
