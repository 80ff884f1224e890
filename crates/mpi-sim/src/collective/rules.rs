//! Choice of a library's algorithm for a collective call, by the size of its data and the number of its ranks.
//!
//! Sources: MPICH 4.0's `src/mpi/coll`, after Thakur, Rabenseifner and Gropp 2005; the fixed rules of Open MPI's
//! `coll/tuned` up to version 4.0, which Debian's 4.1 has replaced by longer tables. Operations are commutative.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Algorithm;

/// The library whose rules choose the algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rules {
    /// MPICH's.
    #[default]
    Mpich,
    /// Open MPI's.
    OpenMpi,
}

/// A name that is none of theirs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` has no rules for collectives: mpich and open-mpi are possible")]
pub struct NoRules(String);

/// An algorithm, and the bytes that it sends at a time where it cuts data.
type Choice = (Algorithm, usize);

const WHOLE: usize = usize::MAX;
const KIB: usize = 1 << 10;

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mpich => "mpich",
            Self::OpenMpi => "open-mpi",
        })
    }
}

impl FromStr for Rules {
    type Err = NoRules;

    fn from_str(name: &str) -> Result<Self, NoRules> {
        let known = [Self::Mpich, Self::OpenMpi].into_iter().find(|rules| rules.to_string() == name);
        known.ok_or_else(|| NoRules(name.to_owned()))
    }
}

