//! Finding the tree that is fastest at each size: every generator tried, the slow ones dropped early, the best one then
//! changed step by step as its own stages suggest (chapter 2.1 of L. A. Bongo's dissertation names these strategies
//! side by side).
//!
//! Whoever searches runs a program on one candidate after the other and says what calls of each size took. No gain is
//! assumed: a change stays only if the measurement says so.

use std::collections::HashSet;

use mpi_tree::{Between, Collective, Contributor, FanIn, Forest, Grain, Host, Layout, Order, Rule, Shape, Tree, Wake};
use units::ByteCount;

use crate::{Analysis, Part, Remedy};

/// Candidates slower than the best by this factor after a round are not tried again: rounds differ by less.
const HOPELESS: f64 = 1.5;

/// A step of the analysis is kept if the time is below the old one by this factor, so that noise alone does not lead
/// the way.
const KEPT: f64 = 0.97;

/// A tree and what is known of its speed.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Origin of the tree: words of `foretop mpi tree make`, or the change that led to it.
    pub origin: String,
    /// The tree.
    pub tree: Tree,
    /// Times of calls of each size, one time for each run, in nanoseconds.
    pub times_ns: Vec<Vec<f64>>,
}

/// A change of a tree that its stages suggest.
#[derive(Clone, Debug)]
pub struct Step {
    /// The changed tree.
    pub tree: Tree,
    /// Description of the change, and the evidence for it.
    pub reason: String,
}

/// A search over candidates. Deterministic: the same times lead to the same runs.
#[derive(Clone, Debug)]
pub struct Search {
    hosts: Vec<Host>,
    sizes: Vec<u64>,
    n_rounds: usize,
    candidates: Vec<Candidate>,
}

impl Search {
    /// All trees that the generators make over these hosts, each once, to be tried at these sizes up to `n_rounds`
    /// times.
    #[must_use]
    pub fn new(hosts: Vec<Host>, sizes: Vec<u64>, n_rounds: usize) -> Self {
        let mut search = Self::over(hosts, sizes, n_rounds);
        for (origin, layout) in layouts() {
            let tree = Tree::make("tree", &search.hosts, &layout);
            search.add(origin, tree);
        }
        search
    }

    /// No candidates yet.
    #[must_use]
    pub fn over(hosts: Vec<Host>, sizes: Vec<u64>, n_rounds: usize) -> Self {
        Self { sizes, n_rounds, candidates: Vec::new(), hosts }
    }

    /// The hosts that trees are over.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Adds a candidate, unless it is there. Gives its position.
    pub fn add(&mut self, origin: String, tree: Tree) -> usize {
        let known = self.candidates.iter().position(|known| shape_of(&known.tree) == shape_of(&tree));
        known.unwrap_or_else(|| {
            self.candidates.push(Candidate { origin, tree, times_ns: vec![Vec::new(); self.sizes.len()] });
            self.candidates.len() - 1
        })
    }

    /// All candidates.
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// Returns the candidate to run next: the one with fewest runs goes first, so that drifts of the machine affect all
    /// alike. None when all is known.
    #[must_use]
    pub fn next(&self) -> Option<usize> {
        let best: Vec<f64> = (0..self.sizes.len())
            .map(|size| self.best(size).map_or(f64::INFINITY, |best| self.time_ns(best, size)))
            .collect();
        let is_open = |&candidate: &usize| {
            let n_done = self.n_runs(candidate);
            let may_win = best.iter().enumerate().any(|(size, best)| self.time_ns(candidate, size) <= HOPELESS * best);
            n_done == 0 || n_done < self.n_rounds && may_win
        };
        (0..self.candidates.len()).filter(is_open).min_by_key(|&candidate| (self.n_runs(candidate), candidate))
    }

    fn n_runs(&self, candidate: usize) -> usize {
        self.candidates[candidate].times_ns.first().map_or(0, Vec::len)
    }

    /// Records the time of a call of each size in one run of a candidate; infinite where the run failed.
    ///
    /// # Panics
    /// If there is not one time for each size.
    pub fn record(&mut self, candidate: usize, times_ns: &[f64]) {
        assert_eq!(times_ns.len(), self.sizes.len(), "a time for each size");
        for (times, time_ns) in self.candidates[candidate].times_ns.iter_mut().zip(times_ns) {
            times.push(*time_ns);
        }
    }

    /// The fastest candidate at a size so far.
    #[must_use]
    pub fn best(&self, size: usize) -> Option<usize> {
        let tried = (0..self.candidates.len()).filter(|&at| !self.candidates[at].times_ns[size].is_empty());
        tried.min_by(|&a, &b| self.time_ns(a, size).total_cmp(&self.time_ns(b, size)))
    }

    /// Returns the time of a call: the median of the runs, which a disturbed one does not move. NaN before the first.
    #[must_use]
    pub fn time_ns(&self, candidate: usize, size: usize) -> f64 {
        let times = &self.candidates[candidate].times_ns[size];
        let unknown = if times.is_empty() { f64::NAN } else { f64::INFINITY };
        statistics::median(times).unwrap_or(unknown)
    }

