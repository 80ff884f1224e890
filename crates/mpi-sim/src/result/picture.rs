//! Results as pictures: where each rank's time went, and a sweep.

use mpi_run::{MalformedRecord, Outcome};
use picture::{Axis, Chart, Colour, Mark, Panel, Picture, Scale, Size};

use super::record::{Point, RankTimes, kind};

/// A value of something, with its name.
type Named<T, V> = (&'static str, fn(&T) -> V);

const CHART: Size = Size { width: 650.0, height: 500.0 };
/// Least height of a rank's bar; thinner bars cannot be seen.
const BAR_HEIGHT_MIN: f64 = 1.0;
/// Part of a chart's height that remains for its field.
const FIELD_HEIGHT: f64 = 400.0;

pub(super) fn pictures(outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
    let ranks: Vec<RankTimes> = outcome.all(kind::RANK)?;
    let points: Vec<Point> = outcome.all(kind::POINT)?;
    let times = (!ranks.is_empty()).then(|| ("ranks".to_owned(), of_ranks(&ranks)));
    let sweep = (!points.is_empty()).then(|| ("sweep".to_owned(), of_points(&points)));
    Ok(times.into_iter().chain(sweep).collect())
}

/// A bar for each rank, from the left: computing, sending, receiving, waiting.
fn of_ranks(ranks: &[RankTimes]) -> Picture {
    let parts: [Named<RankTimes, u64>; 4] = [
        ("computing", |rank| rank.computing_ns),
        ("sending", |rank| rank.sending_ns),
        ("receiving", |rank| rank.receiving_ns),
        ("waiting", |rank| rank.waiting_ns),
    ];
    let height = (0.8 * FIELD_HEIGHT / ranks.len() as f64).max(BAR_HEIGHT_MIN);
    let mut marks = Vec::new();
    for rank in ranks {
        let mut until = 0.0;
        for ((_, span_ns), colour) in parts.iter().zip(Colour::APART) {
            let (from, y) = (until, f64::from(rank.rank));
            until += span_ns(rank) as f64 / 1e9;
            if until > from {
                marks.push(Mark::Bar { from: (from, y), to: (until, y), colour, height });
            }
        }
    }
    let longest = ranks.iter().map(|rank| rank.span_ns as f64 / 1e9);
    let panel = Panel {
        chart: Chart {
            title: "Where the ranks' time goes".to_owned(),
            caption: "simulated; ranks from below".to_owned(),
            x: Axis::over("seconds", Scale::Linear, longest.chain([0.0])),
            y: Axis::over("rank", Scale::Whole, ranks.iter().map(|rank| f64::from(rank.rank))),
            marks,
        },
        legend: parts.iter().zip(Colour::APART).map(|((name, _), colour)| ((*name).to_owned(), colour)).collect(),
    };
    panel.picture(CHART)
}

/// Time by ranks where these differ, else by latency or bandwidth; a line for each setting of the others.
fn of_points(points: &[Point]) -> Picture {
    let values: [Named<Point, f64>; 3] = [
        ("ranks", |point| f64::from(point.n_ranks)),
        ("latency, times that of the machine", |point| point.latency),
        ("bandwidth, times that of the machine", |point| point.bandwidth),
    ];
    let differs = |value: &fn(&Point) -> f64| points.iter().any(|point| value(point) != value(&points[0]));
    let at = values.iter().position(|(_, value)| differs(value)).unwrap_or(0);
    let (label, x) = values[at];
    let are_rules_swept = points.iter().any(|point| point.collectives != points[0].collectives);
    let name = |point: &Point| {
        let others = values
            .iter()
            .zip(["ranks", "latency", "bandwidth"])
            .enumerate()
            .filter(|(idx, ((_, value), _))| *idx != at && differs(value));
        let words = others.map(|(_, ((_, value), word))| format!("{word} {}", value(point)));
        let rules = are_rules_swept.then(|| format!("collectives of {}", point.collectives));
        words.chain([point.mapping.clone()]).chain(rules).collect::<Vec<_>>().join(", ")
    };
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for point in points {
        let (place, name) = ((x(point), point.span_ns as f64 / 1e9), name(point));
        match lines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, line)) => line.push(place),
            None => lines.push((name, vec![place])),
        }
    }
    lines.iter_mut().for_each(|(_, line)| line.sort_by(|a, b| a.0.total_cmp(&b.0)));
    let coloured = || lines.iter().zip(Colour::APART.into_iter().cycle());
    let panel = Panel {
        chart: Chart {
            title: "Predicted time".to_owned(),
            caption: String::new(),
            x: Axis::over(label, Scale::Logarithmic, points.iter().map(x)),
            y: Axis::over("seconds", Scale::Logarithmic, points.iter().map(|point| point.span_ns as f64 / 1e9)),
            marks: coloured().map(|((_, line), colour)| Mark::Track(line.clone(), colour)).collect(),
        },
        legend: coloured().map(|((name, _), colour)| (name.clone(), colour)).collect(),
    };
    panel.picture(CHART)
}
