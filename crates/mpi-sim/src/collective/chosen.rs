//! Algorithms that a machine file names for single calls; where none fits, the rules of a library choose.

use std::fmt::Write;
use std::io;
use std::path::Path;
use std::sync::Arc;

use mpi_tree::{Collective, Forest, TreeError};
use serde::{Deserialize, Serialize};
use units::ByteCount;

use super::schedule::{Schedule, Schedules};
use super::{Algorithm, Rules};

/// Bytes that a pipeline sends at a time if no segment size is given.
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
    /// The algorithm's name, or that of a tree file, which ends in `.toml`.
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
    /// Bytes that an algorithm sends at a time if it cuts data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<ByteCount>,
    /// Contents of the tree file, once it has been read.
    #[serde(skip)]
    pub forest: Option<Arc<Forest>>,
}

/// The reason why a call cannot use an algorithm.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChosenError {
    /// An algorithm that the call does not have.
    #[error("`{call}` has no algorithm `{}`: write {known}", given.escape_debug())]
    Algorithm {
        /// The call.
        call: &'static str,
        /// The algorithm as given.
        given: String,
        /// All that it has.
        known: String,
    },
    /// A value that fits no call.
    #[error("`{key}` of `{call}` by `{}` is {given}: write {right}", algorithm.escape_debug())]
    Value {
        /// The key.
        key: &'static str,
        /// The call.
        call: &'static str,
        /// Its algorithm.
        algorithm: String,
        /// The value as given.
        given: String,
        /// The values that would be valid.
        right: &'static str,
    },
    /// A tree file that cannot be read.
    #[error("cannot read the tree file `{file}` of `{call}`")]
    File {
        /// The file as given.
        file: String,
        /// The call.
        call: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// A tree file that is wrong, or for another number of ranks.
    #[error("the tree file `{file}` of `{call}` does not fit: {fault}")]
    Tree {
        /// The file as given.
        file: String,
        /// The call.
        call: &'static str,
        /// The fault.
        fault: Box<TreeError>,
    },
    /// A tree file that does not say by which tree the call goes.
    #[error("the tree file `{file}` has no rule for `{call}`: add a [[rule]] with this operation")]
    NoRule {
        /// The file as given.
        file: String,
        /// The call.
        call: &'static str,
    },
    /// A tree file that has not been read.
    #[error("the tree file `{file}` has not been read: read the machine from its file")]
    Unread {
        /// The file as given.
        file: String,
    },
}

/// Rules and tables that choose the algorithm of a collective call.
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
    way: Way,
}

/// The algorithm or the trees by which calls run.
#[derive(Clone, Debug)]
enum Way {
    /// An algorithm, and the bytes that the algorithm sends at a time if it cuts data.
    Algorithm(Algorithm, usize),
    /// Trees; none if the file has not been read.
    Trees(Collective, Option<Schedules>),
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

