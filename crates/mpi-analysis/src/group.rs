//! Paths that behave alike, a representative of each group, and groups that are too fast to matter.

use serde::Serialize;
use units::Rank;

use crate::{Analysis, Level, Part, PathFigures};

/// Two paths are alike when their stages, one by one, differ by no more than this share of the slower one's cost.
const ALIKE: f64 = 0.15;
/// A group that costs less than this share of the slowest one does not decide how long a call takes.
const FAST: f64 = 0.75;

/// Paths through stages of the same kinds that take about as long.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Ranks in ascending order.
    pub ranks: Vec<Rank>,
    /// The one whose cost is nearest to the group's.
    pub representative: Rank,
    /// Mean cost of its paths, arrival waits left out.
    pub cost_ns: f64,
    /// Nodes on each path.
    pub n_nodes: usize,
    /// Hops between hosts on each path.
    pub n_hops: usize,
    /// Whether slower groups decide how long a call takes.
    pub is_fast: bool,
}

/// Features that paths are compared by.
struct Shape {
    kinds: Vec<(Part, bool)>,
    means_ns: Vec<f64>,
}

impl Analysis {
    /// All groups, the slowest first.
    #[must_use]
    pub fn groups(&self) -> Vec<Group> {
        let mut paths: Vec<(&PathFigures, Shape)> = self.paths.iter().map(|path| (path, self.shape(path))).collect();
        paths.sort_by(|(a, _), (b, _)| b.cost.mean_ns.total_cmp(&a.cost.mean_ns));
        // Each group begins with its slowest path, which the others are compared with.
        let mut groups: Vec<Vec<(&PathFigures, Shape)>> = Vec::new();
        for (path, shape) in paths {
            match groups.iter_mut().find(|group| are_alike(&group[0], &shape)) {
                Some(group) => group.push((path, shape)),
                None => groups.push(vec![(path, shape)]),
            }
        }
        let mut groups: Vec<Group> = groups.iter().map(|members| group(members)).collect();
        groups.sort_by(|a, b| b.cost_ns.total_cmp(&a.cost_ns));
        let slowest_ns = groups.first().map_or(0.0, |group| group.cost_ns);
        groups.iter_mut().for_each(|group| group.is_fast = group.cost_ns < FAST * slowest_ns);
        groups
    }

    fn shape(&self, path: &PathFigures) -> Shape {
        let stages = self.stages(path);
        let counted = || stages.iter().filter(|stage| stage.part != Part::ArrivalWait);
        Shape {
            kinds: counted().map(|stage| (stage.part, self.level(stage) == Level::Wan)).collect(),
            means_ns: counted().map(|stage| stage.figures.mean_ns).collect(),
        }
    }
}

fn are_alike((slowest, its): &(&PathFigures, Shape), other: &Shape) -> bool {
    let apart: f64 = its.means_ns.iter().zip(&other.means_ns).map(|(a, b)| (a - b).abs()).sum();
    its.kinds == other.kinds && apart <= ALIKE * slowest.cost.mean_ns
}

fn group(members: &[(&PathFigures, Shape)]) -> Group {
    let cost_ns = members.iter().map(|(path, _)| path.cost.mean_ns).sum::<f64>() / members.len() as f64;
    let away = |path: &PathFigures| (path.cost.mean_ns - cost_ns).abs();
    let mut ranks: Vec<Rank> = members.iter().map(|(path, _)| path.rank).collect();
    ranks.sort_unstable();
    let nearest =
        members.iter().map(|(path, _)| path).min_by(|a, b| away(a).total_cmp(&away(b)).then(a.rank.cmp(&b.rank)));
    let (path, shape) = &members[0];
    Group {
        ranks,
        representative: nearest.map_or(path.rank, |path| path.rank),
        cost_ns,
        n_nodes: path.steps.len(),
        n_hops: shape.kinds.iter().filter(|(part, _)| *part == Part::Hop).count(),
        is_fast: false,
    }
}
