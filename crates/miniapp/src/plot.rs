//! Results as pictures.

use mpi_run::{MalformedRecord, Outcome};
use picture::{Axis, Chart, Mark, Panel, Picture, Scale, Size};
use statistics::digest::Summary;

use crate::record::{RankTimes, RunSeen, kind};

/// Size of a chart, without the names beside it.
const CHART: Size = Size { width: 960.0, height: 420.0 };

/// One kind of step.
type Pick = fn(&RankTimes) -> &Summary;

/// Draws the times of each kind of step on each rank: of the kinds that the result has.
///
/// # Errors
/// A record that is not what its kind says.
pub(crate) fn pictures(outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
    let (runs, ranks): (Vec<RunSeen>, Vec<RankTimes>) = (outcome.all(kind::RUN)?, outcome.all(kind::RANK)?);
    let app = runs.first().map_or("", |run| run.app.as_str());
    let steps: [(&str, Pick); 3] =
        [("allreduce", |rank| &rank.call), ("work", |rank| &rank.work), ("exchange", |rank| &rank.exchange)];
    let drawn = |(name, pick): (&str, Pick)| {
        let spans: Vec<(u32, &Summary)> =
            ranks.iter().map(|rank| (rank.rank, pick(rank))).filter(|(_, summary)| summary.count > 0).collect();
        (!spans.is_empty()).then(|| (name.to_owned(), by_rank(&format!("{app}: {name}"), &outcome.header.mpi, &spans)))
    };
    Ok(steps.into_iter().filter_map(drawn).collect())
}

/// A dot for each rank's median, and a bar from its 5 % to its 95 % quantile.
fn by_rank(title: &str, mpi: &str, spans: &[(u32, &Summary)]) -> Picture {
    let in_us = |ns: f64| (ns / 1e3).max(1e-3);
    let bars = spans.iter().map(|(rank, span)| {
        let x = f64::from(*rank);
        Mark::Line(vec![(x, in_us(span.p05_ns)), (x, in_us(span.p95_ns))])
    });
    let medians = spans.iter().map(|(rank, span)| (f64::from(*rank), in_us(span.median_ns))).collect();
    let heights = spans.iter().flat_map(|(_, span)| [span.p05_ns, span.median_ns, span.p95_ns]).map(in_us);
    let chart = Chart {
        title: title.to_owned(),
        caption: format!("medians, and from the 5 % to the 95 % quantile; {mpi}"),
        x: Axis::over("rank", Scale::Linear, spans.iter().map(|(rank, _)| f64::from(*rank))),
        y: Axis::over("microseconds", Scale::Logarithmic, heights.collect::<Vec<_>>()),
        marks: bars.chain([Mark::Dots(medians)]).collect(),
    };
    Panel { chart, legend: Vec::new() }.picture(CHART)
}
