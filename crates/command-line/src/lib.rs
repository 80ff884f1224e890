//! The parts that the command lines of several programs share: arguments, exit status, history, log, terminal.
//!
//! A program is started as `foretop NAME`, so messages here begin with `foretop` whichever program prints them.
#![forbid(unsafe_code)]

pub mod argument;
pub mod descriptors;
pub mod failure;
pub mod history;
pub mod interruption;
pub mod log;
pub mod near_name;
pub mod secret;
#[expect(missing_docs, reason = "fields are the keys of the section, which docs/formats/cli.md specifies")]
pub mod snmp;
pub mod span_text;
pub mod terminal;

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

/// Runs a command with standard output buffered, and reports its failure in one line on standard error.
pub fn end(run: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> ExitCode {
    descriptors::raise_limit();
    let mut out = BufWriter::new(io::stdout().lock());
    let result = run(&mut out).and_then(|()| Ok(out.flush()?));
    match failure::outcome(&result) {
        failure::Outcome::Done => ExitCode::SUCCESS,
        failure::Outcome::Failed { status, message } => {
            report(&message);
            ExitCode::from(status)
        }
    }
}

/// Returns this program's own file and the first words of its internal command `name`, to start the program again.
///
/// # Errors
/// If the program's own file cannot be found.
pub fn internal(name: &str) -> anyhow::Result<(PathBuf, Vec<OsString>)> {
    let program = std::env::current_exe().context("cannot find this program's own file, to start it again")?;
    Ok((program, ["internal", name].map(OsString::from).to_vec()))
}

/// Prints a failure. If standard error is gone, nothing is left to be done.
fn report(message: &str) {
    let stderr = io::stderr();
    let (red, plain) =
        if stderr.is_terminal() && terminal::wants_colour() { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
    let _ = writeln!(stderr.lock(), "{red}foretop:{plain} {message}");
}
