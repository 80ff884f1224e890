//! Algorithms that a machine file names for single calls; where none fits, the rules of a library choose.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use units::ByteCount;

use super::{Algorithm, Rules};

/// What a pipeline sends at a time where nothing else is said.
const SEGMENT_BYTES: usize = 32 << 10;

/// Calls whose algorithm can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Bcast`.
    Bcast,
    /// `MPI_Reduce`.
    Reduce,
    /// `MPI_Allreduce`.
    Allreduce,
    /// `MPI_Allgather`.
    Allgather,
    /// `MPI_Alltoall`.
    Alltoall,
    /// `MPI_Gather`.
    Gather,
    /// `MPI_Scatter`.
    Scatter,
    /// `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block`.
    ReduceScatter,
    /// `MPI_Scan` and `MPI_Exscan`.
    Scan,
}

/// An algorithm for a call, as a machine file names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chosen {
    /// The call.
    pub call: Call,
    /// The algorithm's name.
    pub algorithm: String,
    /// The least that one rank brings or gets; of calls with a part for each rank, the part.
    #[serde(default)]
    pub from: ByteCount,
    /// The most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<ByteCount>,
    /// The least and the most ranks of the communicator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<[u32; 2]>,
    /// What an algorithm that cuts data sends at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<ByteCount>,
}

/// Why an algorithm cannot be had for a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChosenError {
    /// It is none of the call's.
    #[error("`{call}` has no algorithm `{}`: write {known}", given.escape_debug())]
    Algorithm {
        /// The call.
        call: &'static str,
        /// As given.
        given: String,
        /// All that it has.
        known: String,
    },
    /// No call would fit.
    #[error("`{key}` of `{call}` by `{}` is {given}: write {right}", algorithm.escape_debug())]
    Value {
        /// The key.
        key: &'static str,
        /// The call.
        call: &'static str,
        /// Its algorithm.
        algorithm: String,
        /// As given.
        given: String,
        /// What would be right.
        right: &'static str,
    },
}

/// What decides how a collective call goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choices {
    pub(crate) rules: Rules,
    pub(crate) tables: Vec<Table>,
}

/// An algorithm with the calls that it is for.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    call: Call,
    bytes: [u64; 2],
    ranks: [u32; 2],
    algorithm: Algorithm,
    segment: usize,
}

impl Call {
    fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Bcast => "bcast",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::Allgather => "allgather",
            Self::Alltoall => "alltoall",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::ReduceScatter => "reduce_scatter",
            Self::Scan => "scan",
        }
    }

    fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm::{
            Binary, Binomial, Bruck, Dissemination, Linear, LinearInTurn, NeighbourExchange, Pairwise, Pipeline,
            RecursiveDoubling, RecursiveHalving, ReduceBroadcast, ReduceScatterAllgather, Ring, ScatterRing,
            SegmentedRing, SplitBinary, Spread,
        };
        match self {
            Self::Barrier => &[Dissemination, RecursiveDoubling],
            Self::Bcast => &[Binomial, ScatterRing, SplitBinary, Pipeline],
            Self::Reduce => &[Linear, Binomial, Binary, Pipeline],
            Self::Allreduce => &[RecursiveDoubling, ReduceScatterAllgather, Ring, SegmentedRing, ReduceBroadcast],
            Self::Allgather => &[RecursiveDoubling, Bruck, NeighbourExchange, Ring],
            Self::Alltoall => &[Bruck, Spread, Pairwise],
            Self::Gather => &[Linear, LinearInTurn, Binomial],
            Self::Scatter => &[Linear, Binomial],
            Self::ReduceScatter => &[RecursiveHalving, Pairwise, Ring],
            Self::Scan => &[RecursiveDoubling, Linear],
        }
    }

    /// Whether the algorithm, one of the call's, can do with so many ranks.
    fn is_possible(self, algorithm: Algorithm, n: usize) -> bool {
        match (self, algorithm) {
            (Self::Barrier | Self::Allgather, Algorithm::RecursiveDoubling) => n.is_power_of_two(),
            (_, Algorithm::NeighbourExchange) => n.is_multiple_of(2),
            _ => true,
        }
    }
}

