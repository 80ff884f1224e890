//! All series of the node: what they are, and their forecasters.
//!
//! Knows no clock, no store and no thread: it takes samples, and says what is to be written of them.

pub(crate) mod about;
mod entry;
pub(crate) mod plan;
pub(crate) mod scored_live;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use predict::{Done, Forecast, Spec, Task};
use units::Timestamp;

use self::about::{About, Origin};
pub(crate) use self::entry::Entry;
use self::plan::Plan;
use self::scored_live::Counts;
use crate::store::{Batch, Saved};

/// Every series by its id.
#[derive(Debug)]
pub(crate) struct Engine {
    entries: BTreeMap<Arc<str>, Entry>,
    aliases: BTreeMap<&'static str, Arc<str>>,
    sensor_plan: Arc<Plan>,
    /// The plan of the host's signals of single cores.
    core_plan: Arc<Plan>,
    next_key: i64,
    /// Counts of series that are no longer there, so that totals never go back.
    forgotten: Counts,
    /// Series that fell behind since somebody asked.
    fell_behind: Vec<Arc<str>>,
    /// Room for a forecast, so that a tick allocates nothing.
    room: Forecast,
}

/// Steps that are made at once at most: a few milliseconds.
const STEPS_MAX: u64 = 32;

/// Number of pushed samples of which readers of events are told, the last ones. More would push the ticks of sensors
/// out of the ring that slow readers catch up from.
const NEWS_MAX: usize = 16;

/// A feed beside the host: what it is called, and what its series have in common.
#[derive(Clone, Debug)]
pub(crate) struct FeedPlan {
    pub(crate) name: Arc<str>,
    pub(crate) plan: Arc<Plan>,
}

/// The next action after a piece of a series' backlog.
#[derive(Debug)]
pub(crate) enum Next {
    /// This fit, and then more.
    Fit(Task),
    /// A fit that is out has to come back.
    Wait,
    More,
    Done,
}

/// The known part of a series whose past is to be replayed.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) about: About,
    /// The samples in memory, oldest first.
    pub(crate) known: Vec<(Timestamp, f64)>,
    pub(crate) counts: Counts,
    /// Whether it was not there before.
    pub(crate) is_new: bool,
}

impl Engine {
    /// Sensors' series have `step` and `spec`; keys are given from `next_key` on.
    pub(crate) fn new(spec: Spec, step: Duration, next_key: i64) -> Self {
        let sensor_plan = Arc::new(Plan::new(spec, step));
        Self {
            entries: BTreeMap::new(),
            aliases: BTreeMap::new(),
            core_plan: Arc::clone(&sensor_plan),
            sensor_plan,
            next_key,
            forgotten: Counts::default(),
            fell_behind: Vec::new(),
            room: Forecast::default(),
        }
    }

    /// The same with a plan of its own for the host's signals of single cores.
    pub(crate) fn with_core_plan(self, plan: Plan) -> Self {
        Self { core_plan: Arc::new(plan), ..self }
    }

    pub(crate) fn sensor_plan(&self) -> &Arc<Plan> {
        &self.sensor_plan
    }

    /// The plan of a signal of the host.
    pub(crate) fn plan_of(&self, signal: &signal::Signal) -> &Arc<Plan> {
        if signal.family().label_name() == Some("core") { &self.core_plan } else { &self.sensor_plan }
    }

