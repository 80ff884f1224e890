//! Memory of both ends: runs of bytes, each written by one sender and mirrored by its receiver, and the places of their
//! anchors.
//!
//! A run is named by a number that its writer drew, and grows at its end only, so that a place in it means the same
//! bytes at both ends for ever. Either end may lose any part of any run at any time: the receiver asks for what it
//! lacks.

use crate::gear::{Anchor, Gear};
use crate::hints::Hints;

/// The name of a run: drawn at random by its writer, anew each time that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub [u8; 16]);

/// A run as one end numbers those that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run(pub u32);

/// A byte of a run, or the end of what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The run.
    pub run: Run,
    /// Number of bytes of the run before the place.
    pub position: u64,
}

/// Memory for bytes, by their places.
///
/// Nothing here fails: what cannot be read or written is as good as forgotten, and whoever implements this counts it.
pub trait History {
    /// The run of this name, which is made where it is not known.
    fn run(&mut self, id: RunId) -> Run;

    /// The name of a run that [`History::run`] gave.
    fn id(&self, run: Run) -> RunId;

    /// The end of a window with this anchor, the latest one that is known. It may be of another window: compare.
    fn find(&mut self, anchor: Anchor) -> Option<Place>;

    /// The bytes from there on that can be had at once: some, or none if there are none, or no longer.
    fn ahead(&mut self, from: Place) -> &[u8];

    /// Copies the bytes from there on, and says how many there were: fewer than there is room for where the next one is
    /// forgotten.
    fn copy_ahead(&mut self, from: Place, bytes: &mut [u8]) -> usize {
        let mut n_copied = 0;
        while n_copied < bytes.len() {
            let known = self.ahead(from.after(n_copied));
            let n = known.len().min(bytes.len() - n_copied);
            if n == 0 {
                break;
            }
            bytes[n_copied..n_copied + n].copy_from_slice(&known[..n]);
            n_copied += n;
        }
        n_copied
    }

    /// Those before, like [`History::ahead`].
    fn behind(&mut self, before: Place) -> &[u8];

    /// Returns the place where the next bytes of a run go.
    fn end(&self, run: Run) -> Place;

    /// Remembers more of a run, with its anchors.
    fn append(&mut self, run: Run, bytes: &[u8]);

    /// Returns the place where what followed a match that ended there began the last time, if that is known.
    fn led(&self, end: Place) -> Option<Place>;

    /// Remembers it, until it is forgotten. It is a sender's; [`Hints`] are made for it.
    fn lead(&mut self, end: Place, next: Place);

    /// Remembers bytes of a run that were forgotten, or are not the right ones there. They are from before its end.
    fn restore(&mut self, from: Place, bytes: &[u8]);
}

impl Place {
    /// The place so many bytes later.
    #[must_use]
    pub fn after(self, n_bytes: usize) -> Self {
        Self { position: self.position.saturating_add(n_bytes as u64), ..self }
    }

    /// The place so many bytes earlier.
    #[must_use]
    pub(crate) fn before(self, n_bytes: usize) -> Self {
        Self { position: self.position.saturating_sub(n_bytes as u64), ..self }
    }
}

/// A history in memory, without a limit unless it is given one: for estimates, tests, and whoever has that much.
#[derive(Clone, Debug)]
pub struct MemoryHistory {
    gear: Gear,
    runs: Vec<Written>,
    index: AnchorTable,
    hints: Hints,
    /// Anchors of what is being appended.
    met: Vec<(Anchor, u64)>,
    /// Greatest number of remembered bytes of each run.
    n_run_max: usize,
}

#[derive(Clone, Debug)]
struct Written {
    id: RunId,
    /// Number of bytes before `bytes`, which are forgotten.
    n_forgotten: usize,
    bytes: Vec<u8>,
    hash: u64,
}

impl Written {
    /// Returns the index of a position in `bytes`; `None` if the position is forgotten.
    fn index(&self, position: u64) -> Option<usize> {
        usize::try_from(position).ok()?.checked_sub(self.n_forgotten)
    }
}

impl MemoryHistory {
    /// An empty one, with these anchors.
    #[must_use]
    pub fn new(gear: Gear) -> Self {
        let (runs, index, hints, met) = Default::default();
        Self { gear, runs, index, hints, met, n_run_max: usize::MAX }
    }

