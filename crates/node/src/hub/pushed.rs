//! Series that programs push: made, fed and removed.

use std::sync::Arc;
use std::time::Duration;

use predict::Spec;
use units::{Timestamp, span};

use super::series::detail;
use super::{Hub, QueryError, Tick, unknown};
use crate::api;
use crate::config::STEP_MIN;
use crate::engine::about::{About, Origin};
use crate::engine::plan::Plan;
use crate::engine::{Engine, Entry};
use crate::store::Batch;

/// The most pushed series.
const SERIES_MAX: usize = 1000;

/// The longest step of a pushed series.
const STEP_MAX: Duration = Duration::from_secs(86_400);

const ID_BYTES_MAX: usize = 200;
const UNIT_BYTES_MAX: usize = 50;
const SENTENCE_BYTES_MAX: usize = 1000;

/// Largest magnitude of a value: beyond it the squares of values overflow, and with them every variance.
const VALUE_MAX: f64 = 1e150;

/// Limit of the memory of all pushed series together, by the figures of their models.
const BYTES_MAX: usize = 512 << 20;

/// The most samples that one series may be behind with.
const SERIES_BEHIND_MAX: usize = 100_000;

/// The most work that all pushed series may be behind with, in operations: some minutes of a core.
const WORK_BEHIND_MAX: u64 = 200_000_000_000;

impl Hub {
    /// Makes a series. Blocks until it is written.
    pub(crate) fn create(&self, new: api::NewSeries) -> Result<api::SeriesDetail, QueryError> {
        let spec: Spec = new.model.as_deref().unwrap_or(&self.facts.info.model).parse()?;
        let step = check(&new)?;
        let plan = Arc::new(Plan::new(spec.clone(), step));
        let id: Arc<str> = new.id.into();
        let created = self.now();
        let (about, answer) = {
            let mut engine = self.engine();
            if engine.get(&id).is_some() || engine.is_alias(&id) {
                return Err(QueryError::Exists { id: id.to_string() });
            }
            if engine.entries().filter(|entry| entry.about.is_pushed()).count() >= SERIES_MAX {
                return Err(QueryError::TooManySeries { max: SERIES_MAX });
            }
            let (have, more) = (engine.n_bytes_pushed(), plan.n_bytes());
            if have + more > BYTES_MAX {
                return Err(QueryError::TooMuchMemory { model: spec.to_string(), more, have, max: BYTES_MAX });
            }
            let origin = Origin::Pushed {
                unit: new.unit.unwrap_or_default().into(),
                sentence: new.sentence.unwrap_or_default().into(),
                model: spec.to_string().into(),
            };
            let about = About { key: engine.take_key(), id: Arc::clone(&id), origin, step, created };
            let entry = Entry::new(about.clone(), plan);
            let answer = detail(&entry, self.now());
            engine.insert(entry);
            (about, answer)
        };
        let key = about.key;
        self.store.put(Batch { added: vec![about], ..Batch::default() });
        self.store.flush().map_err(|problem| {
            self.engine().remove(&id);
            self.store.put(Batch { removed: vec![key], ..Batch::default() });
            QueryError::StoreUnavailable { problem }
        })?;
        Ok(answer)
    }

    /// Takes all samples, or none. Gives their number. They are written at once; the model takes them as soon as it
    /// can.
    pub(crate) fn push(&self, id: &str, samples: &[api::PushedSample]) -> Result<usize, QueryError> {
        let now = self.now();
        let mut batch = Batch::default();
        let (full_id, step, placed, behind) = {
            let mut engine = self.engine();
            let entry = pushed(engine.get(id), id)?;
            check_work(&engine, entry, samples.len())?;
            let placed = place(entry, samples, now)?;
            let (full_id, step) = (Arc::clone(&entry.about.id), entry.about.step);
            engine.take_pushed(&full_id, &placed, &mut batch);
            // Under the lock, so that batches of one series are written in the order of their samples.
            self.store.put(batch);
            (full_id, step, placed, engine.take_behind())
        };
        for (time, value) in &placed {
            self.offer(&Arc::new(Tick { time: *time, step, values: vec![(Arc::clone(&full_id), *value)] }));
        }
        self.let_catch_up(behind);
        Ok(placed.len())
    }

