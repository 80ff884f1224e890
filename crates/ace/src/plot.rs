//! Pictures of results: what messages cost, predicted and actual run times, how long exchanges took, and figure 1 of
//! the paper for sweeps.

use std::collections::{BTreeMap, BTreeSet};

use mpi_run::{MalformedRecord, Outcome};
use netmodel::{Cost, Segment};
use picture::{Axis, Chart, Colour, Mark, Panel, Picture, Scale, Size};
use statistics::digest::{BARS_PER_OCTAVE, Summary};
use text::figure::{counted, span_ns};

use crate::record::{APPLICATION, MODEL, Model, PING_PONG, POINT, Planned, Point, RANK, RankResult, SWEEP};

mod sweep;

/// Size of a chart, without the names beside it.
const CHART: Size = Size { width: 700.0, height: 440.0 };
/// Places of a fitted line in each doubling of the size: a line is a curve on logarithmic axes.
const PLACES_PER_OCTAVE: f64 = 8.0;
/// Position of a message without content on a logarithmic axis of sizes in bytes.
const NOTHING_AT: f64 = 0.5;

/// All pictures that a result gives, each with a name that a file can have.
///
/// # Errors
/// When a record is not of its form.
pub(crate) fn pictures(outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
    let sweep = outcome.all(SWEEP)?;
    if !sweep.is_empty() {
        return Ok(sweep::pictures(&sweep));
    }
    let points: Vec<Point> = outcome.all(POINT)?;
    let models: Vec<Model> = outcome.all(MODEL)?;
    let ranks: Vec<RankResult> = outcome.all(RANK)?;
    let plans: Vec<Planned> = outcome.all(APPLICATION)?;
    let mut pictures: Vec<(String, Picture)> = models.iter().filter_map(|model| cost(model, &points)).collect();
    for plan in &plans {
        let name = plan.application.name.as_str();
        let own: Vec<&RankResult> = ranks.iter().filter(|rank| rank.application == name).collect();
        if own.is_empty() {
            continue;
        }
        pictures.push((file_name("run", name), run_times(plan, &own)));
        let benchmark =
            points.iter().find(|point| point.application == name && point.what == plan.application.pattern.name());
        pictures.push((file_name("communication", name), communication(plan, &own, benchmark)));
    }
    Ok(unique(pictures))
}

/// Names of applications may have anything in them.
fn file_name(what: &str, name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '-' };
    format!("{what}-{}", name.chars().map(plain).collect::<String>())
}

/// Numbers those whose names have become the same.
fn unique(pictures: Vec<(String, Picture)>) -> Vec<(String, Picture)> {
    let mut taken = BTreeSet::new();
    let mut free = |name: String| {
        let candidates = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}-{number}")));
        candidates.into_iter().find(|candidate| taken.insert(candidate.clone())).unwrap_or(name)
    };
    pictures.into_iter().map(|(name, picture)| (free(name), picture)).collect()
}

/// Times over sizes, and the model's lines.
fn cost(found: &Model, points: &[Point]) -> Option<(String, Picture)> {
    let own: Vec<&Point> =
        points.iter().filter(|point| point.application == found.application && point.what == found.what).collect();
    let place = |size_bytes: u64| if size_bytes == 0 { NOTHING_AT } else { size_bytes as f64 };
    let mut marks: Vec<Mark> = own
        .iter()
        .filter(|point| point.span.count > 0)
        .map(|point| {
            Mark::Line(vec![(place(point.size_bytes), point.span.p05_ns), (place(point.size_bytes), point.span.p95_ns)])
        })
        .collect();
    marks.push(Mark::Dots(own.iter().map(|point| (place(point.size_bytes), point.span_ns)).collect()));
    let n = found.model.segments.len();
    for (idx, line) in lines(&found.model).into_iter().enumerate() {
        let name =
            if idx == 0 { format!("alpha + beta n, in {}", counted(n as u64, "segment")) } else { String::new() };
        marks.push(Mark::Fit(line, name));
    }
    let spans = own.iter().flat_map(|point| [point.span_ns, point.span.p05_ns, point.span.p95_ns]);
    let first = own.first()?;
    let what =
        if found.what == PING_PONG { "half a round trip".to_owned() } else { format!("an exchange, {}", found.what) };
    let panel = Panel {
        chart: Chart {
            title: format!("{}: {what}, {} ranks", found.application, found.n_ranks),
            caption: format!(
                "Dots: what predictions use. Upright: from the 5th to the 95th percentile. A message without content stands at {NOTHING_AT}."
            ),
            x: Axis::over("bytes of a message", Scale::Logarithmic, own.iter().map(|point| place(point.size_bytes))),
            y: Axis::over("nanoseconds", Scale::Logarithmic, spans),
            marks,
        },
        legend: Vec::new(),
    };
    Some((file_name(&format!("cost-{}", found.what), &first.application), panel.picture(CHART)))
}

