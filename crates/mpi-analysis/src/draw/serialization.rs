//! Charts of how departures from a node queue up.

use picture::{Axis, Chart, Mark, Panel, Picture, Scale};

use super::{CHART, apart, unit};
use crate::Analysis;

/// Draws a chart of each node with this name in the runs: x is the place in the order of departures, y the time after
/// the result came back. The height at 0 is what the node adds for all, the slope how much contributors wait for each
/// other: flatter is better.
#[must_use]
pub fn serialization(runs: &[(&str, &Analysis)], nodes: &[&str]) -> Picture {
    let mut curves = Vec::new();
    for (run, analysis) in runs {
        for node in analysis.nodes.iter().filter(|node| nodes.contains(&node.name.as_str())) {
            let name = if runs.len() > 1 { format!("{run}: {}", node.name) } else { node.name.clone() };
            let ups: Vec<f64> = node.up_by_departure.iter().map(|up| up.mean_ns).collect();
            curves.push((name, ups));
        }
    }
    let (ns, unit) = unit(curves.iter().flat_map(|(_, ups)| ups).copied().fold(0.0, f64::max));
    let points = |ups: &[f64]| ups.iter().zip(0_u32..).map(|(up, at)| (f64::from(at), up / ns)).collect::<Vec<_>>();
    let all = || curves.iter().flat_map(|(_, ups)| points(ups));
    let chart = Chart {
        title: "Serialization of departures".to_owned(),
        caption:
            "Up latency and departure wait. The height at 0 is what all pay, the slope what they wait for each other."
                .to_owned(),
        x: Axis::over("departure, from 0", Scale::Whole, all().map(|point| point.0)),
        y: Axis::over(
            format!("mean time since the result ({unit})"),
            Scale::Linear,
            all().map(|point| point.1).chain([0.0]),
        ),
        marks: curves.iter().enumerate().map(|(idx, (_, ups))| Mark::Track(points(ups), apart(idx))).collect(),
    };
    let legend = curves.into_iter().enumerate().map(|(idx, (name, _))| (name, apart(idx))).collect();
    Panel { chart, legend }.picture(CHART)
}
