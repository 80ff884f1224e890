//! Totals of calls by name.

use std::sync::atomic::{AtomicU64, Ordering};

use mpi_trace::Operation;

/// Totals of the calls of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallTally {
    pub(crate) n_calls: u64,
    pub(crate) n_bytes: u64,
    pub(crate) total_ns: u64,
    pub(crate) blocked_ns: u64,
}

/// Totals of all calls, which several threads may add to.
#[derive(Debug)]
pub(crate) struct CallTallies(Vec<[AtomicU64; 4]>);

impl CallTallies {
    pub(crate) fn new() -> Self {
        Self(Operation::ALL.iter().map(|_| Default::default()).collect())
    }

    pub(crate) fn add(&self, operation: Operation, more: CallTally) {
        let words = &self.0[usize::from(operation.code())];
        for (word, more) in words.iter().zip([more.n_calls, more.n_bytes, more.total_ns, more.blocked_ns]) {
            if more > 0 {
                word.fetch_add(more, Ordering::Relaxed);
            }
        }
    }

    /// Returns the totals of calls that were made, longest time first.
    pub(crate) fn each(&self) -> Vec<(Operation, CallTally)> {
        let tally = |operation: &Operation| {
            let [n_calls, n_bytes, total_ns, blocked_ns] =
                std::array::from_fn(|at| self.0[usize::from(operation.code())][at].load(Ordering::Relaxed));
            (*operation, CallTally { n_calls, n_bytes, total_ns, blocked_ns })
        };
        let mut made: Vec<_> = Operation::ALL.iter().map(tally).filter(|(_, tally)| tally.n_calls > 0).collect();
        made.sort_by_key(|(operation, tally)| (std::cmp::Reverse(tally.total_ns), operation.code()));
        made
    }

    /// Returns the blocked time of all calls.
    pub(crate) fn blocked_ns(&self) -> u64 {
        self.0.iter().map(|words| words[3].load(Ordering::Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_calls_come_first_and_others_do_not_stand() {
        let tallies = CallTallies::new();
        let tally = |total_ns| CallTally { n_calls: 1, n_bytes: 8, total_ns, blocked_ns: 2 };
        tallies.add(Operation::SEND, tally(5));
        tallies.add(Operation::RECV, tally(4));
        tallies.add(Operation::RECV, tally(3));
        let twice = CallTally { n_calls: 2, n_bytes: 16, total_ns: 7, blocked_ns: 4 };
        assert_eq!(tallies.each(), [(Operation::RECV, twice), (Operation::SEND, tally(5))]);
        assert_eq!(tallies.blocked_ns(), 6);
    }
}
