//! A report of many results: tables with words around them, for terminals, documents and programs.

use serde::Serialize;
use text::{Align, Table, markdown_cell};

/// A report: a title, sections, and what limits the meaning of the figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// Title of a few words.
    pub title: String,
    /// Places and settings of the measurement, one line each.
    pub about: Vec<String>,
    /// Conditions that make the figures mean less than they seem to.
    pub warnings: Vec<String>,
    /// Sections in the order in which they are read.
    pub sections: Vec<Section>,
}

/// A table with words around it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Section {
    /// Title of a few words.
    pub title: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows as they are shown.
    pub rows: Vec<Vec<String>>,
    /// Notes on how to read the table.
    pub notes: Vec<String>,
}

impl Section {
    /// Builds a section of these rows.
    #[must_use]
    pub fn new(title: &str, columns: &[&str], rows: Vec<Vec<String>>, notes: &[&str]) -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Self { title: title.to_owned(), columns: owned(columns), rows, notes: owned(notes) }
    }
}

impl Document {
    /// Returns the report as text for terminals.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = self.about.join("\n") + "\n";
        text.extend(self.warnings.iter().map(|warning| format!("warning: {warning}\n")));
        for Section { title, columns, rows, notes } in &self.sections {
            let columns: Vec<(&str, Align)> = columns.iter().map(|column| (column.as_str(), Align::Left)).collect();
            let mut table = Table::new(&columns);
            rows.iter().for_each(|row| table.row(row.clone()));
            text += &format!("\n{title}\n\n{table}{}\n", notes.join("\n"));
        }
        text
    }

    /// Returns the report as Markdown for documents, with links to pictures by their names.
    #[must_use]
    pub fn to_markdown(&self, pictures: &[String]) -> String {
        let mut text = format!("# {}\n\n", self.title);
        text.extend(self.about.iter().map(|line| format!("- {line}\n")));
        text.extend(self.warnings.iter().map(|warning| format!("\n**Warning:** {warning}\n")));
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| markdown_cell(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        for Section { title, columns, rows, notes } in &self.sections {
            text += &format!("\n## {title}\n\n{}|{}\n", line(columns), " --- |".repeat(columns.len()));
            text.extend(rows.iter().map(|row| line(row)));
            text += &format!("\n{}\n", notes.join("\n"));
        }
        text += "\n## Pictures\n\n";
        text.extend(pictures.iter().map(|picture| format!("![{picture}]({picture})\n")));
        text
    }
}
