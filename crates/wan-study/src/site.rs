//! Places of the study's ranks: sites, a rank at each, and the links between them.

use std::fmt;
use std::time::Duration;

use mpi_tree::{Between, Forest, Grain, Host, Layout, Order, Rule, Shape, Tree, Wake};
use netmodel::{Description, Profile};
use serde::{Deserialize, Serialize};
use units::span;

use crate::Joined;

/// Half of the round trip of P3's slowest link from its root.
const HALF: Duration = Duration::from_millis(18);
/// Delay from Tromsø to Alta, one way. P3 does not state it; its longest way, 30 ms, must be that from Alta to Denmark.
const ALTA: Duration = Duration::from_millis(12);

/// One of P3's clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Name in the paper.
    pub name: &'static str,
    /// Site where it was, or where it was according to the emulator.
    pub site: &'static str,
    /// The host there whose links NWS measured; `None` for Alta.
    gateway: Option<&'static str>,
    /// Number of processes.
    pub n_processes: usize,
}

/// P3's clusters, in the order in which they have rows of the grid. Of the 140 processors that are listed, two had
/// none.
pub const CLUSTERS: [Cluster; 5] = [
    Cluster { name: "4W", site: "tromso", gateway: Some("psgw"), n_processes: 32 },
    Cluster { name: "Dominic", site: "aalborg", gateway: Some("benedict"), n_processes: 14 },
    Cluster { name: "RoadRunner", site: "odense", gateway: Some("roadrunner"), n_processes: 48 },
    Cluster { name: "2W", site: "trondheim", gateway: Some("clustis"), n_processes: 34 },
    Cluster { name: "Blade", site: "alta", gateway: None, n_processes: 10 },
];

/// Longcut's four parts and their gateways.
const PARTS: [(&str, &str); 4] =
    [("tromso", "vvgw"), ("trondheim", "clustis"), ("odense", "roadrunner"), ("aalborg", "benedict")];

/// Sites and the links between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// Two sites, 18 ms each way.
    Two,
    /// P3's five clusters.
    Five,
    /// Longcut's four parts.
    Four(Links),
}

/// Source of the properties of Longcut's links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// The means of applications' measurements.
    Constant,
    /// A trace drawn from means and deviations of the same.
    Trace,
    /// The measurements of the Network Weather Service.
    Nws,
}

impl Links {
    /// All sources, in the report's order.
    pub(crate) const ALL: [Self; 3] = [Self::Constant, Self::Trace, Self::Nws];

    /// Returns the description of the link between two of Longcut's gateways.
    #[must_use]
    pub fn between(self, from: &str, to: &str) -> Description {
        let table = if self == Self::Nws { "nws" } else { "eventspace" };
        Description {
            profile: Some(format!("{table}/{from}-{to}")),
            drawn: self == Self::Trace,
            ..Description::default()
        }
    }
}

impl fmt::Display for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constant => "constant",
            Self::Trace => "a trace",
            Self::Nws => "NWS",
        })
    }
}

/// Returns the links of all pairs of Longcut's parts, by position.
pub(crate) fn parts(links: Links) -> impl Iterator<Item = ((usize, usize), Description)> {
    let pairs = (0..PARTS.len()).flat_map(|from| (0..PARTS.len()).map(move |to| (from, to)));
    pairs.filter(|(from, to)| from != to).map(move |(from, to)| ((from, to), links.between(PARTS[from].1, PARTS[to].1)))
}

