//! The sampler: reads the host, or one feed, on deadlines, on a thread of its own.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use clock::Clock;
use signal::{Readings, Source};
use units::Timestamp;

use crate::engine::FeedPlan;
use crate::hub::Hub;
use crate::hub::health::Beat;
use crate::schedule::{Due, Schedule, Wake};

/// Reads a source when that is due.
pub(crate) struct Sampler {
    clock: Arc<dyn Clock>,
    schedule: Schedule,
    source: Box<dyn Source>,
    /// What the source is; `None` for the host itself.
    feed: Option<FeedPlan>,
    readings: Readings,
    hub: Arc<Hub>,
    past: Past,
}

/// Whether the source was asked for what was before the first tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Past {
    /// Not yet.
    Unasked,
    /// It could not tell, and is asked again.
    Unknown,
    /// It told, or knows nothing.
    Known,
}

impl Sampler {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        schedule: Schedule,
        source: Box<dyn Source>,
        feed: Option<FeedPlan>,
        hub: Arc<Hub>,
    ) -> Self {
        Self { clock, schedule, source, feed, readings: Readings::default(), hub, past: Past::Unasked }
    }

    /// Samples, if that is due. Gives how long there is nothing to do.
    pub(crate) fn poll(&mut self) -> Duration {
        if self.past == Past::Unasked {
            self.ask_for_past(self.schedule.next_label());
        }
        match self.schedule.poll(self.clock.monotonic(), self.clock.wall()) {
            Wake::Wait(span) => span,
            Wake::Sample(due) => {
                self.sample(due);
                Duration::ZERO
            }
        }
    }

    /// Asks the source of a feed for its history before `label`. A source that refuses to tell is not asked again.
    fn ask_for_past(&mut self, label: Timestamp) {
        let Some(feed) = &self.feed else {
            self.past = Past::Known;
            return;
        };
        let n_errors = self.source.n_errors();
        let Some(history) = self.source.history(feed.plan.step, label - feed.plan.step) else {
            self.past = Past::Unknown;
            return;
        };
        if let Some(problem) = self.source.last_error().filter(|_| self.source.n_errors() > n_errors) {
            tracing::warn!(feed = &*feed.name, problem, "history is not complete");
        }
        self.hub.take_history(feed, history);
        self.past = Past::Known;
    }

    fn sample(&mut self, due: Due) {
        let began = self.clock.monotonic();
        let n_errors = self.source.n_errors();
        if self.past == Past::Unknown {
            self.ask_for_past(due.label);
        }
        self.source.read(began, &mut self.readings);
        self.hub.take_tick(self.feed.as_ref(), due, &self.readings);
        let has_failed = self.source.n_errors() > n_errors;
        let beat = Beat {
            due,
            n_sensor_errors: self.source.n_errors(),
            sensor_problem: self.source.last_error().filter(|_| has_failed),
            took: self.clock.monotonic().saturating_sub(began),
        };
        self.hub.note(self.feed.as_ref().map(|feed| &feed.name), beat);
    }
}

/// The thread that a sampler runs on. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Pace {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Stop {
    is_asked: Mutex<bool>,
    changed: Condvar,
}

impl Pace {
    pub(crate) fn start(mut sampler: Sampler) -> io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let asked = Arc::clone(&stop);
        let name = if sampler.feed.is_some() { "feed" } else { "sampler" };
        let thread =
            thread::Builder::new().name(name.to_owned()).spawn(move || while !asked.wait(sampler.poll()) {})?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Asks the thread to end and does not wait, so that many can end side by side.
    pub(crate) fn ask_to_stop(&self) {
        *self.stop.is_asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.changed.notify_all();
    }
}

impl Drop for Pace {
    fn drop(&mut self) {
        self.ask_to_stop();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the sampler's thread panicked");
        }
    }
}

impl Stop {
    /// Waits for `span`, or until it is asked for. Says whether it is.
    fn wait(&self, span: Duration) -> bool {
        let is_asked = self.is_asked.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_asked, span, |is_asked| !*is_asked);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
