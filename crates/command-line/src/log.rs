//! The log on standard error. That it cannot be written is counted, and no reason to fail.

use std::io::{self, IsTerminal, Write};

use anyhow::Context;
use tracing_subscriber::EnvFilter;
use watch::Watch;

use crate::terminal::wants_colour;

/// Logs to standard error what `filter` selects; `watch` knows how that goes.
///
/// # Errors
/// When `filter` is no filter.
pub fn start(filter: &str, watch: &Watch) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter)
        .with_context(|| format!("`{filter}` is not a log filter; write a level such as info"))?;
    let watch = watch.clone();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || Line(watch.clone()))
        .with_ansi(io::stderr().is_terminal() && wants_colour())
        .init();
    Ok(())
}

/// Retries if the last line could not be written, by writing how many are missing.
pub fn retry(watch: &Watch) {
    if watch.is_log_failing() {
        let told = writeln!(io::stderr(), "{} lines of the log could not be written", watch.n_log_lines_lost());
        if told.is_ok() {
            watch.note_log(&told);
        }
    }
}

/// Takes one line, and never fails: tracing-subscriber would tell of it on standard error, and panic where that is what
/// failed.
struct Line(Watch);

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.note_log(&io::stderr().write_all(line));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
