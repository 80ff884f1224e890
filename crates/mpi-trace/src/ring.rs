//! A ring of records in memory that the caller brings: one writer, any number of readers, no lock.
//!
//! The memory is a slice of words, as a rule a file that processes of one host have mapped. The writer never waits:
//! when the ring is full, the oldest records go. Each reader has a [`Cursor`] of its own and learns exactly how many
//! records it lost.
//!
//! The first [`N_HEADER_WORDS`] words are the header, `docs/formats/mpi-ring.md`.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use serde::{Deserialize, Serialize};

use crate::record::{N_RECORD_WORDS, Record, Records};

/// Words of 8 bytes before the first record.
pub const N_HEADER_WORDS: usize = 64;
/// Greatest number of records in a ring; 24 GiB.
pub const CAPACITY_MAX: u64 = 1 << 30;
/// Collectors that can be turned on and off one by one; the others follow the last.
pub const N_MASKED: usize = 1024;

const MAGIC: u64 = u64::from_le_bytes(*b"FTRING1\n");
const N_HOST_WORDS: usize = 8;
mod word {
    pub(super) const MAGIC: usize = 0;
    pub(super) const KIND: usize = 1;
    pub(super) const CAPACITY: usize = 2;
    pub(super) const RANK: usize = 3;
    pub(super) const PROCESS: usize = 4;
    pub(super) const PROCESS_STARTED: usize = 5;
    pub(super) const CLOCK: usize = 6;
    pub(super) const TICKS: usize = 7;
    pub(super) const MONOTONIC_NS: usize = 8;
    pub(super) const TREE: usize = 9;
    pub(super) const HOST: usize = 16;
    // Each on a cache line of its own: the writer's, and the one that readers write.
    pub(super) const HEAD: usize = 32;
    pub(super) const LEVEL: usize = 40;
    pub(super) const MASK: usize = 48;
}

/// Header of a ring. Nothing of it changes while the ring is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingHeader {
    /// Kind of records that it holds.
    pub kind: RingKind,
    /// The process's rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Ranks in `MPI_COMM_WORLD`.
    pub n_ranks: u32,
    /// The process, as the host counts it.
    pub pid: u32,
    /// Time at which the process was started, in the kernel's ticks since the host's: distinguishes it from a later
    /// process with the same number.
    pub pid_started: u64,
    /// Number of the process's thread, from 0 in the order of their first call.
    pub thread: u32,
    /// Whether ticks are those of the processor's counter; else they are nanoseconds of the monotonic clock.
    pub is_counter: bool,
    /// A moment on both clocks.
    pub reading: Reading,
    /// Hash of the file of the tree that its collectors belong to; 0 for calls.
    pub tree: u64,
    /// The host's name, cut after 64 bytes.
    pub host: String,
}

/// Purpose of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RingKind {
    /// Calls of a thread.
    Calls,
    /// Stages of calls in a tree.
    Stages,
}

/// One moment on two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Time of the clock that records are stamped with.
    pub ticks: u64,
    /// Time of the host's monotonic clock.
    pub monotonic_ns: u64,
}

/// Level of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    Off,
    /// Calls of the program.
    Calls,
    /// Calls of the program, and stages in trees.
    Trees,
}

/// Memory that is no ring.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// Fewer words than a header has, or than the header asks for.
    #[error("a ring of {needed} words needs as many; there are {given}")]
    TooShort {
        /// Number of words.
        given: usize,
        /// Number of words.
        needed: usize,
    },
    /// Memory that does not begin as a ring does.
    #[error("it does not begin as a ring of records does")]
    NoRing,
    /// A field that no writer writes.
    #[error("the header's {field} is {given}")]
    Header {
        /// Name of the field.
        field: &'static str,
        /// Value of the field.
        given: u64,
    },
}

/// A ring that somebody made in `words`.
#[derive(Clone, Copy, Debug)]
pub struct Ring<'a> {
    words: &'a [AtomicU64],
    capacity: u64,
}

/// The writer of a ring.
#[derive(Debug)]
pub struct Writer<'a> {
    ring: Ring<'a>,
    head: u64,
}

