//! One frame as text, for scripts, screenshots and tests.

use std::convert::Infallible;

use node_api as api;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use serde::Serialize;

use super::state::State;
use super::view::{self, Palette};

/// The frame, a line for each line of the terminal, without the blanks at their ends.
pub fn to_text(state: &State, width: u16, height: u16) -> Result<String, Infallible> {
    let mut terminal = Terminal::new(TestBackend::new(width, height))?;
    terminal.draw(|frame| view::draw(frame, state, &Palette::plain()))?;
    let buffer = terminal.backend().buffer();
    let line = |row: &[Cell]| {
        // A wide character covers the cell after its own, too.
        let mut n_covered = 0;
        let is_shown = |cell: &&Cell| match n_covered {
            0 => {
                n_covered = text::width(cell.symbol()).saturating_sub(1);
                true
            }
            _ => {
                n_covered -= 1;
                false
            }
        };
        row.iter().filter(is_shown).map(Cell::symbol).collect::<String>()
    };
    let lines = buffer.content().chunks(usize::from(width)).map(line);
    Ok(lines.map(|line| format!("{}\n", line.trim_end())).collect())
}

/// The output of `--format json`. Specified in docs/formats/cli.md.
#[derive(Serialize)]
pub struct Snapshot<'a> {
    node: Option<&'a api::NodeInfo>,
    warnings: &'a [String],
    problems: &'a [String],
    series: Vec<Signal<'a>>,
}

#[derive(Serialize)]
struct Signal<'a> {
    id: &'a str,
    unit: &'a str,
    model: &'a str,
    step_seconds: f64,
    time: Option<units::Timestamp>,
    value: Option<f64>,
    forecast: Option<&'a api::LeadForecast>,
}

impl<'a> Snapshot<'a> {
    pub fn of(state: &'a State) -> Self {
        let signal = |row: &'a super::row::Row| Signal {
            id: &row.id,
            unit: &row.unit,
            model: &row.model,
            step_seconds: row.step_seconds,
            time: row.time,
            value: row.value(),
            forecast: row.forecast.as_ref(),
        };
        let series = state.visible().into_iter().map(signal).collect();
        Self { node: state.node.as_ref(), warnings: &state.warnings, problems: &state.problems, series }
    }
}
