//! Rows and columns in plain text.

use std::fmt;

use crate::columns::{self, padded};
use crate::printable;

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Align {
    /// Alignment of words.
    Left,
    /// Alignment of figures.
    Right,
}

/// Rows of cells under a header, each column as wide as its widest cell; written line by line, each with a line's end.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    indent: &'static str,
}

impl Table {
    /// Returns an empty table with these columns; their names are made printable.
    #[must_use]
    pub fn new(columns: &[(impl AsRef<str>, Align)]) -> Self {
        let columns = columns.iter().map(|(name, align)| (printable(name.as_ref()), *align)).collect();
        Self { columns, rows: Vec::new(), indent: "" }
    }

    /// Returns an empty table likewise, with figures in all columns but the first one, which names what they are of.
    #[must_use]
    pub fn of_figures(columns: &[impl AsRef<str>]) -> Self {
        let align = |idx| if idx == 0 { Align::Left } else { Align::Right };
        let columns: Vec<_> = columns.iter().enumerate().map(|(idx, name)| (name.as_ref(), align(idx))).collect();
        Self::new(&columns)
    }

    /// Returns the table with this text before each line.
    #[must_use]
    pub fn indented(self, indent: &'static str) -> Self {
        Self { indent, ..self }
    }

    /// Adds a row; its cells are made printable.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let row: Vec<String> = cells.into_iter().map(|cell| printable(&cell)).collect();
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |idx: usize| {
            let cells = self.rows.iter().map(|row| columns::width(&row[idx]));
            cells.chain([columns::width(&self.columns[idx].0)]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let header: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        for row in std::iter::once(&header).chain(&self.rows) {
            let cells = row.iter().zip(&self.columns).zip(&widths).map(|((cell, (_, align)), width)| match align {
                Align::Left => padded(cell, *width),
                Align::Right => " ".repeat(width.saturating_sub(columns::width(cell))) + cell,
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            writeln!(f, "{}{}", self.indent, line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_on_the_right() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right)]);
        table.row(["a".into(), "1".into()]);
        table.row(["longer".into(), "100".into()]);
        assert_eq!(table.to_string(), "name      n\na         1\nlonger  100\n");
        let mut same = Table::of_figures(&["name", "n"]).indented("  ");
        same.row(["longer".into(), "100".into()]);
        assert_eq!(same.to_string(), "  name      n\n  longer  100\n");
    }

    #[test]
    fn wide_characters_leave_columns_in_line() {
        let mut table = Table::new(&[("name", Align::Left), ("unit", Align::Right)]);
        table.row(["硬盘".into(), "円".into()]);
        table.row(["disks".into(), "bytes".into()]);
        assert_eq!(table.to_string(), "name    unit\n硬盘      円\ndisks  bytes\n");
    }
}
