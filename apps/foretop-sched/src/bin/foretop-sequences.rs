//! `foretop sequences`: becomes `foretop-sched sequences`, the program beside this one.
#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let beside = std::env::current_exe().map(|own| own.with_file_name("foretop-sched"));
    let failed = beside.map(|path| {
        let error = Command::new(&path).arg("sequences").args(std::env::args_os().skip(1)).exec();
        format!("cannot start `{}`: {error}", path.display())
    });
    let told = failed.unwrap_or_else(|error| format!("cannot tell where this program is: {error}"));
    // Nothing is left to be done when even standard error is gone.
    let _ = writeln!(io::stderr().lock(), "foretop sequences: {}", text::printable(&told));
    ExitCode::FAILURE
}
