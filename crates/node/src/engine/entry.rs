//! One series: what it is, how it goes on, and the samples that its model has still to take.

use std::collections::VecDeque;
use std::sync::Arc;

use predict::Forecast;
use units::Timestamp;

use super::STEPS_MAX;
use super::about::About;
use super::plan::Plan;
use super::scored_live::ScoredLive;
use crate::schedule::{times, whole_steps};
use crate::store::{Batch, Row, Saved};

/// One series: what it is, and how it goes on.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) about: About,
    pub(crate) live: ScoredLive,
    /// The label of its last sample in the store, when that is too old to be in memory.
    pub(crate) heard: Option<Timestamp>,
    /// Samples that are known, and that the model has not taken yet, oldest first.
    behind: VecDeque<Late>,
}

/// A sample that waits for its turn.
#[derive(Clone, Copy, Debug)]
struct Late {
    label: Timestamp,
    value: f64,
    /// Whether it came in this run, and is not one that the store had.
    is_new: bool,
}

impl Entry {
    pub(crate) fn new(about: About, plan: Arc<Plan>) -> Self {
        let live = ScoredLive::new(plan, about.key, about.range());
        let live = if about.n_threads().is_some() { live.with_window_errors() } else { live };
        Self { about, live, heard: None, behind: VecDeque::new() }
    }

    /// Stands where the saved state does. One that was saved by another plan, or makes no sense, is left aside.
    pub(crate) fn restore(&mut self, state: &[u8]) {
        if let Some(live) = self.live.restored(state) {
            self.live = live;
        }
    }

    /// Leaves out the fits after the samples of these numbers when it catches up.
    pub(crate) fn cancel(&mut self, numbers: Vec<u64>) {
        if !numbers.is_empty() {
            self.live = self.live.clone().with_cancelled(numbers);
        }
    }

    pub(super) fn saved(&self) -> Saved {
        Saved { key: self.about.key, number: self.live.number(), state: self.live.save() }
    }

    /// Has the samples waiting that the store had, oldest first. Ones that the model has taken, and ones that are off
    /// the grid of the step, because the step was another, are left out.
    pub(crate) fn fall_behind(&mut self, samples: impl IntoIterator<Item = (Timestamp, f64)>) {
        for (label, value) in samples {
            if self.last().is_none_or(|last| label > last) && label == label.floor_to(self.about.step) {
                self.behind.push_back(Late { label, value, is_new: false });
            }
        }
    }

    /// Gives back what the series has in memory once all of it is gaps: a signal that is gone costs what the store has
    /// of it. When it comes back, its model begins anew.
    pub(super) fn rest_if_gone(&mut self) {
        let silent = |known: Timestamp| Some(self.live.last()?.saturating_since(known));
        let n_silent = self.live.last_known().and_then(silent).map(|span| whole_steps(span, self.about.step));
        if self.is_current() && n_silent.is_some_and(|n_silent| n_silent >= self.live.plan().n_kept as u64) {
            (self.heard, self.live) = (self.live.last_known(), self.live.anew());
        }
    }

    /// Whether the series has samples in memory, or had none yet.
    pub(crate) fn is_awake(&self) -> bool {
        self.last().is_some() || self.heard.is_none()
    }

    /// Whether the model has taken all samples.
    pub(crate) fn is_current(&self) -> bool {
        self.behind.is_empty()
    }

    /// Returns the number of waiting samples.
    pub(crate) fn n_behind(&self) -> usize {
        self.behind.len()
    }

    /// The label of the last step, taken or waiting.
    pub(crate) fn last(&self) -> Option<Timestamp> {
        self.behind.back().map(|late| late.label).or_else(|| self.live.last())
    }

    /// The last sample, taken or waiting; NaN in a gap or before the first.
    pub(crate) fn last_value(&self) -> f64 {
        self.behind.back().map_or_else(|| self.live.last_value(), |late| late.value)
    }

