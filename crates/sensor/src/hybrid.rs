//! The hybrid sensor of the Network Weather Service: the two formulas, put right once a minute by a probe.
//!
//! R. Wolski, N. Spring and J. Hayes, "Predicting the CPU availability of time-shared Unix systems", section 2.1. A
//! process spins for a moment and tells what it got; the formula that was closer to it speaks until the next probe, and
//! how far it was off is added to all that it says until then. The probe is what it costs, and so it is off unless
//! asked for.

mod probe;

use std::{sync::Arc, time::Duration};

use signal::{Family, Signal, row};

use crate::ReadError;
use crate::tick::{Sensor, Tick};

pub(crate) use self::probe::SpinningProbe;
use self::probe::{Probe, Probed};

const SHARE: &Family = row("cpu.availability.hybrid");
const COST: &Family = row("cpu.availability.hybrid.cost");

/// A shorter probe mostly measures how a process is started. The authors found nothing shorter than 1.5 s useful.
const PROBE_MIN: Duration = Duration::from_millis(100);

/// The periods of the hybrid sensor's measurements and probes. The default is what was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HybridSettings {
    /// Time between two readings of the formulas.
    pub measure_every: Duration,
    /// Time from the start of one probe to the start of the next, twice that of a probe or longer.
    pub probe_every: Duration,
    /// The time for which a probe spins, 100 ms or longer.
    pub probe_for: Duration,
}

/// Periods that do not go together. Each message says what would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HybridError {
    /// A probe is too short to be told from its start.
    #[error("a probe of {given:?} is too short: it must be 100ms or longer")]
    ProbeTooShort {
        /// The length given for a probe.
        given: Duration,
    },
    /// More than half of a core would go into probes.
    #[error("a probe every {probe_every:?} is too often for {probe_for:?} each: it must be every {:?} or less often", *probe_for * 2)]
    ProbesTooOften {
        /// The time given from one probe to the next.
        probe_every: Duration,
        /// The length given for each probe.
        probe_for: Duration,
    },
}

impl HybridSettings {
    pub(crate) fn check(self) -> Result<(), HybridError> {
        let HybridSettings { probe_every, probe_for, .. } = self;
        if probe_for < PROBE_MIN {
            return Err(HybridError::ProbeTooShort { given: probe_for });
        }
        if probe_every / 2 < probe_for {
            return Err(HybridError::ProbesTooOften { probe_every, probe_for });
        }
        Ok(())
    }
}

impl Default for HybridSettings {
    fn default() -> HybridSettings {
        HybridSettings {
            measure_every: Duration::from_secs(10),
            probe_every: Duration::from_secs(60),
            probe_for: Duration::from_millis(1500),
        }
    }
}

/// The hybrid sensor. Comes after the sensors of both formulas in a tick.
pub(crate) struct Hybrid<P> {
    settings: HybridSettings,
    probe: P,
    measured_at: Option<Duration>,
    probed_at: Option<Duration>,
    /// The values of both formulas at the start of the probe that has not ended.
    before_probe: Option<Formulas>,
    voice: Option<Voice>,
    share: Option<f64>,
    cost: Option<f64>,
    signals: [Arc<Signal>; 2],
}

/// The values of both formulas at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Formulas {
    pub by_load: f64,
    pub by_vmstat: f64,
}

/// The formula that is in use, and the bias that is added to its value.
#[derive(Clone, Copy, Debug)]
struct Voice {
    formula: fn(Formulas) -> f64,
    bias: f64,
}

impl<P: Probe> Hybrid<P> {
    pub(crate) fn new(settings: HybridSettings, probe: P) -> Hybrid<P> {
        Hybrid {
            settings,
            probe,
            measured_at: None,
            probed_at: None,
            before_probe: None,
            voice: None,
            share: None,
            cost: None,
            signals: [SHARE, COST].map(Signal::only),
        }
    }

    /// Takes in what the probe got, if it has ended.
    fn hear(&mut self, at: Duration) -> Result<(), ReadError> {
        let Some(formulas) = self.before_probe else { return Ok(()) };
        let Some(outcome) = self.probe.poll() else { return Ok(()) };
        self.before_probe = None;
        let Probed { used, passed } = outcome.map_err(|source| ReadError::Probe { source })?;
        self.cost = Some(used.as_secs_f64() / self.settings.probe_every.as_secs_f64());
        let got = used.as_secs_f64() / passed.as_secs_f64();
        self.voice = Some(Voice::closest_to(got, formulas));
        // What the formulas say just after a probe is about it still; what they said before it is put right.
        self.share = self.voice.map(|voice| voice.speak(formulas));
        self.measured_at = Some(at);
        Ok(())
    }

    fn measure(&mut self, at: Duration, formulas: Formulas) {
        let is_due = self.measured_at.is_none_or(|last| at.saturating_sub(last) >= self.settings.measure_every);
        // While a probe spins, the formulas see the probe.
        if is_due && self.before_probe.is_none() {
            self.measured_at = Some(at);
            self.share = self.voice.map(|voice| voice.speak(formulas));
        }
    }

    fn start_probe(&mut self, at: Duration, formulas: Formulas) -> Result<(), ReadError> {
        let is_due = self.probed_at.is_none_or(|last| at.saturating_sub(last) >= self.settings.probe_every);
        if self.before_probe.is_some() || !is_due {
            return Ok(());
        }
        self.probed_at = Some(at);
        self.probe.start(self.settings.probe_for).map_err(|source| ReadError::Probe { source })?;
        self.before_probe = Some(formulas);
        Ok(())
    }
}

impl<P: Probe> Sensor for Hybrid<P> {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let heard = self.hear(tick.at);
        let mut started = Ok(());
        if let Some((by_load, by_vmstat)) = tick.by_load.zip(tick.by_vmstat) {
            let formulas = Formulas { by_load, by_vmstat };
            self.measure(tick.at, formulas);
            started = self.start_probe(tick.at, formulas);
        }
        let [share, cost] = &self.signals;
        tick.readings.push_some(share, self.share);
        tick.readings.push_some(cost, self.cost);
        heard.and(started)
    }
}

impl Voice {
    /// The formula that was closer to what the probe `got`; the load average's when both were as close.
    fn closest_to(got: f64, formulas: Formulas) -> Voice {
        let is_by_vmstat = (formulas.by_vmstat - got).abs() < (formulas.by_load - got).abs();
        let formula = if is_by_vmstat { Formulas::by_vmstat } else { Formulas::by_load };
        Voice { formula, bias: got - formula(formulas) }
    }

    fn speak(self, formulas: Formulas) -> f64 {
        ((self.formula)(formulas) + self.bias).clamp(0.0, 1.0)
    }
}

impl Formulas {
    fn by_load(self) -> f64 {
        self.by_load
    }

    fn by_vmstat(self) -> f64 {
        self.by_vmstat
    }
}

#[cfg(test)]
mod tests;
