//! Times of calls, iteration by iteration, on each cluster.

use mpi_run::{MalformedRecord, Outcome};
use picture::{Axis, Chart, Colour, Mark, Panel, Picture, Scale, Size};

use crate::Trial;
use crate::record::{Answered, kind};

/// Size of a chart, without the names beside it.
const CHART: Size = Size { width: 860.0, height: 380.0 };

/// Draws a picture for each run of work and allreduces.
///
/// # Errors
/// A record that is not of its kind.
pub(crate) fn pictures(outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
    let answered: Vec<Answered> = outcome.all(kind::ANSWERED)?;
    let mut trials: Vec<&Trial> = Vec::new();
    for it in &answered {
        if !trials.contains(&&it.trial) {
            trials.push(&it.trial);
        }
    }
    let of_trial = |trial: &Trial| answered.iter().filter(|it| it.trial == *trial).cloned().collect::<Vec<_>>();
    Ok(trials.into_iter().map(|trial| (name(trial), over_iterations(trial, &of_trial(trial)))).collect())
}

fn name(trial: &Trial) -> String {
    let words = trial.to_string().to_lowercase();
    let words: Vec<&str> = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    format!("latency-{}", words.join("-"))
}

fn over_iterations(trial: &Trial, clusters: &[Answered]) -> Picture {
    let in_ms = |ns: f64| (ns / 1e6).max(1e-3);
    let (mut marks, mut legend) = (Vec::new(), Vec::new());
    for (cluster, colour) in clusters.iter().zip(Colour::APART.iter().cycle()) {
        let points = |pick: fn(&crate::record::Stretch) -> f64| {
            cluster.stretches.iter().map(|stretch| (stretch.first as f64, in_ms(pick(stretch)))).collect::<Vec<_>>()
        };
        marks.push(Mark::Track(points(|stretch| stretch.median_ns), *colour));
        marks.push(Mark::Dots(points(|stretch| stretch.max_ns)));
        legend.push((cluster.site.clone(), *colour));
    }
    let stretches = || clusters.iter().flat_map(|cluster| &cluster.stretches);
    let heights = stretches().flat_map(|stretch| [stretch.median_ns, stretch.max_ns]).map(in_ms);
    let chart = Chart {
        title: format!("What allreduces took: {trial}"),
        caption: "medians of stretches, and dots at the longest of each".to_owned(),
        x: Axis::over("iteration", Scale::Linear, stretches().map(|stretch| stretch.first as f64)),
        y: Axis::over("milliseconds", Scale::Logarithmic, heights.collect::<Vec<_>>()),
        marks,
    };
    Panel { chart, legend }.picture(CHART)
}
