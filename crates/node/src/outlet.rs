//! Streams that a node sends: what its host measures, or what it forecasts of it.
//!
//! An outlet is a mirror with an inlet that the sampler's tick goes into. The sampler never waits: what an inlet has no
//! room for is dropped and counted, as is what a slow reader does not take. Forecasts are made on the outlet's own
//! thread.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use clock::Clock;
use signal::Selection;
use stream::{
    Carries, Description, Endpoint, EndpointStatus, Forecast, Handler, Inlet, InputId, Measurement, Message, Mirror,
    OpenError, Outputs, Role, Running, Security, SignalName,
};
use units::Timestamp;
use watch::{OnPanic, Stop, Thread, Watch};

use crate::engine::Engine;
use crate::engine::plan::to_steps;
use crate::error::StartError;
use crate::hub::Aheads;
use crate::outage::Outage;
use crate::schedule::whole_steps;

/// Ticks that may wait for the outlet's thread: a second's worth at 100 Hz, then it is behind for good.
const N_WAITING_MAX: usize = 100;

/// Limit of the signals of a stream: as many as a description may list.
const N_SIGNALS_MAX: usize = 4096;

/// A description is one frame of at most 1 MiB; this is what its signals may take of it.
const SIGNAL_BYTES_MAX: usize = 900 << 10;

/// Time between a keeper's checks whether its stream still runs.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A reader that was too slow is a problem for so long.
const SLOW_FOR: Duration = Duration::from_secs(60);

/// A stream that a node sends.
#[derive(Clone, Debug)]
pub struct OutletSettings {
    /// The name of the stream.
    pub name: String,
    /// The endpoints of the stream: `connect:` and `target:` to send to, and `server:` for questions about its state.
    pub endpoints: Vec<Endpoint>,
    /// The content of the stream.
    pub carries: Outgoing,
    /// The host's signals that the stream carries.
    pub select: Selection,
    /// The security of the stream's connections.
    pub security: Security,
}

/// The content of a stream of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// All signals of the host at each tick, as one measurement.
    Measurements,
    /// A forecast of each signal at each tick.
    Forecasts {
        /// The time ahead, rounded up to whole steps.
        horizon: Duration,
    },
}

/// Properties of the node that an outlet needs.
#[derive(Clone)]
pub(crate) struct Home {
    pub(crate) host: String,
    pub(crate) model: String,
    pub(crate) step: Duration,
    pub(crate) engine: Arc<Mutex<Engine>>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The streams that go out. When it is dropped, readers take what is there for them, and the streams end.
#[derive(Default)]
pub(crate) struct Outlets {
    outlets: Vec<Arc<Outlet>>,
    /// They open a stream again whose own thread has panicked.
    keepers: Vec<Thread>,
}

/// A stream that goes out.
pub(crate) struct Outlet {
    settings: OutletSettings,
    home: Home,
    /// `None` after a panic, until it is opened again.
    running: Mutex<Option<Running<Publisher>>>,
    sending: Mutex<Sending>,
}

/// The tick's end of a stream.
struct Sending {
    select: Selection,
    head: Description,
    inlet: Inlet,
    /// The ids of the values, as they were described to readers.
    described: Vec<Arc<str>>,
    /// The label of the first tick, from which numbers count.
    began: Option<Timestamp>,
    step: Duration,
    n_left_out: usize,
    dropped: Dropped,
}

/// Messages that somebody did not get.
#[derive(Debug, Default)]
struct Dropped {
    /// Messages dropped by the inlet, because the outlet's thread was behind.
    by_inlet: u64,
    n_seen: u64,
    last: Option<Timestamp>,
}

impl Outlets {
    /// # Errors
    /// [`StartError`] when an endpoint cannot be had, or two streams have the same name.
    pub(crate) fn start(settings: Vec<OutletSettings>, home: &Home, watch: &Watch) -> Result<Self, StartError> {
        let mut names = BTreeSet::new();
        if let Some(twice) = settings.iter().find(|outlet| !names.insert(&outlet.name)) {
            return Err(StartError::StreamTwice { stream: twice.name.clone() });
        }
        let mut outlets = Self::default();
        for settings in settings {
            let name = format!("stream {}", settings.name);
            let outlet = Arc::new(Outlet::start(settings, home)?);
            let kept = Arc::clone(&outlet);
            let keeper = Thread::start(watch, name, OnPanic::BeginAgain, move |stop| kept.keep(stop));
            outlets.keepers.push(keeper.map_err(StartError::NoThread)?);
            outlets.outlets.push(outlet);
        }
        Ok(outlets)
    }

