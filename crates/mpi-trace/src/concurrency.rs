//! The page in which the ranks of a host count how many of them run: thread-level parallelism, without a lock.
//!
//! The memory is a slice of words that the caller brings, laid out as `docs/formats/mpi-concurrency.md` says. Times
//! are nanoseconds of the host's monotonic clock, and the caller brings these too.

mod state;

use std::sync::atomic::{AtomicU64, Ordering, fence};

use serde::{Deserialize, Serialize};
use units::Rank;

pub use state::{WaitKind, WaitState};

/// Greatest number of ranks of a host.
pub const N_HOST_RANKS_MAX: usize = (1 << RUNNING_BITS) - 1;

const MAGIC: u64 = u64::from_le_bytes(*b"FTCONC1\n");
/// Bits of the number of running ranks; those above are the time of its last change.
const RUNNING_BITS: u32 = 12;
const LINE: usize = 8;
const N_RANK_WORDS: usize = 4 * LINE;
/// Attempts to read a state in which no addition is under way.
const N_TRIES: usize = 1_000;
/// Collective calls that a rank keeps, each by the low bits of its communicator.
const N_ENTERED: usize = 8;
const SEQUENCE_BITS: u32 = 24;

mod word {
    pub(super) const MAGIC: usize = 0;
    pub(super) const N_RANKS: usize = 1;
    pub(super) const MODE: usize = 2;
    pub(super) const MADE_NS: usize = 3;
    pub(super) const RUNNING: usize = 8;
    pub(super) const N_ASLEEP: usize = 16;
    pub(super) const LEVELS: usize = 24;
}

mod rank_word {
    pub(super) const RANK: usize = 0;
    pub(super) const PROCESS: usize = 1;
    pub(super) const PROCESS_STARTED: usize = 2;
    pub(super) const STATE: usize = 8;
    pub(super) const BLOCKED_NS: usize = 9;
    pub(super) const N_BLOCKED: usize = 10;
    pub(super) const BELL: usize = 16;
    pub(super) const ENTERED: usize = 24;
}

/// The way in which ranks wait, by its word in the environment, on command lines and in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitMode {
    /// Waits are the MPI library's own.
    Library,
    /// Yielding the core between tests.
    Yield,
    /// Asleep until another rank rings.
    Block,
}

impl WaitMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Library, Self::Yield, Self::Block];

    /// Returns the mode with this word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == word)
    }

    /// Returns its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Yield => "yield",
            Self::Block => "block",
        }
    }
}

/// The placing of ranks on processors, by its word in the environment, on command lines and in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RankPlacing {
    /// Neighbouring ranks on one processor.
    Blocked,
    /// Neighbouring ranks on different processors, in turn.
    Cyclic,
}

impl RankPlacing {
    /// Returns the placing with this word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        [Self::Blocked, Self::Cyclic].into_iter().find(|placing| placing.name() == word)
    }

    /// Returns its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Cyclic => "cyclic",
        }
    }
}

/// Facts of a page that never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyHeader {
    /// Ranks of the host.
    pub n_ranks: u32,
    /// Ranks of the job.
    pub n_job_ranks: u32,
    /// Their way of waiting.
    pub mode: WaitMode,
    /// Cores to which ranks are bound; 0 if they are not.
    pub n_processors: u32,
    /// Time at which the page was made.
    pub made_ns: u64,
}

/// A rank as it describes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyRank {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: Rank,
    /// Core that it is bound to.
    pub processor: Option<u32>,
    /// Its process.
    pub pid: u32,
    /// Start time of the process, in the kernel's ticks since the host's start.
    pub pid_started: u64,
}

/// Time at each level of thread-level parallelism, up to a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Concurrency {
    /// Nanoseconds during which so many ranks were running, from 0 to all of them.
    pub levels_ns: Vec<u64>,
    /// Number of running ranks at the end.
    pub n_running: u32,
}

/// A collective call: its communicator, by a number that all members share, and its position there, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveCall {
    /// Hash of the communicator, of 40 bits.
    pub communicator: u64,
    /// Position among the communicator's collective calls, modulo 2^24.
    pub sequence: u32,
}

/// A page in memory that processes share.
#[derive(Clone, Copy, Debug)]
pub struct ConcurrencyPage<'a> {
    words: &'a [AtomicU64],
    n_ranks: usize,
}

/// A reason why words are no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConcurrencyError {
    /// It does not begin as a page of this version does.
    #[error("it is not a page of this version")]
    Magic,
    /// It has fewer words than its number of ranks needs, or a header that cannot be.
    #[error("its header contradicts its size")]
    Size,
}

/// Returns the number of words of a page.
#[must_use]
pub fn n_concurrency_words(n_ranks: usize) -> usize {
    first_rank_word(n_ranks) + n_ranks * N_RANK_WORDS
}

fn first_rank_word(n_ranks: usize) -> usize {
    word::LEVELS + (n_ranks + 1).next_multiple_of(LINE)
}

