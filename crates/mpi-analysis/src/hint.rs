//! Hints about stages that take much of a path, with remedies and the evidence for them. A hint never states what a
//! remedy would gain: parts of a tree act on each other, and only a measurement shows it.

use mpi_trace::Flow;
use serde::Serialize;
use text::figure::{percent, span_ns};
use units::Rank;

use crate::{Analysis, Figures, LastArrival, Part, PathFigures, Stage};

/// A stage that takes less than this share of its path is not worth a change of the tree.
const LARGE: f64 = 0.2;

/// A stage that takes much of a representative path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hint {
    /// The symptom, one of six.
    pub part: Part,
    /// Position of the node.
    pub node: usize,
    /// The path that it was seen on.
    pub rank: Rank,
    /// Mean of the stage.
    pub mean_ns: f64,
    /// Its share of the whole path, arrival waits included.
    pub share: f64,
    /// Remedies that may be tried.
    pub remedies: &'static [Remedy],
    /// Description of the symptom, and the figures.
    pub evidence: String,
}

/// A change that may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// Rebalancing of work between ranks: no tree helps those who wait for a rank that computes.
    Rebalance,
    /// Remapping of nodes to hosts, so that those who come late have a shorter way.
    Remap,
    /// More levels: each node joins fewer.
    Deeper,
    /// Fewer levels: fewer hops on each way.
    Broader,
    /// A level of nodes inside one host, so that fewer wait for the same wake-up.
    LevelInsideHost,
    /// Another way to wake who waits.
    Wake,
    /// Another way to join clusters.
    Exchange,
}

impl Remedy {
    /// Returns the remedy as an advice.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::Rebalance => "give the late rank less work",
            Self::Remap => "move nodes to other hosts, so that those who come late have a shorter way",
            Self::Deeper => "make the tree deeper: fewer contributors a node",
            Self::Broader => "make the tree broader: fewer hops on the way",
            Self::LevelInsideHost => "add a level inside the host, or remove one",
            Self::Wake => "wake in another way: spin, futex or both",
            Self::Exchange => "join the clusters in another way: reduce, or all-to-all",
        }
    }
}

impl Analysis {
    /// Returns a hint for each large stage on a representative path of each slow group, the largest share first.
    /// Arrival waits are those of the path that waits longest: who keeps the others waiting does not wait.
    #[must_use]
    pub fn hints(&self) -> Vec<Hint> {
        let groups = self.groups();
        let slow = groups.iter().filter(|group| !group.is_fast).filter_map(|group| self.path(group.representative));
        let waits = |path: &PathFigures| -> f64 {
            let stages = self.stages(path);
            stages.iter().filter(|stage| stage.part == Part::ArrivalWait).map(|stage| stage.figures.mean_ns).sum()
        };
        let waiting = self.paths.iter().max_by(|a, b| waits(a).total_cmp(&waits(b)));
        let paths = slow.map(|path| (path, false)).chain(waiting.map(|path| (path, true)));
        let last = self.last_arrivals();
        let mut hints: Vec<Hint> = Vec::new();
        for (path, is_waiting) in paths {
            let stages = self.stages(path);
            let whole_ns: f64 = stages.iter().map(|stage| stage.figures.mean_ns).sum();
            for stage in stages {
                let share = stage.figures.mean_ns / whole_ns;
                // Paths share their stages towards the root.
                let is_known = hints.iter().any(|hint| (hint.part, hint.node) == (stage.part, stage.node));
                if share >= LARGE && (stage.part == Part::ArrivalWait) == is_waiting && !is_known {
                    hints.push(self.hint(&stage, path.rank, share, &last));
                }
            }
        }
        hints.sort_by(|a, b| b.share.total_cmp(&a.share));
        hints
    }

    fn hint(&self, stage: &Stage<'_>, rank: Rank, share: f64, last: &[LastArrival]) -> Hint {
        let node = &self.nodes[stage.node];
        let Figures { mean_ns, deviation_ns, max_ns, median_last_ns, .. } = *stage.figures;
        let is_one_rank = !last.is_empty() && last.iter().all(|edge| edge.stands_out || edge.share == 1.0);
        let n = node.contributors.len();
        let (remedies, detail): (&[Remedy], String) = match stage.part {
            Part::ArrivalWait => {
                let who: Vec<String> =
                    last.iter().map(|edge| format!("{} {}", edge.name, percent(edge.share))).collect();
                let remedies: &[Remedy] =
                    if is_one_rank { &[Remedy::Rebalance, Remedy::Remap] } else { &[Remedy::Remap, Remedy::Rebalance] };
                (remedies, format!("last to arrive, from the root on: {}", who.join(", ")))
            }
            Part::Down => (&[Remedy::Deeper], format!("{n} contributors are combined")),
            Part::Hop => {
                let host = node.contributors[stage.contributor].hop.as_ref().map_or("", |hop| hop.host.as_str());
                let detail = format!("from {host} to {} and back; longest {}", node.host, span_ns(max_ns));
                (&[Remedy::Broader], detail)
            }
            Part::Store => {
                let n_roots = self.nodes.iter().filter(|node| node.parent.is_none()).count();
                let remedies: &[Remedy] =
                    if n_roots > 1 && self.flow != Flow::FromRoot { &[Remedy::Exchange] } else { &[] };
                let detail = match self.flow {
                    // Nothing else is done there.
                    Flow::FromRoot => "until all ranks had read the result before".to_owned(),
                    _ if n_roots > 1 => format!("{n_roots} roots exchange"),
                    _ => "the only root".to_owned(),
                };
                (remedies, detail)
            }
            Part::Up => (&[Remedy::Wake, Remedy::Deeper], format!("{n} contributors are released")),
            Part::DepartureWait => {
                let ups: Vec<String> = node.up_by_departure.iter().map(|up| span_ns(up.mean_ns)).collect();
                (&[Remedy::LevelInsideHost, Remedy::Deeper], format!("by order of departure: {}", ups.join(", ")))
            }
        };
        let evidence = format!(
            "{} at {}: {} of the way of rank {rank} in {} calls; mean {}, deviation {}, recent median {}; {detail}",
            stage.part.name(),
            node.name,
            percent(share),
            self.n_calls,
            span_ns(mean_ns),
            span_ns(deviation_ns),
            span_ns(median_last_ns),
        );
        Hint { part: stage.part, node: stage.node, rank, mean_ns, share, remedies, evidence }
    }
}
