//! Pairs of ranks that exchange messages: one working and one in its support.

use serde::{Deserialize, Serialize};
use units::Rank;

/// Rule by which ranks are paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// Rank i with rank i + n/2: with ranks placed host by host, on different hosts.
    #[default]
    Halves,
    /// Ranks 0 and 1, 2 and 3, …: with ranks placed host by host, on the same host.
    Neighbours,
}

/// Two ranks that exchange messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pair {
    /// Works while messages fly; it is the one that is measured.
    pub worker: Rank,
    /// Only passes messages.
    pub support: Rank,
}

/// A number of ranks that is no number of pairs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{n_ranks} {} no pairs: give an even number of ranks, at least 2", if *n_ranks == 1 { "rank makes" } else { "ranks make" })]
pub struct PairingError {
    /// The number of ranks, as started.
    pub n_ranks: u32,
}

impl Pairing {
    /// All pairs of ranks 0 to `n_ranks` - 1, by rank of the worker.
    ///
    /// # Errors
    /// [`PairingError`] when somebody is left over, or everybody.
    pub fn pairs(self, n_ranks: u32) -> Result<Vec<Pair>, PairingError> {
        if n_ranks == 0 || !n_ranks.is_multiple_of(2) {
            return Err(PairingError { n_ranks });
        }
        let half = n_ranks / 2;
        let pair = |idx| match self {
            Self::Halves => Pair { worker: idx, support: idx + half },
            Self::Neighbours => Pair { worker: 2 * idx, support: 2 * idx + 1 },
        };
        Ok((0..half).map(pair).collect())
    }
}

impl Pair {
    /// Whether `rank` is one of the two.
    #[must_use]
    pub fn has(self, rank: Rank) -> bool {
        self.worker == rank || self.support == rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(pairing: Pairing, n_ranks: u32) -> Vec<(Rank, Rank)> {
        pairing.pairs(n_ranks).unwrap().into_iter().map(|pair| (pair.worker, pair.support)).collect()
    }

    #[test]
    fn each_rank_is_in_one_pair() {
        assert_eq!(ranks(Pairing::Halves, 6), [(0, 3), (1, 4), (2, 5)]);
        assert_eq!(ranks(Pairing::Neighbours, 6), [(0, 1), (2, 3), (4, 5)]);
        assert_eq!(ranks(Pairing::Halves, 2), ranks(Pairing::Neighbours, 2));
    }

    #[test]
    fn a_rank_left_over_is_refused() {
        for n_ranks in [0, 1, 3] {
            assert_eq!(Pairing::Halves.pairs(n_ranks), Err(PairingError { n_ranks }));
        }
        let told = PairingError { n_ranks: 1 }.to_string();
        assert_eq!(told, "1 rank makes no pairs: give an even number of ranks, at least 2");
    }
}
