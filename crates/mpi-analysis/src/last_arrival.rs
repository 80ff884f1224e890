//! Load imbalance by last arrivals: the path from a root along the contributors for whom the others waited longest,
//! which ends in the culprit, and how often each contributor was last.

use serde::Serialize;

use crate::{Analysis, ContributorFigures, From};

/// A contributor that is last this much more often than all alike would be stands out.
const STANDS_OUT: f64 = 1.5;

/// One edge of the heaviest path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LastArrival {
    /// Position of the node.
    pub node: usize,
    /// Position of the contributor.
    pub contributor: usize,
    /// The contributor.
    pub from: From,
    /// Name of the contributor in tables.
    pub name: String,
    /// Calls in which it was the last to arrive.
    pub n_last: u64,
    /// Share of these calls among all.
    pub share: f64,
    /// Mean time that the others at this node waited for the last.
    pub others_waited_ns: f64,
    /// Whether it was last much more often than if all were alike.
    pub stands_out: bool,
}

impl Analysis {
    /// The path along those for whom the others waited longest, from the root that was last most often to a rank.
    ///
    /// The time counts rather than the number of calls: a rank that is late by nanoseconds in most calls is no culprit
    /// if another one is late by milliseconds in the rest.
    ///
    /// Empty where there was no call, or nothing that ranks bring is joined. Who is at its end is the culprit if each
    /// edge stands out; else the tree above the last edge that does is what arrives late.
    #[must_use]
    pub fn last_arrivals(&self) -> Vec<LastArrival> {
        let roots = self.nodes.iter().enumerate().filter(|(_, node)| node.parent.is_none());
        // Of equal ones the first in the tree.
        let Some((root, _)) = roots.rev().max_by_key(|(_, node)| node.n_last) else { return Vec::new() };
        let mut edges = Vec::new();
        let mut next = (self.n_calls > 0 && self.flow.is_joined()).then_some(root);
        while let Some(node) = next {
            let edge = self.heaviest(node);
            next = match edge.from {
                From::Rank(_) => None,
                From::Node(child) => Some(child),
            };
            edges.push(edge);
        }
        edges
    }

    fn heaviest(&self, node: usize) -> LastArrival {
        let contributors = &self.nodes[node].contributors;
        // Who waits least for the others is who they wait for. Of equal ones, who was last most often, and then the
        // first in the tree.
        let waited = |own: &ContributorFigures| own.arrival_wait.mean_ns;
        let order = |(_, one): &(usize, &ContributorFigures), (_, other): &(usize, &ContributorFigures)| {
            waited(one).total_cmp(&waited(other)).then(other.n_last().cmp(&one.n_last()))
        };
        let (contributor, own) = contributors.iter().enumerate().min_by(order).expect("a node has contributors");
        let n = contributors.len();
        let others = contributors.iter().enumerate().filter(|(other, _)| *other != contributor);
        let waited: f64 = others.map(|(_, other)| other.arrival_wait.mean_ns).sum();
        let share = own.n_last() as f64 / self.n_calls as f64;
        LastArrival {
            node,
            contributor,
            from: own.from,
            name: own.name.clone(),
            n_last: own.n_last(),
            share,
            others_waited_ns: waited / (n - 1).max(1) as f64,
            // A single one is always last, which says nothing of it.
            stands_out: n > 1 && share >= (STANDS_OUT / n as f64).min(0.5 + 0.5 / n as f64),
        }
    }
}
