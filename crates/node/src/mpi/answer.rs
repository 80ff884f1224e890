//! An analysis as the HTTP interface tells it.

use std::time::Duration;

use mpi_analysis::draw::{Waits, track};
use mpi_analysis::{
    Analysis, ContributorFigures, From, Group, Hint, LastArrival, NodeFigures, PathFigures, Slow, Stage,
};
use mpi_trace::Flow;
use text::figure::{percent, span_ns};

use crate::api;

pub(super) fn analysis(analysis: &Analysis, slow: Vec<api::MpiSlow>) -> api::MpiAnalysis {
    let last_arrivals = analysis.last_arrivals();
    api::MpiAnalysis {
        tree: analysis.tree.clone(),
        flow: match analysis.flow {
            Flow::All => api::MpiFlow::All,
            Flow::ToRoot => api::MpiFlow::ToRoot,
            Flow::FromRoot => api::MpiFlow::FromRoot,
        },
        n_calls: analysis.n_calls,
        operations: analysis.operations.clone(),
        n_incomplete: analysis.n_incomplete,
        n_disordered: analysis.n_disordered,
        slowest_seconds: seconds(analysis.slowest.mean_ns),
        culprit: culprit(analysis, &last_arrivals),
        last_arrivals: last_arrivals.iter().map(last_arrival).collect(),
        nodes: analysis.nodes.iter().map(|own| node(analysis, own)).collect(),
        paths: analysis.paths.iter().map(|own| path(analysis, own)).collect(),
        groups: analysis.groups().into_iter().map(group).collect(),
        hints: analysis.hints().into_iter().map(|own| hint(analysis, own)).collect(),
        slow,
    }
}

pub(super) fn slow(slow: &Slow, ago: Duration) -> api::MpiSlow {
    api::MpiSlow {
        part: slow.part.name().to_owned(),
        node: slow.node,
        contributor: slow.contributor,
        mean_seconds: seconds(slow.mean_ns),
        expected_seconds: seconds(slow.expected_ns),
        upper_seconds: seconds(slow.upper_ns),
        ago_seconds: ago.as_secs_f64(),
        is_wait: slow.part.is_wait(),
    }
}

/// The last edge of the heaviest path that stands out, with all before it.
fn culprit(analysis: &Analysis, edges: &[LastArrival]) -> Option<String> {
    // One that is alone at its node is always last, and says nothing.
    let goes_on = |edge: &&LastArrival| edge.stands_out || analysis.nodes[edge.node].contributors.len() == 1;
    let edge = edges.iter().take_while(goes_on).filter(|edge| edge.stands_out).last()?;
    let (share, waited) = (percent(edge.share), span_ns(edge.others_waited_ns));
    let node = &analysis.nodes[edge.node].name;
    Some(match edge.from {
        From::Rank(_) => {
            // Also what comes from another host counts as a rank here, and has a name of its own.
            let who = edge.name.replacen("rank ", "Rank ", 1);
            format!(
                "{who} keeps the others waiting: at {node} it is last in {share} of calls, and they wait {waited} on average."
            )
        }
        From::Node(_) => format!(
            "What comes through {} is late: at {node} it is last in {share} of calls, and the others wait {waited} on average. \
             No single contributor below it stands out.",
            edge.name
        ),
    })
}

fn last_arrival(edge: &LastArrival) -> api::MpiLastArrival {
    api::MpiLastArrival {
        node: edge.node,
        contributor: edge.contributor,
        name: edge.name.clone(),
        n_last: edge.n_last,
        ratio: edge.share,
        others_waited_seconds: seconds(edge.others_waited_ns),
        stands_out: edge.stands_out,
    }
}

fn node(analysis: &Analysis, node: &NodeFigures) -> api::MpiTreeNode {
    api::MpiTreeNode {
        name: node.name.clone(),
        host: node.host.clone(),
        parent: node.parent,
        down_seconds: seconds(node.down_last.mean_ns),
        up_seconds: seconds(node.up_first.mean_ns),
        contributors: node.contributors.iter().map(|own| contributor(analysis, own)).collect(),
    }
}

fn contributor(analysis: &Analysis, own: &ContributorFigures) -> api::MpiContributor {
    api::MpiContributor {
        name: own.name.clone(),
        node: match own.from {
            From::Node(node) => Some(node),
            From::Rank(_) => None,
        },
        n_last: own.n_last(),
        last_ratio: own.n_last() as f64 / analysis.n_calls.max(1) as f64,
        arrival_wait_seconds: seconds(own.arrival_wait.mean_ns),
        departure_wait_seconds: seconds(own.departure_wait.mean_ns),
        hop_seconds: own.hop.as_ref().map(|hop| seconds(hop.span.mean_ns)),
    }
}

fn path(analysis: &Analysis, path: &PathFigures) -> api::MpiPath {
    let stage = |stage: Stage<'_>| api::MpiStage {
        part: stage.part.name().to_owned(),
        node: stage.node,
        contributor: stage.contributor,
        mean_seconds: seconds(stage.figures.mean_ns),
    };
    let [left_out, drawn] = [Waits::LeftOut, Waits::Drawn].map(|waits| track(analysis, path, waits));
    let line = |points: Vec<(f64, f64)>| points.into_iter().map(|(ns, height)| (seconds(ns), height)).collect();
    api::MpiPath {
        rank: path.rank,
        host: path.host.clone(),
        total_seconds: seconds(path.total.mean_ns),
        cost_seconds: seconds(path.cost.mean_ns),
        n_slowest: path.n_slowest,
        stages: analysis.stages(path).into_iter().map(stage).collect(),
        track: line(left_out.points),
        track_with_waits: line(drawn.points),
        track_stages: drawn.stages,
    }
}

fn group(group: Group) -> api::MpiGroup {
    let Group { ranks, representative, cost_ns, is_fast, .. } = group;
    api::MpiGroup { ranks, representative, cost_seconds: seconds(cost_ns), is_fast }
}

fn hint(analysis: &Analysis, hint: Hint) -> api::MpiHint {
    api::MpiHint {
        part: hint.part.name().to_owned(),
        node: analysis.nodes[hint.node].name.clone(),
        rank: hint.rank,
        ratio: hint.share,
        evidence: hint.evidence,
        remedies: hint.remedies.iter().map(|remedy| remedy.advice().to_owned()).collect(),
    }
}

fn seconds(ns: f64) -> f64 {
    ns / 1e9
}
