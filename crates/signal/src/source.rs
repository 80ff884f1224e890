//! Sources of signals: this host's kernel, an agent in the network, a peer, an exporter.

use std::{sync::Arc, time::Duration};

use units::Timestamp;

use crate::{Readings, Signal};

/// The past of signals before the first read: moments and finite values, oldest first.
pub type History = Vec<(Arc<Signal>, Vec<(Timestamp, f64)>)>;

/// Something that is read tick by tick, on a thread and with a step of its own.
///
/// A read may take as long as its own limits allow; what is late is a gap. One that fails gives no readings, or fewer,
/// is counted, and keeps no later one from succeeding: a source that is gone may come back.
pub trait Source: Send {
    /// Reads everything once, `at` this moment, and puts what the source says in place of what was in `readings`.
    ///
    /// `at` is the time since any fixed moment by a clock that is never set.
    fn read(&mut self, at: Duration, readings: &mut Readings);

    /// Returns the source's history of the time up to `until`, itself included: samples at whole multiples of `step`
    /// since 1970.
    ///
    /// Asked for before the first read, and again while it gives `None`, which says that it cannot be told at this
    /// moment. Most sources know nothing of the past.
    fn history(&mut self, step: Duration, until: Timestamp) -> Option<History> {
        let _ = (step, until);
        Some(History::new())
    }

    /// Returns how many times something could not be read or understood.
    fn n_errors(&self) -> u64;

    /// Returns the latest error, with its reasons, without any secret.
    fn last_error(&self) -> Option<String>;
}