    /// The series called `id`, or that `id` is the short name of.
    pub(crate) fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.get(self.aliases.get(id).map_or(id, |full| full))
    }

    /// Sensors in the order of their table, then pushed series.
    pub(crate) fn in_order(&self) -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = self.entries.values().collect();
        entries.sort_by_cached_key(|entry| entry.about.place());
        entries
    }

    /// Whether there is a sensor's series of this name.
    pub(crate) fn measures(&self, id: &str) -> bool {
        self.entries.get(id).is_some_and(|entry| !entry.about.is_pushed())
    }

    /// The last value of each series of a feed that is not gone, NaN in a gap; `None` stands for the host.
    pub(crate) fn values_of(&self, feed: Option<&str>) -> Vec<(Arc<str>, f64)> {
        let sensors = self.entries.values().filter(|entry| entry.about.is_fed_by(feed) && entry.is_awake());
        sensors.map(|entry| (Arc::clone(&entry.about.id), entry.last_value())).collect()
    }

    /// Returns the counts of all series since the node started.
    pub(crate) fn totals(&self) -> Counts {
        self.entries.values().fold(self.forgotten, |sum, entry| sum + entry.live.counts)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// A number for a series that is to be.
    pub(crate) fn take_key(&mut self) -> i64 {
        self.next_key += 1;
        self.next_key - 1
    }

    /// Puts in a series, in place of one of the same name.
    pub(crate) fn insert(&mut self, entry: Entry) {
        if let Origin::Sensor { signal, .. } = &entry.about.origin
            && let Some(alias) = signal.family().alias
        {
            self.aliases.insert(alias, Arc::clone(&entry.about.id));
        }
        self.entries.insert(Arc::clone(&entry.about.id), entry);
    }

    pub(crate) fn remove(&mut self, id: &str) -> Option<Entry> {
        let removed = self.entries.remove(id);
        self.forgotten = removed.iter().fold(self.forgotten, |sum, entry| sum + entry.live.counts);
        removed
    }

    /// Whether a sensor's signal goes by this name, or would if it gave readings.
    pub(crate) fn is_alias(&self, id: &str) -> bool {
        signal::FAMILIES.iter().any(|family| family.alias == Some(id))
    }

    /// The sample of one signal at one tick of its feed. One whose name another feed has is left out.
    pub(crate) fn take_reading(
        &mut self,
        feed: Option<&FeedPlan>,
        label: Timestamp,
        (signal, value): (&signal::Signal, f64),
        batch: &mut Batch,
    ) {
        if !self.measures(signal.id()) {
            self.meet(feed, label, signal, batch);
        }
        let name = feed.map(|feed| &*feed.name);
        if let Some(entry) = self.entries.get_mut(signal.id()).filter(|entry| entry.about.is_fed_by(name)) {
            entry.take(label, value, &mut self.room, batch);
        }
    }

    /// A signal that was not there before. A pushed series of the same name gives way to the sensor's: two sources
    /// cannot feed one series.
    fn meet(&mut self, feed: Option<&FeedPlan>, label: Timestamp, signal: &signal::Signal, batch: &mut Batch) {
        if let Some(pushed) = self.remove(signal.id()) {
            batch.removed.push(pushed.about.key);
        }
        let plan = Arc::clone(feed.map_or_else(|| self.plan_of(signal), |feed| &feed.plan));
        let about = self.describe(feed, label, signal);
        batch.added.push(about.clone());
        self.insert(Entry::new(about, plan));
    }

    /// Describes a signal that was not there before.
    fn describe(&mut self, feed: Option<&FeedPlan>, label: Timestamp, signal: &signal::Signal) -> About {
        About {
            key: self.take_key(),
            id: Arc::clone(signal.id()),
            origin: Origin::Sensor { signal: signal.clone(), feed: feed.map(|feed| Arc::clone(&feed.name)) },
            step: feed.map_or(self.sensor_plan.step, |feed| feed.plan.step),
            created: label,
        }
    }

    /// Returns the past to be replayed if a signal of a feed has a past that begins at `first`; `None` if another
    /// series has its name. The entry takes its place by [`Engine::put_past`].
    pub(crate) fn begin_past(&mut self, feed: &FeedPlan, signal: &signal::Signal, first: Timestamp) -> Option<Past> {
        match self.entries.get(signal.id()) {
            Some(entry) if entry.about.is_fed_by(Some(&feed.name)) => {
                let (about, counts) = (entry.about.clone(), entry.live.counts);
                Some(Past { about, known: entry.known(), counts, is_new: false })
            }
            Some(entry) if !entry.about.is_pushed() => None,
            _ => {
                let about = self.describe(Some(feed), first, signal);
                Some(Past { about, known: Vec::new(), counts: Counts::default(), is_new: true })
            }
        }
    }

    /// Puts in a series whose past was replayed. A pushed one of the same name gives way to it.
    pub(crate) fn put_past(&mut self, entry: Entry, batch: &mut Batch) {
        let is_pushed = self.entries.get(&entry.about.id).is_some_and(|before| before.about.is_pushed());
        if is_pushed && let Some(pushed) = self.remove(&entry.about.id) {
            batch.removed.push(pushed.about.key);
        }
        self.insert(entry);
    }

    /// Removes a series that its feed has forgotten, with its history: a feed that always has others must not fill the
    /// node.
    pub(crate) fn forget(&mut self, feed: Option<&str>, id: &str, batch: &mut Batch) {
        if self.entries.get(id).is_some_and(|entry| entry.about.is_fed_by(feed)) {
            batch.removed.extend(self.remove(id).map(|entry| entry.about.key));
        }
    }

    /// Ends a tick of a feed, or of the host: its series without a sample at `label` get a gap, those that have been
    /// silent for as long as samples are in memory give that back, and those that were silent for longer than
    /// `patience` are forgotten.
    ///
    /// States of series that are due to be saved go to `batch`.
    pub(crate) fn finish_tick(&mut self, feed: Option<&str>, label: Timestamp, patience: Duration, batch: &mut Batch) {
        let (room, forgotten, fell_behind) = (&mut self.room, &mut self.forgotten, &mut self.fell_behind);
        self.entries.retain(|_, entry| {
            if !entry.about.is_fed_by(feed) {
                return true;
            }
            if entry.last().is_some_and(|last| last < label) {
                entry.take(label, f64::NAN, room, batch);
                entry.rest_if_gone();
            }
            fell_behind.extend(entry.fell_behind());
            let heard = entry.last_known().or(entry.heard).unwrap_or(entry.about.created);
            let stays = label.saturating_since(heard) <= patience;
            if !stays {
                *forgotten = *forgotten + entry.live.counts;
            }
            stays
        });
    }

    /// Samples of a pushed series, each later than the one before. They are written at once; the model takes them by
    /// [`Engine::catch_up`].
    pub(crate) fn take_pushed(&mut self, id: &str, samples: &[(Timestamp, f64)], batch: &mut Batch) {
        if let Some(entry) = self.entries.get_mut(id) {
            samples.iter().for_each(|(label, value)| entry.wait(*label, *value, batch));
            self.fell_behind.extend(entry.fell_behind());
        }
    }

    /// Lets the model of a series take some of the samples that it is behind with. Those that were pushed go to `news`,
    /// the last ones of what waits.
    pub(crate) fn catch_up(&mut self, id: &str, batch: &mut Batch, news: &mut Vec<(Timestamp, f64)>) -> Next {
        let Some(entry) = self.entries.get_mut(id) else { return Next::Done };
        for _ in 0..STEPS_MAX {
            if entry.is_current() {
                return Next::Done;
            }
            if let Some(task) = entry.live.take_task() {
                return Next::Fit(task);
            }
            if entry.live.has_task_out() {
                return Next::Wait;
            }
            let taken = entry.advance(&mut self.room, batch);
            news.extend(taken.filter(|_| entry.about.is_pushed() && entry.n_behind() < NEWS_MAX));
        }
        Next::More
    }

    /// Series that have samples waiting, and had none when this was asked before.
    pub(crate) fn take_behind(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.fell_behind)
    }

    /// Returns the number of waiting samples, and the number of their series.
    pub(crate) fn n_behind(&self) -> (usize, usize) {
        let behind = self.entries.values().map(|entry| entry.n_behind()).filter(|n| *n > 0);
        behind.fold((0, 0), |(n_samples, n_series), n| (n_samples + n, n_series + 1))
    }

    /// Returns the memory of pushed series when all is full, in bytes.
    pub(crate) fn n_bytes_pushed(&self) -> usize {
        self.entries.values().filter(|entry| entry.about.is_pushed()).map(|entry| entry.live.plan().n_bytes()).sum()
    }

    /// The states of all series that are not behind, to be restored by [`Entry::restore`].
    pub(crate) fn states(&self) -> Vec<Saved> {
        self.entries.values().filter(|entry| entry.is_current() && entry.is_awake()).map(Entry::saved).collect()
    }

    /// The fits that are due, of all series. Each is to come back by [`Engine::install`], before the next step if it
    /// can.
    pub(crate) fn take_tasks(&mut self) -> Vec<(Arc<str>, Task)> {
        let entries = self.entries.iter_mut();
        entries.filter_map(|(id, entry)| Some((Arc::clone(id), entry.live.take_task()?))).collect()
    }

    pub(crate) fn take_task_of(&mut self, id: &str) -> Option<(Arc<str>, Task)> {
        let entry = self.entries.get_mut(id)?;
        Some((Arc::clone(&entry.about.id), entry.live.take_task()?))
    }

    /// Installs the result of a fit. The result for a series that is gone is dropped.
    pub(crate) fn install(&mut self, id: &str, done: Done) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.live.install(done);
        }
    }

    /// Cancels a fit that will not be made: the series goes on without it.
    pub(crate) fn cancel_task(&mut self, id: &str) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.live.cancel_task();
        }
    }
}
