//! Schedule of faults, derived from the seed.

use std::time::Duration;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Something that goes wrong for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The node is killed, and started again at once.
    Kill,
    /// The node stands still.
    Stop,
    /// Nothing can be written below the data folder: it is full.
    FullDisk,
    /// The same with an input/output error.
    BrokenDisk,
    /// The node can open nothing more.
    NoDescriptors,
    /// The wall clock is set ahead, for good: labels never go back, so a node would call it set back ever after.
    ClockAhead,
    /// The wall clock is set back, and later right.
    ClockBehind,
    /// Clients that say nothing, half a request, garbage, or too much.
    Hostile,
    /// Clients that ask for dear fits, all the time.
    Dear,
    /// The exporter answers nobody.
    NoExporter,
    /// The server that samples are written to answers nobody.
    NoReceiver,
    /// The node whose stream is followed is killed, and started again later.
    NoPeer,
}

impl Fault {
    pub const ALL: [Self; 12] = [
        Self::Kill,
        Self::Stop,
        Self::FullDisk,
        Self::BrokenDisk,
        Self::NoDescriptors,
        Self::ClockAhead,
        Self::ClockBehind,
        Self::Hostile,
        Self::Dear,
        Self::NoExporter,
        Self::NoReceiver,
        Self::NoPeer,
    ];

    /// Returns the name of the fault in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill -9",
            Self::Stop => "SIGSTOP",
            Self::FullDisk => "disk full (ENOSPC)",
            Self::BrokenDisk => "disk broken (EIO)",
            Self::NoDescriptors => "no descriptors (EMFILE)",
            Self::ClockAhead => "clock set ahead",
            Self::ClockBehind => "clock set back",
            Self::Hostile => "hostile clients",
            Self::Dear => "clients with dear models",
            Self::NoExporter => "exporter gone",
            Self::NoReceiver => "remote-write server gone",
            Self::NoPeer => "followed node gone",
        }
    }

    /// Whether the node must call itself degraded while it lasts. It cannot while it does not run, and need not where
    /// all that it does goes on.
    pub fn is_told(self) -> bool {
        !matches!(self, Self::Kill | Self::Stop | Self::ClockAhead | Self::Hostile | Self::Dear)
    }

    /// Whether the exporter's samples need not arrive meanwhile. All other faults lose none.
    pub fn stops_sampling(self) -> bool {
        matches!(
            self,
            Self::Kill | Self::Stop | Self::NoDescriptors | Self::ClockAhead | Self::ClockBehind | Self::NoExporter
        )
    }
}

/// One fault of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Quiet before it.
    pub rest: Duration,
    pub fault: Fault,
    pub lasts: Duration,
}

/// Faults without end: rounds of all, each in another order.
pub struct Plan {
    chance: ChaCha8Rng,
    round: Vec<Fault>,
}

impl Plan {
    pub fn new(seed: u64) -> Self {
        Self { chance: ChaCha8Rng::seed_from_u64(seed), round: Vec::new() }
    }

    /// The next fault. Kills come at the beginning of a round, so that the process that the round leaves behind can be
    /// compared with what it was at first.
    pub fn next(&mut self) -> Step {
        if self.round.is_empty() {
            self.round = Fault::ALL[1..].to_vec();
            self.round.shuffle(&mut self.chance);
            self.round.push(Fault::Kill);
        }
        let fault = self.round.pop().expect("a round was just made");
        let ms = |chance: &mut ChaCha8Rng, from, to| Duration::from_millis(chance.random_range(from..to));
        Step { rest: ms(&mut self.chance, 300, 900), fault, lasts: ms(&mut self.chance, 1500, 2500) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_plan_and_a_round_has_all_faults() {
        let plan = |seed| {
            let mut plan = Plan::new(seed);
            (0..Fault::ALL.len()).map(|_| plan.next()).collect::<Vec<_>>()
        };
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7), plan(8));
        let mut faults: Vec<Fault> = plan(7).iter().map(|step| step.fault).collect();
        assert_eq!(faults[0], Fault::Kill);
        faults.sort();
        assert_eq!(faults, Fault::ALL);
    }
}
