//! From the store to a running engine: the last samples of every series, through the same code as live ones.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use units::Timestamp;

use crate::config::Config;
use crate::engine::about::{About, Origin};
use crate::engine::plan::{CORES_FULL_MAX, Plan};
use crate::engine::{Engine, Entry, FeedPlan};
use crate::schedule::times;
use crate::store::{Batch, Opened, StoreError, read};

/// A series to come, and the samples that it is to take first.
type Replay = (Entry, Vec<(Timestamp, f64)>);

/// What a node begins with.
pub(crate) struct Restored {
    pub(crate) engine: Engine,
    /// The last label that a sample of the host has.
    pub(crate) last_label: Option<Timestamp>,
    /// What has to be written, because it is different from last time.
    pub(crate) changed: Batch,
}

/// Loads as many samples as forecasters keep, and replays them.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn restore(opened: &Opened, config: &Config, feeds: &[FeedPlan]) -> Result<Restored, StoreError> {
    let load = || {
        let key = read::next_key(&opened.writer)?;
        let mut engine = Engine::new(config.model.clone(), config.step, key);
        if sensor::n_cores(&config.root).is_some_and(|n_cores| n_cores > CORES_FULL_MAX) {
            engine = engine.with_core_plan(Plan::of_cores(config.model.clone(), config.step));
        }
        let last_label = read::last_label(&opened.writer)?;
        let mut changed = Batch::default();
        let entries = entries(read::series(&opened.writer)?, config, feeds, &engine, &mut changed);
        let mut replays = load(opened, &engine, entries, last_label)?;
        replay_all(&mut replays);
        replays.into_iter().for_each(|(entry, _)| engine.insert(entry));
        Ok(Restored { engine, last_label, changed })
    };
    load().map_err(|error| opened.explain(error))
}

/// Sensors take the configured step, whatever they had. Those of a feed that is no longer read stay in the store alone.
fn entries(
    abouts: Vec<About>,
    config: &Config,
    feeds: &[FeedPlan],
    engine: &Engine,
    changed: &mut Batch,
) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(abouts.len());
    // As while it runs: globs that do not speak of a feed do not silence it.
    let is_limited = |feed: &&FeedPlan| {
        let of_feed = abouts.iter().filter(|about| about.is_fed_by(Some(&feed.name)));
        config.select.names_any(of_feed.map(|about| &*about.id))
    };
    let limited: Vec<Arc<str>> = feeds.iter().filter(is_limited).map(|feed| Arc::clone(&feed.name)).collect();
    let takes = |about: &About| match about.feed() {
        Some(feed) if !limited.contains(feed) => !config.select.leaves_out(&about.id),
        _ => config.select.takes(&about.id),
    };
    let taken: Vec<bool> = abouts.iter().map(takes).collect();
    for (mut about, is_taken) in abouts.into_iter().zip(taken) {
        let plan = match &about.origin {
            Origin::Sensor { .. } if !is_taken => continue,
            Origin::Sensor { feed: None, signal } => Arc::clone(engine.plan_of(signal)),
            Origin::Sensor { feed: Some(name), .. } => match feeds.iter().find(|feed| feed.name == *name) {
                Some(feed) => Arc::clone(&feed.plan),
                None => continue,
            },
            Origin::Pushed { model, .. } => {
                let spec = model.parse().unwrap_or_else(|_| config.model.clone());
                Arc::new(Plan::new(spec, about.step))
            }
        };
        if about.step != plan.step {
            about.step = plan.step;
            changed.added.push(about.clone());
        }
        entries.push(Entry::new(about, plan));
    }
    entries
}

/// The host's samples lie side by side, so one pass over the last stretch finds all of them. Series of feeds and pushed ones
/// have their last samples anywhere.
fn load(
    opened: &Opened,
    engine: &Engine,
    entries: Vec<Entry>,
    last_label: Option<Timestamp>,
) -> rusqlite::Result<Vec<Replay>> {
    let plan = engine.sensor_plan();
    let mut by_key: HashMap<i64, Vec<(Timestamp, f64)>> =
        entries.iter().filter(|entry| entry.about.is_fed_by(None)).map(|entry| (entry.about.key, Vec::new())).collect();
    if let Some(last) = last_label {
        let from = last - times(plan.step, plan.n_kept as u64 - 1);
        read::all_samples(&opened.writer, from, |time, key, value| {
            if let Some(samples) = by_key.get_mut(&key) {
                samples.push((time, value));
            }
        })?;
    }
    for samples in by_key.values_mut() {
        samples.sort_by_key(|(time, _)| *time);
        samples.dedup_by_key(|(time, _)| *time);
    }
    let mut replays = Vec::with_capacity(entries.len());
    for mut entry in entries {
        let mut samples = by_key.remove(&entry.about.key).unwrap_or_default();
        samples.drain(..samples.len().saturating_sub(entry.live.plan().n_kept));
        if samples.is_empty() {
            entry.heard = read::last_label_of(&opened.writer, entry.about.key)?;
        }
        if let Some(heard) = entry.heard.filter(|_| !entry.about.is_fed_by(None)) {
            let plan = entry.live.plan();
            let from = heard - times(plan.step, plan.n_kept as u64 - 1);
            let found = read::samples(&opened.writer, entry.about.key, plan.step, from..heard + plan.step)?;
            samples = found.into_iter().map(|sample| (sample.time, sample.mean)).collect();
        }
        replays.push((entry, samples));
    }
    Ok(replays)
}

fn replay_all(replays: &mut [Replay]) {
    let n_threads = thread::available_parallelism().map_or(1, NonZero::get);
    let n_each = replays.len().div_ceil(n_threads).max(1);
    thread::scope(|scope| {
        for part in replays.chunks_mut(n_each) {
            scope.spawn(|| part.iter_mut().for_each(|(entry, samples)| entry.replay(samples.drain(..))));
        }
    });
}
