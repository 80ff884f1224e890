//! Gives on whatever comes in: RPS needs it to record a stream to a file, to play one, and to fan streams in and out.

use stream::{Handler, InputId, Message, Outputs};

/// Gives on every message as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Relay;

impl Handler for Relay {
    fn message(&mut self, _: InputId, message: Message, outputs: &mut Outputs) {
        outputs.forward(&message);
    }
}
