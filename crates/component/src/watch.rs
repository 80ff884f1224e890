//! A client: hands every message to a function, and sends it on to whoever reads here too.

use std::time::Duration;

use clock::now;
use stream::{Handler, InputId, Message, Outputs};
use units::{Timestamp, span};

use crate::latency::{Latencies, Latency};

/// Number of messages over which its status gives the median latency.
const N_RECENT: usize = 100;

/// Calls a function with each message and the moment at which it was there (RPS's clients, and its recorder).
pub struct Watch<F> {
    take: F,
    recent: Latencies,
}

impl<F: FnMut(&Message, Timestamp)> Watch<F> {
    /// A client that hands messages to `take`.
    pub fn new(take: F) -> Self {
        Self { take, recent: Latencies::of_last(N_RECENT) }
    }
}

impl<F: FnMut(&Message, Timestamp) + Send + 'static> Handler for Watch<F> {
    fn message(&mut self, _: InputId, message: Message, outputs: &mut Outputs) {
        let now = now();
        if let Some(time) = message.time() {
            self.recent.note(now.saturating_since(time));
        }
        (self.take)(&message, now);
        outputs.forward(&message);
    }

    fn facts(&self) -> Vec<(String, String)> {
        let whole_micros = |span: Duration| Duration::from_micros(u64::try_from(span.as_micros()).unwrap_or(u64::MAX));
        let said = |latency: Latency| ("latency".to_owned(), span::format(whole_micros(latency.median)));
        self.recent.latency().map(said).into_iter().collect()
    }
}
