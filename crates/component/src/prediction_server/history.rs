//! History from a measure buffer: requests for it, and the answers that are collected.

use std::time::{Duration, Instant};

use stream::{Answer, Ask, InputId, Measurement, Message, Outputs, Reply, Request};

/// Time limit of a buffer's answer. A later answer is used when it comes.
const LIMIT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct History {
    pub(super) line: InputId,
    /// Number of samples that are asked for, and the moment of the request.
    asked: Option<(u32, Instant)>,
    /// Frames of an answer that are still to come.
    n_to_come: u32,
    collected: Vec<Measurement>,
    is_complete: bool,
}

impl History {
    pub(super) fn new(line: InputId) -> Self {
        Self { line, asked: None, n_to_come: 0, collected: Vec::new(), is_complete: false }
    }

    /// Asks for the last `n` samples.
    pub(super) fn ask(&mut self, n: usize, outputs: &mut Outputs) {
        let n = u32::try_from(n).unwrap_or(u32::MAX);
        if self.asked.replace((n, clock::instant())).is_none() {
            outputs.send_to(self.line, &Request { id: 0, ask: Ask::Latest { n } });
        }
    }

    pub(super) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// Whether the wait for the answer ends at this moment.
    pub(super) fn gives_up(&mut self) -> bool {
        let is_late = self.asked.is_some_and(|(_, since)| since.elapsed() > LIMIT);
        if is_late {
            self.asked = None;
        }
        is_late
    }

    /// Handles a connection that broke before the answer was there.
    pub(super) fn interrupted(&mut self, outputs: &mut Outputs) {
        (self.n_to_come, self.collected) = (0, Vec::new());
        if let Some((n, _)) = self.asked {
            outputs.send_to(self.line, &Request { id: 0, ask: Ask::Latest { n } });
        }
    }

    /// Takes a part of the answer.
    pub(super) fn take(&mut self, message: Message) {
        match message {
            Message::Reply(Reply { n_frames, answer, .. }) => {
                if let Answer::Refused { reason } = answer {
                    tracing::warn!(reason, "the measure buffer gives no history");
                }
                (self.n_to_come, self.collected) = (n_frames, Vec::new());
                self.is_complete = n_frames == 0;
            }
            Message::Sample(sample) => {
                let values = vec![sample.value];
                self.collected.push(Measurement { number: sample.number, time: sample.time, values });
                self.count_frame();
            }
            Message::Measurement(measurement) => {
                self.collected.push(measurement);
                self.count_frame();
            }
            _ => self.count_frame(),
        }
    }

    /// Counts a frame of the answer.
    pub(super) fn count_frame(&mut self) {
        self.n_to_come = self.n_to_come.saturating_sub(1);
        self.is_complete = self.n_to_come == 0;
    }

    /// Returns the answer when it is whole.
    pub(super) fn take_complete(&mut self) -> Option<Vec<Measurement>> {
        std::mem::take(&mut self.is_complete).then(|| {
            self.asked = None;
            std::mem::take(&mut self.collected)
        })
    }
}