    /// Returns the history with a limit: of each run at most `n_run_max` bytes are remembered. When there are more, the
    /// oldest quarter is forgotten at once, so that bytes are moved rarely.
    #[must_use]
    pub fn with_limit(self, n_run_max: usize) -> Self {
        Self { n_run_max, ..self }
    }

    /// Whether the limit has made it forget something.
    #[must_use]
    pub fn has_forgotten(&self) -> bool {
        self.runs.iter().any(|run| run.n_forgotten > 0)
    }

    /// Returns the number of known anchors.
    #[must_use]
    pub fn n_anchors(&self) -> usize {
        self.index.n_entries
    }

    /// Returns the number of remembered bytes.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.bytes.len() as u64).sum()
    }

    /// Forgets the bytes of a run, not where its anchors were: what a loss of data is like.
    pub fn lose(&mut self, run: Run) {
        self.runs[run.0 as usize].bytes.fill(0);
    }
}

impl History for MemoryHistory {
    fn run(&mut self, id: RunId) -> Run {
        let known = self.runs.iter().position(|run| run.id == id);
        Run(known.unwrap_or_else(|| {
            self.runs.push(Written { id, n_forgotten: 0, bytes: Vec::new(), hash: 0 });
            self.runs.len() - 1
        }) as u32)
    }

    fn id(&self, run: Run) -> RunId {
        self.runs[run.0 as usize].id
    }

    fn find(&mut self, anchor: Anchor) -> Option<Place> {
        let found = self.index.get(anchor)?;
        Some(Place { run: Run((found >> 48) as u32), position: found & ((1 << 48) - 1) })
    }

    fn ahead(&mut self, from: Place) -> &[u8] {
        let written = &self.runs[from.run.0 as usize];
        written.index(from.position).and_then(|at| written.bytes.get(at..)).unwrap_or_default()
    }

    fn behind(&mut self, before: Place) -> &[u8] {
        let written = &self.runs[before.run.0 as usize];
        written.index(before.position).and_then(|at| written.bytes.get(..at)).unwrap_or_default()
    }

    fn end(&self, run: Run) -> Place {
        let written = &self.runs[run.0 as usize];
        Place { run, position: (written.n_forgotten + written.bytes.len()) as u64 }
    }

    fn append(&mut self, run: Run, bytes: &[u8]) {
        let written = &mut self.runs[run.0 as usize];
        let base = written.n_forgotten + written.bytes.len();
        written.bytes.extend_from_slice(bytes);
        let (mut at, mut last) = (0, None);
        while let Some(taken) = self.gear.next_anchor(&mut written.hash, &bytes[at..]) {
            at += taken;
            // In a stretch of one byte every hash is the same: the first place is enough.
            if last.replace(written.hash) != Some(written.hash) {
                self.met.push((Anchor(written.hash), u64::from(run.0) << 48 | (base + at) as u64));
            }
        }
        // One after the other, so that the processor waits for memory once, not for each.
        self.met.drain(..).for_each(|(anchor, place)| self.index.set(anchor, place));
        if written.bytes.len() > self.n_run_max {
            let n = written.bytes.len() - self.n_run_max / 4 * 3;
            written.bytes.drain(..n);
            written.n_forgotten += n;
            let first = u64::from(run.0) << 48 | written.n_forgotten as u64;
            self.index.retain(|place| place >> 48 != u64::from(run.0) || place >= first);
        }
    }

    fn led(&self, end: Place) -> Option<Place> {
        self.hints.get(end)
    }

    fn lead(&mut self, end: Place, next: Place) {
        self.hints.set(end, next);
    }