    /// Whether a step is to be kept.
    #[must_use]
    pub fn is_better(&self, candidate: usize, than: usize, size: usize) -> bool {
        self.time_ns(candidate, size) < KEPT * self.time_ns(than, size)
    }

    /// The best trees and a rule for each size: neighbouring sizes with the same tree share one, and the largest size
    /// is the last that is taken from the MPI library.
    #[must_use]
    pub fn forest(&self, operation: Collective, epoch: u64) -> Forest {
        let mut sizes: Vec<usize> = (0..self.sizes.len()).collect();
        sizes.sort_by_key(|&size| self.sizes[size]);
        let mut forest = Forest { epoch, hosts: self.hosts.clone(), ..Forest::default() };
        let mut chosen: Vec<usize> = Vec::new();
        for size in sizes {
            let Some(best) = self.best(size).filter(|&best| self.time_ns(best, size).is_finite()) else { continue };
            let tree = chosen.iter().position(|&known| known == best).unwrap_or_else(|| {
                chosen.push(best);
                let name = format!("tuned-{}", chosen.len());
                forest.trees.push(Tree { name, ..self.candidates[best].tree.clone() });
                chosen.len() - 1
            });
            let bytes_max = Some(ByteCount::new(self.sizes[size]));
            match forest.rules.last_mut() {
                Some(rule) if rule.tree == tree => rule.bytes_max = bytes_max,
                _ => forest.rules.push(Rule { operation: Some(operation), bytes_max, tree }),
            }
        }
        forest
    }

    /// Changes that an analysis of a tree suggests and that were not tried yet, the largest stage first.
    #[must_use]
    pub fn steps(&self, tree: &Tree, analysis: &Analysis) -> Vec<Step> {
        let mut steps = Vec::new();
        for hint in analysis.hints() {
            for &remedy in hint.remedies {
                let late = analysis.last_arrivals().first().map(|edge| edge.node);
                let Some((tree, change)) = self.changed(tree, hint.node, hint.part, remedy, late) else { continue };
                let is_known = self.candidates.iter().any(|known| shape_of(&known.tree) == shape_of(&tree));
                if !is_known && tree.check(&self.hosts).is_ok() {
                    steps.push(Step { tree, reason: format!("{change}, since {}", hint.evidence) });
                }
            }
        }
        steps
    }

    fn changed(
        &self,
        tree: &Tree,
        node: usize,
        part: Part,
        remedy: Remedy,
        late: Option<usize>,
    ) -> Option<(Tree, String)> {
        let mut changed = tree.clone();
        let name = tree.nodes[node].name.clone();
        let change = match remedy {
            // No tree does that.
            Remedy::Rebalance => return None,
            Remedy::Deeper | Remedy::LevelInsideHost => {
                split(&mut changed, node, &self.hosts)?;
                format!("a level more at {name}")
            }
            Remedy::Broader => {
                let parent = tree.nodes[node].parent?;
                merge(&mut changed, node);
                format!("{name} merged into {}", tree.nodes[parent].name)
            }
            Remedy::Wake => {
                let wake = match tree.nodes[node].wake {
                    Wake::Spin => Wake::Both,
                    Wake::Both => Wake::Futex,
                    Wake::Futex => Wake::Spin,
                };
                changed.nodes[node].wake = wake;
                format!("{name} wakes otherwise ({wake:?})").to_lowercase()
            }
            Remedy::Remap => {
                let late = late.filter(|_| part == Part::ArrivalWait)?;
                let host = changed.nodes[late].host;
                if changed.nodes[node].host == host {
                    return None;
                }
                changed.nodes[node].host = host;
                format!("{name} moved to {}", self.hosts[host].name)
            }
            Remedy::Exchange => return None,
        };
        Some((changed, change))
    }
}

/// Generators and what they are called, as `foretop mpi tree make` takes them.
fn layouts() -> Vec<(String, Layout)> {
    let shapes =
        ["flat", "binomial", "2-way", "4-way", "8-way"].map(|name| (name, name.parse::<Shape>().expect("a shape")));
    let mut layouts = Vec::new();
    for (name, shape) in shapes {
        for (between, joined) in [(Between::Reduce, ""), (Between::AllToAll, " --between all-to-all")] {
            let insides = [(None, ""), (FanIn::new(2), " --inside 2"), (FanIn::new(4), " --inside 4")];
            let by_host = insides.map(|(inside, text)| (Grain::Host, inside, text));
            for (grain, inside, text) in by_host.into_iter().chain([(Grain::Rank, None, " --by-rank")]) {
                for (wake, waits) in [(Wake::Both, ""), (Wake::Futex, " --wake futex"), (Wake::Spin, " --wake spin")] {
                    let layout = Layout { shape, grain, inside, between, order: Order::Fixed, wake };
                    layouts.push((format!("--shape {name}{text}{joined}{waits}"), layout));
                }
            }
        }
    }
    layouts
}

