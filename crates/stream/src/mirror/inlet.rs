//! Inputs within the process.

use tokio::sync::mpsc;

use super::{At, Core, Handler};
use crate::message::Message;

/// The number of messages that are handled before other work has its turn.
const N_IN_A_ROW: usize = 64;

/// The inlet through which other threads of the process pass messages to a mirror.
#[derive(Clone, Debug)]
pub struct Inlet(mpsc::Sender<Message>);

/// A message that a mirror did not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InletFull {
    /// It has as many as it may hold.
    #[error("the mirror has not taken the previous message")]
    Full,
    /// It is no more.
    #[error("the mirror has ended")]
    Ended,
}

pub(super) type Receiver = mpsc::Receiver<Message>;

pub(super) fn channel(n_max: usize) -> (Inlet, Receiver) {
    let (sender, receiver) = mpsc::channel(n_max.max(1));
    (Inlet(sender), receiver)
}

impl Inlet {
    /// Gives the mirror a message, without waiting.
    ///
    /// # Errors
    /// [`InletFull`] when it is full, or the mirror has ended; the message is lost then.
    pub fn send(&self, message: Message) -> Result<(), InletFull> {
        self.0.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => InletFull::Full,
            mpsc::error::TrySendError::Closed(_) => InletFull::Ended,
        })
    }

    /// Gives the mirror a message, and waits while it is full.
    ///
    /// # Errors
    /// [`InletFull::Ended`] when the mirror has ended.
    ///
    /// # Panics
    /// On a thread that runs an event loop: there it must not wait.
    pub fn send_waiting(&self, message: Message) -> Result<(), InletFull> {
        self.0.blocking_send(message).map_err(|_| InletFull::Ended)
    }
}

pub(super) async fn run<H: Handler>(core: Core<H>, mut receiver: Receiver, at: At) {
    let _connected = at.counters.connected();
    let mut messages = Vec::with_capacity(N_IN_A_ROW);
    while receiver.recv_many(&mut messages, N_IN_A_ROW).await > 0 {
        at.counters.add_frames(messages.len() as u64, 0);
        core.borrow_mut().work(|handler, outputs| {
            messages.drain(..).for_each(|message| handler.message(at.input, message, outputs));
        });
    }
}