    /// Returns the corresponding operation of tree files, if trees support the call.
    fn over_trees(self) -> Option<Collective> {
        match self {
            Self::Barrier => Some(Collective::Barrier),
            Self::Bcast => Some(Collective::Bcast),
            Self::Reduce => Some(Collective::Reduce),
            Self::Allreduce => Some(Collective::Allreduce),
            Self::Gather => Some(Collective::Gather),
            Self::Scatter => Some(Collective::Scatter),
            Self::Allgather | Self::Alltoall | Self::ReduceScatter | Self::Scan => None,
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
        let way = self.way()?;
        let bytes = [self.from.bytes(), self.to.map_or(u64::MAX, ByteCount::bytes)];
        if bytes[0] > bytes[1] {
            return Err(self.wrong("to", self.to.unwrap_or_default(), "as much as `from` or more"));
        }
        let ranks = self.ranks.unwrap_or([1, u32::MAX]);
        if ranks[0] == 0 || ranks[0] > ranks[1] {
            let given = format!("[{}, {}]", ranks[0], ranks[1]);
            return Err(self.wrong("ranks", given, "the least, 1 or more, and the most ranks"));
        }
        let trees = self.forest.as_ref().map(|forest| forest.n_ranks() as u64);
        if trees.is_some_and(|n_ranks| !(ranks[0].into()..=ranks[1].into()).contains(&n_ranks)) {
            let given = format!("[{}, {}]", ranks[0], ranks[1]);
            return Err(self.wrong("ranks", given, "a range with as many ranks as the trees have"));
        }
        if self.segment.is_some_and(|segment| segment.bytes() == 0) {
            return Err(self.wrong("segment", "0B", "1B or more"));
        }
        let is_cut = matches!(&way, Way::Algorithm(algorithm, _) if algorithm.is_in_segments());
        if let (Some(segment), false) = (self.segment, is_cut) {
            return Err(self.wrong("segment", segment, "none, as this algorithm does not cut data"));
        }
        Ok(Table { call: self.call, bytes, ranks, way })
    }

    fn way(&self) -> Result<Way, ChosenError> {
        let (call, given) = (self.call.name(), &self.algorithm);
        if let Some(operation) = self.call.over_trees().filter(|_| self.is_tree()) {
            let has_rule =
                |forest: &Forest| forest.rules.iter().any(|rule| rule.operation.is_none_or(|of| of == operation));
            if self.forest.as_ref().is_some_and(|forest| !has_rule(forest)) {
                return Err(ChosenError::NoRule { file: given.clone(), call });
            }
            return Ok(Way::Trees(operation, self.forest.as_ref().map(Schedules::new)));
        }
        let known = self.call.algorithms();
        if let Some(algorithm) = known.iter().find(|algorithm| algorithm.name() == given) {
            let segment = self.segment.map_or(SEGMENT_BYTES, |segment| segment.bytes() as usize);
            return Ok(Way::Algorithm(*algorithm, segment));
        }
        let mut known: Vec<_> = known.iter().map(|algorithm| algorithm.name()).collect();
        known.extend(self.call.over_trees().map(|_| "or a tree file, as `tree.toml`"));
        Err(ChosenError::Algorithm { call, given: given.clone(), known: known.join(", ") })
    }

    fn is_tree(&self) -> bool {
        self.algorithm.ends_with(".toml")
    }

    /// Reads the tree file, where it names one, from `folder`.
    ///
    /// # Errors
    /// [`ChosenError`] where there is none, or one that is wrong.
    pub(crate) fn read_trees(&mut self, folder: &Path) -> Result<(), ChosenError> {
        if !self.is_tree() {
            return Ok(());
        }
        let (file, call) = (self.algorithm.clone(), self.call.name());
        let text = match std::fs::read_to_string(folder.join(&file)) {
            Ok(text) => text,
            Err(source) => return Err(ChosenError::File { file, call, source }),
        };
        let forest = Forest::parse(&text).map_err(|fault| ChosenError::Tree { file, call, fault: fault.into() })?;
        self.forest = Some(Arc::new(forest));
        self.table().map(drop)
    }

    /// Whether calls of a program with so many ranks can go over the trees, if it is for these.
    ///
    /// # Errors
    /// [`ChosenError`] where the trees have other ranks, or have not been read.
    pub(crate) fn check_ranks(&self, n_ranks: u32) -> Result<(), ChosenError> {
        let (file, call) = (self.algorithm.clone(), self.call.name());
        let is_for = self.ranks.is_none_or(|[least, most]| (least..=most).contains(&n_ranks));
        match &self.forest {
            None if self.is_tree() => Err(ChosenError::Unread { file }),
            Some(forest) if is_for && forest.n_ranks() != n_ranks as usize => {
                let fault = TreeError::NRanks { given: forest.n_ranks(), needed: n_ranks as usize };
                Err(ChosenError::Tree { file, call, fault: fault.into() })
            }
            _ => Ok(()),
        }
    }

    fn wrong(&self, key: &'static str, given: impl ToString, right: &'static str) -> ChosenError {
        let (call, algorithm) = (self.call.name(), self.algorithm.clone());
        ChosenError::Value { key, call, algorithm, given: given.to_string(), right }
    }

    /// Returns the text that describes this choice in a result.
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
    /// The algorithm that is named for a call among `n`, and the bytes that it sends at a time where it cuts data; the
    /// first that fits.
    pub(super) fn named(&self, call: Call, n: usize, bytes: usize) -> Option<(Algorithm, usize)> {
        match self.fitting(call, n, bytes)?.way {
            Way::Algorithm(algorithm, segment) => Some((algorithm, segment)),
            Way::Trees(..) => None,
        }
    }

    /// The tree, if that is what the first that fits names.
    pub(super) fn schedule(&self, call: Call, n: usize, bytes: usize) -> Option<Arc<Schedule>> {
        match &self.fitting(call, n, bytes)?.way {
            Way::Trees(operation, trees) => trees.as_ref()?.rule(*operation, bytes).cloned(),
            Way::Algorithm(..) => None,
        }
    }

    fn fitting(&self, call: Call, n: usize, bytes: usize) -> Option<&Table> {
        self.tables.iter().find(|table| table.fits(call, n, bytes))
    }
}

impl Table {
    fn fits(&self, call: Call, n: usize, bytes: usize) -> bool {
        let is_in = |bytes: u64, [least, most]: [u64; 2]| (least..=most).contains(&bytes);
        let is_possible = || match &self.way {
            Way::Algorithm(algorithm, _) => call.is_possible(*algorithm, n),
            Way::Trees(operation, trees) => {
                trees.as_ref().is_some_and(|trees| trees.n_ranks() == n && trees.rule(*operation, bytes).is_some())
            }
        };
        self.call == call
            && is_in(bytes as u64, self.bytes)
            && is_in(n as u64, self.ranks.map(u64::from))
            && is_possible()
    }
}
