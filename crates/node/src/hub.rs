//! The hub: where the sampler puts its ticks, and where everybody asks.
//!
//! One lock holds the engine. A tick holds it for a fraction of a millisecond; a question takes a copy of what it
//! needs and computes outside.

mod ahead;
mod feed_history;
mod forecasts;
pub(crate) mod health;
mod history;
mod listeners;
mod outlook;
mod past;
mod processes;
mod pushed;
mod rules;
mod run_time;
mod series;
mod warnings;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use signal::{Readings, Selection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};
use units::Timestamp;
use watch::Watch;

pub(crate) use self::ahead::{Ahead, Aheads};
pub(crate) use self::forecasts::{Bounds, GAUGE_HORIZONS, Gauge, Metric};
pub(crate) use self::health::Counters;
pub(crate) use self::history::TimeRange;
pub(crate) use self::listeners::{Listeners, RemoteCounters};
pub(crate) use self::outlook::Asked;
pub(crate) use self::past::Pasts;
pub(crate) use self::run_time::Job;
pub(crate) use self::series::found;
pub(crate) use self::warnings::Acknowledged;
pub(crate) use crate::error::QueryError;

use clock::Clock;

use self::health::Pulse;
use crate::api;
use crate::catch_up::Progress;
use crate::config::OutlookSettings;
use crate::engine::{Engine, Entry, FeedPlan, Next};
use crate::fitter;
use crate::processes::HostProcesses;
use crate::schedule::Due;
use crate::store::{Batch, Moment, Store};
use crate::warnings::{Exhaustions, Lookout};

/// Ticks that a slow reader may lag behind before it misses some.
const TICKS_KEPT: usize = 64;

/// The most readers of events at once.
pub(crate) const READERS_MAX: usize = 256;

/// Samples that arrived at one moment.
#[derive(Debug)]
pub(crate) struct Tick {
    /// Their label.
    pub(crate) time: Timestamp,
    /// The step of their series.
    pub(crate) step: Duration,
    /// Series and values, NaN for a gap.
    pub(crate) values: Vec<(Arc<str>, f64)>,
}

/// Facts that stay the same while a node runs.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) info: api::NodeInfo,
    pub(crate) absent: Vec<api::Absent>,
    /// A sensor's series that was silent for longer is forgotten.
    pub(crate) patience: Duration,
    pub(crate) select: Selection,
    pub(crate) outlooks: OutlookSettings,
    /// The time from one tick of the host to the next.
    pub(crate) step: Duration,
    pub(crate) watch: Watch,
    /// Monotonic time at start.
    pub(crate) began: Duration,
}

impl Facts {
    /// Returns the selection of signals of the host, or of a feed that has these. A feed was asked for by itself, so
    /// that globs which do not name it do not silence it.
    pub(crate) fn select_of<'a>(
        &'a self,
        feed: Option<&FeedPlan>,
        ids: impl Iterator<Item = &'a str>,
    ) -> impl Fn(&str) -> bool + 'a {
        let is_limited = feed.is_none() || self.select.names_any(ids);
        move |id| if is_limited { self.select.takes(id) } else { !self.select.leaves_out(id) }
    }
}

/// Goes to the store when it is dropped, also by a panic in the middle of a tick: what the engine has taken is stored,
/// so that a series that was added has its name there.
struct Handover<'a> {
    store: &'a Store,
    batch: Batch,
}

impl Drop for Handover<'_> {
    fn drop(&mut self) {
        self.store.put(std::mem::take(&mut self.batch));
    }
}

/// Shared by everything that runs in a node, and owner of nothing that runs.
pub(crate) struct Hub {
    facts: Facts,
    clock: Arc<dyn Clock>,
    engine: Arc<Mutex<Engine>>,
    pulse: Mutex<Pulse>,
    /// Pulses of the feeds that have ticked.
    pulses_of_feeds: Mutex<BTreeMap<Arc<str>, Pulse>>,
    store: Store,
    processes: HostProcesses,
    ticks: broadcast::Sender<Arc<Tick>>,
    /// Places of the readers of events.
    places: Arc<Semaphore>,
    listeners: Listeners,
    board: Mutex<warnings::Board>,
    /// The outlooks of rules: whoever asks a rule's question is answered from the same one.
    lookout: Mutex<Lookout>,
    exhaustions: Mutex<Exhaustions>,
    book: Mutex<rules::Book>,
}

impl Hub {
    pub(crate) fn new(
        facts: Facts,
        clock: Arc<dyn Clock>,
        engine: Arc<Mutex<Engine>>,
        store: Store,
        processes: HostProcesses,
        listeners: Listeners,
    ) -> Self {
        let (ticks, _) = broadcast::channel(TICKS_KEPT);
        let behind: Vec<_> = {
            let engine = engine.lock().unwrap_or_else(PoisonError::into_inner);
            let entries = engine.entries().filter(|entry| !entry.is_current());
            entries.map(|entry| Arc::clone(&entry.about.id)).collect()
        };
        let hub = Self {
            facts,
            clock,
            engine,
            pulse: Mutex::default(),
            pulses_of_feeds: Mutex::default(),
            store,
            processes,
            ticks,
            places: Arc::new(Semaphore::new(READERS_MAX)),
            listeners,
            board: Mutex::default(),
            lookout: Mutex::default(),
            exhaustions: Mutex::default(),
            book: Mutex::default(),
        };
        hub.let_catch_up(behind);
        hub
    }

    /// Returns the description of this node.
    pub(crate) fn info(&self) -> api::NodeInfo {
        self.facts.info.clone()
    }

