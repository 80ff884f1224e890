//! Pathmaps: each rank's way down to the root and up again, as far to the side as it takes long.

use mpi_trace::Flow;
use picture::{Axis, Chart, Mark, Panel, Picture, Scale};
use text::figure::span_ns;
use units::Rank;

use super::{CHART, apart, unit};
use crate::{Analysis, Part, PathFigures};

/// Whether arrival waits are drawn. They hide the difference between fast and slow paths, and show who waits for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// They are.
    Drawn,
    /// They are not.
    LeftOut,
}

/// Names of groups that fit beside a chart.
const N_GROUPS_NAMED: usize = 20;

/// One line for each rank, coloured by its group: x is the mean time before (left) and after (right) the root was reached, y the
/// stages between there and the root. Paths that behave alike are bundles.
#[must_use]
pub fn pathmap(analysis: &Analysis, waits: Waits) -> Picture {
    let groups = analysis.groups();
    let mut tracks = Vec::new();
    // The slowest group is drawn last, on top of the others.
    for (idx, group) in groups.iter().enumerate().rev() {
        let paths = group.ranks.iter().filter_map(|&rank| analysis.path(rank));
        tracks.extend(paths.map(|path| (track(analysis, path, waits), apart(idx))));
    }
    let name = |(idx, group): (usize, &crate::Group)| {
        let (n, cost) = (group.ranks.len(), span_ns(group.cost_ns));
        let what = if n == 1 {
            format!("rank {}", group.ranks[0])
        } else {
            format!("{n} ranks like {}", group.representative)
        };
        (format!("{what}: {cost}"), apart(idx))
    };
    let mut legend: Vec<_> = groups.iter().enumerate().take(N_GROUPS_NAMED).map(name).collect();
    if groups.len() > N_GROUPS_NAMED {
        legend.push((format!("and {} groups more", groups.len() - N_GROUPS_NAMED), picture::Colour::SHADE));
    }
    let waits = match waits {
        Waits::Drawn => "arrival waits included",
        Waits::LeftOut => "arrival waits left out",
    };
    let title = format!("Pathmap of {}, {} calls", analysis.title(), analysis.n_calls);
    let caption = match analysis.flow {
        Flow::All => format!("Means, {waits}. Left of 0: down to the root. Right: up again."),
        Flow::ToRoot => format!("Means, {waits}. Down to the root, which is reached at 0."),
        Flow::FromRoot => "Means. Up from the root, which has the data at 0.".to_owned(),
    };
    chart(title, caption, ("stages from the root", Scale::Whole), &tracks, legend)
}

/// One rank's path in several runs. The ways may have different lengths, so that y is the share of the way.
#[must_use]
pub fn compared_pathmap(runs: &[(&str, &Analysis)], rank: Rank, waits: Waits) -> Picture {
    let mut tracks = Vec::new();
    let mut legend = Vec::new();
    for (idx, (name, analysis)) in runs.iter().enumerate() {
        let Some(path) = analysis.path(rank) else { continue };
        let mut points = track(analysis, path, waits);
        let highest = points.iter().map(|point| point.1).fold(1.0, f64::max);
        points.iter_mut().for_each(|point| point.1 /= highest);
        tracks.push((points, apart(idx)));
        legend.push((format!("{name}: {}", span_ns(path.cost.mean_ns)), apart(idx)));
    }
    let in_tree = runs.first().map_or(String::new(), |(_, analysis)| format!(" in {}", analysis.title()));
    let caption =
        "Means. Left of 0: down to the root. Right: up again. The length of the way is scaled to 1.".to_owned();
    chart(
        format!("The way of rank {rank}{in_tree}"),
        caption,
        ("share of the way from the root", Scale::Linear),
        &tracks,
        legend,
    )
}

fn chart(
    title: String,
    caption: String,
    y: (&str, Scale),
    tracks: &[(Vec<(f64, f64)>, picture::Colour)],
    legend: Vec<(String, picture::Colour)>,
) -> Picture {
    let times = || tracks.iter().flat_map(|(points, _)| points.iter().map(|point| point.0));
    let (ns, unit) = unit(times().map(f64::abs).fold(0.0, f64::max));
    let scaled = |points: &[(f64, f64)]| points.iter().map(|point| (point.0 / ns, point.1)).collect();
    let heights = tracks.iter().flat_map(|(points, _)| points.iter().map(|point| point.1));
    let chart = Chart {
        title,
        caption,
        x: Axis::over(format!("mean time ({unit})"), Scale::Linear, times().map(|time| time / ns).chain([0.0])),
        y: Axis::over(y.0, y.1, heights.chain([0.0])),
        marks: tracks.iter().map(|(points, colour)| Mark::Track(scaled(points), *colour)).collect(),
    };
    Panel { chart, legend }.picture(CHART)
}

/// A path as a line: nanoseconds before (below 0) and after the root was reached, and stages from there. It begins with the rank's
/// call, goes down to the root at (0, 0), and up again, or only one of the two. A hop's time there and back is known, not how it is
/// shared: half is drawn each way.
#[must_use]
pub fn track(analysis: &Analysis, path: &PathFigures, waits: Waits) -> Vec<(f64, f64)> {
    // From the rank to the root: what is passed down and up.
    let (mut down, mut up) = (Vec::new(), Vec::new());
    let mut store_ns = 0.0;
    for stage in analysis.stages(path) {
        let mean_ns = stage.figures.mean_ns;
        match stage.part {
            Part::Hop => match analysis.flow {
                Flow::All => {
                    down.push(0.5 * mean_ns);
                    up.push(0.5 * mean_ns);
                }
                Flow::ToRoot => down.push(mean_ns),
                Flow::FromRoot => up.push(mean_ns),
            },
            Part::ArrivalWait if waits == Waits::LeftOut => down.push(0.0),
            Part::ArrivalWait | Part::Down => down.push(mean_ns),
            Part::Store => store_ns = mean_ns,
            Part::Up => up.push(mean_ns),
            // On the way up it comes after the release of the first, on the way from the rank before it.
            Part::DepartureWait => up.insert(up.len() - 1, mean_ns),
        }
    }
    let mut at = (-down.iter().sum::<f64>(), down.len() as f64);
    let mut points = vec![at];
    let mut go = |time, height| {
        at = (at.0 + time, at.1 + height);
        points.push(at);
    };
    down.iter().for_each(|&time| go(time, -1.0));
    go(store_ns, 0.0);
    up.iter().rev().for_each(|&time| go(time, 1.0));
    points
}
