//! The part of a tree that is on this machine: what its records tell without those of other hosts.
//!
//! All that goes past a node is stamped on the node's own host, so that a node whose parent is elsewhere is a root
//! here: its way there and back stands for what a root stores. What contributes to it from elsewhere arrives here like
//! a rank.

use std::collections::{BTreeMap, BTreeSet};

use mpi_analysis::{Analysis, From};
use mpi_trace::{Event, Subject};
use mpi_tree::{Collector, Contributor, Host, Place, Tree};
use units::Rank;

/// Nodes of other hosts count as ranks from here on; real ones have 16 bits.
const FIRST_GUEST: Rank = 1 << 16;

/// A tree as it is seen from here.
pub(super) struct View {
    pub(super) tree: Tree,
    pub(super) hosts: Vec<Host>,
    /// Numbers here of the collectors that are stamped here, by the number of the collector in the whole tree.
    numbers: Vec<Option<u16>>,
    /// Ranks whose whole way is known as far as it is here.
    residents: BTreeSet<Rank>,
    /// Names of nodes of other hosts, by the rank that they count as.
    guests: BTreeMap<Rank, String>,
    is_whole: bool,
}

impl View {
    /// Returns the view of `tree` from a place with those of its hosts for which `here` is true, one by one.
    pub(super) fn of(tree: &Tree, hosts: &[Host], here: &[bool]) -> Self {
        let is_kept = |node: usize| here[tree.nodes[node].host];
        let places: BTreeMap<usize, usize> = (0..tree.nodes.len()).filter(|&node| is_kept(node)).zip(0..).collect();
        let residents = hosts.iter().zip(here).filter(|(_, here)| **here).flat_map(|(host, _)| &host.ranks).copied();
        let residents: BTreeSet<Rank> = residents.collect();
        let (mut seen, mut guests) = (hosts.to_vec(), BTreeMap::new());
        let mut nodes = Vec::with_capacity(places.len());
        for &node in places.keys() {
            let mut own = tree.nodes[node].clone();
            own.parent = own.parent.and_then(|parent| places.get(&parent).copied());
            for contributor in &mut own.contributors {
                let guest = match *contributor {
                    Contributor::Node(child) => match places.get(&child) {
                        Some(&place) => {
                            *contributor = Contributor::Node(place);
                            continue;
                        }
                        None => {
                            let guest = FIRST_GUEST + child as Rank;
                            guests.insert(guest, tree.nodes[child].name.clone());
                            guest
                        }
                    },
                    Contributor::Rank(rank) if residents.contains(&rank) => continue,
                    Contributor::Rank(rank) => rank,
                };
                // Where it really is, nothing is known of it.
                seen.iter_mut().for_each(|host| host.ranks.retain(|rank| *rank != guest));
                seen[own.host].ranks.push(guest);
                *contributor = Contributor::Rank(guest);
            }
            nodes.push(own);
        }
        seen.iter_mut().for_each(|host| host.ranks.sort_unstable());
        let part = Tree { nodes, ..tree.clone() };
        let known: BTreeMap<Collector, u16> = part.collectors(&seen).into_iter().zip(0..).collect();
        let number = |Collector { node, place }: Collector| {
            let above = |position: usize| match tree.nodes[node].contributors[position] {
                Contributor::Node(child) => {
                    places.get(&child).map(|&child| Collector { node: child, place: Place::Store })
                }
                Contributor::Rank(_) => None,
            };
            let own = places.get(&node).map(|&node| Collector { node, place });
            match place {
                Place::Leave(position) if own.is_none() => known.get(&above(position)?).copied(),
                _ => known.get(&own?).copied(),
            }
        };
        let numbers = tree.collectors(hosts).into_iter().map(number).collect();
        let is_whole = here.iter().all(|here| *here);
        Self { tree: part, hosts: seen, numbers, residents, guests, is_whole }
    }

    /// Events as the tree here counts its collectors.
    pub(super) fn translate(&self, event: Event) -> Option<Event> {
        let Subject::Stage { collector, sequence } = event.subject else { return None };
        if self.is_whole {
            return Some(event);
        }
        let collector = (*self.numbers.get(usize::from(collector))?)?;
        Some(Event { subject: Subject::Stage { collector, sequence }, ..event })
    }

