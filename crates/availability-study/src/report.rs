//! A report: where and how the study was made, and its tables, as text, Markdown, CSV or JSON.

mod json;

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use text::markdown_cell;

use crate::{
    Header, Outcome, Record,
    table::{Cell, Row, Source, Table},
    tables,
};

/// Everything that is to be said of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Names and values: where and how.
    pub about: Vec<(&'static str, String)>,
    /// Facts that a reader needs before trusting any figure.
    pub warnings: Vec<String>,
    /// The tables.
    pub tables: Vec<Table>,
}

/// Format in which a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Columns for a terminal.
    Text,
    /// Markdown tables.
    Markdown,
    /// One line for each cell.
    Csv,
    /// One object.
    Json,
}

/// More of a host's load that is not the study's makes its figures worthless.
pub const BUSY_MAX: f64 = 0.05;

impl Report {
    /// Computes all tables of what there is.
    #[must_use]
    pub fn new(record: &Record) -> Report {
        Report { about: about(record), warnings: warnings(record), tables: tables::all(record) }
    }

    /// Writes it.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Text => self.write_text(out),
            Format::Markdown => self.write_markdown(out),
            Format::Csv => self.write_csv(out),
            Format::Json => {
                serde_json::to_writer_pretty(&mut *out, &json::value(self))?;
                writeln!(out)
            }
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = self.about.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in &self.about {
            writeln!(out, "{name:width$}  {value}")?;
        }
        self.warnings.iter().try_for_each(|warning| writeln!(out, "warning: {warning}"))?;
        for table in &self.tables {
            writeln!(out, "\nTable {}: {}\n", table.number, table.title)?;
            let lines = lines(table);
            let widths: Vec<usize> = (0..lines[0].len())
                .map(|idx| lines.iter().map(|line| line[idx].chars().count()).max().unwrap_or(0))
                .collect();
            for line in &lines {
                let cells = line.iter().zip(&widths).enumerate().map(|(idx, (cell, width))| {
                    if idx < table.heads.len() { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                });
                writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
            }
            let notes = table.notes.iter().cloned().chain(left_out(table));
            notes.into_iter().try_for_each(|note| writeln!(out, "  {note}"))?;
        }
        Ok(())
    }

    fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "| study | |\n|---|---|")?;
        self.about.iter().try_for_each(|(name, value)| writeln!(out, "| {name} | {} |", markdown_cell(value)))?;
        self.warnings.iter().try_for_each(|warning| writeln!(out, "\n**Warning:** {}", markdown_cell(warning)))?;
        for table in &self.tables {
            writeln!(out, "\n## Table {}: {}\n", table.number, table.title)?;
            for (idx, line) in lines(table).iter().enumerate() {
                writeln!(out, "| {} |", line.iter().map(|cell| markdown_cell(cell)).collect::<Vec<_>>().join(" | "))?;
                if idx == 0 {
                    let rule = (0..line.len()).map(|idx| if idx < table.heads.len() { "---" } else { "---:" });
                    writeln!(out, "|{}|", rule.collect::<Vec<_>>().join("|"))?;
                }
            }
            writeln!(out)?;
            let notes = table.notes.iter().cloned().chain(left_out(table));
            notes.into_iter().try_for_each(|note| writeln!(out, "{}", markdown_cell(&note)))?;
        }
        Ok(())
    }
}

/// A table's header and rows as texts.
fn lines(table: &Table) -> Vec<Vec<String>> {
    let short = |column: &String| column.strip_prefix("cpu.availability.").unwrap_or(column).to_owned();
    let header = table.heads.iter().map(|head| (*head).to_owned()).chain(table.columns.iter().map(short));
    let line = |row: &Row| {
        let mut heads = row.heads.clone();
        if row.source == Source::Published {
            heads[0] = format!("published: {}", heads[0]);
        }
        heads.into_iter().chain(row.cells.iter().map(|cell| cell.to_text())).collect()
    };
    std::iter::once(header.collect()).chain(table.rows.iter().filter(|row| has_figure(row)).map(line)).collect()
}

/// Whether a row says anything. The paper's always do.
fn has_figure(row: &Row) -> bool {
    let is_figure = |cell: &Cell| !matches!(cell, Cell::TooFew { .. } | Cell::Blank);
    row.source == Source::Published || row.cells.iter().any(is_figure)
}

