//! State of one stream of bytes that both ends have beside its history: the place where the next match is expected, and
//! the bytes that are still to be remembered.

use crate::history::{History, Place, Run};

/// Number of bytes of a match that are remembered again on each side of what was new: enough that a later version finds
/// an anchor there that leads to the new bytes, most of the time.
const CONTEXT: usize = 1024;

/// One stream, at one end.
///
/// Sender and receiver make the same calls in the same order, so that the runs which they append to are the same.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// The place where the next match begins, if it is what the last one led to.
    pub(crate) expected: Option<Place>,
    /// The gear hash of what was sent last; of no meaning to a receiver.
    pub(crate) hash: u64,
    /// The end of what was matched and not remembered again.
    tail: Vec<u8>,
    /// The place where the last match ended, until something else comes.
    pub(crate) ended: Option<Place>,
    /// Number of bytes of the next match that are to be remembered.
    n_head: usize,
}

/// The end that remembers: a sender also keeps what leads it the next time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Sender,
    Receiver,
}

impl Flow {
    /// Remembers bytes that were new, after what led to them.
    pub(crate) fn note_literal(&mut self, history: &mut impl History, run: Run, bytes: &[u8], role: Role) {
        if bytes.is_empty() {
            return;
        }
        history.append(run, &self.tail);
        self.tail.clear();
        if let Some(ended) = self.ended.take().filter(|_| role == Role::Sender) {
            history.lead(ended, history.end(run));
        }
        history.append(run, bytes);
        self.n_head = CONTEXT;
        self.expected = self.expected.map(|place| place.after(bytes.len()));
    }

    /// Remembers of bytes that are known what follows new ones, and keeps what may lead to the next.
    pub(crate) fn note_copy(&mut self, history: &mut impl History, run: Run, source: Place, bytes: &[u8], role: Role) {
        let (head, rest) = bytes.split_at(self.n_head.min(bytes.len()));
        history.append(run, head);
        if role == Role::Sender {
            if let Some(ended) = self.ended.filter(|&ended| ended != source) {
                history.lead(ended, source);
            }
            if self.n_head > 0 && self.n_head == head.len() {
                history.lead(history.end(run), source.after(head.len()));
            }
        }
        self.n_head -= head.len();
        if rest.len() >= CONTEXT {
            self.tail.clear();
            self.tail.extend_from_slice(&rest[rest.len() - CONTEXT..]);
        } else {
            let n_over = (self.tail.len() + rest.len()).saturating_sub(CONTEXT);
            self.tail.drain(..n_over);
            self.tail.extend_from_slice(rest);
        }
        let end = source.after(bytes.len());
        (self.expected, self.ended) = (Some(end), Some(end));
    }
}