    /// Names of nodes elsewhere in the place of the ranks that they count as, and no paths of those who are not here.
    pub(super) fn rename(&self, mut analysis: Analysis) -> Analysis {
        if self.is_whole {
            return analysis;
        }
        for contributor in analysis.nodes.iter_mut().flat_map(|node| &mut node.contributors) {
            if let From::Rank(rank) = contributor.from
                && !self.residents.contains(&rank)
            {
                let name = self.guests.get(&rank).cloned();
                contributor.name = format!("{} elsewhere", name.unwrap_or_else(|| format!("rank {rank}")));
            }
        }
        analysis.paths.retain(|path| self.residents.contains(&path.rank));
        analysis
    }
}

#[cfg(test)]
mod tests {
    use mpi_analysis::{Analyzer, HostClock};
    use mpi_trace::Operation;
    use mpi_tree::Forest;

    use super::*;

    const TREE: &str = r#"
format = 1
[[host]]
name = "a"
ranks = "0-1"
[[host]]
name = "b"
ranks = "2-3"
[[tree]]
name = "two"
[[tree.node]]
name = "root"
host = "a"
contributors = ["left", "right"]
[[tree.node]]
name = "left"
host = "a"
contributors = ["0-1"]
[[tree.node]]
name = "right"
host = "b"
contributors = ["2-3"]
"#;

    /// Start and end by collector: `left`; `right` before and after its hop; the root's store; ranks 0 to 3.
    const STAMPS: [(u64, u64); 8] =
        [(30, 280), (200, 990), (250, 900), (260, 270), (10, 290), (20, 300), (100, 1000), (190, 1010)];

    fn seen(here: [bool; 2], collectors: &[u16]) -> (View, Analysis) {
        let forest = Forest::parse(TREE).unwrap();
        let view = View::of(&forest.trees[0], &forest.hosts, &here);
        let clocks = vec![HostClock::alone(); 2];
        let mut analyzer = Analyzer::new(view.tree.clone(), view.hosts.clone(), clocks);
        let event = |&collector: &u16| {
            let (start, end) = STAMPS[usize::from(collector)];
            let subject = Subject::Stage { collector, sequence: 0 };
            Event { start, end, bytes: 8, operation: Operation::BARRIER, is_failed: false, subject }
        };
        analyzer.take(collectors.iter().map(event).filter_map(|event| view.translate(event)));
        let analysis = view.rename(analyzer.analysis());
        (view, analysis)
    }

    fn names(analysis: &Analysis) -> Vec<&str> {
        analysis.nodes.iter().flat_map(|node| &node.contributors).map(|own| own.name.as_str()).collect()
    }

    #[test]
    fn a_node_whose_parent_is_elsewhere_is_a_root_here() {
        let (_, analysis) = seen([false, true], &[1, 6, 7]);
        assert_eq!((analysis.n_calls, analysis.nodes.len(), names(&analysis)), (1, 1, vec!["rank 2", "rank 3"]));
        let store = analysis.nodes[0].store.as_ref().map(|store| store.mean_ns);
        assert_eq!((store, analysis.nodes[0].down_last.mean_ns), (Some(790.0), 10.0));
        assert_eq!(analysis.paths.iter().map(|path| path.rank).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn what_contributes_from_elsewhere_arrives_like_a_rank_and_keeps_its_name() {
        let (_, analysis) = seen([true, false], &[0, 2, 3, 4, 5]);
        assert_eq!((analysis.n_calls, analysis.nodes.len()), (1, 2));
        assert_eq!(analysis.last_arrivals()[0].name, "right elsewhere");
        assert_eq!(names(&analysis), ["left", "right elsewhere", "rank 0", "rank 1"]);
        assert_eq!(analysis.paths.iter().map(|path| path.rank).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_tree_of_which_all_is_here_is_seen_as_it_is() {
        let forest = Forest::parse(TREE).unwrap();
        let (view, analysis) = seen([true, true], &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((view.tree, analysis.paths.len()), (forest.trees[0].clone(), 4));
        assert_eq!(view.hosts, forest.hosts);
    }
}