impl<'a> ConcurrencyPage<'a> {
    /// Prepares a page in words that are zero. No rank is running.
    ///
    /// # Panics
    /// If the words are not as many as [`n_concurrency_words`] says, or ranks more than [`N_HOST_RANKS_MAX`].
    #[must_use]
    pub fn prepare(words: &'a [AtomicU64], header: &ConcurrencyHeader) -> Self {
        let n_ranks = header.n_ranks as usize;
        assert!(n_ranks <= N_HOST_RANKS_MAX && words.len() == n_concurrency_words(n_ranks), "the page fits its ranks");
        let mode = match header.mode {
            WaitMode::Library => 0,
            WaitMode::Yield => 1,
            WaitMode::Block => 2,
        };
        words[word::N_RANKS].store(halves(header.n_ranks, header.n_job_ranks), Ordering::Relaxed);
        words[word::MODE].store(halves(mode, header.n_processors), Ordering::Relaxed);
        words[word::MADE_NS].store(header.made_ns, Ordering::Relaxed);
        words[word::MAGIC].store(MAGIC, Ordering::Release);
        Self { words, n_ranks }
    }

    /// Returns the page in words that somebody prepared.
    ///
    /// # Errors
    /// If nobody did, or they are too few.
    pub fn new(words: &'a [AtomicU64]) -> Result<Self, ConcurrencyError> {
        if words.first().map(|word| word.load(Ordering::Acquire)) != Some(MAGIC) {
            return Err(ConcurrencyError::Magic);
        }
        let n_ranks = words.get(word::N_RANKS).map_or(0, |word| word.load(Ordering::Relaxed) as u32 as usize);
        if n_ranks == 0 || n_ranks > N_HOST_RANKS_MAX || words.len() < n_concurrency_words(n_ranks) {
            return Err(ConcurrencyError::Size);
        }
        let page = Self { words, n_ranks };
        if page.load(word::MODE) as u32 > 2 { Err(ConcurrencyError::Size) } else { Ok(page) }
    }

    /// Returns its header.
    #[must_use]
    pub fn header(&self) -> ConcurrencyHeader {
        let (n_ranks, n_job_ranks) = parted(self.load(word::N_RANKS));
        let (mode, n_processors) = parted(self.load(word::MODE));
        let mode = match mode {
            0 => WaitMode::Library,
            1 => WaitMode::Yield,
            _ => WaitMode::Block,
        };
        ConcurrencyHeader { n_ranks, n_job_ranks, mode, n_processors, made_ns: self.load(word::MADE_NS) }
    }

    /// Returns the number of ranks of the host.
    #[must_use]
    pub fn n_ranks(&self) -> usize {
        self.n_ranks
    }

    /// Writes down who the rank at a position is.
    pub fn describe(&self, at: usize, rank: &ConcurrencyRank) {
        let processor = rank.processor.map_or(0, |processor| processor + 1);
        self.of_rank(at, rank_word::PROCESS).store(rank.pid.into(), Ordering::Relaxed);
        self.of_rank(at, rank_word::PROCESS_STARTED).store(rank.pid_started, Ordering::Relaxed);
        self.of_rank(at, rank_word::RANK).store(halves(rank.rank, processor), Ordering::Release);
    }

    /// Returns who the rank at a position is; `None` before it has described itself.
    #[must_use]
    pub fn rank(&self, at: usize) -> Option<ConcurrencyRank> {
        let (rank, processor) = parted(self.of_rank(at, rank_word::RANK).load(Ordering::Acquire));
        let pid = self.of_rank(at, rank_word::PROCESS).load(Ordering::Relaxed) as u32;
        let pid_started = self.of_rank(at, rank_word::PROCESS_STARTED).load(Ordering::Relaxed);
        (pid != 0).then(|| ConcurrencyRank { rank, processor: processor.checked_sub(1), pid, pid_started })
    }

