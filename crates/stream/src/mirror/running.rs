//! A mirror on its thread, as others of the process see it.

use std::thread::JoinHandle;

use tokio::sync::watch;

use super::{InputId, Opened};
use crate::counters::EndpointStatus;

/// A mirror on its thread. Dropping it stops the mirror, and does not wait.
pub struct Running<H> {
    pub(super) places: Vec<Opened>,
    pub(super) stop: watch::Sender<bool>,
    pub(super) thread: JoinHandle<Option<H>>,
}

/// A mirror that ended by a fault of this program, which its thread has told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it ended by a fault of this program")]
pub struct Panicked;

/// Stops a mirror.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// Stops the mirror as [`Running::stop`] does, without waiting.
    pub fn stop(&self) {
        // When nobody listens, it has ended.
        let _ = self.0.send(true);
    }
}

impl<H> Running<H> {
    /// Returns the address at which the endpoint that was added `at` this place listens, as in `tcp:127.0.0.1:5011`;
    /// `None` for an endpoint that does not listen.
    #[must_use]
    pub fn address(&self, at: InputId) -> Option<&str> {
        self.places.get(at.0)?.address.as_deref()
    }

    /// Returns the status of each endpoint, in the order in which they were added.
    #[must_use]
    pub fn status(&self) -> Vec<EndpointStatus> {
        self.places.iter().map(Opened::status).collect()
    }

    /// Returns a stopper with which another thread can stop the mirror while this one waits for its end.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Whether it has ended by itself.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Stops it, lets readers take what is there for them for 2 s at most, and gives the handler back.
    ///
    /// # Panics
    /// When the handler panicked.
    pub fn stop(self) -> H {
        // When nobody listens, it has ended.
        let _ = self.stop.send(true);
        self.join()
    }

    /// Waits until it ends by itself, and gives the handler back.
    ///
    /// # Panics
    /// When the handler panicked.
    pub fn join(self) -> H {
        match self.thread.join() {
            Ok(handler) => handler.expect("a mirror that started gives its handler back"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Waits for the end as [`Running::join`] does, for a caller that has to go on when the mirror cannot.
    ///
    /// # Errors
    /// [`Panicked`] when the handler, or a task of the mirror, did.
    pub fn outcome(self) -> Result<H, Panicked> {
        self.thread.join().ok().flatten().ok_or(Panicked)
    }
}