    /// Removes a series with its history. Blocks until it is written; when it cannot be, it is done as soon as it can.
    pub(crate) fn remove(&self, id: &str) -> Result<(), QueryError> {
        {
            let mut engine = self.engine();
            let key = pushed(engine.get(id), id)?.about.key;
            engine.remove(id);
            self.store.put(Batch { removed: vec![key], ..Batch::default() });
        }
        if let Err(problem) = self.store.flush() {
            tracing::warn!(series = id, problem, "a removal waits for the store");
        }
        Ok(())
    }
}

/// Checks that the models can take so many more samples before long.
fn check_work(engine: &Engine, entry: &Entry, n_more: usize) -> Result<(), QueryError> {
    let id = || entry.about.id.to_string();
    let n_behind = entry.n_behind();
    if n_behind > 0 && n_behind + n_more > SERIES_BEHIND_MAX {
        return Err(QueryError::TooFarBehind { id: id(), n_behind, n_more, max: SERIES_BEHIND_MAX });
    }
    let work = |entry: &Entry, n: usize| entry.live.plan().policy.cost_per_sample().saturating_mul(n as u64);
    let behind = engine.entries().filter(|entry| entry.about.is_pushed() && !entry.is_current());
    let waiting = behind.fold(0_u64, |sum, entry| sum.saturating_add(work(entry, entry.n_behind())));
    let more = work(entry, n_more);
    if waiting.saturating_add(more) > WORK_BEHIND_MAX {
        return Err(QueryError::TooMuchWork { id: id(), n_more, more, waiting, max: WORK_BEHIND_MAX });
    }
    Ok(())
}

fn pushed<'a>(entry: Option<&'a Entry>, id: &str) -> Result<&'a Entry, QueryError> {
    let entry = entry.ok_or_else(|| unknown(id))?;
    if entry.about.is_pushed() { Ok(entry) } else { Err(QueryError::NotPushed { id: id.to_owned() }) }
}

/// Gives the step.
fn check(new: &api::NewSeries) -> Result<Duration, QueryError> {
    let refused = |field, message| Err(QueryError::BadParameter { field, message });
    if new.id.is_empty() || new.id.len() > ID_BYTES_MAX {
        return refused("id", format!("an id has 1 to {ID_BYTES_MAX} bytes, and this one {}", new.id.len()));
    }
    for (field, text, n_bytes_max) in [
        ("id", Some(&new.id), ID_BYTES_MAX),
        ("unit", new.unit.as_ref(), UNIT_BYTES_MAX),
        ("sentence", new.sentence.as_ref(), SENTENCE_BYTES_MAX),
    ] {
        let Some(text) = text else { continue };
        if text.len() > n_bytes_max {
            return refused(field, format!("{field} has {} bytes, but the limit is {n_bytes_max}", text.len()));
        }
        if text.chars().any(char::is_control) {
            return refused(field, format!("{field} `{}` has a control character in it", text.escape_debug()));
        }
    }
    let step = span::parse(&new.step)
        .map_err(|error| QueryError::BadParameter { field: "step", message: error.to_string() })?;
    if !(STEP_MIN..=STEP_MAX).contains(&step) {
        let (min, max) = (span::format(STEP_MIN), span::format(STEP_MAX));
        return refused("step", format!("step `{}` is out of range: it must be {min} to {max}", new.step));
    }
    Ok(step)
}

/// The slot and value of each sample, NaN for a gap.
fn place(entry: &Entry, samples: &[api::PushedSample], now: Timestamp) -> Result<Vec<(Timestamp, f64)>, QueryError> {
    let step = entry.about.step;
    let mut last = entry.last().or(entry.heard);
    let mut placed = Vec::with_capacity(samples.len());
    for (idx, sample) in samples.iter().enumerate() {
        let slot = match (sample.time, last) {
            (Some(time), _) => (time + step / 2).floor_to(step),
            (None, Some(last)) => last.floor_to(step) + step,
            (None, None) => now.floor_to(step),
        };
        if let Some(last) = last.filter(|last| slot <= *last) {
            return Err(QueryError::OutOfOrder { id: entry.about.id.to_string(), time: slot, last });
        }
        if let Some(value) = sample.value.filter(|value| !(-VALUE_MAX..=VALUE_MAX).contains(value)) {
            let message = format!("samples[{idx}].value is {value:e}; it can be up to {VALUE_MAX:e} either way");
            return Err(QueryError::BadParameter { field: "samples", message });
        }
        placed.push((slot, sample.value.unwrap_or(f64::NAN)));
        last = Some(slot);
    }
    Ok(placed)
}