    pub(crate) fn listeners(&self) -> Vec<Weak<Outlet>> {
        self.outlets.iter().map(Arc::downgrade).collect()
    }
}

impl Drop for Outlets {
    fn drop(&mut self) {
        self.keepers.clear();
        // One that somebody looks at right now ends when he has looked, and nobody waits for it.
        self.outlets.drain(..).filter_map(Arc::into_inner).for_each(Outlet::stop);
    }
}

impl Outlet {
    /// # Errors
    /// [`OpenError`] when an endpoint is none of a stream that goes out, or cannot be had.
    pub(crate) fn start(settings: OutletSettings, home: &Home) -> Result<Self, OpenError> {
        if let Some(endpoint) = settings.endpoints.iter().find(|endpoint| endpoint.role.is_input()) {
            let needed = "a node's stream needs `connect:` or `target:`, or `server:` for requests";
            return Err(OpenError::Role { endpoint: endpoint.to_string(), needed });
        }
        let (running, inlet) = open(&settings, home)?;
        let n_leads = n_leads(&settings, home);
        let head = Description {
            stream: settings.name.clone(),
            host: home.host.clone(),
            carries: if n_leads.is_some() { Carries::Forecast } else { Carries::Measurement },
            step_ns: u64::try_from(home.step.as_nanos()).unwrap_or(u64::MAX),
            signals: Vec::new(),
            model: n_leads.map(|_| home.model.clone()),
            horizon: n_leads.and_then(|n_leads| u32::try_from(n_leads).ok()),
        };
        let sending = Sending {
            select: settings.select.clone(),
            head,
            inlet,
            described: Vec::new(),
            began: None,
            step: home.step,
            n_left_out: 0,
            dropped: Dropped::default(),
        };
        let running = Mutex::new(Some(running));
        Ok(Self { settings, home: home.clone(), running, sending: Mutex::new(sending) })
    }