/// Position of a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Position of the next record to read; the first ever written was at 0.
    pub position: u64,
    /// Records that were overwritten before they were read.
    pub n_lost: u64,
}

/// Memory that holds a ring, wherever that is.
pub trait RingMemory {
    /// The reason why it cannot be read.
    type Error;

    /// Reads the word at this place. Words that are read later are not older.
    ///
    /// # Errors
    /// If it cannot be read.
    fn word(&self, at: usize) -> Result<u64, Self::Error>;

    /// Reads the records that lie one after the other from this word on, as many as `into` holds. They may be changed
    /// meanwhile.
    ///
    /// # Errors
    /// If they cannot be read.
    fn records(&self, at: usize, into: &mut [Record]) -> Result<(), Self::Error>;

    /// Reads the number of records that were ever written into the ring.
    ///
    /// # Errors
    /// If it cannot be read.
    #[inline]
    fn n_written(&self) -> Result<u64, Self::Error> {
        self.word(word::HEAD)
    }
}

/// Checks that a ring of so many records has its place in so many words.
///
/// # Errors
/// If `capacity` is not a power of two up to [`CAPACITY_MAX`], or there are less than [`n_words`] of it.
pub fn check_capacity(capacity: u64, n_words_given: usize) -> Result<(), RingError> {
    if !capacity.is_power_of_two() || capacity > CAPACITY_MAX {
        return Err(RingError::Header { field: "capacity", given: capacity });
    }
    match n_words(capacity) {
        needed if n_words_given < needed => Err(RingError::TooShort { given: n_words_given, needed }),
        _ => Ok(()),
    }
}

/// Returns the number of words that a ring of so many records needs.
#[must_use]
pub fn n_words(capacity: u64) -> usize {
    N_HEADER_WORDS + capacity as usize * N_RECORD_WORDS
}

impl<'a> Ring<'a> {
    /// Makes a ring, empty and at [`Level::Trees`], of all words.
    ///
    /// # Errors
    /// If `capacity` is not a power of two up to [`CAPACITY_MAX`], or `words` has not [`n_words`] of it.
    pub fn create(words: &'a [AtomicU64], capacity: u64, header: &RingHeader) -> Result<Self, RingError> {
        let ring = Self::over(words, capacity)?;
        let set = |at: usize, value: u64| words[at].store(value, Ordering::Relaxed);
        set(word::KIND, matches!(header.kind, RingKind::Stages).into());
        set(word::CAPACITY, capacity);
        set(word::RANK, u64::from(header.rank) | u64::from(header.n_ranks) << 32);
        set(word::PROCESS, u64::from(header.pid) | u64::from(header.thread) << 32);
        set(word::PROCESS_STARTED, header.pid_started);
        set(word::CLOCK, header.is_counter.into());
        set(word::TICKS, header.reading.ticks);
        set(word::MONOTONIC_NS, header.reading.monotonic_ns);
        set(word::TREE, header.tree);
        let mut host = [0; N_HOST_WORDS * 8];
        let n_bytes = header.host.floor_char_boundary(host.len());
        host[..n_bytes].copy_from_slice(&header.host.as_bytes()[..n_bytes]);
        for (at, part) in host.as_chunks::<8>().0.iter().enumerate() {
            set(word::HOST + at, u64::from_le_bytes(*part));
        }
        set(word::HEAD, 0);
        set(word::LEVEL, Level::Trees as u64);
        (word::MASK..word::MASK + N_MASKED / 64).for_each(|at| set(at, u64::MAX));
        // Whoever sees this sees all of the above.
        words[word::MAGIC].store(MAGIC, Ordering::Release);
        Ok(ring)
    }

    /// Opens the ring that is in `words`, and reads its header.
    ///
    /// # Errors
    /// If it is none, as is one that its writer has not finished making.
    pub fn open(words: &'a [AtomicU64]) -> Result<(Self, RingHeader), RingError> {
        let (header, capacity) = RingHeader::read(words)?;
        let ring = Self::over(words, capacity)?;
        Ok((ring, header))
    }

