//! A run from its beginning until nothing moves any more.

use std::num::NonZero;

use units::{SimDuration, SimTime};

use crate::cell::Cell;
use crate::process::{Process, ProcessIdx, Wants};
use crate::protocol::Protocol;
use crate::{parallel, sequential};

/// Settings of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The protocol by which processes find that nothing earlier can still arrive.
    pub protocol: Protocol,
    /// Threads; the sequential protocol has one.
    pub n_workers: NonZero<usize>,
    /// Nothing is taken at this moment or later.
    pub until: SimTime,
}

impl Default for Settings {
    /// One thread, always the earliest message of all, without an end.
    fn default() -> Self {
        Self { protocol: Protocol::Sequential, n_workers: NonZero::<usize>::MIN, until: SimTime::NEVER }
    }
}

/// State when nothing moves any more.
#[derive(Debug)]
pub struct Ended<P> {
    /// The processes, as they were given.
    pub processes: Vec<P>,
    /// Clock of each process.
    pub clocks: Vec<SimTime>,
    /// Those that want another message. Without an end set, none is on its way: they wait for each other or for who has
    /// ended.
    pub waiting: Vec<ProcessIdx>,
    /// Counts of the run.
    pub counts: Counts,
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages taken.
    pub n_taken: u64,
    /// Rounds of the protocol: times that all threads waited for each other.
    pub n_rounds: u64,
    /// Rounds in which no process could take anything.
    pub n_idle_rounds: u64,
    /// Bounds that threads asked others for.
    pub n_null_messages: u64,
    /// Number of stretches: times that a process went on until it had to wait.
    pub n_stretches: u64,
    /// Total time that clocks advanced in these stretches.
    pub stretched: SimDuration,
}

impl Counts {
    /// Returns the mean time that a clock advances until its process has to wait; none where nothing ran.
    #[must_use]
    pub fn mean_stretch(&self) -> Option<SimDuration> {
        Some(SimDuration::from_nanos(self.stretched.as_nanos().checked_div(self.n_stretches)?))
    }

    /// Adds what another thread counted. Rounds are everybody's.
    pub(crate) fn add(&mut self, other: &Self) {
        self.n_taken += other.n_taken;
        self.n_null_messages += other.n_null_messages;
        self.n_stretches += other.n_stretches;
        self.stretched = self.stretched + other.stretched;
        self.n_rounds = other.n_rounds;
        self.n_idle_rounds = other.n_idle_rounds;
    }

    /// Counts that a process went from `began` to `clock` and has to wait.
    pub(crate) fn stretch(&mut self, began: SimTime, clock: SimTime) {
        self.n_stretches += 1;
        self.stretched = self.stretched + clock.saturating_since(began);
    }
}

/// Runs `processes` until none can go on. The result is the same under all exact protocols and with any number of
/// threads.
///
/// # Panics
/// Panics if a process breaks what it promised, if there are more than 2^32 processes, or if a message goes to one that
/// does not exist.
pub fn run<P: Process>(processes: Vec<P>, settings: &Settings) -> Ended<P> {
    assert!(
        ProcessIdx::try_from(processes.len()).is_ok(),
        "{} processes are more than can be numbered",
        processes.len()
    );
    let mut out = Vec::new();
    let mut cells: Vec<Cell<P>> =
        (0..).zip(processes).map(|(idx, process)| Cell::start(process, idx, &mut out)).collect();
    for sent in out {
        cells[sent.to as usize].put(sent);
    }
    let (cells, counts) = match settings.protocol {
        Protocol::Sequential => sequential::run(cells, settings.until),
        _ => parallel::run(cells, settings),
    };
    let waiting = cells.iter().filter(|cell| cell.wants != Wants::Nothing).map(|cell| cell.idx).collect();
    let clocks = cells.iter().map(|cell| cell.clock).collect();
    Ended { processes: cells.into_iter().map(|cell| cell.process).collect(), clocks, waiting, counts }
}
