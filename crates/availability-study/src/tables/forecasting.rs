//! Tables 2 and 6: how far forecasts that were made before a test were from what the test got.

use std::time::Duration;

use predict::{Live, Spec};

use crate::{
    Length, Record, Settings, TestDone, published,
    record::{Segment, threads_of},
    table::Table,
};

use super::{Errors, live, mean_ahead, models, note_on_threads, share};

/// Minimum number of averages; with fewer before it, a long test is compared with the mean of the forecasts for single
/// steps.
const N_AVERAGES_MIN: usize = 3;

/// Forecasts and what came of them.
pub(crate) struct Replayed {
    short: Errors,
    long: Errors,
    /// Long tests, by whether their forecasts were of the averaged series or not.
    n_by_averages: usize,
    n_by_steps: usize,
}

/// Makes every forecast as it would have been made at its moment.
pub(crate) fn replay(record: &Record) -> Replayed {
    let names = models().map(|(name, _)| name);
    let mut replayed = Replayed {
        short: Errors::new(record, &names),
        long: Errors::new(record, &names),
        n_by_averages: 0,
        n_by_steps: 0,
    };
    for segment in &record.segments {
        for sensor in 0..replayed.short.sensors.len() {
            replayed.follow(record, segment, sensor);
        }
    }
    replayed
}

/// One sensor, forecast by one model in one visit.
struct Course<'a> {
    segment: &'a Segment,
    sensor: usize,
    id: String,
    model: usize,
    spec: Spec,
    settings: &'a Settings,
}

impl Replayed {
    /// Goes through the series of one sensor in one visit, and forecasts at the start of each test.
    fn follow(&mut self, record: &Record, segment: &Segment, sensor: usize) {
        let (header, id) = (&record.header, self.short.sensors[sensor].clone());
        let samples = segment.series(&id, header);
        for (model, (_, spec)) in models().into_iter().enumerate() {
            let course =
                Course { segment, sensor, id: id.clone(), model, spec: spec.clone(), settings: &header.settings };
            let mut live = live(&spec, &id);
            let mut n_taken = 0;
            for test in segment.tests.iter().filter(|test| test.n_threads == threads_of(&id)) {
                let Some((slot, _)) = segment.before(test, &id, header) else { continue };
                samples.iter().take(slot + 1).skip(n_taken).for_each(|&sample| live.step(sample));
                n_taken = slot + 1;
                self.add_short(&course, test, &live);
                self.add_long(&course, test, &samples[..=slot], &live);
            }
        }
    }

    fn add_short(&mut self, course: &Course<'_>, test: &TestDone, live: &Live) {
        let said = mean_ahead(live, course.n_steps(course.settings.short));
        if let Some((said, got)) = said.zip(got(test, course.settings.short)) {
            let error = share(said - got, &course.id);
            self.short.add(&course.segment.start.scenario, course.model, course.sensor, error);
        }
    }

    fn add_long(&mut self, course: &Course<'_>, test: &TestDone, samples: &[f64], live: &Live) {
        let settings = course.settings;
        let Some(got) = got(test, settings.long).filter(|_| test.length == Length::Long) else { return };
        let averages = averages_until(samples, course.n_steps(settings.average));
        let is_by_averages = averages.len() >= N_AVERAGES_MIN && settings.average == settings.long;
        let said = if is_by_averages {
            ahead_of(&averages, &course.spec, &course.id)
        } else {
            mean_ahead(live, course.n_steps(settings.long))
        };
        let Some(said) = said else { return };
        let error = share(said - got, &course.id);
        self.long.add(&course.segment.start.scenario, course.model, course.sensor, error);
        // Every sensor and model tells of the same tests.
        if (course.model, course.sensor) == (0, 0) {
            *(if is_by_averages { &mut self.n_by_averages } else { &mut self.n_by_steps }) += 1;
        }
    }
}

impl Course<'_> {
    fn n_steps(&self, span: Duration) -> usize {
        self.settings.n_steps(span)
    }
}

fn got(test: &TestDone, span: Duration) -> Option<f64> {
    test.mark(span.as_secs_f64()).map(crate::Mark::got)
}

/// The averages over `length` samples that end with the last sample, oldest first.
fn averages_until(samples: &[f64], length: usize) -> Vec<f64> {
    let whole = &samples[samples.len() % length..];
    series::bucket_means(whole, length)
}

fn ahead_of(averages: &[f64], spec: &Spec, id: &str) -> Option<f64> {
    let mut live = live(spec, id);
    live.replay(averages);
    mean_ahead(&live, 1)
}

pub(crate) fn short_table(record: &Record, replayed: &Replayed) -> Table {
    let errors = &replayed.short;
    let short = units::span::format(record.header.settings.short);
    let mut rows = errors.rows();
    rows.extend(published::rows(&published::TRUE_FORECASTING, &["NWS"], &errors.sensors));
    let note = format!(
        "A forecast is the mean of the forecasts for the steps of the {short} after the last reading before the test, \
         from the readings of this visit before it."
    );
    Table {
        number: 2,
        title: format!("mean true forecasting error, tests of {short}"),
        heads: vec!["scenario", "model"],
        columns: errors.sensors.clone(),
        rows,
        notes: std::iter::once(note).chain(note_on_threads(&errors.sensors)).collect(),
    }
}

pub(crate) fn long_table(record: &Record, replayed: &Replayed) -> Table {
    let errors = &replayed.long;
    let long = units::span::format(record.header.settings.long);
    let mut rows = errors.rows();
    rows.extend(published::rows(&published::TRUE_FORECASTING_OF_AVERAGES, &["NWS"], &errors.sensors));
    let Replayed { n_by_averages, n_by_steps, .. } = replayed;
    let note = format!(
        "{n_by_averages} tests are compared with the forecast of the series of {} averages, one step ahead; {n_by_steps}, \
         with fewer than {N_AVERAGES_MIN} averages before them in their visit, with the mean of the forecasts for the \
         steps of the {long} after the last reading.",
        units::span::format(record.header.settings.average)
    );
    Table {
        number: 6,
        title: format!("mean true forecasting error, tests of {long}"),
        heads: vec!["scenario", "model"],
        columns: errors.sensors.clone(),
        rows,
        notes: vec![note],
    }
}
