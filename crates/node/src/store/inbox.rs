//! Queue of batches to be written: filled by the sampler, which it never holds up, and emptied by the store's thread.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use units::Timestamp;

use super::programs::PackedMinute;
use crate::engine::about::About;
use crate::engine::scored_live::Said;

/// The most samples that wait while the store cannot be written: 12 MB of them, and two hours of 70 signals at 1 Hz.
pub(crate) const BACKLOG_SAMPLES_MAX: usize = 500_000;

/// The most samples that one transaction writes, so that draining a backlog does not undo itself at the first error.
const TRANSACTION_SAMPLES_MAX: usize = 20_000;

/// Changes of one tick or one request that are to be written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    /// Series that were not there before.
    pub(crate) added: Vec<About>,
    /// Keys of series to be removed with their history.
    pub(crate) removed: Vec<i64>,
    /// Samples that are no gaps.
    pub(crate) rows: Vec<Row>,
    /// Forecasts to be remembered.
    pub(crate) said: Vec<Said>,
    /// Fits that were cancelled: the series, and the number of the sample after which each was due.
    pub(crate) cancelled: Vec<(i64, u64)>,
    pub(crate) states: Vec<Saved>,
    /// Minutes of programs.
    pub(crate) programs: Vec<PackedMinute>,
    /// The moment of the tick, if the batch is a tick's.
    pub(crate) tick: Option<Moment>,
}

/// The state of a series, as it was before the sample of this number.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    pub(crate) key: i64,
    pub(crate) number: u64,
    pub(crate) state: Vec<u8>,
}

impl Batch {
    /// Whether it gives nothing to write, and no moment.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { added, removed, rows, said, cancelled, states, programs, tick } = self;
        let n = added.len() + removed.len() + rows.len() + said.len() + cancelled.len() + states.len();
        n + programs.len() == 0 && tick.is_none()
    }
}

/// The moment of a tick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The label of its samples.
    pub(crate) label: Timestamp,
    /// The moment to which age is counted: the label, or the wall clock where that is behind.
    pub(crate) now: Timestamp,
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) time: Timestamp,
    pub(crate) key: i64,
    pub(crate) value: f64,
}

/// Status of writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Status {
    /// The error of SQLite when writing failed the last time; `None` when it succeeded.
    pub(crate) problem: Option<String>,
    /// Samples that wait.
    pub(crate) n_waiting: usize,
    /// Samples that were given up.
    pub(crate) n_dropped: u64,
}

#[derive(Debug, Default)]
pub(super) struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Batch>,
    status: Status,
    /// Batches ever put in, and written or given up.
    n_put: u64,
    n_done: u64,
    /// Attempts to write that were begun, and the number of the last one that failed.
    n_begun: u64,
    failed: u64,
    /// Somebody waits for everything to be written.
    n_flushing: usize,
    is_stopping: bool,
    is_over: bool,
}

/// Guard that notifies whoever waits that the thread is gone, also if it panics.
pub(super) struct Ending(Arc<Inbox>);

/// Work of the thread.
#[derive(Debug)]
pub(super) enum Work {
    /// Write these, then say [`Inbox::done`] or [`Inbox::failed`].
    Write(Vec<Batch>),
    /// Nothing waits, and nothing more will come.
    Stop,
}

impl Inbox {
    /// Puts a batch in. When there is no room, the oldest samples are given up.
    pub(super) fn put(&self, batch: Batch) {
        let mut state = self.lock();
        state.status.n_waiting += batch.rows.len();
        state.n_put += 1;
        state.waiting.push_back(batch);
        state.make_room();
        self.changed.notify_all();
    }

    pub(super) fn status(&self) -> Status {
        self.lock().status.clone()
    }

