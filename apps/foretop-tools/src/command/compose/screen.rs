//! The live view of a system: a row for each component.

use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use compose::{ComponentStatus, State};
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Row, Table};
use text::{figure, printable};

use super::report::word;
use super::{End, Running};
use command_line::terminal::{Screen, wants_colour};

/// Figures come once a second, and nobody reads them more often.
const FRAME: Duration = Duration::from_millis(250);

const NOTHING: &str = "-";

/// Shows the components until somebody has seen enough.
pub fn run(running: &mut Running, file: &Path, logs: &Path) -> anyhow::Result<End> {
    let mut screen = Screen::open()?;
    let title = printable(&format!("{}   logs in {}", file.display(), logs.display()));
    loop {
        let status = running.status();
        screen.draw(|frame| draw(frame, &title, &status)).context("cannot draw on the terminal")?;
        if let Some(end) = running.look() {
            return Ok(end);
        }
        if is_quit().context("cannot read the terminal")? {
            return Ok(End::Asked);
        }
    }
}

/// Waits for a key, for one frame.
fn is_quit() -> io::Result<bool> {
    if !event::poll(FRAME)? {
        return Ok(false);
    }
    Ok(match event::read()? {
        Event::Key(key) if key.is_press() => {
            let is_interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            is_interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
        }
        _ => false,
    })
}

fn draw(frame: &mut Frame<'_>, title: &str, status: &[ComponentStatus]) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let dim = Style::new().add_modifier(Modifier::DIM);
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)]).areas(frame.area());
    let n_up = status.iter().filter(|one| one.state == State::Running).count();
    frame.render_widget(Line::styled(format!("foretop compose  {title}"), bold), head);
    let names =
        ["COMPONENT", "RUNS", "STATE", "IN/s", "OUT/s", "BACKLOG", "DROPPED", "RESTARTS", "LATENCY", "LAST ERROR"];
    let widths = [
        Constraint::Length(16),
        Constraint::Length(15),
        Constraint::Length(9),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(10),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(12),
        Constraint::Min(10),
    ];
    let table = Table::new(status.iter().map(row), widths).header(Row::new(names).style(dim));
    frame.render_widget(table, body);
    frame.render_widget(Line::styled(format!("{n_up} of {} running   q stops all", status.len()), dim), foot);
}

fn row(status: &ComponentStatus) -> Row<'static> {
    let rate = |rate: Option<f64>| rate.map_or_else(|| NOTHING.to_owned(), |rate| format!("{rate:.1}"));
    let short = match status.state {
        State::Waiting => "waiting",
        state => word(state),
    };
    let cells = [
        printable(&status.component),
        printable(&status.run),
        short.to_owned(),
        rate(status.in_per_second),
        rate(status.out_per_second),
        figure::format_short(status.backlog_bytes as f64, "bytes"),
        status.dropped.to_string(),
        status.restarts.to_string(),
        status.latency.as_deref().map_or_else(|| NOTHING.to_owned(), printable),
        status.error.as_deref().map(printable).unwrap_or_default(),
    ];
    let row = Row::new(cells.map(Cell::from));
    match status.state {
        State::Waiting | State::Failed => row.style(alarm()),
        State::Starting | State::Running | State::Done => row,
    }
}

fn alarm() -> Style {
    if wants_colour() { Style::new().fg(Color::Red) } else { Style::new().add_modifier(Modifier::BOLD) }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    #[test]
    fn a_row_says_how_a_component_is_and_nothing_that_a_terminal_would_obey() {
        let status = ComponentStatus {
            component: "pred".to_owned(),
            run: "pred-server".to_owned(),
            state: State::Waiting,
            pid: None,
            restarts: 3,
            in_per_second: Some(10.04),
            out_per_second: None,
            backlog_bytes: 2048,
            dropped: 7,
            latency: None,
            error: Some("ended\x1b[2J".to_owned()),
        };
        let mut terminal = Terminal::new(TestBackend::new(130, 4)).unwrap();
        terminal.draw(|frame| draw(frame, "a.toml", &[status])).unwrap();
        let lines: Vec<String> = terminal.backend().to_string().lines().map(str::to_owned).collect();
        for word in ["pred-server", "waiting", "10.0", "ended\u{fffd}[2J", " 3 ", " 7 "] {
            assert!(lines[2].contains(word), "`{word}` is not in: {}", lines[2]);
        }
        assert!(lines[3].contains("0 of 1 running"));
    }
}
