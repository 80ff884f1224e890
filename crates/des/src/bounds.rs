//! Lower bounds on time stamps: bounds that each process announces to the others, and those on its next message that
//! follow.
//!
//! Letters as in `docs/decisions/bounds-of-simulated-time.md`: EIT is the earliest input time of a process, EOT its
//! earliest output time, ECOT the earliest conditional one.

use std::sync::atomic::{AtomicU64, Ordering};

use units::SimTime;

use crate::cell::Cell;
use crate::process::{Process, ProcessIdx, Sources, Wants};

/// Bounds that processes announce in this round. Written between two barriers and read after the second.
pub(crate) struct Board {
    /// Time before which each process does nothing.
    acts: Vec<AtomicU64>,
    /// Time before which nothing of each process arrives (EOT).
    arrives: Vec<AtomicU64>,
}

impl Board {
    pub fn new(n: usize) -> Self {
        let column = || (0..n).map(|_| AtomicU64::new(0)).collect();
        Self { acts: column(), arrives: column() }
    }

    /// Writes what follows from the bound that holds for `cell`; returns its EOT.
    pub fn publish<P: Process>(&self, cell: &mut Cell<P>, is_deterministic: bool) -> SimTime {
        let acts = match (cell.wants, cell.arrives()) {
            (Wants::Nothing, _) => SimTime::NEVER,
            // What it waits for is there: nothing else can come before it.
            (Wants::Next(_), Some(at)) if is_deterministic => at.max(cell.clock),
            (Wants::Next(_), None) => cell.bound.max(cell.bound_of_next).max(cell.clock),
            (_, at) => at.map_or(cell.bound, |at| at.min(cell.bound)).max(cell.clock),
        };
        let arrives = acts + cell.process.lookahead();
        let idx = cell.idx as usize;
        self.acts[idx].store(acts.as_nanos(), Ordering::Relaxed);
        self.arrives[idx].store(arrives.as_nanos(), Ordering::Relaxed);
        arrives
    }

    /// Returns the time before which nothing of `source` arrives at `cell`.
    pub fn of<P: Process>(&self, source: ProcessIdx, cell: &Cell<P>) -> SimTime {
        let read = |column: &[AtomicU64]| SimTime::from_nanos(column[source as usize].load(Ordering::Relaxed));
        read(&self.arrives).max(read(&self.acts) + cell.process.lookahead_from(source))
    }

    /// Returns the EIT of `cell` by what its sources announced; `all` holds the least of all processes.
    pub fn input<P: Process>(&self, cell: &Cell<P>, all: &Least) -> SimTime {
        match cell.process.sources() {
            Sources::These(sources) => {
                let others = sources.iter().filter(|&&source| source != cell.idx);
                others.map(|&source| self.of(source, cell)).min().unwrap_or(SimTime::NEVER)
            }
            Sources::All => all.without(cell.idx),
        }
    }
}

/// The least bound of many processes, and the least without the one whose it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Least {
    least: (SimTime, ProcessIdx),
    second: SimTime,
}

impl Default for Least {
    fn default() -> Self {
        Self { least: (SimTime::NEVER, ProcessIdx::MAX), second: SimTime::NEVER }
    }
}

impl Least {
    pub fn add(&mut self, bound: SimTime, idx: ProcessIdx) {
        if bound < self.least.0 {
            self.second = self.least.0;
            self.least = (bound, idx);
        } else {
            self.second = self.second.min(bound);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.add(other.least.0, other.least.1);
        self.second = self.second.min(other.second);
    }

    fn without(&self, idx: ProcessIdx) -> SimTime {
        if self.least.1 == idx { self.second } else { self.least.0 }
    }
}