    /// Opens the ring in `words`, whose header was read before and is not looked at again: its writer could be damaged.
    ///
    /// # Errors
    /// As those of [`Ring::create`].
    pub fn over(words: &'a [AtomicU64], capacity: u64) -> Result<Self, RingError> {
        check_capacity(capacity, words.len())?;
        Ok(Self { words, capacity })
    }

    /// Returns a writer into the ring, after what is there. There must be no other at the same time: records would be
    /// lost.
    #[must_use]
    pub fn writer(self) -> Writer<'a> {
        Writer { ring: self, head: self.n_written() }
    }

    /// Returns the greatest number of records that it holds.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the number of records that were ever written.
    #[must_use]
    pub fn n_written(&self) -> u64 {
        self.words[word::HEAD].load(Ordering::Acquire)
    }

    /// Returns the level at which its writer is to record.
    #[inline]
    #[must_use]
    pub fn level(&self) -> Level {
        match self.words[word::LEVEL].load(Ordering::Relaxed) {
            0 => Level::Off,
            1 => Level::Calls,
            _ => Level::Trees,
        }
    }

    /// Sets the level of the writer, from its next call on.
    pub fn set_level(&self, level: Level) {
        self.words[word::LEVEL].store(level as u64, Ordering::Relaxed);
    }

    /// Whether a collector of a tree is to record.
    #[inline]
    #[must_use]
    pub fn is_on(&self, collector: u16) -> bool {
        let at = usize::from(collector).min(N_MASKED - 1);
        self.words[word::MASK + at / 64].load(Ordering::Relaxed) >> (at % 64) & 1 == 1
    }

    /// Turns a collector on or off. Those past [`N_MASKED`] follow the last one.
    pub fn turn(&self, collector: u16, is_on: bool) {
        let at = usize::from(collector).min(N_MASKED - 1);
        let (word, bit) = (&self.words[word::MASK + at / 64], 1 << (at % 64));
        if is_on {
            word.fetch_or(bit, Ordering::Relaxed);
        } else {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    /// Appends the records that were written since to `into`, at most `n_max`, and moves the cursor on. Returns the
    /// number that were lost just now.
    pub fn read(&self, cursor: &mut Cursor, n_max: usize, into: &mut Vec<Record>) -> u64 {
        let Ok(n_lost) = cursor.read(self.words, self.capacity, n_max, into);
        n_lost
    }

    #[inline]
    fn place(&self, position: u64) -> usize {
        place(position, self.capacity)
    }
}

impl RingHeader {
    /// Reads the header from the first [`N_HEADER_WORDS`] words of a ring, and the greatest number of records that it
    /// holds.
    ///
    /// # Errors
    /// If they are none of a ring's, as are those that its writer has not finished making.
    pub fn read(words: &[AtomicU64]) -> Result<(Self, u64), RingError> {
        let Some(magic) = words.first() else { return Err(RingError::TooShort { given: 0, needed: N_HEADER_WORDS }) };
        if magic.load(Ordering::Acquire) != MAGIC {
            return Err(RingError::NoRing);
        }
        if words.len() < N_HEADER_WORDS {
            return Err(RingError::TooShort { given: words.len(), needed: N_HEADER_WORDS });
        }
        let get = |at: usize| words[at].load(Ordering::Relaxed);
        let flag = |at: usize, field| match get(at) {
            value @ 0..=1 => Ok(value == 1),
            given => Err(RingError::Header { field, given }),
        };
        let host: Vec<u8> = (word::HOST..word::HOST + N_HOST_WORDS).flat_map(|at| get(at).to_le_bytes()).collect();
        let host = host.split(|&byte| byte == 0).next().unwrap_or_default();
        let header = Self {
            kind: if flag(word::KIND, "kind")? { RingKind::Stages } else { RingKind::Calls },
            rank: get(word::RANK) as u32,
            n_ranks: (get(word::RANK) >> 32) as u32,
            pid: get(word::PROCESS) as u32,
            pid_started: get(word::PROCESS_STARTED),
            thread: (get(word::PROCESS) >> 32) as u32,
            is_counter: flag(word::CLOCK, "clock")?,
            reading: Reading { ticks: get(word::TICKS), monotonic_ns: get(word::MONOTONIC_NS) },
            tree: get(word::TREE),
            host: String::from_utf8_lossy(host).into_owned(),
        };
        Ok((header, get(word::CAPACITY)))
    }
}

impl Cursor {
    /// Appends the records that were written since into the ring of so many records in this memory to `into`, at most
    /// `n_max`, and moves on. Returns the number that were lost just now. [`check_capacity`] has allowed that capacity.
    ///
    /// # Errors
    /// If the memory cannot be read; then nothing is appended, and the cursor is where it was.
    pub fn read<M: RingMemory + ?Sized>(
        &mut self,
        memory: &M,
        capacity: u64,
        n_max: usize,
        into: &mut Vec<Record>,
    ) -> Result<u64, M::Error> {
        let head = memory.n_written()?;
        // A cursor of another ring, or a writer that is damaged.
        let position = self.position.min(head);
        let from = position.max(head.saturating_sub(capacity));
        let to = head.min(from.saturating_add(n_max as u64));
        let n_before = into.len();
        into.resize(n_before + (to - from) as usize, Record::default());
        let (mut at, mut left) = (from, &mut into[n_before..]);
        let mut copied = Ok(());
        while copied.is_ok() && !left.is_empty() {
            let n_in_a_row = left.len().min((capacity - at % capacity) as usize);
            let (piece, rest) = left.split_at_mut(n_in_a_row);
            copied = memory.records(place(at, capacity), piece);
            (at, left) = (at + n_in_a_row as u64, rest);
        }
        // Of what was copied, all that the writer may have begun to overwrite meanwhile goes: also the place that it
        // writes at this moment.
        fence(Ordering::Acquire);
        let head = copied.and_then(|()| memory.n_written()).inspect_err(|_| into.truncate(n_before))?;
        let safe = head.saturating_add(1).saturating_sub(capacity).clamp(from, to);
        into.drain(n_before..n_before + (safe - from) as usize);
        let n_lost = safe - position;
        self.n_lost = self.n_lost.saturating_add(n_lost);
        self.position = to;
        Ok(n_lost)
    }
}

impl RingMemory for [AtomicU64] {
    type Error = Infallible;

    #[inline]
    fn word(&self, at: usize) -> Result<u64, Infallible> {
        Ok(self[at].load(Ordering::Acquire))
    }

    #[inline]
    fn records(&self, at: usize, into: &mut [Record]) -> Result<(), Infallible> {
        let words = self[at..].as_chunks::<N_RECORD_WORDS>().0;
        for (record, words) in into.iter_mut().zip(words) {
            *record = Record(std::array::from_fn(|word| words[word].load(Ordering::Relaxed)));
        }
        Ok(())
    }
}

#[inline]
fn place(position: u64, capacity: u64) -> usize {
    N_HEADER_WORDS + (position & (capacity - 1)) as usize * N_RECORD_WORDS
}

impl<'a> Writer<'a> {
    /// Returns the ring that it writes into.
    #[must_use]
    pub fn ring(&self) -> Ring<'a> {
        self.ring
    }

    /// Returns the position of the next record.
    #[inline]
    #[must_use]
    pub fn position(&self) -> u64 {
        self.head
    }

    /// Writes an event, over the oldest ones when the ring is full.
    #[inline]
    pub fn write(&mut self, (extension, record): Records) {
        if let Some(extension) = extension {
            self.put(extension);
        }
        self.put(record);
    }

    #[inline]
    fn put(&mut self, record: Record) {
        let at = self.ring.place(self.head);
        let words = &self.ring.words[at..at + N_RECORD_WORDS];
        // Whoever sees a word of this record sees the head before it.
        fence(Ordering::Release);
        for (word, value) in words.iter().zip(record.0) {
            word.store(value, Ordering::Relaxed);
        }
        self.head += 1;
        // A reader that sees the new head sees the record, and knows what the next one will overwrite.
        self.ring.words[word::HEAD].store(self.head, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Drain, Event, Operation, Peer, Subject};

    fn memory(capacity: u64) -> Vec<AtomicU64> {
        (0..n_words(capacity)).map(|_| AtomicU64::new(0)).collect()
    }

    fn header() -> RingHeader {
        RingHeader {
            kind: RingKind::Calls,
            rank: 3,
            n_ranks: 64,
            pid: 4711,
            pid_started: 99,
            thread: 1,
            is_counter: true,
            reading: Reading { ticks: 1 << 40, monotonic_ns: 7 },
            tree: u64::MAX,
            host: "node-17".into(),
        }
    }

    fn event(start: u64, bytes: u64, tag: i32) -> Event {
        Event {
            start,
            end: start + bytes + 1,
            bytes,
            operation: Operation::SEND,
            is_failed: false,
            subject: Subject::Call { communicator: 0, peer: Peer::Rank(5), tag: Some(tag) },
        }
    }

    #[test]
    fn the_header_comes_back() {
        let words = memory(4);
        assert_eq!(Ring::open(&words).unwrap_err(), RingError::NoRing);
        Ring::create(&words, 4, &header()).unwrap();
        assert_eq!(Ring::open(&words).unwrap().1, header());
    }

    #[test]
    fn a_reader_knows_exactly_what_it_lost() {
        let words = memory(8);
        let ring = Ring::create(&words, 8, &header()).unwrap();
        let (mut writer, mut cursor, mut read) = (ring.writer(), Cursor::default(), Vec::new());
        for at in 0..5 {
            writer.write(event(at, 1, 0).to_records());
        }
        assert_eq!(ring.read(&mut cursor, 2, &mut read), 0);
        for at in 5..20 {
            writer.write(event(at, 1, 0).to_records());
        }
        // The place of the oldest is the next one to be written, so that it is not to be trusted.
        assert_eq!(ring.read(&mut cursor, 100, &mut read), 13 - 2);
        let starts: Vec<u64> = read.iter().map(Record::start).collect();
        assert_eq!(starts, [0, 1, 13, 14, 15, 16, 17, 18, 19]);
        assert_eq!(cursor, Cursor { position: 20, n_lost: 11 });
    }

    #[test]
    fn a_head_that_jumps_to_and_fro_ends_no_reader() {
        let words = memory(8);
        let ring = Ring::create(&words, 8, &header()).unwrap();
        let (mut writer, mut drain, mut events) = (ring.writer(), Drain::new(ring), Vec::new());
        let (extension, _) = event(0, 1 << 40, 0).to_records();
        writer.write((None, extension.unwrap()));
        for head in [1, 0, u64::MAX, 0, u64::MAX, 3] {
            words[word::HEAD].store(head, Ordering::Relaxed);
            drain.take(100, &mut events);
            assert!(drain.cursor().position <= head);
        }
    }

    #[test]
    fn what_is_wide_takes_two_records_and_comes_back() {
        for (bytes, tag) in [(8, 1), (1 << 31, 1), (1 << 40, i32::MAX), (0, -1), (5, 70_000)] {
            let event = event(77, bytes, tag);
            let (extension, record) = event.to_records();
            assert_eq!(extension.is_some(), bytes > u64::from(u32::MAX) || tag > 60_000, "{bytes} {tag}");
            assert_eq!(record.event(extension.as_ref()), Some(event));
            assert!(extension.is_none() || record.event(None).is_none(), "half an event passes for one");
        }
        let stage = Event { subject: Subject::Stage { collector: 300, sequence: u32::MAX }, ..event(1, 2, 3) };
        let (extension, record) = stage.to_records();
        assert_eq!((extension, record.event(None)), (None, Some(stage)));
    }

    #[test]
    fn collectors_are_turned_off_one_by_one() {
        let words = memory(1);
        let ring = Ring::create(&words, 1, &header()).unwrap();
        ring.turn(70, false);
        ring.set_level(Level::Off);
        assert!(ring.is_on(69) && !ring.is_on(70) && ring.is_on(u16::MAX) && ring.level() == Level::Off);
        ring.turn(u16::MAX, false);
        assert!(!ring.is_on(1023) && ring.is_on(1022));
    }
}
