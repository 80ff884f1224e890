//! Mapping of ranks to cores.

use serde::{Deserialize, Serialize};

use super::Place;
use super::description::Description;
use super::error::MachineError;

/// Mapping of ranks to cores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "no mapping: write \"block\", \"cyclic\", \"sites\" or a list with the node of each rank"
)]
pub enum Mapping {
    /// A rule.
    Rule(MappingRule),
    /// The node of each rank, counted through all sites from 0.
    Nodes(Vec<u32>),
}

/// A rule that gives each rank a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MappingRule {
    /// Node by node.
    Block,
    /// Round the nodes of all sites.
    Cyclic,
    /// An equal part of the ranks for each site, node by node.
    Sites,
}

impl Default for Mapping {
    fn default() -> Self {
        Self::Rule(MappingRule::Block)
    }
}

impl Description {
    /// The most ranks that the mapping has cores for.
    #[must_use]
    pub fn n_ranks_max(&self) -> u32 {
        match &self.mapping {
            Mapping::Nodes(of_ranks) => self.n_slots().min(of_ranks.len() as u32),
            Mapping::Rule(MappingRule::Sites) => {
                let cores = || self.site.iter().map(|site| site.nodes * site.cores);
                let least = cores().min().unwrap_or(0);
                // Sites before the first of the smallest take one rank more.
                least * self.site.len() as u32 + cores().take_while(|cores| *cores > least).count() as u32
            }
            Mapping::Rule(MappingRule::Block | MappingRule::Cyclic) => self.n_slots(),
        }
    }

    /// Returns the place where each rank runs.
    pub(super) fn places(&self, n_ranks: u32) -> Result<Vec<Place>, MachineError> {
        let slots = self.n_slots();
        if n_ranks == 0 {
            return Err(MachineError::NoRanks { slots });
        }
        if n_ranks > slots {
            return Err(MachineError::TooSmall { ranks: n_ranks, slots });
        }
        let mut nodes = Vec::new();
        for (site_idx, site) in (0..).zip(&self.site) {
            let first = nodes.len() as u32;
            nodes.extend((first..first + site.nodes).map(|node_idx| (Place { site_idx, node_idx }, site.cores)));
        }
        match &self.mapping {
            Mapping::Rule(MappingRule::Block) => {
                let cores = nodes.iter().flat_map(|(place, cores)| (0..*cores).map(|_| *place));
                Ok(cores.take(n_ranks as usize).collect())
            }
            Mapping::Rule(MappingRule::Cyclic) => {
                let most = nodes.iter().map(|(_, cores)| *cores).max().unwrap_or(0);
                let rounds = (0..most).flat_map(|round| nodes.iter().filter(move |(_, cores)| *cores > round));
                Ok(rounds.map(|(place, _)| *place).take(n_ranks as usize).collect())
            }
            Mapping::Rule(MappingRule::Sites) => self.site_by_site(n_ranks, &nodes),
            Mapping::Nodes(of_ranks) => listed(of_ranks, n_ranks, nodes),
        }
    }

    /// An equal part of the ranks for each site; the first sites have one more where it does not come out even.
    fn site_by_site(&self, n_ranks: u32, nodes: &[(Place, u32)]) -> Result<Vec<Place>, MachineError> {
        let n_sites = self.site.len() as u32;
        let mut places = Vec::new();
        for (site_idx, site) in (0..).zip(&self.site) {
            let share = n_ranks / n_sites + u32::from(site_idx < n_ranks % n_sites);
            if share > site.nodes * site.cores {
                let reason =
                    format!("site `{}` has {} cores for its share of {share}", site.name, site.nodes * site.cores);
                return Err(MachineError::Mapping { ranks: n_ranks, reason });
            }
            let of_site = nodes.iter().filter(|(place, _)| place.site_idx == site_idx);
            places.extend(of_site.flat_map(|(place, cores)| (0..*cores).map(|_| *place)).take(share as usize));
        }
        Ok(places)
    }
}

fn listed(of_ranks: &[u32], n_ranks: u32, mut nodes: Vec<(Place, u32)>) -> Result<Vec<Place>, MachineError> {
    let refuse = |reason: String| Err(MachineError::Mapping { ranks: n_ranks, reason });
    if of_ranks.len() < n_ranks as usize {
        return refuse(format!("it lists the nodes of {} ranks; name one for each rank", of_ranks.len()));
    }
    let mut places = Vec::new();
    for (rank, &node_idx) in of_ranks[..n_ranks as usize].iter().enumerate() {
        let n_nodes = nodes.len();
        match nodes.get_mut(node_idx as usize) {
            Some((place, free @ 1..)) => {
                *free -= 1;
                places.push(*place);
            }
            Some(_) => return refuse(format!("no core of node {node_idx} is left for rank {rank}")),
            None => {
                return refuse(format!("rank {rank} is on node {node_idx}, and the nodes are 0 to {}", n_nodes - 1));
            }
        }
    }
    Ok(places)
}
