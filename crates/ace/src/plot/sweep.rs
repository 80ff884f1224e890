//! Figure 1 of the paper: errors of predicted run times over load, for each size, in a panel for each kind of exchange.

use std::collections::BTreeMap;

use mpi_trace::Mode;
use picture::{Axis, Chart, Colour, Mark, Panel, Picture, Scale, beside};
use statistics::median;
use units::ByteCount;

use super::CHART;
use crate::pattern::Pattern;
use crate::record::SweepResult;

/// Errors below this, in percent, are drawn as this: no clock tells them from none.
const ERROR_MIN: f64 = 0.01;
/// Number of columns, as in the paper.
const N_COLUMNS: usize = 2;

/// Kind of a panel: pattern, mode, number of applications at the same time.
type Kind = (Pattern, Mode, u32);
/// A line in a panel: size of messages, name of the application.
type Line<'a> = (u64, &'a str);

pub(super) fn pictures(results: &[SweepResult]) -> Vec<(String, Picture)> {
    let mut kinds: BTreeMap<Kind, Vec<&SweepResult>> = BTreeMap::new();
    for result in results {
        let key = &result.key;
        kinds.entry((key.pattern, key.mode, key.n_applications)).or_default().push(result);
    }
    // The paper has messages between two ranks first, and a single application before two.
    let mut kinds: Vec<(Kind, Vec<&SweepResult>)> = kinds.into_iter().collect();
    kinds.sort_by_key(|((pattern, mode, n_applications), _)| {
        (pattern.is_collective(), *n_applications, *pattern, *mode)
    });
    let panel = |(idx, (kind, results)): (usize, &(Kind, Vec<&SweepResult>))| errors(idx, *kind, results);
    let panels: Vec<Panel> = kinds.iter().enumerate().map(panel).collect();
    vec![
        ("figure-1".to_owned(), beside(&panels, N_COLUMNS, CHART)),
        ("forecast".to_owned(), forecasts(results).picture(CHART)),
    ]
}

fn errors(idx: usize, (pattern, mode, n_applications): Kind, results: &[&SweepResult]) -> Panel {
    let mut lines: BTreeMap<Line<'_>, Vec<(f64, f64)>> = BTreeMap::new();
    for result in results {
        let line = (result.key.size_bytes, result.application.as_str());
        lines.entry(line).or_default().push((result.key.load_percent, drawn(result.error_percent)));
    }
    let letter = char::from(b'a' + (idx % 26) as u8);
    let kind = if pattern.is_collective() { "collective".to_owned() } else { format!("{mode} messages") };
    let applications =
        if n_applications == 1 { "one application".to_owned() } else { format!("{n_applications} applications") };
    let coloured = || lines.values().zip(Colour::APART.iter().cycle());
    let runs = coloured().flat_map(|(runs, colour)| runs.iter().map(|run| Mark::Track(vec![*run], *colour)));
    let medians = coloured().map(|(runs, colour)| Mark::Track(by_load(runs), *colour));
    let name = |(size_bytes, application): &Line<'_>| {
        let size = ByteCount::new(*size_bytes);
        if n_applications == 1 { size.to_string() } else { format!("{size}, {application}") }
    };
    let values = || results.iter().map(|result| drawn(result.error_percent));
    Panel {
        chart: Chart {
            title: format!("{letter}) {pattern}, {kind}, {applications}"),
            caption: "How far run times were off those predicted, whichever way. Lines: medians of repetitions."
                .to_owned(),
            x: Axis::over("load in percent", Scale::Linear, results.iter().map(|result| result.key.load_percent)),
            y: Axis::over("error in percent", Scale::Logarithmic, values()),
            marks: runs.chain(medians).collect(),
        },
        legend: lines.keys().zip(Colour::APART.iter().cycle()).map(|(line, colour)| (name(line), *colour)).collect(),
    }
}

/// The median error at each load.
fn by_load(runs: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut sorted = runs.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let middle = |same: &[(f64, f64)]| {
        let errors: Vec<f64> = same.iter().map(|run| run.1).collect();
        median(&errors).map(|error| (same[0].0, error))
    };
    sorted.chunk_by(|a, b| a.0 == b.0).filter_map(middle).collect()
}

/// Every run by both of its predictions.
fn forecasts(results: &[SweepResult]) -> Panel {
    let points: Vec<(f64, f64)> =
        results.iter().map(|result| (drawn(result.error_percent), drawn(result.forecast_error_percent))).collect();
    let all = || points.iter().flat_map(|point| [point.0, point.1]);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(ERROR_MIN, f64::max));
    let n_better = points.iter().filter(|(once, forecast)| forecast < once).count();
    Panel {
        chart: Chart {
            title: "Benchmarked once, or forecast as we go".to_owned(),
            caption: format!(
                "Each dot a run; below the line, the forecast was nearer: {n_better} of {}.",
                points.len()
            ),
            x: Axis::over("error in percent, benchmarked once", Scale::Logarithmic, all()),
            y: Axis::over("error in percent, forecast as we go", Scale::Logarithmic, all()),
            marks: vec![Mark::Fit(vec![(low, low), (high, high)], "as good".to_owned()), Mark::Dots(points)],
        },
        legend: vec![("a run".to_owned(), Colour::DATA)],
    }
}

/// An error's size, as it has a place on a logarithmic axis.
fn drawn(percent: f64) -> f64 {
    percent.abs().max(ERROR_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_one_place_on_the_line() {
        let runs = [(20.0, 3.0), (10.0, 1.0), (20.0, 9.0), (20.0, 4.0)];
        assert_eq!(by_load(&runs), [(10.0, 1.0), (20.0, 4.0)]);
    }

    #[test]
    fn no_error_still_has_a_place() {
        assert_eq!((drawn(0.0), drawn(-3.0)), (ERROR_MIN, 3.0));
    }
}
