//! The terminal, and what is written to it or to a pipe: the screen, colour, lines on standard error, JSON.

use std::io::{self, IsTerminal, Write};
use std::ops::{Deref, DerefMut};

use anyhow::Context;
use ratatui::DefaultTerminal;
use text::printable;

/// The whole terminal. It is given back whatever happens; after a panic, ratatui's own hook does so before the message
/// is printed.
pub struct Screen(DefaultTerminal);

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// When there is none, or it refuses.
    pub fn open() -> anyhow::Result<Self> {
        ratatui::try_init().map(Self).context("cannot take over the terminal")
    }
}

impl Deref for Screen {
    type Target = DefaultTerminal;

    fn deref(&self) -> &DefaultTerminal {
        &self.0
    }
}

impl DerefMut for Screen {
    fn deref_mut(&mut self) -> &mut DefaultTerminal {
        &mut self.0
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nothing is left to be done when the terminal is gone.
        let _ = ratatui::try_restore();
    }
}

/// Whether there is a terminal to draw on and to take keys from.
pub fn has_screen() -> bool {
    io::stdout().is_terminal() && io::stdin().is_terminal()
}

/// False where `NO_COLOR` is set to anything, as <https://no-color.org> asks.
pub fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes a line on standard error. A closed standard error is no reason to fail.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(line));
}

/// Writes `value` as indented JSON and a line end.
///
/// # Errors
/// Those of `out`.
pub fn write_json(out: &mut dyn Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}
