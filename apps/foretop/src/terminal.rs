//! What a terminal wants: colour or none, and JSON with a line's end.

use std::io::{self, Write};

/// False where `NO_COLOR` is set to anything, as <https://no-color.org> asks.
pub fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes `value` as indented JSON and a line's end.
///
/// # Errors
/// Those of `out`.
pub fn write_json(out: &mut dyn Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}
