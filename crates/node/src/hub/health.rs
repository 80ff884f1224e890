//! The health of the node: for people, for orchestrators, for metrics.

use std::sync::Arc;
use std::time::Duration;

use units::Timestamp;

use super::{Hub, READERS_MAX};
use crate::api;
use crate::outage::Outage;
use crate::schedule::Due;

/// Delay beyond its step after which the sampler counts as hanging: a busy machine stalls for seconds.
const HELD_UP_MAX: Duration = Duration::from_secs(10);

/// State of a sampler, as the sampler reports it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pulse {
    pub(super) last_label: Option<Timestamp>,
    behind: Duration,
    n_ticks: u64,
    n_missed: u64,
    n_sensor_errors: u64,
    sensor_problem: Option<String>,
    outage: Outage,
    took: Duration,
    /// Monotonic time of the last tick.
    at: Option<Duration>,
}

/// Figures of one tick.
#[derive(Debug)]
pub(crate) struct Beat {
    pub(crate) due: Due,
    /// Number of sensor errors since the node started.
    pub(crate) n_sensor_errors: u64,
    /// The problem at this tick.
    pub(crate) sensor_problem: Option<String>,
    /// Reading, stepping and forecasting.
    pub(crate) took: Duration,
}

/// Numbers for `/metrics`, totals since the node started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters {
    /// Time since the node started.
    pub(crate) up: Duration,
    /// Deadlines at which samples were taken.
    pub(crate) n_ticks: u64,
    /// Deadlines at which none were.
    pub(crate) n_missed_deadlines: u64,
    /// Steps of all series that have no sample.
    pub(crate) n_gaps: u64,
    /// Files, and answers of feeds, that could not be read or understood.
    pub(crate) n_sensor_errors: u64,
    /// Fits in REFIT that failed.
    pub(crate) n_fit_failures: u64,
    /// Whether the last write succeeded.
    pub(crate) store_ok: bool,
    /// Samples in memory that are still to be written.
    pub(crate) backlog_samples: u64,
    /// Samples given up.
    pub(crate) dropped_samples: u64,
    /// Duration of the last tick.
    pub(crate) tick_duration: Duration,
    /// Readers of events.
    pub(crate) n_event_readers: usize,
    /// Panics of threads, each of which was started again.
    pub(crate) n_thread_panics: u64,
    /// Lines of the log that could not be written.
    pub(crate) n_log_lines_lost: u64,
}

impl Pulse {
    fn note(&mut self, beat: Beat, now: Duration) {
        self.at = Some(now);
        self.last_label = Some(beat.due.label);
        self.behind = beat.due.behind;
        self.n_ticks += 1;
        self.n_missed += beat.due.n_missed;
        self.n_sensor_errors = beat.n_sensor_errors;
        self.sensor_problem = beat.sensor_problem;
        self.took = beat.took;
    }
}

impl Hub {
    /// Notes what a tick of the host, or of a feed, was like.
    pub(crate) fn note(&self, feed: Option<&Arc<str>>, beat: Beat) {
        let now = self.clock.monotonic();
        match feed {
            None => self.pulse().note(beat, now),
            Some(name) => {
                let mut pulses = self.pulses_of_feeds();
                let pulse = pulses.entry(Arc::clone(name)).or_default();
                pulse.outage.note(name, beat.sensor_problem.as_deref());
                pulse.note(beat, now);
            }
        }
    }

    /// Returns the health of the node.
    pub(crate) fn health(&self) -> api::Health {
        let (pulse, store) = (self.pulse().clone(), self.store.status());
        let mut problems = self.facts.watch.problems();
        if let Some(silence) = self.silence() {
            let silence = silence.as_secs();
            problems.push(format!("this host was not sampled for {silence} s: the sampler waits for the system"));
        }
        if let Some(problem) = &store.problem {
            let n = grouped(store.n_waiting as u64);
            problems.push(format!("the store cannot be written: {problem}; {n} samples are kept in memory"));
        }
        if store.n_dropped > 0 {
            let n = grouped(store.n_dropped);
            problems.push(format!("{n} samples were given up, because the store could not be written for too long"));
        }
        if !pulse.behind.is_zero() {
            let behind = pulse.behind.as_secs_f64();
            problems.push(format!(
                "the wall clock is {behind:.1} s behind the last sample, as if it was set back; samples are labelled ahead of it"
            ));
        }
        problems.extend(pulse.sensor_problem.map(|problem| format!("a sensor failed at the last tick: {problem}")));
        for (name, pulse) in self.pulses_of_feeds().iter() {
            problems.extend(pulse.sensor_problem.as_ref().map(|problem| format!("{name}: {problem}")));
        }
        problems.extend(self.problems_of_listeners());
        problems.extend(self.problems_of_warnings());
        let (n_waiting, n_series) = self.engine().n_behind();
        api::Health {
            catching_up: api::CatchingUp { samples: n_waiting as u64, series: n_series as u64 },
            status: if problems.is_empty() { api::Status::Ok } else { api::Status::Degraded },
            problems,
            absent: self.facts.absent.clone(),
            missed_deadlines: pulse.n_missed,
            store: api::StoreHealth {
                ok: store.problem.is_none(),
                backlog_samples: store.n_waiting as u64,
                dropped_samples: store.n_dropped,
            },
            clock_behind_seconds: pulse.behind.as_secs_f64(),
        }
    }

    /// Returns the time since the host was sampled last, if that is so long that the sampler must hang. A thread that
    /// is held up is not seen by its watch, which notices panics only.
    pub(crate) fn silence(&self) -> Option<Duration> {
        let last = self.pulse().at.unwrap_or(self.facts.began);
        let silence = self.clock.monotonic().saturating_sub(last);
        (silence > 3 * self.facts.step + HELD_UP_MAX).then_some(silence)
    }

    /// Whether the first tick is in; the store is open before there is a hub.
    pub(crate) fn readiness(&self) -> api::Readiness {
        let ready = self.pulse().n_ticks > 0;
        api::Readiness { ready, reason: (!ready).then(|| "no sample was taken yet".to_owned()) }
    }

    /// Numbers for `/metrics`.
    pub(crate) fn counters(&self) -> Counters {
        let (pulse, store) = (self.pulse().clone(), self.store.status());
        let totals = self.engine().totals();
        let n_feed_errors: u64 = self.pulses_of_feeds().values().map(|pulse| pulse.n_sensor_errors).sum();
        Counters {
            up: self.clock.monotonic().saturating_sub(self.facts.began),
            n_ticks: pulse.n_ticks,
            n_missed_deadlines: pulse.n_missed,
            n_gaps: totals.n_gaps,
            n_sensor_errors: pulse.n_sensor_errors + n_feed_errors,
            n_fit_failures: totals.n_fit_failures,
            store_ok: store.problem.is_none(),
            backlog_samples: store.n_waiting as u64,
            dropped_samples: store.n_dropped,
            tick_duration: pulse.took,
            n_event_readers: READERS_MAX - self.places.available_permits(),
            n_thread_panics: self.facts.watch.n_panics(),
            n_log_lines_lost: self.facts.watch.n_log_lines_lost(),
        }
    }
}

/// `1,200`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let texts = [0, 12, 123, 1200, 123_456, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "12", "123", "1,200", "123,456", "1,234,567"]);
    }
}