/// Each segment from its first size to its last.
fn lines(model: &Cost) -> Vec<Vec<(f64, f64)>> {
    let line = |segment: &Segment| {
        let (from, to) = ((segment.from_bytes as f64).max(NOTHING_AT), (segment.to_bytes as f64).max(2.0 * NOTHING_AT));
        let n_places = ((to / from).log2() * PLACES_PER_OCTAVE).ceil().max(1.0);
        let size = |idx: f64| from * (to / from).powf(idx / n_places);
        let bytes = |size: f64| if size <= NOTHING_AT { 0.0 } else { size };
        let span = |size: f64| segment.alpha_ns + segment.beta_ns_per_byte * bytes(size);
        (0..=n_places as u32).map(|idx| (size(f64::from(idx)), span(size(f64::from(idx))))).collect()
    };
    model.segments.iter().map(line).collect()
}

/// Each rank's run beside what was predicted of it.
fn run_times(plan: &Planned, ranks: &[&RankResult]) -> Picture {
    let seconds = |of: &dyn Fn(&RankResult) -> f64| -> Vec<(f64, f64)> {
        ranks.iter().map(|rank| (f64::from(rank.rank), of(rank) / 1e9)).collect()
    };
    let figures = [
        ("actual run", seconds(&|rank| rank.run_ns)),
        ("predicted: benchmarked once", seconds(&|rank| rank.benchmarked_once.run_ns)),
        ("predicted: forecast as we go", seconds(&|rank| rank.forecast_as_we_go.run_ns)),
    ];
    let farthest =
        ranks.iter().map(|rank| rank.benchmarked_once.error_percent).max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let values = figures.iter().flat_map(|(_, points)| points).map(|point| point.1);
    // Between ranks there is nothing, and so no line.
    let dots = figures
        .iter()
        .zip(Colour::APART)
        .flat_map(|((_, points), colour)| points.iter().map(move |point| Mark::Track(vec![*point], colour)));
    let last = ranks.iter().map(|rank| f64::from(rank.rank)).fold(0.0, f64::max);
    Panel {
        chart: Chart {
            title: format!("{}: predicted and actual run time", plan.application.name),
            caption: format!(
                "Farthest off: {:+.2} % of what was benchmarked once. The axis does not begin at 0.",
                farthest.unwrap_or(0.0)
            ),
            // Wide enough that only whole numbers are written.
            x: Axis { label: "rank".to_owned(), scale: Scale::Linear, range: (-0.8, last + 0.8) },
            y: Axis::over("seconds", Scale::Linear, values),
            marks: dots.collect(),
        },
        legend: figures.iter().zip(Colour::APART).map(|((name, _), colour)| ((*name).to_owned(), colour)).collect(),
    }
    .picture(CHART)
}

