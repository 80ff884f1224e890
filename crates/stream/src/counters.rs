//! What happened at each endpoint, counted, for whoever asks how a component is.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::error::LoginError;
use crate::message::cut;

/// What happened at an endpoint since its component began.
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
    /// What went wrong the last time that something did.
    pub last_error: Option<String>,
}

/// An endpoint, and what happened there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointStatus {
    /// As it was given.
    pub endpoint: String,
    /// Where it listens, of one that listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What happened there.
    #[serde(flatten)]
    pub counted: Counted,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
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
}

impl Counters {
    pub(crate) fn add_frames(&self, n_frames: u64, n_bytes: u64) {
        self.n_frames.fetch_add(n_frames, Relaxed);
        self.n_bytes.fetch_add(n_bytes, Relaxed);
    }

    /// Remembers what went wrong, with its reasons.
    pub(crate) fn note(&self, error: &dyn std::error::Error) {
        let reasons = std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string);
        let text = cut(reasons.collect::<Vec<_>>().join(": "));
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    /// Counts somebody who was not let in at this endpoint, and logs it now and then.
    pub(crate) fn login_failed(&self, endpoint: &str, peer: &str, reason: &LoginError) {
        let n_failed = self.n_failed_logins.fetch_add(1, Relaxed) + 1;
        if self.logged.is_due() {
            tracing::warn!(endpoint, peer, %reason, n_failed, "a login failed");
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
        Connected(Arc::clone(self))
    }
}

/// What happens at most once a minute.
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