    /// The label of the last step that is no gap.
    pub(super) fn last_known(&self) -> Option<Timestamp> {
        let waiting = self.behind.iter().rev().find(|late| late.value.is_finite());
        waiting.map(|late| late.label).or_else(|| self.live.last_known())
    }

    /// Returns the time since which the series has had no sample, if that is not just now.
    pub(crate) fn no_sample_since(&self, now: Timestamp) -> Option<Timestamp> {
        warn::no_sample_since(self.last_known().or(self.heard)?, self.about.step, now)
    }

    /// Its name, when there is something for [`Engine::catch_up`] to do.
    pub(super) fn fell_behind(&self) -> Option<Arc<str>> {
        (!self.behind.is_empty()).then(|| Arc::clone(&self.about.id))
    }

    /// The samples in memory that are no gaps, oldest first.
    pub(super) fn known(&self) -> Vec<(Timestamp, f64)> {
        let step = self.about.step;
        let kept = self.live.kept().into_iter().flat_map(|(start, kept)| {
            kept.iter().enumerate().map(move |(idx, value)| (start + times(step, idx as u64), *value))
        });
        let waiting = self.behind.iter().map(|late| (late.label, late.value));
        kept.chain(waiting).filter(|(_, value)| !value.is_nan()).collect()
    }

    /// Takes a sample at once, or behind those that wait. After a long gap it waits too.
    pub(super) fn take(&mut self, label: Timestamp, value: f64, room: &mut Forecast, batch: &mut Batch) {
        if !self.behind.is_empty() || self.live.n_left_out(label) >= STEPS_MAX {
            return self.wait(label, value, batch);
        }
        self.write(label, value, batch);
        self.step(Late { label, value, is_new: true }, room, batch);
    }

    pub(super) fn wait(&mut self, label: Timestamp, value: f64, batch: &mut Batch) {
        self.write(label, value, batch);
        self.behind.push_back(Late { label, value, is_new: true });
    }

    fn write(&self, label: Timestamp, value: f64, batch: &mut Batch) {
        if value.is_finite() {
            batch.rows.push(Row { time: label, key: self.about.key, value });
        }
    }

    /// One step of what waits: a sample, or one of those that were left out before it. Gives the sample if it came in
    /// this run.
    pub(super) fn advance(&mut self, room: &mut Forecast, batch: &mut Batch) -> Option<(Timestamp, f64)> {
        if self.live.pass_one_before(self.behind.front()?.label) {
            return None;
        }
        let late = self.behind.pop_front()?;
        self.step(late, room, batch);
        late.is_new.then_some((late.label, late.value))
    }

    fn step(&mut self, Late { label, value, is_new }: Late, room: &mut Forecast, batch: &mut Batch) {
        let (counts, n_said) = (self.live.counts, batch.said.len());
        let is_due = self.live.plan().is_save_due(self.about.key, self.live.last(), label);
        self.live.take(label, value, room, &mut batch.said);
        if !is_new {
            // It was counted in the run that it came in, and what was said then is in the store.
            self.live.counts = counts;
            batch.said.truncate(n_said);
        } else if is_due {
            batch.states.push(self.saved());
        }
        let key = self.about.key;
        batch.cancelled.extend(self.live.take_cancelled().into_iter().map(|number| (key, number)));
    }

    /// Takes the samples that the store had, oldest first, without counting them or remembering forecasts again.
    /// Ones that are off the grid of the step, because the step was another, are left out.
    pub(crate) fn replay(&mut self, samples: impl IntoIterator<Item = (Timestamp, f64)>) {
        let (mut room, mut said) = (Forecast::default(), Vec::new());
        for (label, value) in samples {
            let is_next = self.live.last().is_none_or(|last| label > last);
            if is_next && label == label.floor_to(self.about.step) {
                self.live.take(label, value, &mut room, &mut said);
                self.live.fit_here();
                said.clear();
            }
        }
        self.live.counts = Default::default();
    }
}
