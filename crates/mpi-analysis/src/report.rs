//! All figures of an analysis, for programs: those that it has, and those that are made of them.

use std::collections::BTreeMap;

use serde::Serialize;
use units::Rank;

use crate::{Analysis, Group, Hint, KernelLog, LastArrival, Level, Outlier, Part, PathFigures};

/// Figures of a tree's calls, and what follows from them.
#[derive(Clone, Debug, Serialize)]
pub struct Report<'a> {
    /// The figures.
    #[serde(flatten)]
    pub analysis: &'a Analysis,
    /// Costs of each path.
    pub costs: Vec<Costs>,
    /// Last arrivals, from the root on.
    pub last_arrivals: Vec<LastArrival>,
    /// Groups of paths.
    pub groups: Vec<Group>,
    /// The one with the greatest factor first.
    pub outliers: Vec<Outlier>,
    /// The one with the largest share first.
    pub hints: Vec<Hint>,
}

/// A path's mean cost in each part of the machine, arrival waits left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// Rank whose path it is.
    pub rank: Rank,
    /// Cost in nodes, by host.
    pub hosts_ns: BTreeMap<String, f64>,
    /// Cost by cluster: nodes on its hosts, and hops between them.
    pub clusters_ns: BTreeMap<String, f64>,
    /// Cost in hops inside clusters.
    pub lan_ns: f64,
    /// Cost in hops between clusters.
    pub wan_ns: f64,
}

impl Analysis {
    /// Returns all figures. `kernel` has the kernel counters of the ranks.
    #[must_use]
    pub fn report(&self, kernel: &KernelLog) -> Report<'_> {
        Report {
            analysis: self,
            costs: self.paths.iter().map(|path| self.costs(path)).collect(),
            last_arrivals: self.last_arrivals(),
            groups: self.groups(),
            outliers: self.outliers(kernel),
            hints: self.hints(),
        }
    }

    /// A path's mean cost in each part of the machine.
    #[must_use]
    pub fn costs(&self, path: &PathFigures) -> Costs {
        let mut costs = Costs {
            rank: path.rank,
            hosts_ns: BTreeMap::new(),
            clusters_ns: BTreeMap::new(),
            lan_ns: 0.0,
            wan_ns: 0.0,
        };
        for stage in self.stages(path).iter().filter(|stage| stage.part != Part::ArrivalWait) {
            let (level, mean_ns) = (self.level(stage), stage.figures.mean_ns);
            if let (Some(cluster), true) = (&self.nodes[stage.node].cluster, level != Level::Wan) {
                *costs.clusters_ns.entry(cluster.clone()).or_default() += mean_ns;
            }
            match level {
                Level::Host(host) => *costs.hosts_ns.entry(host).or_default() += mean_ns,
                Level::Lan => costs.lan_ns += mean_ns,
                Level::Wan => costs.wan_ns += mean_ns,
            }
        }
        costs
    }
}
