//! The sampler: reads the host, or one feed, on deadlines, on a thread of its own.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use signal::{Readings, Source};
use units::Timestamp;
use watch::{OnPanic, Stop, Thread, Watch};

use crate::engine::FeedPlan;
use crate::hub::Hub;
use crate::hub::health::Beat;
use crate::schedule::{Due, Schedule, Wake};

/// Reads a source when that is due.
pub(crate) struct Sampler {
    clock: Arc<dyn Clock>,
    schedule: Schedule,
    source: Box<dyn Source>,
    /// The feed of the source; `None` for the host itself.
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
        let n_errors_now = self.source.n_errors();
        let problem = self.source.last_error().filter(|_| n_errors_now > n_errors);
        // The first one, the second, the fourth and so on: one that comes at each tick must not fill the log.
        if let Some(problem) = problem.as_deref().filter(|_| n_errors_now.checked_ilog2() > n_errors.checked_ilog2()) {
            let source = self.feed.as_ref().map_or("this host", |feed| &*feed.name);
            tracing::warn!(source, n_errors = n_errors_now, problem, "a reading failed");
        }
        let beat = Beat {
            due,
            n_sensor_errors: n_errors_now,
            sensor_problem: problem,
            took: self.clock.monotonic().saturating_sub(began),
        };
        self.hub.note(self.feed.as_ref().map(|feed| &feed.name), beat);
    }
}

/// The threads of the samplers. When it is dropped, all of them end, side by side.
#[derive(Debug, Default)]
pub(crate) struct Running(Vec<Thread>);

/// Starts a thread for each sampler. A tick that panics is a gap, and the thread goes on with the next one that it can
/// make.
///
/// # Errors
/// When the system has no thread to give; those that were started have ended then.
pub(crate) fn start(samplers: Vec<Sampler>, watch: &Watch) -> io::Result<Running> {
    let mut running = Running::default();
    for mut sampler in samplers {
        let name = sampler.feed.as_ref().map_or_else(|| "sampler".to_owned(), |feed| format!("feed {}", feed.name));
        let work = move |stop: &Stop| while !stop.wait(sampler.poll()) {};
        running.0.push(Thread::start(watch, name, OnPanic::BeginAgain, work)?);
    }
    Ok(running)
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.iter().for_each(Thread::ask_to_end);
    }
}