impl Rules {
    /// Returns the text that describes the rules in a result.
    #[must_use]
    pub fn said(self) -> &'static str {
        match self {
            Self::Mpich => "MPICH's, by its rules",
            Self::OpenMpi => "Open MPI's, by its fixed rules up to version 4.0",
        }
    }

    pub(super) fn barrier(self, n: usize) -> Algorithm {
        match self {
            Self::OpenMpi if n.is_power_of_two() => Algorithm::RecursiveDoubling,
            Self::OpenMpi | Self::Mpich => Algorithm::Dissemination,
        }
    }

    pub(super) fn broadcast(self, n: usize, size: usize) -> Choice {
        // Lines through the sizes from which on longer segments pay, as measured by Open MPI's authors.
        let is_below = |by_byte: f64, at_none: f64| (n as f64) < by_byte * size as f64 + at_none;
        match self {
            // `MPIR_CVAR_BCAST_SHORT_MSG_SIZE` and `MPIR_CVAR_BCAST_MIN_PROCS`.
            Self::Mpich if size <= 12_288 || n < 8 => (Algorithm::Binomial, WHOLE),
            Self::Mpich => (Algorithm::ScatterRing, WHOLE),
            Self::OpenMpi if size < 2_048 => (Algorithm::Binomial, WHOLE),
            Self::OpenMpi if size < 370_728 => (Algorithm::SplitBinary, KIB),
            Self::OpenMpi if is_below(1.6134e-6, 2.1102) => (Algorithm::Pipeline, 128 * KIB),
            Self::OpenMpi if n < 13 => (Algorithm::SplitBinary, 8 * KIB),
            Self::OpenMpi if is_below(2.3679e-6, 1.1787) => (Algorithm::Pipeline, 64 * KIB),
            Self::OpenMpi if is_below(3.2118e-6, 8.7936) => (Algorithm::Pipeline, 16 * KIB),
            Self::OpenMpi => (Algorithm::Pipeline, 8 * KIB),
        }
    }

    pub(super) fn reduce(self, n: usize, size: usize) -> Choice {
        let is_above = |by_kib: f64, at_none: f64| n as f64 > by_kib / 1024.0 * size as f64 + at_none;
        match self {
            Self::Mpich => (Algorithm::Binomial, WHOLE),
            Self::OpenMpi if n < 8 && size < 512 => (Algorithm::Linear, WHOLE),
            Self::OpenMpi if n < 8 && size < 20_480 => (Algorithm::Binomial, WHOLE),
            Self::OpenMpi if size < 2_048 => (Algorithm::Binary, WHOLE),
            Self::OpenMpi if is_above(0.6016, 1.3496) => (Algorithm::Binary, KIB),
            Self::OpenMpi if is_above(0.0410, 9.7128) => (Algorithm::Pipeline, KIB),
            Self::OpenMpi if is_above(0.0422, 1.1614) || is_above(0.0033, 1.6761) => (Algorithm::Pipeline, 32 * KIB),
            Self::OpenMpi => (Algorithm::Pipeline, 64 * KIB),
        }
    }

    pub(super) fn allreduce(self, n: usize, size: usize, n_values: usize) -> Choice {
        const MIB: usize = 1 << 20;
        match self {
            // `MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE`.
            Self::Mpich if size <= 2_048 || n_values < 1 << n.ilog2() => (Algorithm::RecursiveDoubling, WHOLE),
            Self::Mpich => (Algorithm::ReduceScatterAllgather, WHOLE),
            Self::OpenMpi if size < 10_000 => (Algorithm::RecursiveDoubling, WHOLE),
            Self::OpenMpi if n_values <= n => (Algorithm::ReduceBroadcast, WHOLE),
            Self::OpenMpi if n * MIB >= size => (Algorithm::Ring, WHOLE),
            Self::OpenMpi => (Algorithm::SegmentedRing, MIB),
        }
    }

    pub(super) fn allgather(self, n: usize, total: usize) -> Algorithm {
        match self {
            // `MPIR_CVAR_ALLGATHER_LONG_MSG_SIZE` and `MPIR_CVAR_ALLGATHER_SHORT_MSG_SIZE`.
            Self::Mpich if total < 524_288 && n.is_power_of_two() => Algorithm::RecursiveDoubling,
            Self::Mpich if total < 81_920 => Algorithm::Bruck,
            Self::OpenMpi if n == 2 || total < 50_000 && n.is_power_of_two() => Algorithm::RecursiveDoubling,
            Self::OpenMpi if total < 50_000 => Algorithm::Bruck,
            Self::OpenMpi if n.is_multiple_of(2) => Algorithm::NeighbourExchange,
            Self::Mpich | Self::OpenMpi => Algorithm::Ring,
        }
    }

    pub(super) fn alltoall(self, n: usize, block: usize) -> Algorithm {
        match self {
            // `MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE` and `MPIR_CVAR_ALLTOALL_MEDIUM_MSG_SIZE`.
            Self::Mpich if block <= 256 && n >= 8 => Algorithm::Bruck,
            Self::Mpich if block <= 32_768 => Algorithm::Spread,
            Self::OpenMpi if block < 200 && n > 12 => Algorithm::Bruck,
            Self::OpenMpi if block < 3_000 && n != 2 => Algorithm::Spread,
            Self::Mpich | Self::OpenMpi => Algorithm::Pairwise,
        }
    }

    pub(super) fn gather(self, n: usize, block: usize) -> Choice {
        match self {
            Self::Mpich => (Algorithm::Binomial, WHOLE),
            Self::OpenMpi if block > 92_160 => (Algorithm::LinearInTurn, 32 * KIB),
            Self::OpenMpi if block > 6_000 => (Algorithm::LinearInTurn, KIB),
            Self::OpenMpi if n > 60 || n > 10 && block < 1_024 => (Algorithm::Binomial, WHOLE),
            Self::OpenMpi => (Algorithm::Linear, WHOLE),
        }
    }

    pub(super) fn scatter(self, n: usize, block: usize) -> Algorithm {
        match self {
            Self::OpenMpi if n <= 10 || block >= 300 => Algorithm::Linear,
            Self::Mpich | Self::OpenMpi => Algorithm::Binomial,
        }
    }

    pub(super) fn reduce_scatter(self, n: usize, total: usize) -> Algorithm {
        let is_small = total <= 12 * KIB || total <= 256 * KIB && n.is_power_of_two();
        match self {
            // `MPIR_CVAR_REDUCE_SCATTER_COMMUTATIVE_LONG_MSG_SIZE`.
            Self::Mpich if total >= 524_288 => Algorithm::Pairwise,
            Self::OpenMpi if !is_small && (n as f64) < 0.0012 * total as f64 + 8.0 => Algorithm::Ring,
            Self::Mpich | Self::OpenMpi => Algorithm::RecursiveHalving,
        }
    }

    pub(super) fn scan(self) -> Algorithm {
        match self {
            Self::Mpich => Algorithm::RecursiveDoubling,
            Self::OpenMpi => Algorithm::Linear,
        }
    }
}
