//! All signals, a line each.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use text::figure;

use super::super::row::Row;
use super::super::state::{Mode, Sort, State};
use super::palette::Palette;
use super::spark::{self, Scale};

/// Lines above the first signal.
pub const HEADER_HEIGHT: u16 = 1;
/// Room for `1023 KiB/s`.
const VALUE_WIDTH: usize = 11;
/// Room for two values and a word between them.
const BOUNDS_WIDTH: usize = 24;
/// Longer names end in an ellipsis.
const NAME_WIDTH_MAX: usize = 34;
const GAP: &str = "  ";

/// How wide each column is. Columns that do not fit are left out, the last ones first.
struct Columns {
    name: usize,
    history: usize,
    ahead: usize,
    has_mean: bool,
    has_bounds: bool,
}

impl Columns {
    fn fit(width: usize, rows: &[&Row]) -> Self {
        let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let name = longest.clamp(6, NAME_WIDTH_MAX).min(width.saturating_sub(VALUE_WIDTH + GAP.len()));
        let mut rest = width.saturating_sub(name + GAP.len() + VALUE_WIDTH);
        let mut take = |wanted: usize, least_rest: usize| {
            let fits = rest >= wanted + GAP.len() + least_rest;
            rest -= if fits { wanted + GAP.len() } else { 0 };
            fits
        };
        let has_mean = take(VALUE_WIDTH, 16);
        let has_bounds = take(BOUNDS_WIDTH, 24);
        let drawing = rest.saturating_sub(GAP.len());
        // A third of the drawing looks ahead.
        let ahead = drawing / 3;
        Self { name, history: drawing - ahead, ahead, has_mean, has_bounds }
    }
}

pub fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: &Palette) {
    let rows = state.visible();
    let columns = Columns::fit(usize::from(area.width), &rows);
    let n_lines = usize::from(area.height.saturating_sub(HEADER_HEIGHT));
    let selected = state.selected.as_ref().map(|_| state.selected_idx());
    // The selected line is kept in sight, in the middle where that is possible.
    let first = selected.unwrap_or(0).saturating_sub(n_lines / 2).min(rows.len().saturating_sub(n_lines));
    let mut lines = vec![header(state, &columns, palette)];
    for (idx, row) in rows.iter().enumerate().skip(first).take(n_lines) {
        let line = line(row, state.lead(), &columns, palette);
        lines.push(if selected == Some(idx) { line.patch_style(palette.selected) } else { line });
    }
    if rows.is_empty() {
        lines.push(Line::styled(nothing(state), palette.dim));
    }
    for (line, y) in lines.into_iter().zip(area.y..area.bottom()) {
        frame.render_widget(line, Rect { y, height: 1, ..area });
    }
}

fn nothing(state: &State) -> &'static str {
    match (state.rows.is_empty(), state.mode) {
        (true, _) => "no signals yet",
        (false, Mode::Filter) => "no signal has this in its name",
        (false, _) => "no signal has the filter in its name; Esc clears it",
    }
}

fn header<'a>(state: &State, columns: &Columns, palette: &Palette) -> Line<'a> {
    let mark = |sort| match (state.sort == sort, state.is_reversed) {
        (false, _) => "",
        (true, false) => "↓",
        (true, true) => "↑",
    };
    let seconds = state.node.as_ref().map_or(1.0, |node| node.step_seconds) * state.lead() as f64;
    let mut text = format!(
        "{:<name$}{GAP}{:>VALUE_WIDTH$}",
        format!("SIGNAL{}", mark(Sort::Name)),
        format!("NOW{}", mark(Sort::Value)),
        name = columns.name
    );
    text += &format!("{GAP}{:<history$}{:<ahead$}", "", "AHEAD", history = columns.history, ahead = columns.ahead);
    if columns.has_mean {
        text += &format!("{GAP}{:>VALUE_WIDTH$}", format!("IN {}s{}", tidy(seconds), mark(Sort::Change)));
    }
    if columns.has_bounds {
        text += &format!("{GAP}{:>BOUNDS_WIDTH$}", format!("95 % BETWEEN{}", mark(Sort::Uncertainty)));
    }
    Line::styled(text, palette.dim)
}

/// Seconds without the digits that a product of floats has and nobody wants.
fn tidy(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

fn line<'a>(row: &Row, lead: usize, columns: &Columns, palette: &Palette) -> Line<'a> {
    let history: Vec<f64> = row.history.iter().copied().collect();
    let seen = &history[history.len().saturating_sub(columns.history)..];
    let band = row.band();
    let scale = Scale::of(seen, &band, &row.unit);
    let show = |value: f64| figure::format_short(value, &row.unit);
    let value = row.value().map_or_else(|| "-".to_owned(), show);
    let mut spans = vec![
        Span::styled(format!("{:<width$}", shortened(&row.name, columns.name), width = columns.name), palette.history),
        Span::styled(format!("{GAP}{value:>VALUE_WIDTH$}{GAP}"), palette.heading),
        Span::styled(spark::history(seen, scale, columns.history), palette.history),
        Span::styled(spark::ahead(&band, scale, columns.ahead), palette.mean),
    ];
    let ahead = row.ahead(lead);
    if columns.has_mean {
        let mean = ahead.map_or_else(String::new, |point| show(point.mean));
        spans.push(Span::styled(format!("{GAP}{mean:>VALUE_WIDTH$}"), palette.mean));
    }
    if columns.has_bounds {
        let bounds = ahead.map_or_else(String::new, |point| format!("{} … {}", show(point.lower), show(point.upper)));
        spans.push(Span::styled(format!("{GAP}{bounds:>BOUNDS_WIDTH$}"), palette.band));
    }
    Line::from(spans)
}

/// `name` in at most `width` characters.
fn shortened(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_owned();
    }
    name.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
