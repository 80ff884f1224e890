//! Table 4: how much the series vary, before and after averaging, and how long their memory is.

use statistics::{StatisticError, rescaled_range, summary};

use crate::{
    Record, published,
    record::Segment,
    table::{Cell, Row, Source, Table},
};

use super::{blank, prediction::averages};

/// The pox plot takes as many.
const N_HURST_MIN: usize = 64;

/// The figure in a row of one scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    Variance,
    VarianceOfAverages,
    Hurst,
}

const FIGURES: [(Figure, &str); 3] =
    [(Figure::Variance, "variance"), (Figure::VarianceOfAverages, "of averages"), (Figure::Hurst, "Hurst")];

pub(crate) fn table(record: &Record) -> Table {
    let sensors = record.sensors();
    let settings = &record.header.settings;
    let length = settings.n_steps(settings.average);
    let mut rows = Vec::new();
    for scenario in &settings.scenarios {
        let segments: Vec<&Segment> = record.of(scenario).collect();
        for (figure, name) in FIGURES {
            let cell = |sensor: &String| {
                let series: Vec<Vec<f64>> = segments.iter().map(|one| one.series(sensor, &record.header)).collect();
                match figure {
                    Figure::Variance => variance(&series),
                    Figure::VarianceOfAverages => variance(&averages_of(&series, length)),
                    Figure::Hurst => hurst(&series),
                }
            };
            let heads = vec![scenario.clone(), name.to_owned()];
            rows.push(Row { source: Source::Scenario, heads, cells: sensors.iter().map(cell).collect() });
        }
    }
    rows.extend(published_rows(&sensors));
    let average = units::span::format(settings.average);
    Table {
        number: 4,
        title: format!("variance of the series and of its {average} averages, and the Hurst exponent of the series"),
        heads: vec!["scenario", "figure"],
        columns: sensors,
        rows,
        notes: vec![
            "Variances are about the mean of each visit, over all visits; readings that see a test are left out. The number \
             of readings or averages is in parentheses."
                .to_owned(),
            "The Hurst exponent is the slope of the pox plot (R/S) over the readings of all visits one after the other, each \
             about the mean of its visit, with readings that see a test cut out."
                .to_owned(),
        ],
    }
}

fn averages_of(series: &[Vec<f64>], length: usize) -> Vec<Vec<f64>> {
    series.iter().map(|samples| averages(samples, length)).collect()
}

/// About the mean of each visit, so that what differs between visits is left out; two values in one visit at least.
fn variance(series: &[Vec<f64>]) -> Cell {
    let summaries: Vec<_> = series.iter().filter_map(|samples| summary(samples)).collect();
    let have = summaries.iter().map(|summary| summary.n).max().unwrap_or(0);
    if have < 2 {
        return Cell::TooFew { need: 2, have };
    }
    let n = summaries.iter().map(|summary| summary.n).sum::<usize>();
    let sum: f64 = summaries.iter().map(|summary| summary.variance * summary.n as f64).sum();
    Cell::Number { value: sum / n as f64, n_digits: 4, n: Some(n) }
}

/// Computes the Hurst exponent of all visits joined, what differs between their means left out.
fn hurst(series: &[Vec<f64>]) -> Cell {
    let joined: Vec<f64> = series.iter().flat_map(|samples| about_mean(samples)).collect();
    match rescaled_range(&joined) {
        Ok(hurst) => Cell::Number { value: hurst.exponent, n_digits: 2, n: Some(joined.len()) },
        Err(StatisticError::Constant { .. }) => Cell::Constant { n: joined.len() },
        Err(_) => Cell::TooFew { need: N_HURST_MIN, have: joined.len() },
    }
}

/// The known samples less their mean.
pub(crate) fn about_mean(samples: &[f64]) -> Vec<f64> {
    let mean = summary(samples).map_or(0.0, |summary| summary.mean);
    samples.iter().filter(|sample| !sample.is_nan()).map(|sample| sample - mean).collect()
}

fn published_rows(sensors: &[String]) -> Vec<Row> {
    let number = |row: Row, name: &str| {
        let cells = row.cells.iter().map(|cell| match *cell {
            Cell::Percent { share, n } => Cell::Number { value: 100.0 * share, n_digits: 4, n },
            other => other,
        });
        Row { source: Source::Published, heads: vec![row.heads[0].clone(), name.to_owned()], cells: cells.collect() }
    };
    let mut rows = Vec::new();
    let original = published::rows(&published::VARIANCE, &[], sensors);
    let averaged = published::rows(&published::VARIANCE_OF_AVERAGES, &[], sensors);
    for ((original, averaged), (host, exponent)) in original.into_iter().zip(averaged).zip(published::HURST) {
        rows.push(number(original, "variance"));
        rows.push(number(averaged, "of averages"));
        let mut cells = blank(sensors);
        if let Some(idx) = sensors.iter().position(|sensor| sensor == published::SENSORS[0]) {
            cells[idx] = Cell::Number { value: exponent, n_digits: 2, n: None };
        }
        rows.push(Row { source: Source::Published, heads: vec![host.to_owned(), "Hurst".to_owned()], cells });
    }
    rows
}
