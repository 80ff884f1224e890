//! The synchronization of the wall clock, from this kernel: a recorded host has none.

use std::{path::Path, sync::Arc};

use clock::ClockDiscipline;
use signal::{Family, Signal, row};

use crate::ReadError;
use crate::tick::{Sensor, Tick};

const SYNCHRONIZED: &Family = row("clock.synchronized");
const OFFSET: &Family = row("clock.offset");
const MAX_ERROR: &Family = row("clock.max_error");

/// The synchronization of the wall clock.
pub(crate) struct TimeSync {
    synchronized: Arc<Signal>,
    offset: Arc<Signal>,
    max_error: Arc<Signal>,
}

impl TimeSync {
    /// The sensor, if the files under `root` are those of this kernel and it answers.
    pub(crate) fn open(root: &Path) -> Option<TimeSync> {
        let is_this = root == Path::new("/") && ClockDiscipline::read().is_some();
        is_this.then(|| TimeSync {
            synchronized: Signal::only(SYNCHRONIZED),
            offset: Signal::only(OFFSET),
            max_error: Signal::only(MAX_ERROR),
        })
    }
}

impl Sensor for TimeSync {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        if let Some(discipline) = ClockDiscipline::read() {
            tick.readings.push(&self.synchronized, f64::from(discipline.is_synchronized));
            tick.readings.push(&self.offset, discipline.offset_ns as f64 / 1e9);
            tick.readings.push(&self.max_error, discipline.max_error.as_secs_f64());
        }
        Ok(())
    }
}
