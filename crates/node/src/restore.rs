//! Restores a running engine from the store: the state of every series that was saved, and the samples since, or else
//! its last samples. Models take those once the node runs, through the same code as live ones.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use units::Timestamp;

use crate::config::Config;
use crate::engine::about::{About, Origin};
use crate::engine::plan::{CORES_FULL_MAX, Plan};
use crate::engine::{Engine, Entry, FeedPlan};
use crate::schedule::times;
use crate::store::{Batch, Opened, StoreError, read};

/// A state that is older than its last sample by more is not gone on from: to begin anew from the last samples is less
/// work.
const STATE_AGE_MAX: Duration = Duration::from_secs(2 * 3600);

/// State that a node begins with.
pub(crate) struct Restored {
    pub(crate) engine: Engine,
    /// The last label that a sample of the host has.
    pub(crate) last_label: Option<Timestamp>,
    /// The changes that have to be written, because they differ from last time.
    pub(crate) changed: Batch,
}

/// Loads the states of series and the samples since, or as many as forecasters keep.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn restore(opened: &Opened, config: &Config, feeds: &[FeedPlan]) -> Result<Restored, StoreError> {
    let load = || {
        let key = read::next_key(&opened.writer)?;
        let mut engine = Engine::new(config.model.clone(), config.step, key);
        if sensor::n_cores(&config.root).is_some_and(|n_cores| n_cores > CORES_FULL_MAX) {
            engine = engine.with_core_plan(Plan::thrifty(config.model.clone(), config.step));
        }
        let last_label = read::last_label(&opened.writer)?;
        let mut changed = Batch::default();
        let entries = entries(read::series(&opened.writer)?, config, feeds, &engine, &mut changed);
        load(opened, &engine, entries, last_label)?.into_iter().for_each(|entry| engine.insert(entry));
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

/// The host's samples lie side by side, so one pass over the last stretch finds all of them. Series of feeds and pushed
/// ones have their last samples anywhere.
fn load(
    opened: &Opened,
    engine: &Engine,
    mut entries: Vec<Entry>,
    last_label: Option<Timestamp>,
) -> rusqlite::Result<Vec<Entry>> {
    let mut of_host = samples_of_host(opened, engine, &mut entries, last_label)?;
    for entry in &mut entries {
        let key = entry.about.key;
        if entry.about.is_fed_by(None) {
            let samples = of_host.remove(&key).unwrap_or_default();
            if samples.is_empty() && entry.last().is_none() {
                entry.heard = read::last_label_of(&opened.writer, key)?;
            }
            entry.fall_behind(last_of(samples, entry));
        } else if let Some(heard) = read::last_label_of(&opened.writer, key)? {
            entry.heard = Some(heard);
            restore_state(opened, entry, heard)?;
            let (step, n_kept) = (entry.live.plan().step, entry.live.plan().n_kept as u64);
            let from = entry.last().map_or_else(|| heard - times(step, n_kept - 1), |last| last + step);
            let found = read::samples(&opened.writer, key, step, from..heard + step)?;
            entry.fall_behind(found.into_iter().map(|sample| (sample.time, sample.mean)));
        }
    }
    Ok(entries)
}

/// The samples since the states of the host's series, or as many as forecasters keep, by key.
fn samples_of_host(
    opened: &Opened,
    engine: &Engine,
    entries: &mut [Entry],
    last_label: Option<Timestamp>,
) -> rusqlite::Result<HashMap<i64, Vec<(Timestamp, f64)>>> {
    let Some(last) = last_label else { return Ok(HashMap::new()) };
    let plan = engine.sensor_plan();
    let mut from = last - times(plan.step, plan.n_kept as u64 - 1);
    let mut by_key = HashMap::new();
    for entry in entries.iter_mut().filter(|entry| entry.about.is_fed_by(None)) {
        restore_state(opened, entry, last)?;
        from = entry.last().map_or(from, |state| state.min(from));
        by_key.insert(entry.about.key, Vec::new());
    }
    read::all_samples(&opened.writer, from, |time, key, value| {
        if let Some(samples) = by_key.get_mut(&key) {
            samples.push((time, value));
        }
    })?;
    for samples in by_key.values_mut() {
        samples.sort_by_key(|(time, _)| *time);
        samples.dedup_by_key(|(time, _)| *time);
    }
    Ok(by_key)
}

/// Puts in the state of a series whose last sample is at `last`, if there is one that is worth it.
fn restore_state(opened: &Opened, entry: &mut Entry, last: Timestamp) -> rusqlite::Result<()> {
    let fresh = entry.clone();
    if let Some(state) = read::state(&opened.writer, entry.about.key)? {
        entry.restore(&state);
    }
    if entry.last().is_some_and(|state| last.saturating_since(state) > STATE_AGE_MAX) {
        *entry = fresh;
    }
    entry.cancel(read::cancelled(&opened.writer, entry.about.key)?);
    Ok(())
}

/// Returns the samples; of an entry without a state, only the last, as many as forecasters keep.
fn last_of(mut samples: Vec<(Timestamp, f64)>, entry: &Entry) -> Vec<(Timestamp, f64)> {
    if entry.last().is_none() {
        samples.drain(..samples.len().saturating_sub(entry.live.plan().n_kept));
    }
    samples
}
