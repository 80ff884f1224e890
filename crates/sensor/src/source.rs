//! Where signals come from: this host's kernel, an agent in the network, a peer, an exporter.

use std::time::Duration;

use crate::Readings;

/// Something that is read tick by tick, on a thread and with a step of its own.
///
/// A read may take as long as its own limits allow; what is late is a gap. One that fails gives no readings, or fewer, is
/// counted, and keeps no later one from succeeding: a source that is gone may come back.
pub trait Source: Send {
    /// Reads everything once, `at` this moment, and puts what the source says in place of what was in `readings`.
    ///
    /// `at` is the time since any fixed moment by a clock that is never set.
    fn read(&mut self, at: Duration, readings: &mut Readings);

    /// How many times something could not be read or understood.
    fn n_errors(&self) -> u64;

    /// What went wrong the last time that something did, with its reasons, without any secret.
    fn last_error(&self) -> Option<String>;
}