    /// Opens it again once its thread has panicked, with that panic going on here.
    fn keep(&self, stop: &Stop) {
        let mut outage = Outage::default();
        loop {
            let finished = self.running().take_if(|running| running.is_finished());
            if let Some(finished) = finished {
                finished.join();
            }
            let closed = self.running().is_none();
            if closed {
                let opened = open(&self.settings, &self.home);
                outage.note(&self.settings.name, opened.as_ref().err().map(ToString::to_string).as_deref());
                if let Ok((running, inlet)) = opened {
                    *self.running() = Some(running);
                    self.sending().begin_again(inlet);
                }
            }
            if stop.wait(LOOK_EVERY) {
                return;
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    /// Sends a tick of the host, and before it a description where the signals are others than last time. `unit` gives
    /// a signal's.
    pub(crate) fn take(&self, label: Timestamp, values: &[(Arc<str>, f64)], unit: impl Fn(&str) -> String) {
        let mut sending = self.sending();
        sending.take(label, values, unit);
        let n_dropped = sending.dropped.by_inlet + self.n_dropped_on_the_way();
        if n_dropped > sending.dropped.n_seen {
            (sending.dropped.n_seen, sending.dropped.last) = (n_dropped, Some(label));
        }
    }

    /// Messages that the outlet's thread had no room for.
    pub(crate) fn n_dropped_by_inlet(&self) -> u64 {
        self.sending().dropped.by_inlet
    }

    /// Returns the counts of each endpoint.
    pub(crate) fn status(&self) -> Vec<EndpointStatus> {
        // The first one is the inlet.
        self.running().as_ref().map(|running| running.status().split_off(1)).unwrap_or_default()
    }

    fn n_dropped_on_the_way(&self) -> u64 {
        self.status().iter().map(|status| status.counted.n_dropped).sum()
    }

    /// Returns the problems that a person should look at, as of the tick labelled `now`.
    pub(crate) fn problems(&self, now: Timestamp) -> Vec<String> {
        let name = self.name();
        let mut problems = Vec::new();
        let (n_left_out, n_dropped, last_dropped) = {
            let sending = self.sending();
            (sending.n_left_out, sending.dropped.n_seen, sending.dropped.last)
        };
        if n_left_out > 0 {
            problems.push(format!("stream {name}: {n_left_out} signals do not fit into its description"));
        }
        for EndpointStatus { endpoint, counted, .. } in self.status() {
            let is_target = endpoint.parse::<Endpoint>().is_ok_and(|endpoint| endpoint.role == Role::Target);
            if is_target && counted.n_connected == 0 {
                let reason = counted.last_error.map(|reason| format!(": {reason}")).unwrap_or_default();
                problems.push(format!("stream {name}: {endpoint} is not connected{reason}"));
            }
        }
        if last_dropped.is_some_and(|last| now.saturating_since(last) < SLOW_FOR) {
            problems.push(format!(
                "stream {name}: a reader is too slow, or there is none; {n_dropped} messages were dropped so far"
            ));
        }
        if self.running().as_ref().is_none_or(Running::is_finished) {
            problems.push(format!("stream {name} has ended by itself, and is opened again"));
        }
        problems
    }

    /// Lets readers take what is there for them, and ends.
    fn stop(self) {
        let running = self.running.into_inner().unwrap_or_else(PoisonError::into_inner);
        // One that has ended by itself has panicked, and nobody keeps it any more.
        if let Some(running) = running.filter(|running| !running.is_finished()) {
            running.stop();
        }
    }

    fn running(&self) -> MutexGuard<'_, Option<Running<Publisher>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sending(&self) -> MutexGuard<'_, Sending> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens the stream, and gives the inlet that its ticks go into.
fn open(settings: &OutletSettings, home: &Home) -> Result<(Running<Publisher>, Inlet), OpenError> {
    let forecasts = n_leads(settings, home).map(|n_leads| Forecasts {
        n_leads,
        ids: Vec::new(),
        engine: Arc::clone(&home.engine),
        clock: Arc::clone(&home.clock),
    });
    let security = settings.security.clone();
    let mut mirror = Mirror::new(settings.name.clone(), Publisher { forecasts }).with_security(security);
    let (_, inlet) = mirror.inlet(N_WAITING_MAX);
    for endpoint in settings.endpoints.clone() {
        mirror.add(endpoint);
    }
    Ok((mirror.start()?, inlet))
}

/// Returns the number of steps that the outlet forecasts ahead; `None` if it carries measurements.
fn n_leads(settings: &OutletSettings, home: &Home) -> Option<usize> {
    match settings.carries {
        Outgoing::Measurements => None,
        Outgoing::Forecasts { horizon } => Some(to_steps(horizon, home.step).clamp(1, Forecast::N_LEADS_MAX)),
    }
}

impl Sending {
    /// Sends into another inlet, whose readers have been told nothing.
    fn begin_again(&mut self, inlet: Inlet) {
        self.inlet = inlet;
        self.described.clear();
        // Counts on the way begin anew, too.
        self.dropped.n_seen = self.dropped.by_inlet;
    }

    fn take(&mut self, label: Timestamp, values: &[(Arc<str>, f64)], unit: impl Fn(&str) -> String) {
        let began = *self.began.get_or_insert(label);
        let chosen = || values.iter().filter(|(id, _)| self.select.takes(id));
        let is_described = chosen().count() == self.described.len() + self.n_left_out
            && chosen().zip(&self.described).all(|((id, _), described)| id == described);
        if !is_described {
            let ids: Vec<_> = chosen().map(|(id, _)| Arc::clone(id)).collect();
            if !self.describe(ids, unit) {
                return;
            }
        }
        let values = values.iter().filter(|(id, _)| self.select.takes(id)).map(|(_, value)| *value);
        let values = values.take(self.described.len()).collect();
        let number = whole_steps(label.saturating_since(began), self.step);
        self.send(Message::Measurement(Measurement { number, time: label, values }));
    }

    /// Returns whether readers will be told.
    fn describe(&mut self, mut ids: Vec<Arc<str>>, unit: impl Fn(&str) -> String) -> bool {
        let mut n_bytes = 0;
        let signals: Vec<SignalName> = ids
            .iter()
            .map(|id| SignalName { id: id.to_string(), unit: unit(id) })
            .take(N_SIGNALS_MAX)
            .take_while(|name| {
                // In JSON, quotes and backslashes take two bytes; there are no control characters in names.
                n_bytes += 2 * (name.id.len() + name.unit.len()) + 20;
                n_bytes <= SIGNAL_BYTES_MAX
            })
            .collect();
        let n_left_out = ids.len() - signals.len();
        ids.truncate(signals.len());
        let is_sent = self.send(Message::Description(Description { signals, ..self.head.clone() }));
        if is_sent {
            (self.described, self.n_left_out) = (ids, n_left_out);
        }
        is_sent
    }

    fn send(&mut self, message: Message) -> bool {
        let sent = self.inlet.send(message);
        self.dropped.by_inlet += u64::from(sent.is_err());
        sent.is_ok()
    }
}

/// The computation: passes measurements on, or makes forecasts of them.
pub(crate) struct Publisher {
    forecasts: Option<Forecasts>,
}

struct Forecasts {
    n_leads: usize,
    ids: Vec<Arc<str>>,
    engine: Arc<Mutex<Engine>>,
    clock: Arc<dyn Clock>,
}

impl Handler for Publisher {
    fn message(&mut self, _: InputId, message: Message, outputs: &mut Outputs) {
        match (message, &mut self.forecasts) {
            (Message::Measurement(measurement), None) => outputs.send(&measurement),
            (Message::Measurement(measurement), Some(forecasts)) => forecasts.make(&measurement, outputs),
            (Message::Description(description), forecasts) => {
                if let Some(forecasts) = forecasts {
                    forecasts.ids = description.signals.iter().map(|signal| signal.id.as_str().into()).collect();
                }
                outputs.describe(&description);
            }
            #[cfg(test)]
            (Message::Sample(_), _) => panic!("as a test wanted it"),
            // The sampler sends nothing else.
            _ => {}
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let leads = self.forecasts.as_ref().map(|forecasts| ("steps ahead".to_owned(), forecasts.n_leads.to_string()));
        leads.into_iter().collect()
    }
}

impl Forecasts {
    /// One of each signal. Of one that is a tick further already, the forecast comes with that tick.
    fn make(&self, measurement: &Measurement, outputs: &mut Outputs) {
        if outputs.n_readers() == 0 {
            return;
        }
        let aheads = {
            let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
            Aheads::copy(&engine, self.ids.iter().map(|id| (&**id, self.n_leads)).collect())
        };
        let aheads = aheads.finish();
        for (signal, id) in (0..).zip(&self.ids) {
            let Some(ahead) = aheads.get(id).filter(|ahead| ahead.oracle.origin == measurement.time) else { continue };
            outputs.send(&Forecast {
                number: measurement.number,
                time: measurement.time,
                completed: self.clock.wall(),
                signal,
                means: ahead.means().to_vec(),
                standard_errors: ahead.forecast.standard_errors().to_vec(),
            });
        }
    }
}

#[cfg(test)]
mod tests;