/// Returns a note of the rows that have too few observations for any figure, for people who would look for them.
fn left_out(table: &Table) -> Option<String> {
    let missing: Vec<&Row> = table.rows.iter().filter(|row| !has_figure(row)).collect();
    let needs = missing.iter().flat_map(|row| &row.cells).filter_map(|cell| match cell {
        Cell::TooFew { need, have } => Some((*need, *have)),
        _ => None,
    });
    let (need, have) = needs.max_by_key(|(need, have)| (*have, *need))?;
    let mut names: Vec<String> = missing.iter().map(|row| row.heads.join(" ")).collect();
    if missing.len() == table.rows.iter().filter(|row| row.source != Source::Published).count() {
        names = vec!["all rows of this study".to_owned()];
    }
    Some(format!(
        "Rows without a figure, which takes {need} or more observations, and there are {have} at most: {}.",
        names.join(", ")
    ))
}

fn about(record: &Record) -> Vec<(&'static str, String)> {
    let header = &record.header;
    let settings = &header.settings;
    let span = units::span::format;
    let tests = || record.segments.iter().flat_map(|segment| &segment.tests);
    let n_done = tests().filter(|test| matches!(test.outcome, Outcome::Done(_))).count();
    // What joined studies differ in is told of all of them, in their order.
    let all = |tell: &dyn Fn(&Header) -> String| {
        let mut told: Vec<String> = record.headers().map(tell).collect();
        told.dedup();
        told.join("; ")
    };
    vec![
        ("host", all(&|header| format!("{}, {} cores", header.host, header.n_cores))),
        ("kernel", all(&|header| header.kernel.clone())),
        ("foretop", all(&|header| header.version.clone())),
        ("begun", all(&|header| header.time.to_string())),
        ("seed", all(&|header| header.settings.seed.to_string())),
        (
            "tests",
            format!(
                "{n_done} in {} visits, of {} and {}",
                record.segments.len(),
                span(settings.short),
                span(settings.long)
            ),
        ),
        (
            "schedule",
            format!(
                "loads run {} before the first test; {} or more between two tests; readings every {}",
                span(settings.warm_up),
                span(settings.rest),
                span(settings.step)
            ),
        ),
        ("probes", format!("{} every {}", span(settings.probe_for), span(settings.probe_every))),
        ("busy before", all(&|header| format!("{:.1} % of all cores", 100.0 * header.busy_before))),
        ("published", "of six hosts in 1998: Wolski, Spring and Hayes, technical report CS98-602 of UCSD".to_owned()),
    ]
}

fn warnings(record: &Record) -> Vec<String> {
    let header = &record.header;
    let mut warnings = Vec::new();
    if header.settings.is_quick {
        warnings.push("a rehearsal (--quick): its tests are too short for its figures to mean much".to_owned());
    }
    let busy_before = record.headers().map(|header| header.busy_before).fold(0.0, f64::max);
    if busy_before > BUSY_MAX {
        warnings.push(format!(
            "the host was busy to {:.0} % before any load was made; what else ran is in all figures",
            100.0 * busy_before
        ));
    }
    if record.is_torn {
        warnings.push("the last line of the journal was torn, and is left out".to_owned());
    }
    for (scenario, reason) in &record.skipped {
        warnings.push(format!("{scenario} was left out: {reason}"));
    }
    let mut failures: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    record.failures().for_each(|failure| *failures.entry(failure).or_default() += 1);
    for ((scenario, reason), n) in failures {
        let tests = if n == 1 { "1 test".to_owned() } else { format!("{n} tests") };
        warnings.push(format!("{tests} of {scenario} failed, and count for nothing: {reason}"));
    }
    warnings
}

impl Report {
    /// A line for each cell: `table,source,row,kind,column,value,n,need`. Values are shares and not percent.
    fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "table,source,row,kind,column,value,n,need")?;
        for table in &self.tables {
            for row in &table.rows {
                for (column, cell) in table.columns.iter().zip(&row.cells) {
                    let Some((value, n, need)) = csv_cell(*cell) else { continue };
                    let source = source_name(row.source);
                    let kind = row.heads.get(1).map_or("", String::as_str);
                    writeln!(out, "{},{source},{},{kind},{column},{value},{n},{need}", table.number, row.heads[0])?;
                }
            }
        }
        Ok(())
    }
}

fn source_name(source: Source) -> &'static str {
    match source {
        Source::Published => "published",
        Source::Scenario | Source::Total => "measured",
    }
}

/// Value, number of observations and how many are needed, each empty where there is none. No cell holds a comma.
fn csv_cell(cell: Cell) -> Option<(String, String, String)> {
    let count = |n: Option<usize>| n.map_or_else(String::new, |n| n.to_string());
    match cell {
        Cell::Percent { share: value, n } | Cell::Number { value, n, .. } => {
            Some((value.to_string(), count(n), String::new()))
        }
        Cell::TooFew { need, have } => Some((String::new(), have.to_string(), need.to_string())),
        Cell::Constant { n } => Some((String::new(), n.to_string(), String::new())),
        Cell::Blank => None,
    }
}
