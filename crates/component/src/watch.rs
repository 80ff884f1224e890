//! A client: hands every message to a function, and sends it on to whoever reads here too.

use stream::{Handler, InputId, Message, Outputs};
use units::Timestamp;

use crate::clock::now;

/// Calls a function with each message and the moment at which it was there (RPS's clients, and its recorder).
pub struct Watch<F>(pub F);

impl<F: FnMut(&Message, Timestamp) + Send + 'static> Handler for Watch<F> {
    fn message(&mut self, _: InputId, message: Message, outputs: &mut Outputs) {
        (self.0)(&message, now());
        outputs.forward(&message);
    }
}
