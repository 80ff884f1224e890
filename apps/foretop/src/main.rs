//! The command line of Foretop: parse, run, report.
#![forbid(unsafe_code)]

mod argument;
mod catalogue;
mod cli;
mod command;
mod failure;
mod help;
mod history;
mod interruption;
mod log;
mod near_name;
mod renamed;
mod secret;
mod speakers;
mod terminal;
mod whiteness;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use cli::Cli;
use failure::Outcome;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn main() -> ExitCode {
    let cli = Cli::read();
    raise_descriptor_limit();
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

/// As many descriptors as the system allows: a stream may have thousands of readers, and the usual limit of 1,024 is one for programs that use
/// select(2). Where it cannot be raised, connections beyond it are refused and told of.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Nothing is left to be done when even standard error is gone.
fn report(message: &str) {
    let stderr = io::stderr();
    let (red, plain) =
        if stderr.is_terminal() && terminal::wants_colour() { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
    let _ = writeln!(stderr.lock(), "{red}foretop:{plain} {message}");
}
