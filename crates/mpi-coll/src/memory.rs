//! Memory that the ranks of one host share for one tree: for each node on the host counters, two words to wait on,
//! results and slots.
//!
//! Data are copied as atomic words, so that a rank that breaks the protocol spoils a value and nothing else. Who may
//! write what when is the engine's business.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::plan::Plan;

/// Words that processes or threads share.
pub(crate) trait Shared: Send + Sync {
    fn words(&self) -> &[AtomicU64];
}

impl Shared for mpi_job::Segment {
    fn words(&self) -> &[AtomicU64] {
        Self::words(self)
    }
}

impl Shared for Vec<AtomicU64> {
    fn words(&self) -> &[AtomicU64] {
        self
    }
}

const WORD_BYTES: usize = size_of::<u64>();
/// Words of a cache line: what different ranks write at the same time is on different ones.
const LINE: usize = 64 / WORD_BYTES;
/// Lines for counters, [`Wait::Forward`], [`Wait::Released`] and readers.
const N_CONTROL: usize = 4;
/// Words before the data of a slot or a result.
const N_HEAD: usize = 2;
/// Results of calls in which all ranks wait, and of those in which they do not.
const N_RESULTS: usize = 2;

/// Places of the nodes of one host in its memory.
#[derive(Debug)]
pub(crate) struct Layout {
    /// First word of each node, by node. Those of other hosts have none.
    places: Vec<Option<usize>>,
    /// Words of a slot or a result.
    stride: usize,
    n_words: usize,
}

/// A node's part of the memory.
#[derive(Clone, Copy)]
pub(crate) struct NodeMemory<'a> {
    words: &'a [AtomicU64],
    stride: usize,
}

/// A counter of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counter {
    /// Contributors that arrived, ever.
    Arrived = 0,
    /// Calls whose contributions were combined, so that slots are free.
    Combined = 1,
    /// Taken while somebody combines what came first with what came later.
    Lock = 2,
    /// Those who have used a result that not all wait for, ever.
    Readers = 6 * LINE as isize,
}

/// A word to wait on: the number of the last call that was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Those who hand the result on to others.
    Forward = 2 * LINE as isize,
    /// Those who go back to their program.
    Released = 4 * LINE as isize,
}

/// The kind of a node's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Result of a call that ends for nobody before all have come to it.
    AllWait = 0,
    /// Result of any other call.
    SomeWait = 1,
}

/// A piece of a node's memory with a head and data.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a>(&'a [AtomicU64]);

impl Layout {
    /// Builds the layout for values of `capacity_bytes` bytes.
    pub(crate) fn of(plan: &Plan, host: usize, capacity_bytes: usize) -> Self {
        let stride = (N_HEAD + capacity_bytes.div_ceil(WORD_BYTES)).next_multiple_of(LINE);
        let mut n_words = 0;
        let places = plan.nodes.iter().map(|node| {
            (node.host == host).then(|| {
                let place = n_words;
                // One slot more, for what came first.
                n_words += N_CONTROL * LINE + (N_RESULTS + node.inputs.len() + 1) * stride;
                place
            })
        });
        let places = places.collect();
        Self { places, stride, n_words }
    }

    /// Words of all nodes together; 0 if none is on the host.
    pub(crate) fn n_words(&self) -> usize {
        self.n_words
    }

    pub(crate) fn node<'a>(&self, memory: &'a dyn Shared, node: usize) -> NodeMemory<'a> {
        let place = self.places[node].expect("a rank touches nodes of its own host");
        NodeMemory { words: &memory.words()[place..], stride: self.stride }
    }
}

impl<'a> NodeMemory<'a> {
    pub(crate) fn counter(self, counter: Counter) -> &'a AtomicU32 {
        self.half(counter as usize)
    }

    pub(crate) fn wait(self, wait: Wait) -> &'a AtomicU32 {
        self.half(wait as usize)
    }

    /// Returns the number of ranks that sleep on that word.
    pub(crate) fn sleepers(self, wait: Wait) -> &'a AtomicU32 {
        self.half(wait as usize + 1)
    }

    /// The control words are used by halves, and only by halves.
    fn half(self, at: usize) -> &'a AtomicU32 {
        let control = &self.words[..N_CONTROL * LINE];
        assert!(at < 2 * control.len(), "control words are at the start");
        // SAFETY: two of 32 bits lie in one of 64 bits, aligned, and the position was checked. Nobody accesses these
        // words as whole ones.
        unsafe { &*control.as_ptr().cast::<AtomicU32>().add(at) }
    }

    pub(crate) fn result(self, which: Which) -> Piece<'a> {
        self.piece(which as usize)
    }

    pub(crate) fn slot(self, position: usize) -> Piece<'a> {
        self.piece(N_RESULTS + position)
    }

    fn piece(self, at: usize) -> Piece<'a> {
        let start = N_CONTROL * LINE + at * self.stride;
        Piece(&self.words[start..start + self.stride])
    }
}

impl Piece<'_> {
    pub(crate) fn head(&self, at: usize) -> u64 {
        self.0[..N_HEAD][at].load(Ordering::Relaxed)
    }

    pub(crate) fn set_head(&self, at: usize, value: u64) {
        self.0[..N_HEAD][at].store(value, Ordering::Relaxed);
    }

    /// Writes from the start of the data.
    pub(crate) fn write(&self, bytes: &[u8]) {
        let (whole, rest) = bytes.as_chunks::<WORD_BYTES>();
        let (words, last) = self.0[N_HEAD..].split_at(whole.len());
        for (word, bytes) in words.iter().zip(whole) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
        if !rest.is_empty() {
            let mut bytes = [0; WORD_BYTES];
            bytes[..rest.len()].copy_from_slice(rest);
            last[0].store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
        }
    }

    /// Appends that range of the data.
    pub(crate) fn read(&self, bytes: Range<usize>, into: &mut Vec<u8>) {
        let words = bytes.start / WORD_BYTES..bytes.end.div_ceil(WORD_BYTES);
        let skipped = into.len() + bytes.start - words.start * WORD_BYTES;
        let (n_before, end) = (into.len(), skipped + bytes.len());
        for word in &self.0[N_HEAD..][words] {
            into.extend(word.load(Ordering::Relaxed).to_ne_bytes());
        }
        into.truncate(end);
        into.drain(n_before..skipped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_in_any_part() {
        let words: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(u64::MAX)).collect();
        let piece = Piece(&words);
        let bytes: Vec<u8> = (0..43).collect();
        piece.write(&bytes);
        for (from, to) in [(0, 43), (0, 0), (3, 5), (7, 9), (8, 16), (41, 43)] {
            let mut read = vec![99];
            piece.read(from..to, &mut read);
            assert_eq!(read[1..], bytes[from..to], "{from}..{to}");
        }
    }
}
