//! The command line of Foretop: parse, run, report.
#![forbid(unsafe_code)]

mod cli;
mod client;
mod command;
mod failure;
mod quantity;
mod text;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;

use cli::Cli;
use failure::Outcome;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let result = cli.command.run(&mut out).and_then(|()| Ok(out.flush()?));
    match failure::outcome(&result) {
        Outcome::Done => ExitCode::SUCCESS,
        Outcome::Failed { status, message } => {
            report(&message);
            ExitCode::from(status)
        }
    }
}

/// Nothing is left to be done when even standard error is gone.
fn report(message: &str) {
    let stderr = io::stderr();
    let (red, plain) = if stderr.is_terminal() && text::wants_colour() { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
    let _ = writeln!(stderr.lock(), "{red}foretop:{plain} {message}");
}
