//! The command line of Foretop: parse, run, report.
#![forbid(unsafe_code)]

mod along;
mod catalogue;
mod cli;
mod command;
mod help;
mod renamed;
mod speakers;
mod whiteness;

use std::process::ExitCode;

use cli::Cli;

fn main() -> ExitCode {
    let cli = Cli::read();
    command_line::end(|out| cli.command.run(out))
}
