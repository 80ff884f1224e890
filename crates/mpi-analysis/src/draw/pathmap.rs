//! Pathmaps: each rank's way down to the root and up again, as far to the side as it takes long.

use mpi_trace::Flow;
use picture::{Axis, Chart, Mark, Panel, Picture, Scale};
use text::figure::span_ns;
use units::Rank;

use super::{CHART, apart, unit};
use crate::{Analysis, Part, PathFigures, Stage};

/// Whether arrival waits are drawn. They hide the difference between fast and slow paths, and show who waits for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Arrival waits are drawn.
    Drawn,
    /// Arrival waits are not drawn.
    LeftOut,
}

/// Names of groups that fit beside a chart.
const N_GROUPS_NAMED: usize = 20;
/// Width of the outline behind a path, so wide that it stands out on both sides.
const HOTSPOT_WIDTH: f64 = 9.0;
/// Unlike any path's: yellow.
const HOTSPOT: picture::Colour = picture::Colour(0xf0, 0xe4, 0x42);

/// Begin and end of a line.
type Ends = ((f64, f64), (f64, f64));

/// One line for each rank, coloured by its group: x is the mean time before (left) and after (right) the root was
/// reached, y the stages between there and the root. Paths that behave alike are bundles. The stage to look at first,
/// by [hints](Analysis::hints), is marked.
#[must_use]
pub fn pathmap(analysis: &Analysis, waits: Waits) -> Picture {
    let groups = analysis.groups();
    let mut tracks = Vec::new();
    // The slowest group is drawn last, on top of the others.
    for (idx, group) in groups.iter().enumerate().rev() {
        let paths = group.ranks.iter().filter_map(|&rank| analysis.path(rank));
        tracks.extend(paths.map(|path| (track(analysis, path, waits).points, apart(idx))));
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
    let hotspot = hotspot(analysis, waits);
    legend.extend(hotspot.iter().map(|(name, _)| (name.clone(), HOTSPOT)));
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
    let marked: Vec<_> = hotspot.into_iter().flat_map(|(_, places)| places).collect();
    chart(title, caption, ("stages from the root", Scale::Whole), &tracks, &marked, legend)
}

/// The stage that the first hint is about, by name and where its path passes it; none if it is a wait that is not
/// drawn.
fn hotspot(analysis: &Analysis, waits: Waits) -> Option<(String, Vec<Ends>)> {
    let hints = analysis.hints();
    let hint = hints.iter().find(|hint| waits == Waits::Drawn || hint.part != Part::ArrivalWait)?;
    let path = analysis.path(hint.rank)?;
    let is_it = |stage: &Stage<'_>| (stage.part, stage.node) == (hint.part, hint.node);
    let stage = analysis.stages(path).iter().position(is_it)?;
    let (part, node) = (hint.part.name(), &analysis.nodes[hint.node].name);
    let name = format!("hotspot: {part} at {node}, {}", span_ns(hint.mean_ns));
    Some((name, track(analysis, path, waits).passes(stage).collect()))
}

/// One rank's path in several runs. The ways may have different lengths, so that y is the share of the way.
#[must_use]
pub fn compared_pathmap(runs: &[(&str, &Analysis)], rank: Rank, waits: Waits) -> Picture {
    let mut tracks = Vec::new();
    let mut legend = Vec::new();
    for (idx, (name, analysis)) in runs.iter().enumerate() {
        let Some(path) = analysis.path(rank) else { continue };
        let mut points = track(analysis, path, waits).points;
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
        &[],
        legend,
    )
}

fn chart(
    title: String,
    caption: String,
    y: (&str, Scale),
    tracks: &[(Vec<(f64, f64)>, picture::Colour)],
    marked: &[Ends],
    legend: Vec<(String, picture::Colour)>,
) -> Picture {
    let times = || tracks.iter().flat_map(|(points, _)| points.iter().map(|point| point.0));
    let (ns, unit) = unit(times().map(f64::abs).fold(0.0, f64::max));
    let scaled = |points: &[(f64, f64)]| points.iter().map(|point| (point.0 / ns, point.1)).collect();
    let bar = |&(from, to): &Ends| {
        let scaled = |(time, height): (f64, f64)| (time / ns, height);
        Mark::Bar { from: scaled(from), to: scaled(to), colour: HOTSPOT, height: HOTSPOT_WIDTH }
    };
    let of_track = |(points, colour): &(Vec<(f64, f64)>, picture::Colour)| Mark::Track(scaled(points), *colour);
    let heights = tracks.iter().flat_map(|(points, _)| points.iter().map(|point| point.1));
    let chart = Chart {
        title,
        caption,
        x: Axis::over(format!("mean time ({unit})"), Scale::Linear, times().map(|time| time / ns).chain([0.0])),
        y: Axis::over(y.0, y.1, heights.chain([0.0])),
        marks: marked.iter().map(bar).chain(tracks.iter().map(of_track)).collect(),
    };
    Panel { chart, legend }.picture(CHART)
}

/// A path as a line, by nanoseconds before (below 0) and after the root was reached, and stages from there.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// Points of the line. It begins with the rank's call, goes down to the root at (0, 0), and up again, or only one
    /// of the two.
    pub points: Vec<(f64, f64)>,
    /// Stage from each point to the next: positions among the path's [stages](Analysis::stages).
    pub stages: Vec<usize>,
}

impl Track {
    fn go(&mut self, stage: usize, time: f64, height: f64) {
        let (x, y) = self.points[self.points.len() - 1];
        self.points.push((x + time, y + height));
        self.stages.push(stage);
    }

    /// Returns the begin and end of each line where the track passes a stage.
    fn passes(&self, stage: usize) -> impl Iterator<Item = ((f64, f64), (f64, f64))> {
        let ways = self.points.windows(2).zip(&self.stages);
        ways.filter(move |(_, own)| **own == stage).map(|(ends, _)| (ends[0], ends[1]))
    }
}

/// Draws a path. A hop's time there and back is known, not how it is shared: half is drawn each way.
#[must_use]
pub fn track(analysis: &Analysis, path: &PathFigures, waits: Waits) -> Track {
    // From the rank to the root: what is passed down and up.
    let (mut down, mut up) = (Vec::new(), Vec::new());
    let mut store = None;
    for (at, stage) in analysis.stages(path).iter().enumerate() {
        let mean_ns = stage.figures.mean_ns;
        match stage.part {
            Part::Hop => match analysis.flow {
                Flow::All => {
                    down.push((at, 0.5 * mean_ns));
                    up.push((at, 0.5 * mean_ns));
                }
                Flow::ToRoot => down.push((at, mean_ns)),
                Flow::FromRoot => up.push((at, mean_ns)),
            },
            Part::ArrivalWait if waits == Waits::LeftOut => down.push((at, 0.0)),
            Part::ArrivalWait | Part::Down => down.push((at, mean_ns)),
            Part::Store => store = Some((at, mean_ns)),
            Part::Up => up.push((at, mean_ns)),
            // On the way up it comes after the release of the first, on the way from the rank before it.
            Part::DepartureWait => up.insert(up.len() - 1, (at, mean_ns)),
        }
    }
    let begin = (-down.iter().map(|(_, time)| time).sum::<f64>(), down.len() as f64);
    let mut track = Track { points: vec![begin], stages: Vec::new() };
    down.into_iter().for_each(|(at, time)| track.go(at, time, -1.0));
    store.into_iter().for_each(|(at, time)| track.go(at, time, 0.0));
    up.into_iter().rev().for_each(|(at, time)| track.go(at, time, 1.0));
    track
}
