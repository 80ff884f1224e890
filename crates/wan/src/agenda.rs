//! An agenda: entries ordered by their moment, then by the order in which they were noted. A limit on their memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Entries to be carried out, each at its moment since the origin.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    entries: BinaryHeap<Reverse<Entry<T>>>,
    n_ever: u64,
}

/// Memory of messages on the way. A message that has no room is dropped, as by a full queue.
#[derive(Debug, Default)]
pub(crate) struct Flying {
    bytes: usize,
}

#[derive(Debug)]
struct Entry<T> {
    due: Duration,
    number: u64,
    what: T,
}

impl<T> Agenda<T> {
    pub(crate) fn note(&mut self, due: Duration, what: T) {
        self.entries.push(Reverse(Entry { due, number: self.n_ever, what }));
        self.n_ever += 1;
    }

    /// Returns the moment of the next entry.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        self.entries.peek().map(|Reverse(entry)| entry.due)
    }

    /// Returns the earliest entry that is due at `now`, with its moment.
    pub(crate) fn take_due(&mut self, now: Duration) -> Option<(Duration, T)> {
        self.next_due().filter(|due| *due <= now)?;
        self.entries.pop().map(|Reverse(entry)| (entry.due, entry.what))
    }
}

impl Flying {
    /// Limit in bytes: more than a link of 10 Gbit/s has on the way in 200 ms.
    const BYTES_MAX: usize = 256 << 20;
    /// Bytes of a message beside its content: its entry, and what the heap adds.
    const EACH_BYTES: usize = 128;

    pub(crate) fn has_room(&self, content_bytes: usize) -> bool {
        self.bytes + content_bytes + Self::EACH_BYTES <= Self::BYTES_MAX
    }

    pub(crate) fn begin(&mut self, content_bytes: usize) {
        self.bytes += content_bytes + Self::EACH_BYTES;
    }

    pub(crate) fn end(&mut self, content_bytes: usize) {
        self.bytes -= content_bytes + Self::EACH_BYTES;
    }
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { entries: BinaryHeap::new(), n_ever: 0 }
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_without_content_take_memory_too() {
        let mut flying = Flying::default();
        let n_max = Flying::BYTES_MAX / Flying::EACH_BYTES;
        for _ in 0..n_max {
            assert!(flying.has_room(0));
            flying.begin(0);
        }
        assert!(!flying.has_room(0));
        flying.end(0);
        assert!(flying.has_room(0) && !flying.has_room(1));
    }

    #[test]
    fn things_of_one_moment_keep_their_order() {
        let mut agenda = Agenda::default();
        for (due_ms, what) in [(5, 'b'), (3, 'a'), (5, 'c'), (9, 'd')] {
            agenda.note(Duration::from_millis(due_ms), what);
        }
        let mut due = |now_ms: u64| {
            std::iter::from_fn(|| agenda.take_due(Duration::from_millis(now_ms)))
                .map(|(_, what)| what)
                .collect::<String>()
        };
        assert_eq!([due(2), due(5), due(8), due(9)], ["", "abc", "", "d"]);
    }
}