impl Topology {
    /// Returns the sites' names.
    #[must_use]
    pub fn sites(self) -> Vec<&'static str> {
        match self {
            Self::Two => vec!["left", "right"],
            Self::Five => CLUSTERS.iter().map(|cluster| cluster.site).collect(),
            Self::Four(_) => PARTS.iter().map(|part| part.0).collect(),
        }
    }

    /// Returns the text of the file of sites.
    #[must_use]
    pub fn to_text(self) -> String {
        let sites = self.sites();
        let mut text = "format = 1\n".to_owned();
        for site in &sites {
            text += &format!("[[site]]\nname = \"{site}\"\nhosts = [\"{site}-0\"]\n");
        }
        let latency = |latency: Duration| format!("latency = \"{}\"", span::format(latency));
        let links: Vec<((usize, usize), String)> = match self {
            Self::Two => vec![((0, 1), latency(HALF)), ((1, 0), latency(HALF))],
            Self::Five => {
                let pairs = (0..5).flat_map(|from| (0..5).map(move |to| (from, to))).filter(|(from, to)| from != to);
                pairs.map(|(from, to)| ((from, to), latency(way(CLUSTERS[from], CLUSTERS[to])))).collect()
            }
            Self::Four(links) => parts(links)
                .map(|(ends, link)| {
                    let profile = link.profile.expect("each of these has one");
                    (ends, format!("profile = \"{profile}\"\ndrawn = {}", link.drawn))
                })
                .collect(),
        };
        for ((from, to), keys) in links {
            text += &format!("[[link]]\nfrom = \"{}\"\nto = \"{}\"\n{keys}\n", sites[from], sites[to]);
        }
        text
    }

    /// Builds a tree file with a rank at each site, for all operations.
    #[must_use]
    pub fn forest(self, joined: Joined) -> Forest {
        let host = |(rank, site): (u32, &str)| Host {
            name: format!("{site}-0"),
            cluster: Some(site.to_owned()),
            ranks: vec![rank],
        };
        let hosts: Vec<Host> = (0..).zip(self.sites()).map(host).collect();
        let between = match joined {
            Joined::Sequential => Between::Reduce,
            Joined::AllToAll => Between::AllToAll,
        };
        let (shape, grain, order) = (Shape::Flat, Grain::Host, Order::Fixed);
        let layout = Layout { shape, grain, inside: None, between, order, wake: Wake::Both };
        let rules = vec![Rule { operation: None, bytes_max: None, tree: 0 }];
        Forest { epoch: 1, trees: vec![Tree::make("sites", &hosts, &layout)], hosts, rules }
    }
}

/// Returns the delay of a message of a few bytes.
fn way(from: Cluster, to: Cluster) -> Duration {
    let measured = |from: &str, to: &str| {
        Profile::named(&format!("nws/{from}-{to}")).expect("both are in its table").means.latency
    };
    let tromso = CLUSTERS[0].gateway.expect("it is not Alta");
    match (from.gateway, to.gateway) {
        (Some(from), Some(to)) => measured(from, to),
        (Some(gateway), None) | (None, Some(gateway)) if gateway == tromso => ALTA,
        (Some(from), None) => measured(from, tromso) + ALTA,
        (None, Some(to)) => ALTA + measured(tromso, to),
        (None, None) => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_ways_are_those_that_p3_tells() {
        let ways = |from: Cluster| CLUSTERS.map(|to| if from == to { Duration::ZERO } else { way(from, to) });
        let longest = CLUSTERS.into_iter().flat_map(ways).max().unwrap();
        assert!(longest.abs_diff(Duration::from_millis(30)) < Duration::from_millis(1), "{longest:?}");
        let there_and_back = |to| way(CLUSTERS[0], to) + way(to, CLUSTERS[0]);
        let longest = CLUSTERS[1..].iter().map(|&to| there_and_back(to)).max().unwrap();
        assert!(longest.abs_diff(Duration::from_millis(36)) < Duration::from_millis(1), "{longest:?}");
        assert_eq!(CLUSTERS.iter().map(|cluster| cluster.n_processes).sum::<usize>(), 138);
    }

    #[test]
    fn trees_have_a_site_for_each_cluster() {
        for topology in [Topology::Two, Topology::Five, Topology::Four(Links::Constant)] {
            for joined in [Joined::Sequential, Joined::AllToAll] {
                let forest = topology.forest(joined);
                let sites = forest.trees[0].sites(&forest.hosts).unwrap();
                assert_eq!(sites.sites.len(), topology.sites().len(), "{topology:?}");
            }
        }
    }
}