    /// Changes the number of running ranks by one, and accounts for the time since the last change.
    pub fn count(&self, is_more: bool, now_ns: u64) {
        let now = now_ns.saturating_sub(self.load(word::MADE_NS));
        let running = &self.words[word::RUNNING];
        let mut old = running.load(Ordering::Relaxed);
        loop {
            let (n, then) = unpacked(old);
            let next = if is_more { n.saturating_add(1).min(self.n_ranks) } else { n.saturating_sub(1) };
            // Another rank may have read the clock later and swapped first.
            let new = packed(next, now.max(then));
            match running.compare_exchange_weak(old, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    self.words[word::LEVELS + n.min(self.n_ranks)].fetch_add(now.max(then) - then, Ordering::Release);
                    return;
                }
                Err(other) => old = other,
            }
        }
    }

    /// Returns the time at each level from the page's beginning to `now_ns`.
    ///
    /// The levels sum up to that time exactly, unless a rank was interrupted in the middle of a change.
    #[must_use]
    pub fn concurrency(&self, now_ns: u64) -> Concurrency {
        let now = now_ns.saturating_sub(self.load(word::MADE_NS));
        let mut read = self.levels();
        for _ in 1..N_TRIES {
            if read.0.iter().sum::<u64>() == read.2 {
                break;
            }
            std::hint::spin_loop();
            read = self.levels();
        }
        let (mut levels_ns, n_running, then) = read;
        levels_ns[n_running] += now.saturating_sub(then);
        Concurrency { levels_ns, n_running: n_running as u32 }
    }

    /// Levels, the number of running ranks, and the time of its last change.
    fn levels(&self) -> (Vec<u64>, usize, u64) {
        let (n, then) = unpacked(self.words[word::RUNNING].load(Ordering::Acquire));
        let level = |at: usize| self.words[word::LEVELS + at].load(Ordering::Acquire);
        ((0..=self.n_ranks).map(level).collect(), n.min(self.n_ranks), then)
    }

    /// Returns the state of the rank at a position.
    #[must_use]
    pub fn state(&self, at: usize) -> WaitState {
        WaitState::of_word(self.of_rank(at, rank_word::STATE).load(Ordering::SeqCst))
    }

    /// Sets the state of the rank at a position, as that rank alone does.
    pub fn set_state(&self, at: usize, state: WaitState) {
        self.of_rank(at, rank_word::STATE).store(state.to_word(), Ordering::SeqCst);
    }

    /// Adds a call in which the rank at a position was blocked, as that rank alone does.
    pub fn add_blocked(&self, at: usize, blocked_ns: u64) {
        let add = |word: &AtomicU64, more: u64| word.store(word.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        add(self.of_rank(at, rank_word::BLOCKED_NS), blocked_ns);
        add(self.of_rank(at, rank_word::N_BLOCKED), 1);
    }

    /// Returns the nanoseconds for which the rank at a position was blocked, and in how many calls.
    #[must_use]
    pub fn blocked(&self, at: usize) -> (u64, u64) {
        let load = |word| self.of_rank(at, word).load(Ordering::Relaxed);
        (load(rank_word::BLOCKED_NS), load(rank_word::N_BLOCKED))
    }

    /// Returns the number of ranks that sleep on their bell.
    #[must_use]
    pub fn n_asleep(&self) -> &'a AtomicU64 {
        &self.words[word::N_ASLEEP]
    }

    /// Returns the bell of the rank at a position: rings in the low half, whether the rank sleeps in the high half.
    #[must_use]
    pub fn bell(&self, at: usize) -> &'a AtomicU64 {
        self.of_rank(at, rank_word::BELL)
    }

    /// Notes that the rank at a position enters a collective call, as that rank alone does.
    pub fn enter(&self, at: usize, call: CollectiveCall) {
        let word = call.communicator << SEQUENCE_BITS | u64::from(call.sequence);
        self.of_rank(at, rank_word::ENTERED + slot(call.communicator)).store(word, Ordering::SeqCst);
    }

    /// Whether the rank at a position has entered this call or a later one of the communicator; `None` if its place in
    /// the page was needed for another communicator since.
    #[must_use]
    pub fn has_entered(&self, at: usize, call: CollectiveCall) -> Option<bool> {
        let word = self.of_rank(at, rank_word::ENTERED + slot(call.communicator)).load(Ordering::SeqCst);
        if word == 0 {
            return Some(false);
        }
        let is_same = word >> SEQUENCE_BITS == call.communicator;
        let ahead = (word as u32).wrapping_sub(call.sequence) << (32 - SEQUENCE_BITS);
        is_same.then_some(ahead.cast_signed() >= 0)
    }

    /// Orders what this rank wrote before what it reads of others from now on.
    pub fn settle(&self) {
        fence(Ordering::SeqCst);
    }

    fn load(&self, at: usize) -> u64 {
        self.words[at].load(Ordering::Relaxed)
    }

    fn of_rank(&self, at: usize, word: usize) -> &'a AtomicU64 {
        assert!(at < self.n_ranks, "there are {} ranks on the host", self.n_ranks);
        &self.words[first_rank_word(self.n_ranks) + at * N_RANK_WORDS + word]
    }
}

impl CollectiveCall {
    /// Returns the next position after a number of calls.
    #[must_use]
    pub fn sequence_after(n_calls: u64) -> u32 {
        // From 1, so that the word is never 0.
        (n_calls % ((1 << SEQUENCE_BITS) - 1)) as u32 + 1
    }
}

fn slot(communicator: u64) -> usize {
    communicator as usize % N_ENTERED
}

fn halves(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn parted(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

fn packed(n: usize, time: u64) -> u64 {
    n as u64 | time << RUNNING_BITS
}

fn unpacked(word: u64) -> (usize, u64) {
    (word as usize & N_HOST_RANKS_MAX, word >> RUNNING_BITS)
}

#[cfg(test)]
mod tests;
