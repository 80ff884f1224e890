//! A question with its answer: a table, a picture and what to conclude; and a page of many.

use document::{Block, heading, paragraph, to_html};
use picture::{Axis, Chart, Colour, Mark, Panel, Picture, Scale, Size};
use text::Table;

/// A question, with its answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// A few words.
    pub title: String,
    /// Conditions of the answer, and what is left out.
    pub conditions: String,
    /// Names of the columns; none where nothing could be measured.
    pub columns: Vec<String>,
    /// Rows, of as many cells each.
    pub rows: Vec<Vec<String>>,
    /// The conclusion.
    pub verdict: String,
    /// Pictures, and the names of their files without an ending.
    pub pictures: Vec<(String, Picture)>,
}

impl Answer {
    /// Builds an answer without figures, for this reason.
    #[must_use]
    pub fn left_out(title: &str, why: impl Into<String>) -> Self {
        Self { title: title.to_owned(), verdict: format!("left out: {}", why.into()), ..Self::default() }
    }

    /// Returns the answer as text for terminals.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { title, conditions, columns, rows, verdict, .. } = self;
        let mut text = format!("{title}\n");
        if !conditions.is_empty() {
            text += &format!("{conditions}\n");
        }
        if !columns.is_empty() {
            let mut table = Table::of_figures(columns);
            rows.iter().for_each(|row| table.row(row.clone()));
            text += &format!("\n{table}\n");
        }
        text + &format!("Verdict: {verdict}.\n")
    }
}

/// All answers on one HTML page, which needs nothing from elsewhere. `about` says where and with what, one line each.
#[must_use]
pub fn page(title: &str, about: &[String], answers: &[Answer]) -> String {
    let mut blocks = vec![heading(1, title)];
    blocks.extend(about.iter().map(paragraph));
    for Answer { title, conditions, columns, rows, verdict, pictures } in answers {
        blocks.push(heading(2, title));
        if !conditions.is_empty() {
            blocks.push(paragraph(conditions));
        }
        if !columns.is_empty() {
            blocks.push(Block::Table { header: columns.clone(), rows: rows.clone() });
        }
        blocks.push(paragraph(format!("Verdict: {verdict}.")));
        let pictures = pictures.iter().cloned();
        blocks.extend(pictures.map(|(_, picture)| Block::Picture { picture, words: title.clone() }));
    }
    to_html(title, &blocks)
}

/// Names of columns.
pub(crate) fn names(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|&name| name.to_owned()).collect()
}

pub(crate) const CHART: Size = Size { width: 760.0, height: 380.0 };

/// Lines with names.
pub struct Lines<'a> {
    /// A few words.
    pub title: &'a str,
    /// Instruction for reading the picture.
    pub caption: &'a str,
    /// Axis to the right.
    pub x: (&'a str, Scale),
    /// Axis upward.
    pub y: (&'a str, Scale),
    /// A name, and points.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

impl Lines<'_> {
    /// Draws the lines.
    #[must_use]
    pub fn picture(self) -> Picture {
        let points = || self.lines.iter().flat_map(|(_, points)| points);
        let colours = || Colour::APART.iter().copied().cycle();
        let chart = Chart {
            title: self.title.to_owned(),
            caption: self.caption.to_owned(),
            x: Axis::over(self.x.0, self.x.1, points().map(|point| point.0)),
            y: Axis::over(self.y.0, self.y.1, points().map(|point| point.1)),
            marks: self
                .lines
                .iter()
                .zip(colours())
                .map(|((_, line), colour)| Mark::Track(line.clone(), colour))
                .collect(),
        };
        let legend = self.lines.into_iter().map(|(name, _)| name).zip(colours()).collect();
        Panel { chart, legend }.picture(CHART)
    }
}
