//! Table 8: how far a sensor's own readings move within the length of a test, with no test near. An error of a forecast
//! from them that is no larger comes from a load that changed after the last reading, which no sensor can know.

use super::{Errors, note_on_threads, share};
use crate::{Record, table::Table};

pub(crate) fn table(record: &Record) -> Table {
    let settings = &record.header.settings;
    let n_steps = settings.n_steps(settings.short);
    let mut errors = Errors::new(record, &[""]);
    for segment in &record.segments {
        for (idx, sensor) in errors.sensors.clone().iter().enumerate() {
            let samples = segment.series(sensor, &record.header);
            for window in samples.windows(n_steps + 1) {
                // One gap among them makes this NaN.
                let after = window[1..].iter().sum::<f64>() / n_steps as f64;
                let change = share(after - window[0], sensor);
                if !change.is_nan() {
                    errors.add(&segment.start.scenario, 0, idx, change);
                }
            }
        }
    }
    let short = units::span::format(settings.short);
    let note = format!(
        "Mean distance between a reading and the mean of the readings of the {short} after it, where none of them sees a test. A load \
         that changes within a test is in Tables 1 and 2 as well, and no sensor can know of it before: an error there that is no larger \
         than this is the load's and not the sensor's."
    );
    Table {
        number: 8,
        title: format!("how far readings move within {short}"),
        heads: vec!["scenario"],
        rows: errors.rows(),
        columns: errors.sensors.clone(),
        notes: std::iter::once(note).chain(note_on_threads(&errors.sensors)).collect(),
    }
}
