//! The system for those without a screen: a line when something changes, or JSON each second.

use std::io::Write;

use anyhow::Result;
use compose::{ComponentStatus, State};
use serde::Serialize;
use text::printable;
use units::Timestamp;

use super::{End, REPORT_EVERY, Running};

/// One line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    time: Timestamp,
    components: &'a [ComponentStatus],
}

/// A line of JSON each second.
pub fn json(running: &mut Running, out: &mut dyn Write) -> Result<End> {
    loop {
        let end = running.look_after(REPORT_EVERY);
        serde_json::to_writer(&mut *out, &Line { time: clock::now(), components: &running.status() })?;
        writeln!(out)?;
        out.flush()?;
        if let Some(end) = end {
            return Ok(end);
        }
    }
}

/// A line for each component whose state is another than before, or whose error is.
pub fn lines(running: &mut Running, out: &mut dyn Write) -> Result<End> {
    let mut before = Vec::new();
    loop {
        let end = running.look_after(REPORT_EVERY / 4);
        let status = running.status();
        for (idx, now) in status.iter().enumerate() {
            let is_known = before.get(idx).is_some_and(|before: &ComponentStatus| {
                (before.state, before.restarts, &before.error) == (now.state, now.restarts, &now.error)
            });
            if !is_known {
                writeln!(out, "{}", printable(&line(now)))?;
            }
        }
        out.flush()?;
        before = status;
        if let Some(end) = end {
            return Ok(end);
        }
    }
}

fn line(status: &ComponentStatus) -> String {
    let mut line = format!("{} ({}) {}", status.component, status.run, word(status.state));
    if status.restarts > 0 {
        line += &format!(", started again {} times", status.restarts);
    }
    if let Some(error) = &status.error {
        line += &format!(": {error}");
    }
    line
}

/// A state in a word.
pub fn word(state: State) -> &'static str {
    match state {
        State::Starting => "starting",
        State::Running => "running",
        State::Waiting => "waiting to start again",
        State::Done => "done",
        State::Failed => "failed",
    }
}
