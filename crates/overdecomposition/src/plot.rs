//! Picture of a sweep: speed-up by ratio.

use mpi_run::{MalformedRecord, Outcome};
use picture::{Axis, Chart, Colour, Mark, Panel, Picture, Scale, Size};

use crate::record::kind;
use crate::speedup::runs;
use crate::{Speedup, SweepSettings, speedups};

/// Size of the chart, in pixels.
const CHART: Size = Size { width: 560.0, height: 360.0 };
/// Colour of the intervals.
const PALE: Colour = Colour(160, 190, 220);
/// Thickness of an interval's line, in pixels.
const THICK: f64 = 6.0;

/// Draws the speed-up of each ratio with its interval; nothing if no ratio above 1:1 counts.
pub(crate) fn pictures(outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
    let settings: Vec<SweepSettings> = outcome.all(kind::SETTINGS)?;
    let Some(settings) = settings.first() else { return Ok(Vec::new()) };
    let all = speedups(settings, &runs(outcome)?);
    let points: Vec<(f64, f64)> = all.iter().filter_map(|one| Some((x(one), one.speedup?))).collect();
    if points.is_empty() {
        return Ok(Vec::new());
    }
    let ends: Vec<(f64, f64, f64)> =
        all.iter().filter_map(|one| one.interval.map(|range| (x(one), range.lower, range.upper))).collect();
    let heights = points.iter().map(|point| point.1).chain(ends.iter().flat_map(|end| [end.1, end.2])).chain([1.0]);
    let bar = |&(x, lower, upper): &(f64, f64, f64)| Mark::Bar {
        from: (x, lower),
        to: (x, upper),
        colour: PALE,
        height: THICK,
    };
    let mut marks: Vec<Mark> = ends.iter().map(bar).collect();
    marks.extend([Mark::Bound(1.0), Mark::Line(points.clone()), Mark::Dots(points.clone())]);
    let chart = Chart {
        title: "Speed-up over one rank a processor".to_owned(),
        caption: "Bars are 95 % intervals; the dashed line is 1:1.".to_owned(),
        x: Axis::over("ranks a processor", Scale::Logarithmic, points.iter().map(|point| point.0).chain([1.0])),
        y: Axis::over("speed-up", Scale::Linear, heights),
        marks,
    };
    Ok(vec![("speed-up".to_owned(), Panel { chart, legend: Vec::new() }.picture(CHART))])
}

fn x(one: &Speedup) -> f64 {
    f64::from(one.ratio)
}