/// Key of a tree: all that makes it another one than others, so all but its name and those of its nodes.
type Essence = (bool, bool, Vec<(usize, Wake, Vec<Contributor>)>);

fn shape_of(tree: &Tree) -> Essence {
    let nodes = tree.nodes.iter().map(|node| (node.host, node.wake, node.contributors.clone())).collect();
    // With one root there is nothing between roots.
    let is_exchanging = tree.between == Between::AllToAll && tree.roots().count() > 1;
    (is_exchanging, tree.order == Order::Arrival, nodes)
}

/// Puts two nodes between a node and its contributors, each with half of them.
fn split(tree: &mut Tree, node: usize, hosts: &[Host]) -> Option<()> {
    let contributors = tree.nodes[node].contributors.clone();
    if contributors.len() < 4 {
        return None;
    }
    let mut names: HashSet<String> = tree.nodes.iter().map(|node| node.name.clone()).collect();
    let mut joined = Vec::new();
    for half in contributors.chunks(contributors.len().div_ceil(2)) {
        let at = tree.nodes.len();
        let name =
            (1..).map(|number| format!("{}.{number}", tree.nodes[node].name)).find(|name| !names.contains(name))?;
        names.insert(name.clone());
        let host = tree.host_of(half[0], hosts)?;
        for contributor in half {
            if let Contributor::Node(child) = *contributor {
                tree.nodes[child].parent = Some(at);
            }
        }
        let wake = tree.nodes[node].wake;
        tree.nodes.push(mpi_tree::Node { name, host, parent: Some(node), contributors: half.to_vec(), wake });
        joined.push(Contributor::Node(at));
    }
    tree.nodes[node].contributors = joined;
    Some(())
}

/// Gives a node's contributors to its parent, in its place.
fn merge(tree: &mut Tree, node: usize) {
    let Some(parent) = tree.nodes[node].parent else { return };
    let contributors = std::mem::take(&mut tree.nodes[node].contributors);
    let place = tree.nodes[parent].contributors.iter().position(|&other| other == Contributor::Node(node));
    let place = place.expect("a node is among the contributors of its parent");
    for contributor in &contributors {
        if let Contributor::Node(child) = *contributor {
            tree.nodes[child].parent = Some(parent);
        }
    }
    tree.nodes[parent].contributors.splice(place..=place, contributors);
    tree.nodes.remove(node);
    let moved = |at: usize| at - usize::from(at > node);
    for other in &mut tree.nodes {
        other.parent = other.parent.map(moved);
        for contributor in &mut other.contributors {
            if let Contributor::Node(child) = contributor {
                *child = moved(*child);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tree_is_a_candidate_once_and_sound() {
        let hosts = Host::blocks(4, 4);
        let search = Search::new(hosts.clone(), vec![8], 1);
        let shapes: Vec<_> = search.candidates.iter().map(|candidate| shape_of(&candidate.tree)).collect();
        assert!(shapes.len() > 20, "{}", shapes.len());
        for (at, shape) in shapes.iter().enumerate() {
            assert!(!shapes[..at].contains(shape), "{}", search.candidates[at].origin);
            search.candidates[at].tree.check(&hosts).unwrap();
        }
    }

    #[test]
    fn the_fastest_is_found_at_each_size_and_the_slow_are_dropped_early() {
        let mut search = Search::new(Host::blocks(4, 4), vec![4096, 8], 3);
        let n = search.candidates().len();
        // The trees get slower by their position at 8 bytes, and faster at 4 KiB.
        let mut n_runs = 0;
        while let Some(candidate) = search.next() {
            let time = |rank: usize| 1000.0 + 100.0 * rank as f64;
            search.record(candidate, &[time(n - candidate), time(candidate)]);
            n_runs += 1;
        }
        assert_eq!((search.best(0), search.best(1)), (Some(n - 1), Some(0)));
        assert!(n_runs < 3 * n, "{n_runs} runs of {n} candidates");
        let forest = search.forest(Collective::Allreduce, 7);
        forest.check().unwrap();
        assert_eq!((forest.rule(Collective::Allreduce, 8), forest.rule(Collective::Allreduce, 9)), (Some(0), Some(1)));
        assert_eq!(forest.rule(Collective::Allreduce, 4097), None);
    }

    #[test]
    fn levels_come_and_go_and_the_tree_stays_sound() {
        let hosts = Host::blocks(4, 4);
        for candidate in Search::new(hosts.clone(), vec![8], 1).candidates() {
            for node in 0..candidate.tree.nodes.len() {
                let mut deeper = candidate.tree.clone();
                if split(&mut deeper, node, &hosts).is_some() {
                    deeper.check(&hosts).unwrap();
                    assert_eq!(deeper.nodes.len(), candidate.tree.nodes.len() + 2);
                    let last = deeper.nodes.len() - 1;
                    merge(&mut deeper, last);
                    merge(&mut deeper, last - 1);
                    assert_eq!(shape_of(&deeper), shape_of(&candidate.tree));
                }
            }
        }
    }
}