    /// The last [`TICKS_KEPT`] ticks and all that follow, as they come.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<Tick>> {
        self.ticks.subscribe()
    }

    /// A place for one more reader of events, unless all are taken.
    pub(crate) fn take_reader_place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// This moment as labels count it: wall time, or the last label where the wall clock was set back behind it.
    pub(crate) fn now(&self) -> Timestamp {
        let wall = self.clock.wall();
        self.pulse().last_label.map_or(wall, |label| label.max(wall))
    }

    /// Takes what the host's sensors, or those of a feed, read at a deadline.
    pub(crate) fn take_tick(&self, feed: Option<&FeedPlan>, due: Due, readings: &Readings) {
        let now = due.label.min(self.clock.wall());
        // Time goes by the host's ticks, whatever the steps of feeds are.
        let tick = feed.is_none().then_some(Moment { label: due.label, now });
        let mut writing = Handover { store: &self.store, batch: Batch { tick, ..Batch::default() } };
        // The host's ticks go out as streams; those of feeds are others' to send.
        let is_sent = feed.is_none() && !self.listeners.outlets.is_empty();
        let select = self.facts.select_of(feed, readings.iter().map(|(signal, _)| &**signal.id()));
        let name = feed.map(|feed| &*feed.name);
        let mut engine = self.engine();
        readings.gone().iter().for_each(|signal| engine.forget(name, signal.id(), &mut writing.batch));
        for (signal, value) in readings {
            if engine.measures(signal.id()) || select(signal.id()) {
                engine.take_reading(feed, due.label, (signal, value), &mut writing.batch);
            }
        }
        engine.finish_tick(name, due.label, self.facts.patience, &mut writing.batch);
        let has_readers = is_sent || self.ticks.receiver_count() > 0 || !self.listeners.remotes.is_empty();
        let values = if has_readers { engine.values_of(name) } else { Vec::new() };
        let step = feed.map_or(engine.sensor_plan(), |feed| &feed.plan).step;
        let fits = engine.take_tasks();
        let behind = engine.take_behind();
        drop(engine);
        self.fit(fits);
        drop(writing);
        self.let_catch_up(behind);
        if is_sent {
            self.send(due.label, &values);
        }
        let tick = Arc::new(Tick { time: due.label, step, values });
        self.offer(&tick);
        self.publish(tick);
    }

    /// Lets the models of these series take what they are behind with: now where nobody does it beside, soon otherwise.
    pub(crate) fn let_catch_up(&self, behind: Vec<Arc<str>>) {
        for id in behind {
            match &self.listeners.bell {
                Some(bell) => bell.ring(id),
                None => while self.catch_up(&id) == Progress::More {},
            }
        }
    }

    /// Lets the model of a series take a piece of what it is behind with. Readers of events hear of pushed samples
    /// here, when there is a forecast from them to tell.
    pub(crate) fn catch_up(&self, id: &str) -> Progress {
        let (mut batch, mut news) = (Batch::default(), Vec::new());
        let mut engine = self.engine();
        let next = engine.catch_up(id, &mut batch, &mut news);
        let (full_id, step) = engine.get(id).map(|entry| (Arc::clone(&entry.about.id), entry.about.step)).unzip();
        // Nobody waits for the fit that is due after the last sample.
        let (fit, progress) = match next {
            Next::Fit(task) => (full_id.clone().map(|id| (id, task)), Progress::More),
            Next::Wait => (None, Progress::Waits),
            Next::More => (None, Progress::More),
            Next::Done => (engine.take_task_of(id), Progress::Done),
        };
        drop(engine);
        if !batch.is_empty() {
            self.store.put(batch);
        }
        for (time, value) in news {
            let (Some(id), Some(step)) = (&full_id, step) else { break };
            self.publish(Arc::new(Tick { time, step, values: vec![(Arc::clone(id), value)] }));
        }
        self.fit(fit.into_iter().collect());
        progress
    }

    /// Returns when the model of this series has taken all its samples.
    pub(crate) async fn caught_up(&self, id: &str) {
        let Some(bell) = &self.listeners.bell else { return };
        loop {
            let progress = bell.progress();
            if self.engine().get(id).is_none_or(Entry::is_current) {
                return;
            }
            progress.await;
        }
    }

    /// Saves the states of all series; what is behind is replayed from the state before.
    pub(crate) fn save_states(&self) {
        let states = self.engine().states();
        self.store.put(Batch { states, ..Batch::default() });
    }

    fn publish(&self, tick: Arc<Tick>) {
        // Without a reader there is nobody to tell.
        let _ = self.ticks.send(tick);
    }

    fn fit(&self, fits: Vec<fitter::Due>) {
        if fits.is_empty() {
            return;
        }
        if let Some(queue) = &self.listeners.fits {
            let refused = queue.put(fits);
            if !refused.is_empty() {
                tracing::warn!(n = refused.len(), "fits wait, because those before them are not done");
                let mut engine = self.engine();
                refused.iter().for_each(|(id, _)| engine.cancel_task(id));
            }
            return;
        }
        for (id, task) in fits {
            let done = task.run();
            self.engine().install(&id, done);
        }
    }

    fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pulses_of_feeds(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Pulse>> {
        self.pulses_of_feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pulse(&self) -> MutexGuard<'_, Pulse> {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown(id: &str) -> QueryError {
    QueryError::UnknownSeries { id: id.to_owned() }
}

#[cfg(test)]
mod feeds_tests;
#[cfg(test)]
mod tests;
