//! Progress of a run: a few lines that are written over on a terminal, a line now and then elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crossval::{Campaign, Progress};
use text::printable;
use units::span;

use command_line::terminal::say;

/// Models shown on a terminal.
const N_SHOWN: usize = 5;

/// Progress that is shown while a run goes on.
pub struct Display {
    campaign: Campaign,
    n_cases: u64,
    start: Instant,
    is_terminal: bool,
    n_lines_open: usize,
}

impl Display {
    /// Builds the display of a sitting in which `n_cases` are to be evaluated.
    pub fn new(campaign: Campaign, n_cases: u64) -> Self {
        Self { campaign, n_cases, start: clock::instant(), is_terminal: io::stderr().is_terminal(), n_lines_open: 0 }
    }

    /// Returns the time between two updates.
    pub fn period(&self) -> Duration {
        if self.is_terminal { Duration::from_millis(500) } else { Duration::from_secs(10) }
    }

    pub fn show(&mut self, progress: &Progress) {
        let line = line(progress, self.n_cases, self.start.elapsed());
        let standings = progress.standings(&self.campaign);
        if !self.is_terminal {
            let leader = standings.first().map_or_else(String::new, |best| format!("; {} wins most", best.family));
            return say(&format!("{line}{leader}"));
        }
        self.close();
        let rows = standings.iter().take(N_SHOWN);
        let rows = rows.map(|row| format!("  {:>5.1} % won  {}  ({} cases)", 100.0 * row.win_share, row.family, row.n));
        let lines: Vec<String> = std::iter::once(line).chain(rows).collect();
        for line in &lines {
            let _ = writeln!(io::stderr(), "{}\x1b[K", printable(line));
        }
        self.n_lines_open = lines.len();
    }

    /// Back to the first of the lines, with nothing below it.
    fn close(&mut self) {
        if self.n_lines_open > 0 {
            let _ = write!(io::stderr(), "\x1b[{}A\x1b[J", self.n_lines_open);
            self.n_lines_open = 0;
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.close();
    }
}

fn line(progress: &Progress, n_cases: u64, passed: Duration) -> String {
    let n_done = progress.n_done();
    let per_second = n_done as f64 / passed.as_secs_f64();
    let left = Duration::try_from_secs_f64((n_cases - n_done.min(n_cases)) as f64 / per_second);
    let left = left.map_or_else(|_| "?".to_owned(), |left| span::format(Duration::from_secs(left.as_secs() + 1)));
    let failed = if progress.n_failed() == 0 { String::new() } else { format!(", {} failed", progress.n_failed()) };
    format!("{n_done} of {n_cases} cases{failed}, {:.0} a minute, {left} left", 60.0 * per_second)
}
