//! The last messages of any stream, for whoever asks (RPS's `loadbuffer`, `flowbwbuffer`, `measurebuffer` and
//! `predbuffer`).

use std::collections::VecDeque;

use stream::{Answer, Ask, Description, HEADER_BYTES, Handler, InputId, Message, Outputs, Pending, Request};

/// A day at 10 Hz.
const N_MAX: usize = 1_000_000;

/// Limit in bytes of all kept messages together, as frames; the oldest go before there is more.
const BYTES_MAX: usize = 1 << 30;

/// Limit in bytes of one answer, as frames.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Buffer of a stream: keeps its last messages, answers `latest` and `since`, and relays the stream.
#[derive(Debug)]
pub struct Buffer {
    n_max: usize,
    n_bytes: usize,
    description: Option<Description>,
    messages: VecDeque<Message>,
}

/// A number of messages that no buffer keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a buffer keeps 1 to {N_MAX} messages, not {given}")]
pub struct BufferSizeError {
    /// The number that was given.
    pub given: usize,
}

impl Buffer {
    /// Builds a buffer of the last `n_max` messages, and 1 GiB of them at most.
    ///
    /// # Errors
    /// When `n_max` is 0 or above a million.
    pub fn new(n_max: usize) -> Result<Self, BufferSizeError> {
        if !(1..=N_MAX).contains(&n_max) {
            return Err(BufferSizeError { given: n_max });
        }
        Ok(Self { n_max, n_bytes: 0, description: None, messages: VecDeque::new() })
    }

    fn keep(&mut self, message: Message) {
        self.n_bytes += size(&message);
        self.messages.push_back(message);
        while self.messages.len() > self.n_max || self.n_bytes > BYTES_MAX {
            self.n_bytes -= self.messages.pop_front().as_ref().map_or(0, size);
        }
    }

    /// Returns the position of the first message that came after the message of this number.
    fn after(&self, number: u64) -> usize {
        let is_it = |message: &Message| message.number() == Some(number);
        match self.messages.iter().rposition(is_it) {
            Some(place) => place + 1,
            // It is no longer there, or was never.
            None => {
                let is_later = |message: &Message| message.number().is_some_and(|other| other > number);
                self.messages.iter().position(is_later).unwrap_or(self.messages.len())
            }
        }
    }

    /// Answers with as many messages from `first` on as one answer holds, and their description first.
    fn answer(&self, first: usize, n_max: usize, pending: Pending) {
        let description = self.description.clone().map(Message::Description);
        let mut n_bytes = 0;
        let messages = self.messages.range(first..).take(n_max).take_while(|message| {
            n_bytes += size(message);
            n_bytes <= ANSWER_BYTES_MAX
        });
        pending.answer_with(Answer::Frames {}, description.iter().chain(messages));
    }
}

impl Handler for Buffer {
    fn message(&mut self, _: InputId, message: Message, outputs: &mut Outputs) {
        match message {
            Message::Description(description) => {
                outputs.describe(&description);
                // What is answered is of one kind and one step, which the description before it says.
                let is_other = |before: &Description| {
                    (before.carries, before.step_ns, &before.signals)
                        != (description.carries, description.step_ns, &description.signals)
                };
                if self.description.as_ref().is_some_and(is_other) {
                    (self.messages, self.n_bytes) = (VecDeque::new(), 0);
                }
                self.description = Some(description);
            }
            Message::Measurement(_) | Message::Sample(_) | Message::Forecast(_) => {
                outputs.forward(&message);
                self.keep(message);
            }
            Message::Request(_) | Message::Reply(_) | Message::Greeting(_) | Message::Results(_) => {}
        }
    }

    fn request(&mut self, request: Request, pending: Pending, _: &mut Outputs) {
        let n_max = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        match request.ask {
            Ask::Latest { n } => {
                let mut n_bytes = 0;
                let fitting = self.messages.iter().rev().take(n_max(n)).take_while(|message| {
                    n_bytes += size(message);
                    n_bytes <= ANSWER_BYTES_MAX
                });
                let first = self.messages.len() - fitting.count();
                self.answer(first, usize::MAX, pending);
            }
            Ask::Since { number, n } => self.answer(self.after(number), n_max(n), pending),
            _ => pending.refuse("a buffer answers latest, since and status"),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let number =
            |message: Option<&Message>| message.and_then(Message::number).map_or("none".to_owned(), |n| n.to_string());
        vec![
            ("messages".to_owned(), format!("{} of {}", self.messages.len(), self.n_max)),
            ("oldest".to_owned(), number(self.messages.front())),
            ("newest".to_owned(), number(self.messages.back())),
        ]
    }
}

/// Returns the size of the message as a frame, in bytes.
fn size(message: &Message) -> usize {
    HEADER_BYTES
        + match message {
            Message::Measurement(measurement) => 16 + 8 * measurement.values.len(),
            Message::Forecast(forecast) => 28 + 16 * forecast.means.len(),
            _ => 24,
        }
}
