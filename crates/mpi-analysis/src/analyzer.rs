//! Incremental analysis of stage records: the same for files and for live rings.

use std::collections::BTreeMap;

use mpi_trace::{Event, Flow};
use mpi_tree::{Host, Tree};

use crate::join::Join;
use crate::layout::Layout;
use crate::totals::{Ground, Totals};
use crate::{Analysis, HostClock, Part};

/// Stamps of calls that are not complete yet: 64 MiB, whatever the tree. Readers of files take turns among ranks, so
/// that this is enough.
const N_STAMPS_OPEN_MAX: usize = 1 << 22;

/// Analyzer of one tree: takes events, and has the figures of all calls so far. Its memory is bounded by the size of
/// the tree.
#[derive(Clone, Debug)]
pub struct Analyzer {
    ground: Ground,
    join: Join,
    totals: BTreeMap<Flow, Totals>,
}

/// The mean of one stage in the interval that ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalMean {
    /// Direction in which the data of its calls went.
    pub flow: Flow,
    /// Part of the path.
    pub part: Part,
    /// Position of the node.
    pub node: usize,
    /// Position of the contributor, if the part is one that each contributor has.
    pub contributor: Option<usize>,
    /// NaN where there was no call.
    pub mean_ns: f64,
}

impl Analyzer {
    /// Builds an analyzer without calls. `clocks` are those of the hosts, in their order; a host without one stamps in
    /// nanoseconds that are joined with no other host's.
    #[must_use]
    pub fn new(tree: Tree, hosts: Vec<Host>, mut clocks: Vec<HostClock>) -> Self {
        let layout = Layout::of(tree, hosts);
        clocks.resize(layout.hosts.len(), HostClock::alone());
        Self {
            join: Join::new(layout.n_collectors, N_STAMPS_OPEN_MAX / layout.n_collectors.max(1)),
            totals: BTreeMap::from([(Flow::All, Totals::new(Flow::All, &layout))]),
            ground: Ground { layout, clocks },
        }
    }

    /// Takes events, of any ranks and in any order. What is no stage is passed over.
    pub fn take(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            if let Some(stamps) = self.join.take(&event)
                && let Some(flow) = stamps.operation.flow()
            {
                let fresh = || Totals::new(flow, &self.ground.layout);
                self.totals.entry(flow).or_insert_with(fresh).take(&self.ground, &stamps);
            }
        }
    }

    /// The means of all stages since this was last called. Each way that data went has its own.
    pub fn end_interval(&mut self) -> Vec<IntervalMean> {
        let layout = &self.ground.layout;
        self.totals.values_mut().flat_map(|totals| totals.end_interval(layout)).collect()
    }

    /// Returns the analysis of calls that all ranks wait for.
    #[must_use]
    pub fn analysis(&self) -> Analysis {
        self.totals[&Flow::All].analysis(&self.ground, &self.join)
    }

    /// Returns an analysis of each way that data went: stages of a reduce and of an allreduce are not added up. That of
    /// calls that all ranks wait for is there in any case, and comes first.
    #[must_use]
    pub fn analyses(&self) -> Vec<Analysis> {
        self.totals.values().map(|totals| totals.analysis(&self.ground, &self.join)).collect()
    }
}
