//! Laws compared on the same traces, as tables and pictures.

use picture::{Axis, Chart, Colour, Mark, Panel, Picture, Scale, Size, beside};
use text::Table;
use text::figure::percent;

use crate::{Law, Outcome};

/// Outcomes of one law on all traces.
#[derive(Clone, Debug)]
pub struct Row {
    /// The law.
    pub law: Law,
    /// The outcomes, in the order of the traces.
    pub outcomes: Vec<Outcome>,
}

/// All laws by their figures over all traces, weighted by time.
#[must_use]
pub fn totals(rows: &[Row]) -> Table {
    let columns = [
        "law",
        "stalled",
        "stalls",
        "beyond least",
        "mean |rate - 1|",
        "root mean square",
        "least mean",
        "slew a second",
        "lost",
    ];
    let mut table = Table::of_figures(&columns);
    let stalled = |row: &Row| row.outcomes.iter().map(|outcome| outcome.stalled_seconds).sum::<f64>();
    let least = |row: &Row| row.outcomes.iter().map(|outcome| outcome.least_stalled_seconds).sum::<f64>();
    for row in rows {
        let seconds: f64 = row.outcomes.iter().map(|outcome| outcome.seconds).sum();
        let mean = |of: fn(&Outcome) -> f64| {
            row.outcomes.iter().map(|outcome| of(outcome) * outcome.seconds).sum::<f64>() / seconds.max(1e-9)
        };
        let slew = row.outcomes.iter().map(|outcome| outcome.slew_per_second).fold(0.0, f64::max);
        let lost: f64 = row.outcomes.iter().map(|outcome| outcome.lost_seconds).sum();
        table.row([
            row.law.to_string(),
            format!("{:.1} s", stalled(row)),
            row.outcomes.iter().map(|outcome| outcome.n_stalls).sum::<usize>().to_string(),
            format!("{:.1} s", stalled(row) - least(row)),
            percent(mean(|outcome| outcome.mean_deviation)),
            percent(mean(|outcome| outcome.rms_deviation.powi(2)).sqrt()),
            percent(mean(|outcome| outcome.least_mean_deviation)),
            percent(slew),
            format!("{lost:.1} s"),
        ]);
    }
    table
}

/// One figure of each law on each trace.
#[must_use]
pub fn by_trace(rows: &[Row], names: &[&str], figure: impl Fn(&Outcome) -> String) -> Table {
    let columns: Vec<&str> = std::iter::once("law").chain(names.iter().copied()).collect();
    let mut table = Table::of_figures(&columns);
    for row in rows {
        table.row(std::iter::once(row.law.to_string()).chain(row.outcomes.iter().map(&figure)));
    }
    table
}

/// The rates and buffers of all laws on one trace, above each other.
#[must_use]
pub fn draw(name: &str, rows: &[(Law, &Outcome)]) -> Picture {
    let until =
        rows.iter().filter_map(|(_, outcome)| outcome.steps.last()).map(|step| step.seconds).fold(1.0, f64::max);
    let x = || Axis { label: "seconds".to_owned(), scale: Scale::Linear, range: (0.0, until) };
    let track = |of: fn(&crate::Step) -> f64, n_lines: usize| {
        rows.iter().take(n_lines).zip(Colour::APART).map(move |((_, outcome), colour)| {
            let points = outcome.steps.iter().step_by(5).map(|step| (step.seconds, of(step))).collect::<Vec<_>>();
            (points, colour)
        })
    };
    let legend: Vec<(String, Colour)> = rows.iter().map(|(law, _)| law.to_string()).zip(Colour::APART).collect();
    let lines = |of| track(of, rows.len()).map(|(points, colour)| Mark::Track(points, colour)).collect::<Vec<_>>();
    let most = rows.iter().flat_map(|(_, outcome)| &outcome.steps).map(|step| step.buffer_seconds).fold(1.0, f64::max);
    let rate = Chart {
        title: format!("{name}: rate of play"),
        caption: "0 where play stood still".to_owned(),
        x: x(),
        y: Axis { label: "times the medium's own".to_owned(), scale: Scale::Linear, range: (0.0, 1.6) },
        marks: lines(|step| step.rate),
    };
    let buffer = Chart {
        title: format!("{name}: buffer"),
        caption: "media that have arrived and are not played".to_owned(),
        x: x(),
        y: Axis { label: "seconds".to_owned(), scale: Scale::Linear, range: (0.0, most) },
        marks: lines(|step| step.buffer_seconds),
    };
    let panels = [Panel { chart: rate, legend: legend.clone() }, Panel { chart: buffer, legend }];
    beside(&panels, 1, Size { width: 760.0, height: 260.0 })
}
