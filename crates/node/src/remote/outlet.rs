//! Queue before a buffer: filled by the sampler, which it never holds up, and emptied by a collector.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::hub::Tick;

/// The most values that wait while the buffer cannot be written: 10 MB of them, and an hour of 70 signals at 1 Hz.
const N_VALUES_MAX: usize = 250_000;

#[derive(Debug, Default)]
pub(super) struct Outlet {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ticks: VecDeque<Arc<Tick>>,
    n_values: usize,
    n_dropped: u64,
    is_stopping: bool,
}

impl Outlet {
    /// Puts a tick in. When there is no room, the oldest are given up.
    pub(super) fn offer(&self, tick: &Arc<Tick>) {
        let mut state = self.lock();
        state.n_values += tick.values.len();
        state.ticks.push_back(Arc::clone(tick));
        while state.n_values > N_VALUES_MAX
            && let Some(oldest) = state.ticks.pop_front()
        {
            state.n_values -= oldest.values.len();
            state.n_dropped += oldest.values.len() as u64;
        }
        self.changed.notify_all();
    }

    /// Waits for ticks, and takes all; `None` when there is none and none will come.
    pub(super) fn take(&self) -> Option<Vec<Arc<Tick>>> {
        let is_idle = |state: &mut State| state.ticks.is_empty() && !state.is_stopping;
        let mut state = self.changed.wait_while(self.lock(), is_idle).unwrap_or_else(PoisonError::into_inner);
        state.n_values = 0;
        let ticks: Vec<_> = state.ticks.drain(..).collect();
        (!ticks.is_empty()).then_some(ticks)
    }

    /// Waits for `span`, or until it is to stop. Says whether it is.
    pub(super) fn pause(&self, span: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), span, |state| !state.is_stopping);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_stopping
    }

    /// Values that were given up.
    pub(super) fn n_dropped(&self) -> u64 {
        self.lock().n_dropped
    }

    /// Counts values that were taken and given up all the same.
    pub(super) fn give_up(&self, n_values: u64) {
        self.lock().n_dropped += n_values;
    }

    /// No more ticks are to be waited for.
    pub(super) fn stop(&self) {
        self.lock().is_stopping = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use units::Timestamp;

    use super::*;

    fn tick(n_values: usize) -> Arc<Tick> {
        let time = Timestamp::from_nanos(n_values as i64);
        Arc::new(Tick { time, step: Duration::from_secs(1), values: vec![("a".into(), 1.0); n_values] })
    }

    #[test]
    fn the_oldest_ticks_are_given_up_and_counted_when_nobody_takes_them() {
        let outlet = Outlet::default();
        for n_values in [1, 2, N_VALUES_MAX - 1] {
            outlet.offer(&tick(n_values));
        }
        assert_eq!(outlet.n_dropped(), 3);
        let left: Vec<usize> = outlet.take().unwrap().iter().map(|tick| tick.values.len()).collect();
        assert_eq!(left, [N_VALUES_MAX - 1]);
    }

    #[test]
    fn what_is_there_is_taken_before_the_end() {
        let outlet = Outlet::default();
        outlet.offer(&tick(1));
        outlet.stop();
        assert_eq!(outlet.take().map(|ticks| ticks.len()), Some(1));
        assert!(outlet.take().is_none());
    }
}
