//! Tables 3 and 5: how far a forecast of the next sample was from that sample.

use std::time::Duration;

use crate::{
    Record, published,
    table::{Row, Table},
};

use super::{Errors, live, mean_ahead, models, share};

/// Time between two readings of the published study.
const PUBLISHED_STEP: Duration = Duration::from_secs(10);

/// Fewer known samples than this share of them make no average.
const KNOWN_SHARE_MIN: f64 = 0.25;

/// Computes the table of the readings themselves.
pub(crate) fn table(record: &Record) -> Table {
    let settings = &record.header.settings;
    let step = units::span::format(settings.step);
    let mut table = of(record, |samples| samples);
    table.rows.extend(as_published(record));
    table.number = 3;
    table.title = format!("mean absolute one-step prediction error, a step being {step}");
    table.rows.extend(published::rows(&published::ONE_STEP, &["NWS"], &table.columns));
    let (published, n) = (units::span::format(PUBLISHED_STEP), settings.n_steps(PUBLISHED_STEP));
    table.notes = vec![format!(
        "Of readings that follow a reading; those that see a test are left out. The published steps are of {published}, these of {step}; below \
         `{published} apart` are every {n}th of these readings, and forecasts of the next of them."
    )];
    table
}

/// Returns the rows of readings as far apart as the published ones.
fn as_published(record: &Record) -> Vec<Row> {
    let n = record.header.settings.n_steps(PUBLISHED_STEP);
    let mut rows = of(record, |samples| samples.into_iter().step_by(n).collect()).rows;
    let apart = units::span::format(PUBLISHED_STEP);
    rows.iter_mut().for_each(|row| row.heads[1] += &format!(" {apart} apart"));
    rows
}

/// Computes the table of their averages over 5 minutes.
pub(crate) fn averages_table(record: &Record) -> Table {
    let settings = &record.header.settings;
    let length = settings.n_steps(settings.average);
    let average = units::span::format(settings.average);
    let mut table = of(record, |samples| averages(&samples, length));
    table.number = 5;
    table.title = format!("mean absolute one-step prediction error of the {average} averages");
    table.rows.extend(published::rows(&published::ONE_STEP_OF_AVERAGES, &["NWS"], &table.columns));
    table.notes = vec![format!(
        "Averages of neighbouring stretches of {average} from the start of a visit on, of the readings that see no test; a \
         stretch in which fewer than a quarter of the readings are left has none. An error takes two averages in one visit."
    )];
    table
}

/// The averages over `length` samples from the first on, NaN where too few are known; an end that is no whole one is
/// left out.
pub(crate) fn averages(samples: &[f64], length: usize) -> Vec<f64> {
    let average = |bucket: &[f64]| {
        let n_known = bucket.iter().filter(|sample| !sample.is_nan()).count();
        let is_enough = n_known as f64 >= KNOWN_SHARE_MIN * length as f64;
        if is_enough { series::bucket_means(bucket, length)[0] } else { f64::NAN }
    };
    samples.chunks_exact(length).map(average).collect()
}

fn of(record: &Record, to_series: impl Fn(Vec<f64>) -> Vec<f64>) -> Table {
    let mut errors = Errors::new(record, &models().map(|(name, _)| name));
    for segment in &record.segments {
        for (idx, sensor) in errors.sensors.clone().iter().enumerate() {
            let samples = to_series(segment.series(sensor, &record.header));
            for (model, (_, spec)) in models().into_iter().enumerate() {
                let mut live = live(&spec, sensor);
                for pair in 0..samples.len() {
                    let is_next_known = samples.get(pair + 1).is_some_and(|next| !next.is_nan());
                    live.step(samples[pair]);
                    if samples[pair].is_nan() || !is_next_known {
                        continue;
                    }
                    if let Some(said) = mean_ahead(&live, 1) {
                        errors.add(&segment.start.scenario, model, idx, share(said - samples[pair + 1], sensor));
                    }
                }
            }
        }
    }
    let rows = errors.rows();
    Table {
        number: 0,
        title: String::new(),
        heads: vec!["scenario", "model"],
        columns: errors.sensors,
        rows,
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_average_takes_a_quarter_of_its_samples() {
        let nan = f64::NAN;
        let samples = [1.0, nan, nan, 3.0, 5.0, nan, nan, nan, nan, nan, nan, nan, 7.0, 7.0];
        let means = averages(&samples, 4);
        assert_eq!(means[..2], [2.0, 5.0]);
        assert!(means[2].is_nan() && means.len() == 3);
    }
}
