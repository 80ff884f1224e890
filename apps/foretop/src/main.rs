//! The command line of Foretop: parse, run, report.
#![forbid(unsafe_code)]

mod argument;
mod catalogue;
mod cli;
mod command;
mod descriptors;
mod failure;
mod help;
mod history;
mod interruption;
mod log;
mod near_name;
mod publisher;
mod renamed;
mod secret;
mod speakers;
mod terminal;
mod whiteness;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use cli::Cli;
use failure::Outcome;

fn main() -> ExitCode {
    let cli = Cli::read();
    descriptors::raise_limit();
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
    let (red, plain) =
        if stderr.is_terminal() && terminal::wants_colour() { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
    let _ = writeln!(stderr.lock(), "{red}foretop:{plain} {message}");
}
