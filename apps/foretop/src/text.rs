//! Text for terminals: made harmless, coloured only where it is wanted, set in columns.

use std::io::{self, Write};

/// `text` with every character that could move the cursor, recolour the screen or turn the direction of
/// writing around shown as U+FFFD. Names come from other programs, and a terminal obeys what it is sent.
pub fn printable(text: &str) -> String {
    let is_unsafe = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|c| if is_unsafe(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// False where `NO_COLOR` is set to anything, as <https://no-color.org> asks.
pub fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How a column is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Align {
    /// For words.
    Left,
    /// For figures.
    Right,
}

/// Rows of cells under a header, each column as wide as its widest cell.
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these columns.
    pub fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; its cells are made printable.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let row: Vec<String> = cells.into_iter().map(|cell| printable(&cell)).collect();
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = |idx: usize| {
            let cells = self.rows.iter().map(|row| row[idx].chars().count());
            cells.chain([self.columns[idx].0.chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let header: Vec<String> = self.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        for row in std::iter::once(&header).chain(&self.rows) {
            let cells = row.iter().zip(&self.columns).zip(&widths).map(|((cell, (_, align)), width)| match align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Six significant digits, in plain notation where that is not longer than a line of zeros.
pub fn six_digits(value: f64) -> String {
    let exponent = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    match exponent {
        -5..=5 => format!("{value:.*}", usize::try_from(5 - exponent).unwrap_or(0)),
        6..=14 => format!("{value:.0}"),
        _ => format!("{value:.5e}"),
    }
}

/// Writes `value` as indented JSON and a line's end.
///
/// # Errors
/// Those of `out`.
pub fn write_json(out: &mut dyn Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_not_printable() {
        assert_eq!(printable("net.\x1b]0;owned\x07\u{9b}2J\n\u{202e}x"), "net.�]0;owned��2J��x");
        assert_eq!(printable("größe µs"), "größe µs");
    }

    #[test]
    fn figures_stand_on_the_right() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right)]);
        table.row(["a".into(), "1".into()]);
        table.row(["longer".into(), "100".into()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "name      n\na         1\nlonger  100\n");
    }

    #[test]
    fn tables_show_six_digits() {
        let shown = [0.0, 48.985_573_631, -0.001_234_567_8, 123_456.7, 1e6, 1e20].map(six_digits);
        assert_eq!(shown, ["0.00000", "48.9856", "-0.00123457", "123457", "1000000", "1.00000e20"]);
    }
}