    /// Waits until everything put in so far is written.
    ///
    /// # Errors
    /// The reason, when an attempt fails, or when it takes longer than `limit`.
    pub(super) fn flush(&self, limit: Duration) -> Result<(), String> {
        let mut state = self.lock();
        // An attempt that is under way began before, and its failure says nothing of what is so now.
        let (n_put, n_begun) = (state.n_put, state.n_begun);
        state.n_flushing += 1;
        self.changed.notify_all();
        let is_open = |state: &mut State| state.n_done < n_put && state.failed <= n_begun && !state.is_over;
        let waited = self.changed.wait_timeout_while(state, limit, is_open);
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        state.n_flushing -= 1;
        if state.n_done >= n_put {
            Ok(())
        } else if timeout.timed_out() {
            Err(format!("it took longer than {} s", limit.as_secs()))
        } else {
            Err(state.status.problem.clone().unwrap_or_else(|| "the store is closed".to_owned()))
        }
    }

    /// No more batches are to be waited for.
    pub(super) fn stop(&self) {
        self.lock().is_stopping = true;
        self.changed.notify_all();
    }

    /// Waits for batches, and takes as many as one transaction is to write.
    pub(super) fn take(&self) -> Work {
        let state = self.lock();
        let is_idle = |state: &mut State| state.waiting.is_empty() && !state.is_stopping;
        let mut state = self.changed.wait_while(state, is_idle).unwrap_or_else(PoisonError::into_inner);
        state.n_begun += 1;
        let (mut batches, mut n_samples) = (Vec::new(), 0);
        while let Some(batch) = state.waiting.pop_front() {
            n_samples += batch.rows.len();
            batches.push(batch);
            if n_samples >= TRANSACTION_SAMPLES_MAX {
                break;
            }
        }
        if batches.is_empty() { Work::Stop } else { Work::Write(batches) }
    }

    pub(super) fn done(&self, batches: &[Batch]) {
        let mut state = self.lock();
        state.status.n_waiting -= batches.iter().map(|batch| batch.rows.len()).sum::<usize>();
        state.status.problem = None;
        state.n_done += batches.len() as u64;
        self.changed.notify_all();
    }

    /// The batches go back to where they were. Says whether to try again: not while the store is being closed.
    pub(super) fn failed(&self, batches: Vec<Batch>, problem: String) -> bool {
        let mut state = self.lock();
        batches.into_iter().rev().for_each(|batch| state.waiting.push_front(batch));
        state.make_room();
        state.status.problem = Some(problem);
        state.failed = state.n_begun;
        self.changed.notify_all();
        !state.is_stopping
    }

    /// Something besides writing batches failed.
    pub(super) fn report(&self, problem: String) {
        self.lock().status.problem = Some(problem);
    }

    /// Waits for `span`, or until somebody waits for the store.
    pub(super) fn pause(&self, span: Duration) {
        let state = self.lock();
        let is_patient = |state: &mut State| state.n_flushing == 0 && !state.is_stopping;
        drop(self.changed.wait_timeout_while(state, span, is_patient).unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns a guard that reports the end of the thread when it is dropped.
    pub(super) fn ending(self: &Arc<Self>) -> Ending {
        Ending(Arc::clone(self))
    }

    fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        if !state.is_stopping {
            state.status.problem = Some("its thread panicked".to_owned());
        }
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl State {
    /// Gives up the samples of the oldest batches while too many wait. The rest of such a batch goes to the next one: a
    /// series that is not written would leave its samples without a name.
    fn make_room(&mut self) {
        while self.status.n_waiting > BACKLOG_SAMPLES_MAX && self.waiting.len() > 1 {
            let Some(mut oldest) = self.waiting.pop_front() else { return };
            self.status.n_waiting -= oldest.rows.len();
            self.status.n_dropped += oldest.rows.len() as u64;
            self.n_done += 1;
            if let Some(next) = self.waiting.front_mut() {
                oldest.added.append(&mut next.added);
                oldest.removed.append(&mut next.removed);
                (next.added, next.removed) = (oldest.added, oldest.removed);
            }
        }
    }
}
