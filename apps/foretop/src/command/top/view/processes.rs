//! Programs, a line each, with what all others use.

use node_api::{ProcessFigures, ProcessOrder, ProcessRow};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use text::{figure, padded, printable, shortened};
use units::Moment;

use super::super::processes::ProcessPane;
use super::palette::Palette;

/// Columns of a figure: `1023 KiB/s` and a blank.
const FIGURE_WIDTH: usize = 12;

/// Lines that are no programs: the head, the names of the columns, all others, the short-lived.
const N_OTHER_LINES: u16 = 4;

pub fn draw(frame: &mut Frame<'_>, area: Rect, pane: &ProcessPane, palette: &Palette) {
    let width = usize::from(area.width);
    let mut lines = vec![head(pane, palette), columns(pane.sort, width, palette)];
    if let Some(table) = &pane.table {
        let n_rows = usize::from(area.height.saturating_sub(N_OTHER_LINES));
        let (rows, n_others, others) = ProcessPane::cut(table, n_rows);
        lines.extend(rows.iter().map(|row| line(&name(row), row.figures, width, palette)));
        if n_others > 0 {
            lines.push(line(&format!("({n_others} others)"), others, width, palette));
        }
        if let Some(cores) = table.short_lived_cores {
            let cpu = padded_figure(&figure::format_short(cores, "ratio"));
            let name = padded(&shortened("(lived shorter than a scan)", name_width(width)), name_width(width));
            lines.push(Line::from(vec![Span::styled(name, palette.dim), Span::styled(cpu, palette.heading)]));
        }
    }
    for (line, y) in lines.into_iter().zip(area.y..area.bottom()) {
        frame.render_widget(line, Rect { y, height: 1, ..area });
    }
}

/// The moment, and what is wrong.
fn head(pane: &ProcessPane, palette: &Palette) -> Line<'static> {
    let shown = pane.table.as_ref();
    let moment = match (pane.at, shown.filter(|table| table.span_seconds.is_some())) {
        (Some(_), Some(table)) => format!("minute from {}", table.time),
        (Some(Moment::At(time)), None) => format!("minute from {time}"),
        (Some(moment), None) => moment.to_string(),
        (None, _) => "now".to_owned(),
    };
    let number = shown.map_or_else(String::new, |table| {
        let left_out =
            if table.n_left_out > 0 { format!(", {} not read in time", table.n_left_out) } else { String::new() };
        format!("  {} processes{left_out}", table.n_processes)
    });
    let problem = pane.problem.as_ref().map(|problem| format!("  {}", printable(problem)));
    Line::from(vec![
        Span::styled(moment, palette.heading),
        Span::styled(number, palette.dim),
        Span::styled(problem.unwrap_or_default(), palette.alarm),
    ])
}

fn columns(sort: ProcessOrder, width: usize, palette: &Palette) -> Line<'static> {
    let mut text = padded(&shortened("PROGRAM", name_width(width)), name_width(width));
    for order in ProcessOrder::ALL {
        let mark = if order == sort { "↓" } else { "" };
        text += &padded_figure(&format!("{}{mark}", order.as_str().to_uppercase()));
    }
    Line::styled(text, palette.dim)
}

/// The name of a program, and the unit or container that it runs in.
fn name(row: &ProcessRow) -> String {
    let places = [&row.container, &row.unit].into_iter().flatten();
    let names: Vec<String> = [&row.name].into_iter().chain(places).map(|name| printable(name)).collect();
    names.join("  ")
}

fn line(name: &str, figures: ProcessFigures, width: usize, palette: &Palette) -> Line<'static> {
    let ProcessFigures { cpu_cores, memory_bytes, read_bytes_per_sec, written_bytes_per_sec } = figures;
    let show = |figure: Option<f64>, unit: &str| {
        padded_figure(&figure.map_or_else(|| "-".to_owned(), |figure| figure::format_short(figure, unit)))
    };
    let figures = [
        show(cpu_cores, "ratio"),
        show(Some(memory_bytes as f64), "bytes"),
        show(read_bytes_per_sec, "bytes/s"),
        show(written_bytes_per_sec, "bytes/s"),
    ];
    let name = padded(&shortened(name, name_width(width)), name_width(width));
    Line::from(vec![Span::styled(name, palette.history), Span::styled(figures.concat(), palette.heading)])
}

fn name_width(width: usize) -> usize {
    width.saturating_sub(ProcessOrder::ALL.len() * FIGURE_WIDTH).max(1)
}

fn padded_figure(text: &str) -> String {
    format!("{text:>FIGURE_WIDTH$}")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use units::Timestamp;

    use super::super::super::sample;
    use super::super::super::snapshot::to_text;
    use super::super::super::state::{Mode, State};
    use super::*;

    #[track_caller]
    fn check(state: &State, size: (u16, u16), expected: &Expect) {
        expected.assert_eq(&to_text(state, size.0, size.1).unwrap());
    }

    #[test]
    fn programs_of_a_minute_and_all_others() {
        let mut state = sample::state();
        state.mode = Mode::Processes;
        state.processes = sample::processes();
        state.processes.at = Some(Moment::At(Timestamp::from_nanos(1_700_000_040_000_000_000)));
        check(
            &state,
            (80, 24),
            &expect![[r#"
                foretop  db1  http://127.0.0.1:7311  live  every 1 s
                minute from 2023-11-14T22:14:00Z  312 processes
                PROGRAM                                 CPU↓      MEMORY        READ     WRITTEN
                postgres  postgresql.service         125.0 %    3.00 GiB  4.00 KiB/s  8.00 KiB/s
                a�[2Jb                                50.0 %    90.0 MiB           -           -
                node exporter with  a-service-w…       1.0 %    9.00 MiB       0 B/s       0 B/s
                (57 others)                            2.0 %    1.00 GiB       0 B/s       0 B/s
                (lived shorter than a scan)           34.0 %















                ← → minute   End now   c m r w sort   Esc signals   q quit
            "#]],
        );
    }

    #[test]
    fn lines_that_do_not_fit_are_among_the_others() {
        let mut state = sample::state();
        state.mode = Mode::Processes;
        state.processes = sample::processes();
        check(
            &state,
            (80, 8),
            &expect![[r#"
                foretop  db1  http://127.0.0.1:7311  live  every 1 s
                now  312 processes
                PROGRAM                                 CPU↓      MEMORY        READ     WRITTEN
                postgres  postgresql.service         125.0 %    3.00 GiB  4.00 KiB/s  8.00 KiB/s
                a�[2Jb                                50.0 %    90.0 MiB           -           -
                (58 others)                            3.0 %    1.01 GiB       0 B/s       0 B/s
                (lived shorter than a scan)           34.0 %
                ← → minute   End now   c m r w sort   Esc signals   q quit
            "#]],
        );
        for (width, height) in [(1, 1), (2, 30), (30, 2), (13, 5), (400, 100)] {
            to_text(&state, width, height).unwrap();
        }
    }
}
