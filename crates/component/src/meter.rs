//! Meters of a sensor server: a list of values at each step, from a sensor of this host or of its network, or made
//! ones.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use signal::{Readings, Selection, Source};
use stream::SignalName;

/// More signals than this are none of a host's: the rest is left out.
const N_SIGNALS_MAX: usize = 4096;

/// A signal that is a rate is there after two readings; what is not there after so many may never come.
const N_READS_TO_APPEAR: u32 = 3;

/// Something that is read step by step.
pub trait Meter: Send + 'static {
    /// Reads everything, `at` this moment of a clock that is never set: a value for each signal, NaN where there is
    /// none.
    fn read(&mut self, at: Duration, values: &mut Vec<f64>);

    /// Returns the names of the values' signals. The list may grow by a read, and never changes otherwise.
    fn signals(&self) -> &[SignalName];

    /// Whether a step whose moment has passed is lost.
    fn misses_deadlines(&self) -> bool {
        true
    }

    /// Returns the number of reads that failed in part or whole, and the reason of the last failure.
    fn failures(&self) -> (u64, Option<String>) {
        (0, None)
    }
}

impl Meter for Box<dyn Meter> {
    fn read(&mut self, at: Duration, values: &mut Vec<f64>) {
        (**self).read(at, values);
    }

    fn signals(&self) -> &[SignalName] {
        (**self).signals()
    }

    fn misses_deadlines(&self) -> bool {
        (**self).misses_deadlines()
    }

    fn failures(&self) -> (u64, Option<String>) {
        (**self).failures()
    }
}

/// The signals of a sensor source that were selected.
pub struct SourceMeter {
    source: Box<dyn Source>,
    selection: Selection,
    readings: Readings,
    signals: Vec<SignalName>,
    /// Position of a signal in the list; `None` for a signal that was not selected.
    places: HashMap<Arc<str>, Option<usize>>,
    n_reads: u32,
}

impl SourceMeter {
    /// Builds a meter of this source.
    #[must_use]
    pub fn new(source: Box<dyn Source>, selection: Selection) -> Self {
        let (readings, signals, places) = (Readings::default(), Vec::new(), HashMap::new());
        Self { source, selection, readings, signals, places, n_reads: 0 }
    }

    /// Returns the reason why nothing is measured, once that is clear.
    fn problem(&self) -> Option<String> {
        (self.n_reads >= N_READS_TO_APPEAR && self.signals.is_empty())
            .then(|| format!("none of the {} signals that there are is one to be measured", self.places.len()))
    }
}

impl Meter for SourceMeter {
    fn read(&mut self, at: Duration, values: &mut Vec<f64>) {
        let Self { source, selection, readings, signals, places, n_reads } = self;
        source.read(at, readings);
        values.clear();
        values.resize(signals.len(), f64::NAN);
        for (signal, value) in readings.iter() {
            let place = match places.get(signal.id()) {
                Some(place) => *place,
                None => {
                    let is_wanted = selection.takes(signal.id()) && signals.len() < N_SIGNALS_MAX;
                    let place = is_wanted.then(|| {
                        let unit = signal.family().unit.as_str().to_owned();
                        signals.push(SignalName { id: signal.id().to_string(), unit });
                        values.push(f64::NAN);
                        signals.len() - 1
                    });
                    places.insert(Arc::clone(signal.id()), place);
                    place
                }
            };
            if let Some(place) = place {
                values[place] = value;
            }
        }
        *n_reads = n_reads.saturating_add(1);
        if *n_reads == N_READS_TO_APPEAR
            && let Some(problem) = self.problem()
        {
            tracing::warn!(problem, "nothing is sent");
        }
    }

    fn signals(&self) -> &[SignalName] {
        &self.signals
    }

    fn failures(&self) -> (u64, Option<String>) {
        let problem = self.problem();
        (self.source.n_errors() + u64::from(problem.is_some()), problem.or_else(|| self.source.last_error()))
    }
}
