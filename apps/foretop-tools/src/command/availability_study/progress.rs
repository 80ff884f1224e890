//! Progress of a study: a line that is written over on a terminal, a line for each thing that happens elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use availability_study::{Event, Length, Outcome, Test};
use text::printable;
use units::span;

use super::whole_seconds;
use command_line::terminal::say;

/// Progress that is shown while a study runs.
pub struct Progress {
    is_terminal: bool,
    left: Duration,
    scenario: String,
    n_tests: usize,
    /// The test that runs, or ran last.
    doing: String,
    is_line_open: bool,
}

impl Progress {
    pub fn new(left: Duration) -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self { is_terminal, left, scenario: String::new(), n_tests: 0, doing: String::new(), is_line_open: false }
    }

    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Visit { visit, n_tests } => {
                (self.scenario, self.n_tests, self.doing) = (visit.scenario.clone(), *n_tests, "warming up".to_owned());
                self.line(&format!("{}, round {}: {n_tests} tests", visit.scenario, visit.round));
            }
            Event::Skipped { visit, reason } => self.line(&format!("{} is left out: {reason}", visit.scenario)),
            Event::Reading { left } => {
                self.left = *left;
                self.refresh();
            }
            Event::Started { number, test } => {
                self.doing = format!("test {number} of {}, {}", self.n_tests, described(*test));
                self.refresh();
            }
            Event::Ended { number, test, outcome } => {
                let what = format!("  test {number} of {}, {}: {}", self.n_tests, described(*test), said(outcome));
                self.line(&format!("{what}; {} left", span::format(whole_seconds(self.left))));
                self.doing = "resting".to_owned();
            }
        }
    }

    fn refresh(&mut self) {
        if self.is_terminal {
            let left = span::format(whole_seconds(self.left));
            let _ = write!(io::stderr(), "\r{}: {}; {left} left\x1b[K", printable(&self.scenario), self.doing);
            self.is_line_open = true;
        }
    }

    fn line(&mut self, text: &str) {
        self.close();
        say(text);
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.is_line_open) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.close();
    }
}

fn described(test: Test) -> String {
    let length = match test.length {
        Length::Short => "short",
        Length::Long => "long",
    };
    if test.n_threads == 1 { length.to_owned() } else { format!("{length}, {} threads", test.n_threads) }
}

fn said(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done(spun) => spun
            .marks
            .last()
            .map_or_else(String::new, |mark| format!("{:.3} cores", mark.used_seconds / mark.passed_seconds)),
        Outcome::Failed { reason } => format!("failed: {reason}"),
    }
}
