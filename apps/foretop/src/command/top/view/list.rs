//! All signals, a line each.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use text::{figure, padded, shortened};

use super::super::row::Row;
use super::super::state::{Mode, Sort, State};
use super::palette::Palette;
use super::spark::{self, Scale};

/// Lines above the first signal.
pub const HEADER_HEIGHT: u16 = 1;
/// Columns of the longest name that is never cut, and of the longest one.
const NAME_WIDTHS: (usize, usize) = (16, 34);
/// A drawing of fewer characters shows nothing.
const DRAWING_MIN: usize = 8;
/// The head of the part of a drawing that looks ahead.
const AHEAD: &str = "AHEAD";
/// The width from which on there is room for air.
const WIDE: usize = 100;

/// The widths of the columns. What does not fit is left out: first the drawing, then the interval, then the mean.
struct Columns {
    name: usize,
    value: usize,
    bounds: usize,
    gap: &'static str,
    history: usize,
    ahead: usize,
    has_mean: bool,
    has_bounds: bool,
}

impl Columns {
    fn fit(width: usize, rows: &[&Row]) -> Self {
        // Room for `1023 KiB/s`, and for two values and a word between them.
        let (value, bounds, gap) = if width < WIDE { (11, 19, " ") } else { (12, 24, "  ") };
        let longest = rows.iter().map(|row| text::width(&row.name)).max().unwrap_or(0).clamp(6, NAME_WIDTHS.1);
        let least = longest.min(NAME_WIDTHS.0).min(width.saturating_sub(value + gap.len()));
        let mut rest = width.saturating_sub(least + gap.len() + value);
        let mut take = |wanted: usize| {
            let fits = rest >= wanted + gap.len();
            rest -= if fits { wanted + gap.len() } else { 0 };
            fits
        };
        let has_mean = take(value);
        let has_bounds = has_mean && take(bounds);
        let longer = (longest - least).min(rest);
        let drawing = Some(rest - longer).and_then(|rest| rest.checked_sub(gap.len()));
        let drawing = drawing.filter(|drawing| *drawing >= DRAWING_MIN).unwrap_or(0);
        // A third of the drawing looks ahead.
        let ahead = drawing / 3;
        Self { name: least + longer, value, bounds, gap, history: drawing - ahead, ahead, has_mean, has_bounds }
    }

    fn has_drawing(&self) -> bool {
        self.history > 0
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
    let Columns { name, value, bounds, gap, history, ahead, .. } = *columns;
    let mut text = format!("{:<name$}", format!("SIGNAL{}", mark(Sort::Name)));
    text += &format!("{gap}{:>value$}", format!("NOW{}", mark(Sort::Value)));
    if columns.has_drawing() {
        let drawing = history + ahead;
        let place = history.min(drawing.saturating_sub(AHEAD.len()));
        text += &format!("{gap}{:place$}{AHEAD:<rest$}", "", rest = drawing - place);
    }
    if columns.has_mean {
        text += &format!("{gap}{:>value$}", format!("IN {}s{}", tidy(seconds), mark(Sort::Change)));
    }
    if columns.has_bounds {
        text += &format!("{gap}{:>bounds$}", format!("95 % BETWEEN{}", mark(Sort::Uncertainty)));
    }
    Line::styled(text, palette.dim)
}

/// Seconds without the digits that a product of floats has and nobody wants.
fn tidy(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

fn line<'a>(row: &Row, lead: usize, columns: &Columns, palette: &Palette) -> Line<'a> {
    let Columns { name, value, bounds, gap, .. } = *columns;
    let history: Vec<f64> = row.history.iter().copied().collect();
    let seen = &history[history.len().saturating_sub(columns.history)..];
    let band = row.band();
    let scale = Scale::of(seen, &band, &row.unit);
    let show = |figure: f64| figure::format_short(figure, &row.unit);
    let now = shortened(&row.value().map_or_else(|| "-".to_owned(), show), value);
    let mut spans = vec![
        Span::styled(padded(&shortened(&row.name, name), name), palette.history),
        Span::styled(format!("{gap}{now:>value$}"), palette.heading),
    ];
    if columns.has_drawing() {
        spans.push(Span::styled(format!("{gap}{}", spark::history(seen, scale, columns.history)), palette.history));
        spans.push(Span::styled(spark::ahead(&band, scale, columns.ahead), palette.mean));
    }
    let ahead = row.ahead(lead);
    if columns.has_mean {
        let mean = ahead.map_or_else(String::new, |point| shortened(&show(point.mean), value));
        spans.push(Span::styled(format!("{gap}{mean:>value$}"), palette.mean));
    }
    if columns.has_bounds {
        let between = ahead.map_or_else(String::new, |point| between(&show(point.lower), &show(point.upper)));
        spans.push(Span::styled(format!("{gap}{:>bounds$}", shortened(&between, bounds)), palette.band));
    }
    Line::from(spans)
}

/// `1.59 … 4.41 tasks`: the unit once, where both have the same.
fn between(lower: &str, upper: &str) -> String {
    let figure = match (lower.split_once(' '), upper.split_once(' ')) {
        (Some((figure, unit)), Some((_, same))) if unit == same => figure,
        _ => lower,
    };
    format!("{figure} … {upper}")
}