impl Algorithm {
    fn is_in_segments(self) -> bool {
        matches!(self, Self::Binary | Self::SplitBinary | Self::Pipeline | Self::SegmentedRing | Self::LinearInTurn)
    }
}

impl Chosen {
    /// The table that it comes to.
    ///
    /// # Errors
    /// [`ChosenError`], with what would be right.
    pub(crate) fn table(&self) -> Result<Table, ChosenError> {
        let known = self.call.algorithms();
        let algorithm = known.iter().copied().find(|algorithm| algorithm.name() == self.algorithm);
        let Some(algorithm) = algorithm else {
            let known: Vec<_> = known.iter().map(|algorithm| algorithm.name()).collect();
            let given = self.algorithm.clone();
            return Err(ChosenError::Algorithm { call: self.call.name(), given, known: known.join(", ") });
        };
        let bytes = [self.from.bytes(), self.to.map_or(u64::MAX, ByteCount::bytes)];
        if bytes[0] > bytes[1] {
            return Err(self.wrong("to", self.to.unwrap_or_default(), "as much as `from` or more"));
        }
        let ranks = self.ranks.unwrap_or([1, u32::MAX]);
        if ranks[0] == 0 || ranks[0] > ranks[1] {
            let given = format!("[{}, {}]", ranks[0], ranks[1]);
            return Err(self.wrong("ranks", given, "the least, 1 or more, and the most ranks"));
        }
        match self.segment {
            Some(segment) if segment.bytes() == 0 => return Err(self.wrong("segment", segment, "1B or more")),
            Some(segment) if !algorithm.is_in_segments() => {
                return Err(self.wrong("segment", segment, "none, as this algorithm does not cut data"));
            }
            _ => {}
        }
        let segment = self.segment.map_or(SEGMENT_BYTES, |segment| segment.bytes() as usize);
        Ok(Table { call: self.call, bytes, ranks, algorithm, segment })
    }

    fn wrong(&self, key: &'static str, given: impl ToString, right: &'static str) -> ChosenError {
        let (call, algorithm) = (self.call.name(), self.algorithm.clone());
        ChosenError::Value { key, call, algorithm, given: given.to_string(), right }
    }

    /// What a result says of it.
    pub(crate) fn said(&self) -> String {
        let mut said = self.call.name().to_owned();
        let mut add = |text: std::fmt::Arguments<'_>| said.write_fmt(text).expect("a text takes everything");
        if self.from != ByteCount::default() {
            add(format_args!(" from {}", self.from));
        }
        if let Some(to) = self.to {
            add(format_args!(" to {to}"));
        }
        if let Some([least, most]) = self.ranks {
            add(format_args!(" among {least} to {most} ranks"));
        }
        add(format_args!(" by {}", self.algorithm));
        if let Some(segment) = self.segment {
            add(format_args!(" in segments of {segment}"));
        }
        said
    }
}

impl Choices {
    /// The algorithm that is named for a call among `n`, and the bytes that it sends at a time where it cuts data; the first that fits.
    pub(super) fn named(&self, call: Call, n: usize, bytes: usize) -> Option<(Algorithm, usize)> {
        self.tables.iter().find(|table| table.fits(call, n, bytes)).map(|table| (table.algorithm, table.segment))
    }
}

impl Table {
    fn fits(&self, call: Call, n: usize, bytes: usize) -> bool {
        let is_in = |bytes: u64, [least, most]: [u64; 2]| (least..=most).contains(&bytes);
        self.call == call
            && is_in(bytes as u64, self.bytes)
            && is_in(n as u64, self.ranks.map(u64::from))
            && call.is_possible(self.algorithm, n)
    }
}
