//! Messages that no frame can carry.

use crate::counters::Rarely;
use crate::message::MessageError;

/// The number of messages that a mirror could not send, and the reason.
#[derive(Default)]
pub(super) struct Unsent {
    n_messages: u64,
    /// The error of the last message that was itself rejected.
    reason: String,
    /// Whether what the stream carries could not be said: nobody could tell what its messages are of.
    pub(super) is_undescribed: bool,
    logged: Rarely,
}

impl Unsent {
    /// One that was refused.
    pub(super) fn note(&mut self, error: &MessageError) {
        self.count();
        self.reason = error.to_string();
        if self.logged.is_due() {
            tracing::warn!(reason = self.reason, n_messages = self.n_messages, "a message could not be sent");
        }
    }

    /// One that nobody could have understood.
    pub(super) fn count(&mut self) {
        self.n_messages += 1;
    }

    /// Returns the facts for the status; none if all messages could be sent.
    pub(super) fn facts(&self) -> impl Iterator<Item = (String, String)> {
        let facts = [("messages_unsent", self.n_messages.to_string()), ("unsent_because", self.reason.clone())];
        facts.into_iter().filter(|_| self.n_messages > 0).map(|(name, value)| (name.to_owned(), value))
    }
}
