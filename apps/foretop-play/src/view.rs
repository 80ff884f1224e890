//! The display and the keys of a listener.

use std::io::{self, Write};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal;

use playback::stretch::Tier;

use crate::moment::{Moment, Request};

/// Steps of keys.
const SPEED_STEP: f64 = 0.05;
const SEEK_SECONDS: f64 = 10.0;
const VOLUME_STEP: f32 = 1.25;

/// A moment as a line of CSV, or the names of the columns.
pub fn moment_csv(moment: Option<&Moment>) -> String {
    let Some(moment) = moment else {
        return "seconds,media_seconds,arrival_rate,buffer_seconds,requested_rate,rate,mean_rate,cause,until_break_seconds,least_rate,expected_rate,greatest_rate,breaks,ahead_seconds,processor_rate,tier,late"
            .to_owned();
    };
    let or_nothing = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
    let forecast = moment.forecast;
    format!(
        "{:.2},{:.3},{:.4},{:.3},{:.3},{:.3},{:.4},{},{},{},{},{},{},{:.3},{},{},{}",
        moment.wall_seconds,
        moment.media_seconds,
        moment.arrival_rate,
        moment.buffer_seconds,
        moment.requested_rate,
        moment.rate,
        moment.mean_rate,
        moment.cause.unwrap_or_default(),
        or_nothing(moment.until_break_seconds),
        or_nothing(forecast.map(|forecast| forecast.0)),
        or_nothing(forecast.map(|forecast| forecast.1)),
        or_nothing(forecast.map(|forecast| forecast.2)),
        moment.n_breaks,
        moment.ahead_seconds,
        or_nothing(moment.processor_rate),
        moment.tier.map_or("", tier_name),
        moment.n_late,
    )
}

/// Returns the way in which sound is stretched, for people.
fn tier_words(tier: Tier) -> &'static str {
    match tier {
        Tier::Full => "by full search",
        Tier::Coarse => "by coarse search",
        Tier::Plain => "without search",
        Tier::None => "not at all",
    }
}

fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::Full => "full",
        Tier::Coarse => "coarse",
        Tier::Plain => "plain",
        Tier::None => "none",
    }
}

/// A moment in a line of at most `width` characters: what matters most comes first, and what does not fit is left out.
pub fn line(moment: &Moment, width: usize) -> String {
    let clock = |seconds: f64| format!("{}:{:02}", (seconds / 60.0) as u64, (seconds % 60.0) as u64);
    let state = match (moment.is_paused, moment.rate > 0.0) {
        (true, _) => "paused",
        (false, true) => "plays",
        (false, false) => "waits",
    };
    let length = moment.length_seconds.map_or(String::new(), |length| format!("/{}", clock(length)));
    let rate = if moment.rate > 0.0 { moment.rate } else { moment.requested_rate };
    let cause = match moment.cause {
        None | Some("listener") => String::new(),
        Some(cause) => format!(" (asked {:.2}; {cause})", moment.requested_rate),
    };
    let wall =
        moment.start_up_seconds.map_or(String::new(), |start| format!(" in {}", clock(moment.wall_seconds - start)));
    let mut line = format!("{state} {}{length}{wall}  rate {rate:.2}{cause}", clock(moment.media_seconds));
    let breaks = match moment.n_breaks {
        1 => "1 break".to_owned(),
        n => format!("{n} breaks"),
    };
    let then = moment.forecast.map_or(String::new(), |(_, expected, _)| format!(", then {expected:.2}"));
    // A forecast whose error was not checked yet has no band.
    let band = moment.forecast.filter(|(least, _, greatest)| least < greatest);
    let more = [
        moment.until_break_seconds.map(|seconds| format!("break in {seconds:.0} s")),
        Some(format!("buffer {:.1} s", moment.buffer_seconds)),
        Some(format!("arrives {:.2}{then}", moment.arrival_rate)),
        Some(breaks),
        Some(format!("mean rate {:.2}", moment.mean_rate)),
        band.map(|(least, _, greatest)| format!("arrival {least:.2} to {greatest:.2}")),
        moment.tier.filter(|tier| *tier != Tier::Full).map(|tier| format!("stretched {}", tier_words(tier))),
        Some(moment.n_late).filter(|n_late| *n_late > 0).map(|n_late| format!("late {n_late} times")),
    ];
    for part in more.into_iter().flatten() {
        if line.chars().count() + 2 + part.chars().count() <= width {
            line = format!("{line}  {part}");
        }
    }
    line
}

/// The terminal, as long as it is asked for keys.
pub struct Keys {
    is_open: bool,
}

impl Keys {
    /// Takes the terminal, if there is one that lets itself be asked.
    pub fn open(is_wanted: bool) -> Self {
        let keys = Self { is_open: is_wanted && terminal::enable_raw_mode().is_ok() };
        if keys.is_open {
            keys.write("space pause   [ ] slower, faster   left, right 10 s   up, down volume   q end\r\n");
        }
        keys
    }

    /// Whether there are keys to press.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Shows this moment in place of the last one.
    pub fn show(&self, moment: &Moment) {
        let width = terminal::size().map_or(80, |(width, _)| usize::from(width));
        self.write(&format!("\r\x1b[2K{}", line(moment, width.saturating_sub(1))));
    }

    /// Returns the request of the pressed key, if any.
    pub fn pressed(&self) -> Option<Request> {
        if !self.is_open || !event::poll(Duration::ZERO).ok()? {
            return None;
        }
        let Event::Key(key) = event::read().ok()? else { return None };
        if key.kind != KeyEventKind::Press {
            return None;
        }
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Request::Quit),
            KeyCode::Char('q') | KeyCode::Esc => Some(Request::Quit),
            KeyCode::Char(' ') => Some(Request::Pause),
            KeyCode::Char('[') => Some(Request::Speed(-SPEED_STEP)),
            KeyCode::Char(']') => Some(Request::Speed(SPEED_STEP)),
            KeyCode::Left => Some(Request::Seek(-SEEK_SECONDS)),
            KeyCode::Right => Some(Request::Seek(SEEK_SECONDS)),
            KeyCode::Up => Some(Request::Volume(VOLUME_STEP)),
            KeyCode::Down => Some(Request::Volume(1.0 / VOLUME_STEP)),
            _ => None,
        }
    }

    fn write(&self, text: &str) {
        let mut err = io::stderr().lock();
        // Nothing is lost when the terminal is gone.
        let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if self.is_open {
            // What cannot be put back will be by whoever owns the terminal.
            let _ = terminal::disable_raw_mode();
            self.write("\r\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_matters_and_fits() {
        let moment = Moment {
            media_seconds: 62.0,
            length_seconds: Some(600.0),
            rate: 0.93,
            requested_rate: 1.0,
            mean_rate: 0.95,
            cause: Some("network"),
            buffer_seconds: 4.66,
            arrival_rate: 0.9,
            forecast: Some((0.85, 0.91, 0.97)),
            n_breaks: 1,
            ..Moment::default()
        };
        let narrow = "plays 1:02/10:00  rate 0.93 (asked 1.00; network)  buffer 4.7 s  1 break";
        assert_eq!(line(&moment, 79), narrow);
        let wide = line(&moment, 200);
        assert!(wide.ends_with("arrives 0.90, then 0.91  1 break  mean rate 0.95  arrival 0.85 to 0.97"), "{wide}");
    }
}
