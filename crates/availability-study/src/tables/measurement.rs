//! Table 1: how far the sensors' last word before a test was from what the test got.

use crate::{Record, published, record::threads_of, table::Table};

use super::{Errors, note_on_threads, share};

pub(crate) fn table(record: &Record) -> Table {
    let header = &record.header;
    let short_seconds = header.settings.short.as_secs_f64();
    let mut errors = Errors::new(record, &[""]);
    for segment in &record.segments {
        for test in &segment.tests {
            let Some(mark) = test.mark(short_seconds) else { continue };
            for (idx, sensor) in errors.sensors.clone().iter().enumerate() {
                if threads_of(sensor) != test.n_threads {
                    continue;
                }
                if let Some((_, said)) = segment.before(test, sensor, header) {
                    errors.add(&segment.start.scenario, 0, idx, share(said - mark.got(), sensor));
                }
            }
        }
    }
    let mut rows = errors.rows();
    rows.extend(published::rows(&published::MEASUREMENT, &[], &errors.sensors));
    let own = "An error is the distance between a sensor's last value before a test starts and the test's CPU clock over \
               the wall clock; shown is its mean over the tests, whose number is in parentheses. The first seconds of \
               a long test count as a short one.";
    let load = "From the load average the part of the study's own tests is taken out: it remembers them for longer than \
                the rest between two of them.";
    let notes = [own, load].map(str::to_owned).into_iter().chain(note_on_threads(&errors.sensors)).collect();
    Table {
        number: 1,
        title: format!("mean absolute measurement error, tests of {}", units::span::format(header.settings.short)),
        heads: vec!["scenario"],
        columns: errors.sensors,
        rows,
        notes,
    }
}
