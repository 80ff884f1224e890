//! Takes events out of a ring as they come.

use crate::{Cursor, Event, Record, Ring};

/// A reader of a ring that returns events, not records.
#[derive(Debug)]
pub struct Drain<'a> {
    ring: Ring<'a>,
    cursor: Cursor,
    assembly: Assembly,
    records: Vec<Record>,
}

/// Builds events from records. Of an event that takes two records, it keeps the first until the second comes.
#[derive(Clone, Debug, Default)]
pub struct Assembly {
    before: Option<Record>,
}

impl<'a> Drain<'a> {
    /// Builds a reader that starts at the oldest record that the ring holds.
    #[must_use]
    pub fn new(ring: Ring<'a>) -> Self {
        Self { ring, cursor: Cursor::default(), assembly: Assembly::default(), records: Vec::new() }
    }

    /// Builds a reader that continues where another reader of the same ring was.
    #[must_use]
    pub fn from(ring: Ring<'a>, cursor: Cursor) -> Self {
        Self { cursor, ..Self::new(ring) }
    }

    /// Returns the ring that it reads.
    #[must_use]
    pub fn ring(&self) -> Ring<'a> {
        self.ring
    }

    /// Whether there is nothing to read just now.
    #[must_use]
    pub fn is_dry(&self) -> bool {
        self.cursor.position >= self.ring.n_written()
    }

    /// Returns its position: before the half of an event that it may have at hand.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        let n_ahead = u64::from(self.assembly.before.is_some());
        // A writer that is damaged may have taken the cursor back meanwhile.
        Cursor { position: self.cursor.position.saturating_sub(n_ahead), ..self.cursor }
    }

    /// Appends the events that were written since, of at most `n_max` records. Returns the number of records that were
    /// lost: overwritten before they were read, or of no use because they are half an event or no operation's.
    pub fn take(&mut self, n_max: usize, into: &mut Vec<Event>) -> u64 {
        self.records.clear();
        let n_lost = self.ring.read(&mut self.cursor, n_max, &mut self.records);
        self.assembly.add(&self.records, n_lost, into)
    }
}

impl Assembly {
    /// Appends the events of records that were written one after the other, `n_lost` others right before them. Returns
    /// the number of records that are lost: those, and those that are of no use because they are half an event or no
    /// operation's.
    pub fn add(&mut self, records: &[Record], mut n_lost: u64, into: &mut Vec<Event>) -> u64 {
        if n_lost > 0 {
            n_lost = n_lost.saturating_add(u64::from(self.before.take().is_some()));
        }
        for &record in records {
            match record.event(self.before.as_ref()) {
                Some(event) => {
                    into.push(event);
                    self.before = None;
                }
                None => {
                    let n_parts = u64::from(!record.is_extension()) + u64::from(self.before.take().is_some());
                    n_lost = n_lost.saturating_add(n_parts);
                    self.before = record.is_extension().then_some(record);
                }
            }
        }
        n_lost
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::{Operation, Peer, Reading, RingHeader, RingKind, Subject, n_words};

    fn event(at: u64) -> Event {
        let subject = Subject::Call { communicator: 0, peer: Peer::None, tag: None };
        // Each third event is too large for one record.
        let bytes = if at.is_multiple_of(3) { 1 << 40 } else { 8 };
        Event { start: at, end: at + 1, bytes, operation: Operation::BCAST, is_failed: false, subject }
    }

    #[test]
    fn events_come_out_whole_however_few_are_taken_at_a_time() {
        let words: Vec<AtomicU64> = (0..n_words(64)).map(|_| AtomicU64::new(0)).collect();
        let header = RingHeader {
            kind: RingKind::Calls,
            rank: 0,
            n_ranks: 1,
            pid: 1,
            pid_started: 1,
            thread: 0,
            is_counter: false,
            reading: Reading::default(),
            tree: 0,
            host: String::new(),
        };
        let ring = Ring::create(&words, 64, &header).unwrap();
        let (mut writer, mut drain) = (ring.writer(), Drain::new(ring));
        let (mut events, mut n_lost) = (Vec::new(), 0);
        (0..40).for_each(|at| writer.write(event(at).to_records()));
        while !drain.is_dry() {
            n_lost += drain.take(1, &mut events);
        }
        assert_eq!((&events[..], n_lost), (&(0..40).map(event).collect::<Vec<_>>()[..], 0));
        events.clear();
        (40..200).for_each(|at| writer.write(event(at).to_records()));
        while !drain.is_dry() {
            n_lost += drain.take(10, &mut events);
        }
        let n_records: usize = events.iter().map(|event| 1 + usize::from(event.to_records().0.is_some())).sum();
        let n_since = (40..200_u64).map(|at| 1 + u64::from(at % 3 == 0)).sum::<u64>();
        assert_eq!(n_lost + n_records as u64, n_since);
        assert_eq!(events, (200 - events.len() as u64..200).map(event).collect::<Vec<_>>());
    }
}
