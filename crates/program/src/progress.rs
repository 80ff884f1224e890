//! When to say how far a long run is: at once where it has only begun, then every few seconds.

use std::time::{Duration, Instant};

/// Seldom enough for a log file, often enough for whoever waits.
const BETWEEN: Duration = Duration::from_secs(2);

/// Says now and then what share is done and what is left.
#[derive(Debug)]
pub struct Progress {
    start: Instant,
    said: Option<Instant>,
}

impl Progress {
    /// Starts the progress of a run that starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { start: clock::instant(), said: None }
    }

    /// A line such as `phase two: 40 of 1,000 cycles (4 %), about 12 s left`, or nothing if the last one was a moment
    /// ago.
    pub fn line(&mut self, now: Instant, what: &str, done: u64, total: u64) -> Option<String> {
        if self.said.is_some_and(|said| now - said < BETWEEN) {
            return None;
        }
        self.said = Some(now);
        Some(line(what, done, total, now - self.start))
    }
}

fn line(what: &str, done: u64, total: u64, spent: Duration) -> String {
    let share = if total == 0 { 1.0 } else { done as f64 / total as f64 };
    let left = if share > 0.0 && share < 1.0 {
        format!(", about {:.0} s left", spent.as_secs_f64() * (1.0 - share) / share)
    } else {
        String::new()
    };
    format!("{what}: {done} of {total} ({:.0} %){left}", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_goes_by_what_was_spent() {
        assert_eq!(line("polling", 25, 100, Duration::from_secs(10)), "polling: 25 of 100 (25 %), about 30 s left");
        assert_eq!(line("polling", 0, 100, Duration::from_secs(10)), "polling: 0 of 100 (0 %)");
        assert_eq!(line("polling", 3, 3, Duration::from_secs(10)), "polling: 3 of 3 (100 %)");
    }

    #[test]
    fn a_second_line_waits_its_turn() {
        let now = clock::instant();
        let mut progress = Progress { start: now, said: None };
        assert!(progress.line(now, "work", 1, 3).is_some());
        assert!(progress.line(now + BETWEEN / 2, "work", 2, 3).is_none());
        assert!(progress.line(now + BETWEEN, "work", 2, 3).is_some());
    }
}
