//! Samples that models have still to take, after a start, a long gap or a large push: taken a piece at a time, so that
//! nobody waits for the engine any longer than one piece takes. Fits that are due on the way are made by the fitter,
//! like all others.

use std::collections::BTreeSet;
use std::io;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use watch::{OnPanic, Thread, Watch};

use crate::hub::Hub;

/// The thread that catches up. When it is dropped, it ends after the piece that it is at.
#[derive(Debug)]
pub(crate) struct CatchUp {
    bell: Bell,
    _thread: Thread,
}

/// Bell that notifies the thread of the series that are behind, and others of its progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bell(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    rung: Condvar,
    progress: Notify,
}

#[derive(Debug, Default)]
struct State {
    behind: BTreeSet<Arc<str>>,
    is_stopping: bool,
}

/// State of a series after a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There is more to take.
    More,
    /// A fit has to come back first; the fitter rings then.
    Waits,
    /// Its model has taken all samples.
    Done,
}

impl CatchUp {
    /// # Errors
    /// When the system has no thread to give.
    pub(crate) fn start(bell: Bell, hub: Arc<Hub>, watch: &Watch) -> io::Result<Self> {
        let rung = bell.clone();
        let thread = Thread::start(watch, "catch-up", OnPanic::BeginAgain, move |_| rung.answer(&hub))?;
        Ok(Self { bell, _thread: thread })
    }
}

impl Drop for CatchUp {
    fn drop(&mut self) {
        self.bell.lock().is_stopping = true;
        self.bell.0.rung.notify_all();
    }
}

impl Bell {
    /// Notifies the thread that this series may go on.
    pub(crate) fn ring(&self, id: Arc<str>) {
        self.lock().behind.insert(id);
        self.0.rung.notify_all();
    }

    /// Returns when some series has caught up or gone on since this was called first.
    pub(crate) fn progress(&self) -> impl Future<Output = ()> {
        self.0.progress.notified()
    }

    fn answer(&self, hub: &Hub) {
        let mut last = Arc::from("");
        while let Some(id) = self.next_after(&last) {
            if hub.catch_up(&id) == Progress::More {
                self.ring(Arc::clone(&id));
            }
            self.0.progress.notify_waiters();
            last = id;
        }
    }

    /// The series whose turn it is, one after the other; `None` at the end.
    fn next_after(&self, last: &Arc<str>) -> Option<Arc<str>> {
        let is_idle = |state: &mut State| state.behind.is_empty() && !state.is_stopping;
        let mut state = self.0.rung.wait_while(self.lock(), is_idle).unwrap_or_else(PoisonError::into_inner);
        if state.is_stopping {
            return None;
        }
        let after = state.behind.range::<Arc<str>, _>((Excluded(last), Unbounded)).next();
        let next = after.or(state.behind.first()).cloned()?;
        state.behind.remove(&next);
        Some(next)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
