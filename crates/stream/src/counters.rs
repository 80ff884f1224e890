//! Counters of the events at each endpoint, for the status of a component.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::error::LoginError;
use crate::message::cut;

/// Counts of the events at an endpoint since its component began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Frames read, written to all readers together, or requests answered.
    pub n_frames: u64,
    /// Their bytes, headers included.
    pub n_bytes: u64,
    /// Frames that slow readers did not get, or that no connection could take.
    pub n_dropped: u64,
    /// Frames that were no frames, or whose payload said nothing.
    pub n_bad: u64,
    /// Connections that are there at this moment.
    pub n_connected: u64,
    /// Connections that there have been.
    pub n_connects: u64,
    /// Bytes that wait for readers at this moment, of the slowest of them.
    pub backlog_bytes: u64,
    /// Those who connected and did not prove that they have the token.
    #[serde(default)]
    pub n_failed_logins: u64,
    /// The last error.
    pub last_error: Option<String>,
}

/// An endpoint, and what happened there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointStatus {
    /// The endpoint, as given.
    pub endpoint: String,
    /// The address at which the endpoint listens, if it listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Counts of the events at the endpoint.
    #[serde(flatten)]
    pub counted: Counted,
}

/// The same error of an endpoint is logged again after this time, if there was a connection in between.
const LOGGED_AGAIN_AFTER: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// The endpoint, as given.
    endpoint: String,
    pub(crate) n_frames: AtomicU64,
    pub(crate) n_bytes: AtomicU64,
    pub(crate) n_dropped: AtomicU64,
    pub(crate) n_bad: AtomicU64,
    pub(crate) n_connected: AtomicU64,
    pub(crate) n_connects: AtomicU64,
    pub(crate) backlog_bytes: AtomicU64,
    n_failed_logins: AtomicU64,
    logged: Rarely,
    last_error: Mutex<Option<String>>,
    /// The last logged error, and its time.
    told: Mutex<Option<(String, Instant)>>,
}

impl Counters {
    /// Builds the counters of an endpoint, whose text is kept as given.
    pub(crate) fn of(endpoint: String) -> Self {
        Self { endpoint, ..Self::default() }
    }

    pub(crate) fn add_frames(&self, n_frames: u64, n_bytes: u64) {
        self.n_frames.fetch_add(n_frames, Relaxed);
        self.n_bytes.fetch_add(n_bytes, Relaxed);
    }

    /// Remembers what went wrong, with its reasons, and logs it unless that is what was logged last.
    pub(crate) fn note(&self, error: &dyn std::error::Error) {
        let reason = self.remember(error);
        if self.is_news(&reason) {
            tracing::warn!(endpoint = self.endpoint, reason, "something is wrong at an endpoint");
        }
    }

    /// Whether this is to be logged, which it is taken to be then.
    fn is_news(&self, reason: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = told.as_ref().is_none_or(|(before, _)| before != reason);
        if is_news {
            *told = Some((reason.to_owned(), Instant::now()));
        }
        is_news
    }

    /// Counts a frame that is longer than its transport takes.
    pub(crate) fn leave_out(&self, n_bytes: usize, n_bytes_max: usize) {
        self.n_dropped.fetch_add(1, Relaxed);
        let reason = format!("a frame of {n_bytes} bytes was left out: there is room for {n_bytes_max}");
        self.note(&io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }

    /// Remembers why somebody who came has gone.
    pub(crate) fn note_visitor(&self, error: &dyn std::error::Error) {
        let reason = self.remember(error);
        tracing::debug!(endpoint = self.endpoint, reason, "a connection ended");
    }

    fn remember(&self, error: &dyn std::error::Error) -> String {
        let text = cut(text::with_causes(error));
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.clone());
        text
    }

    /// Counts somebody who was not let in at this endpoint, and logs it now and then.
    pub(crate) fn login_failed(&self, peer: &str, reason: &LoginError) {
        let n_failed = self.n_failed_logins.fetch_add(1, Relaxed) + 1;
        if self.logged.is_due() {
            tracing::warn!(endpoint = self.endpoint, peer, %reason, n_failed, "a login failed");
        }
    }

    pub(crate) fn get(&self) -> Counted {
        Counted {
            n_frames: self.n_frames.load(Relaxed),
            n_bytes: self.n_bytes.load(Relaxed),
            n_dropped: self.n_dropped.load(Relaxed),
            n_bad: self.n_bad.load(Relaxed),
            n_connected: self.n_connected.load(Relaxed),
            n_connects: self.n_connects.load(Relaxed),
            backlog_bytes: self.backlog_bytes.load(Relaxed),
            n_failed_logins: self.n_failed_logins.load(Relaxed),
            last_error: self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Counts a connection for as long as what is returned lives.
    pub(crate) fn connected(self: &Arc<Self>) -> Connected {
        self.n_connected.fetch_add(1, Relaxed);
        self.n_connects.fetch_add(1, Relaxed);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.take_if(|(_, since)| since.elapsed() >= LOGGED_AGAIN_AFTER);
        Connected(Arc::clone(self))
    }
}

/// Rate limiter: at most one event a minute.
#[derive(Debug, Default)]
pub(crate) struct Rarely(Mutex<Option<Instant>>);

impl Rarely {
    pub(crate) fn is_due(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| last.elapsed() >= Duration::from_mins(1));
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }
}

/// A connection that is there.
pub(crate) struct Connected(Arc<Counters>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.n_connected.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_error_is_logged_once_and_again_when_it_changes_or_comes_back_much_later() {
        let counters = Arc::new(Counters::of("source:tcp:a:1".to_owned()));
        let is_news = |reason: &str| counters.is_news(reason);
        assert_eq!(["refused", "refused", "reset", "reset", "refused"].map(is_news), [true, false, true, false, true]);
        drop(counters.connected());
        assert!(!is_news("refused"), "it was there for a moment");
        tokio::time::advance(LOGGED_AGAIN_AFTER).await;
        assert!(!is_news("refused"), "it was never there since");
        drop(counters.connected());
        assert!(is_news("refused"));
    }
}
