//! The trials of a study.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Links, Topology};

/// P3's data sets, by the content of the grid at the start.
pub const DATA_SETS: [&str; 3] = ["frosty", "tridiagonal", "random"];
/// Limit of relaxations: they go on while the sum of all changes is not below this.
pub const EPSILON: f64 = 0.01904;
/// Numbers of messages that go at once, 40 of which are as precise as 2 in Longcut.
const SENDERS: [usize; 2] = [2, 40];

/// Settings of a study. A study that is taken up again must have the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Milliseconds of work between allreduces.
    pub work_ms: u64,
    /// Iterations of P3's best and worst case, and of sequential allreduces.
    pub n_iterations: u64,
    /// Greatest number of iterations of each data set that are replayed.
    pub n_replayed_max: u64,
    /// Points on a side of the data sets' grid.
    pub side: u32,
    /// Allreduces, and round trips, that are timed of each kind.
    pub n_calls: u64,
    /// Iterations by which noise is measured.
    pub n_noise: u64,
    /// Messages of each number of senders.
    pub n_messages: usize,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trial {
    /// Round trips between Odense and Aalborg, through a relay.
    RoundTrips {
        /// Source of the link's properties.
        links: Links,
        /// Size of a message.
        size_bytes: u32,
    },
    /// Delays of messages of so many senders.
    Senders {
        /// Number of senders.
        n: usize,
    },
    /// Sums of 8 bytes, one after the other.
    Sums {
        /// Sites of the sum.
        topology: Topology,
        /// Tree of the sum.
        joined: Joined,
    },
    /// Work and allreduces in turn, over P3's clusters.
    Iterations {
        /// Parts of the ranks, and the kind of allreduce.
        case: Case,
    },
    /// Work and sequential allreduces between two sites, to find which ranks are late.
    Noise,
}

/// Way in which clusters are joined by a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Joined {
    /// One root over all.
    Sequential,
    /// Each root sends to each other, as in MagPIe.
    AllToAll,
}

/// One of P3's runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Case {
    /// Allreduce by the sequential tree.
    Sequential,
    /// Conditional allreduce, and everybody's part is needed each time.
    Worst,
    /// Conditional allreduce, and each cluster's own part decides.
    Best,
    /// Conditional allreduce, with the data of a relaxation.
    Data(String),
}

impl Settings {
    /// Returns all trials in their order.
    #[must_use]
    pub fn trials(&self) -> Vec<Trial> {
        let sizes = [1, 8 << 10];
        let round_trip = |size_bytes| Links::ALL.map(|links| Trial::RoundTrips { links, size_bytes });
        let joined = [Joined::Sequential, Joined::AllToAll];
        let topologies = std::iter::once(Topology::Two).chain(Links::ALL.map(Topology::Four));
        let sums = topologies.flat_map(|topology| joined.map(|joined| Trial::Sums { topology, joined }));
        let cases = [Case::Sequential, Case::Worst, Case::Best].into_iter();
        let cases = cases.chain(DATA_SETS.map(|data| Case::Data(data.to_owned())));
        let early = sizes.into_iter().flat_map(round_trip).chain(SENDERS.map(|n| Trial::Senders { n }));
        early.chain(sums).chain(cases.map(|case| Trial::Iterations { case })).chain([Trial::Noise]).collect()
    }
}

impl fmt::Display for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sequential => "one root",
            Self::AllToAll => "all to all",
        })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequential => f.write_str("sequential"),
            Self::Worst => f.write_str("all to all (worst case)"),
            Self::Best => f.write_str("conditional, best case"),
            Self::Data(data) => write!(f, "conditional, {data}"),
        }
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoundTrips { links, size_bytes } => write!(f, "round trips of {size_bytes} bytes, {links}"),
            Self::Senders { n } => write!(f, "{n} senders"),
            Self::Sums { topology: Topology::Four(links), joined } => {
                write!(f, "sums over four sites, {links}, {joined}")
            }
            Self::Sums { topology, joined } => write!(f, "sums over {} sites, {joined}", topology.sites().len()),
            Self::Iterations { case } => write!(f, "{case}"),
            Self::Noise => f.write_str("noise"),
        }
    }
}