/// Draws the distribution of the times of exchanges, of all ranks together, and that of phase one.
fn communication(plan: &Planned, ranks: &[&RankResult], benchmark: Option<&Point>) -> Picture {
    let of_run = outline(&ranks.iter().map(|rank| &rank.communication).collect::<Vec<_>>());
    // Sizes that differ are benchmarked at some sizes only, so that the times are not of the same.
    let is_same =
        |point: &&Point| point.size_bytes == plan.size_max_bytes && plan.size_mean_bytes == plan.size_max_bytes as f64;
    let of_benchmark = benchmark.filter(is_same).map_or(Vec::new(), |point| outline(&[&point.span]));
    let ratio = ranks.iter().map(|rank| rank.dispersion.communication_ratio).fold(0.0, f64::max);
    let (predicted, deviation) = (span_ns(plan.predicted.communication_ns), format!("{ratio:.3}"));
    let places = || of_run.iter().chain(&of_benchmark);
    let (x, y) = (places().map(|place| place.0), places().map(|place| place.1));
    Panel {
        chart: Chart {
            title: format!("{}: how long exchanges took", plan.application.name),
            caption: format!(
                "All ranks, four bars to a doubling. T_comm was predicted as {predicted}; standard deviation by mean up to {deviation}."
            ),
            x: Axis::over("nanoseconds", Scale::Logarithmic, x),
            y: Axis::over("share of exchanges", Scale::Logarithmic, y),
            marks: vec![Mark::Fit(of_benchmark.clone(), String::new()), Mark::Line(of_run.clone())],
        },
        legend: vec![("phase two".to_owned(), Colour::DATA), ("phase one".to_owned(), Colour::FIT)],
    }
    .picture(CHART)
}

/// The outline of the bars of these summaries, as shares of all their times. Where nothing was, it runs along a share
/// of half a time.
fn outline(summaries: &[&Summary]) -> Vec<(f64, f64)> {
    // By the bar's number: the fourth power of a doubling that it begins at.
    let mut bars: BTreeMap<i64, u64> = BTreeMap::new();
    for (low, count) in summaries.iter().flat_map(|summary| &summary.bars) {
        *bars.entry((low.log2() * BARS_PER_OCTAVE).round() as i64).or_insert(0) += count;
    }
    let n = bars.values().sum::<u64>() as f64;
    let (Some((&first, _)), Some((&last, _))) = (bars.first_key_value(), bars.last_key_value()) else {
        return Vec::new();
    };
    let floor = 0.5 / n;
    let low = |bar: i64| (bar as f64 / BARS_PER_OCTAVE).exp2();
    let height = |bar: i64| bars.get(&bar).map_or(floor, |count| *count as f64 / n);
    let mut outline = vec![(low(first), floor)];
    outline.extend((first..=last).flat_map(|bar| [(low(bar), height(bar)), (low(bar + 1), height(bar))]));
    outline.push((low(last + 1), floor));
    outline
}

#[cfg(test)]
mod tests {
    use super::*;
    use statistics::digest::Digest;

    #[test]
    fn an_outline_has_the_area_of_its_bars() {
        let mut digest = Digest::default();
        [1_000, 1_000, 1_000, 64_000].into_iter().for_each(|span| digest.record(span));
        let summary = digest.summary();
        let outline = outline(&[&summary, &summary]);
        let highest = outline.iter().map(|place| place.1).fold(0.0, f64::max);
        assert_eq!(highest, 0.75);
        // Six doublings and a bar, from floor to floor.
        assert_eq!(outline.len(), 2 + 2 * (6 * 4 + 1));
        assert_eq!((outline[0].1, outline[outline.len() - 1].1), (1.0 / 16.0, 1.0 / 16.0));
        assert!(super::outline(&[]).is_empty());
    }

    #[test]
    fn names_become_those_of_files_and_stay_apart() {
        assert_eq!(file_name("run", "a/b \u{e9}"), "run-a-b--");
        let pictures = ["a", "a", "b", "a"].map(|name| (name.to_owned(), Picture::blank(1.0, 1.0)));
        let names: Vec<String> = unique(pictures.to_vec()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "a-2", "b", "a-3"]);
    }
}