    fn restore(&mut self, from: Place, bytes: &[u8]) {
        let written = &mut self.runs[from.run.0 as usize];
        let Some(at) = written.index(from.position) else {
            return;
        };
        let written = &mut written.bytes;
        if written.len() < at + bytes.len() {
            written.resize(at + bytes.len(), 0);
        }
        written[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// Anchors and what is known of each: open addressing, a power of two of slots, at most half of them taken.
#[derive(Clone, Debug, Default)]
pub struct AnchorTable {
    /// An anchor and its value and one; zero means that a slot is free.
    slots: Vec<(u64, u64)>,
    n_entries: usize,
}

impl AnchorTable {
    /// Returns the value that was set last for this anchor.
    #[inline]
    #[must_use]
    pub fn get(&self, anchor: Anchor) -> Option<u64> {
        if self.slots.is_empty() {
            return None;
        }
        match self.slots[self.slot(anchor)] {
            (_, 0) => None,
            (_, value) => Some(value - 1),
        }
    }

    /// Sets a value below 2^64 - 1, in place of what was there.
    pub fn set(&mut self, anchor: Anchor, value: u64) {
        if (self.n_entries + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let slot = self.slot(anchor);
        self.n_entries += usize::from(self.slots[slot].1 == 0);
        self.slots[slot] = (anchor.0, value + 1);
    }

    /// Keeps entries for which `is_kept` holds.
    pub fn retain(&mut self, is_kept: impl Fn(u64) -> bool) {
        let old = std::mem::take(self).slots.into_iter();
        let mut kept: Vec<_> = old.filter(|(_, value)| *value != 0 && is_kept(*value - 1)).collect();
        // The memory of the old table is returned before the new one grows.
        kept.shrink_to_fit();
        kept.into_iter().for_each(|(anchor, value)| self.set(Anchor(anchor), value - 1));
    }

    /// Returns the number of anchors that have a value.
    #[must_use]
    pub fn len(&self) -> usize {
        self.n_entries
    }

    /// Whether none has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n_entries == 0
    }

    fn slot(&self, anchor: Anchor) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = anchor.mixed() as usize & mask;
        while self.slots[slot].1 != 0 && self.slots[slot].0 != anchor.0 {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let n_slots = (self.slots.len() * 2).max(1024);
        let old = std::mem::replace(&mut self.slots, vec![(0, 0); n_slots]);
        for entry in old {
            if entry.1 != 0 {
                let slot = self.slot(Anchor(entry.0));
                self.slots[slot] = entry;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gear::Key;

    #[test]
    fn what_was_set_last_is_found_however_many_there_are() {
        let mut table = AnchorTable::default();
        assert_eq!(table.get(Anchor(7)), None);
        for anchor in 0..10_000 {
            table.set(Anchor(anchor << 20), anchor);
        }
        table.set(Anchor(5 << 20), 77);
        assert_eq!((table.len(), table.get(Anchor(5 << 20)), table.get(Anchor(6 << 20))), (10_000, Some(77), Some(6)));
        table.retain(|value| value % 2 == 1);
        assert_eq!((table.len(), table.get(Anchor(6 << 20)), table.get(Anchor(7 << 20))), (5_000, None, Some(7)));
    }

    #[test]
    fn places_beyond_what_was_written_hold_nothing() {
        let mut history = MemoryHistory::new(Gear::new(&Key::OPEN, 8));
        let run = history.run(RunId([1; 16]));
        history.append(run, b"abc");
        let at = |position| Place { run, position };
        assert_eq!(history.ahead(at(1)), b"bc");
        assert_eq!(history.behind(at(1)), b"a");
        assert!(history.ahead(at(u64::MAX)).is_empty() && history.behind(at(4)).is_empty());
    }

    #[test]
    fn a_limit_forgets_the_oldest_bytes_and_their_anchors() {
        let mut bytes = vec![0; 40_000];
        Key::OPEN.hasher().finalize_xof().fill(&mut bytes);
        let mut history = MemoryHistory::new(Gear::new(&Key::OPEN, 8)).with_limit(10_000);
        let run = history.run(RunId([1; 16]));
        for part in bytes.chunks(1_000) {
            history.append(run, part);
            assert!(history.n_bytes() <= 10_000);
        }
        assert_eq!((history.end(run).position, history.has_forgotten()), (40_000, true));
        let at = |position| Place { run, position };
        assert_eq!(history.ahead(at(39_000)), &bytes[39_000..]);
        assert!(history.ahead(at(29_000)).is_empty() && history.behind(at(29_000)).is_empty());
        let n_forgotten = 40_000 - history.n_bytes();
        let n_anchors = history.n_anchors();
        history.index.retain(|place| place < n_forgotten);
        assert!(n_anchors > 10 && history.n_anchors() == 0);
    }
}
