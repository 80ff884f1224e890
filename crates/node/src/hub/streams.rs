//! The streams of a node: those that go out, and how the connections of all of them are.

use std::sync::{Arc, MutexGuard, PoisonError};

use stream::{EndpointStatus, OpenError, Running};

use super::Hub;
use crate::engine::about::About;
use crate::error::StartError;
use crate::follow::TakeIn;
use crate::outlet::{Home, Outlet, OutletSettings};

/// The streams of a node.
#[derive(Default)]
pub(crate) struct Streams {
    outlets: Vec<Outlet>,
    followed: Vec<Watched>,
}

/// A stream that is followed, as metrics see it.
pub(crate) struct Watched {
    name: String,
    running: Arc<Running<TakeIn>>,
}

/// A connection, or several of one endpoint, as metrics show them.
#[derive(Debug)]
pub(crate) struct StreamGauge {
    /// What the stream is called.
    pub(crate) stream: String,
    pub(crate) status: EndpointStatus,
}

impl Watched {
    pub(crate) fn followed(name: String, running: Arc<Running<TakeIn>>) -> Self {
        Self { name, running }
    }

    pub(crate) fn status(&self) -> Vec<EndpointStatus> {
        self.running.status()
    }
}

impl Hub {
    /// Sends these streams from here on, and shows how those that are followed are.
    ///
    /// # Errors
    /// [`StartError`] when an endpoint cannot be had, or two streams have the same name.
    pub(crate) fn start_streams(&self, outlets: Vec<OutletSettings>, followed: Vec<Watched>) -> Result<(), StartError> {
        let home = Home {
            host: self.facts.info.host.clone(),
            model: self.facts.info.model.clone(),
            step: self.engine().sensor_plan().step,
            engine: Arc::clone(&self.engine),
            clock: Arc::clone(&self.clock),
        };
        let mut names = std::collections::BTreeSet::new();
        if let Some(twice) = outlets.iter().find(|outlet| !names.insert(&outlet.name)) {
            return Err(StartError::StreamTwice { stream: twice.name.clone() });
        }
        let outlets: Result<_, OpenError> = outlets.into_iter().map(|outlet| Outlet::start(outlet, &home)).collect();
        *self.streams() = Streams { outlets: outlets?, followed };
        Ok(())
    }

    /// Sends a tick of the host.
    pub(super) fn send(&self, label: units::Timestamp, values: &[(Arc<str>, f64)]) {
        let unit =
            |id: &str| self.engine().get(id).map(|entry| About::unit(&entry.about).to_owned()).unwrap_or_default();
        self.streams().outlets.iter_mut().for_each(|outlet| outlet.take(label, values, unit));
    }

    pub(super) fn has_outlets(&self) -> bool {
        !self.streams().outlets.is_empty()
    }

    /// What is wrong with streams that go out; those that are followed tell it as feeds.
    pub(super) fn problems_of_streams(&self) -> Vec<String> {
        let Some(now) = self.pulse().last_label else { return Vec::new() };
        self.streams().outlets.iter().flat_map(|outlet| outlet.problems(now)).collect()
    }

    /// Each endpoint of each stream, and what inlets dropped, by stream.
    pub(crate) fn stream_gauges(&self) -> (Vec<StreamGauge>, Vec<(String, u64)>) {
        let streams = self.streams();
        let outgoing = streams.outlets.iter().map(|outlet| (outlet.name().to_owned(), outlet.status()));
        let followed = streams.followed.iter().map(|watched| (watched.name.clone(), watched.status()));
        let gauges = outgoing.chain(followed).flat_map(|(stream, statuses)| {
            statuses.into_iter().map(move |status| StreamGauge { stream: stream.clone(), status })
        });
        let dropped = streams.outlets.iter().map(|outlet| (outlet.name().to_owned(), outlet.n_dropped_by_inlet()));
        (gauges.collect(), dropped.collect())
    }

    /// Ends the streams that go out; readers take what is there for them.
    pub(super) fn close_streams(&self) {
        let streams = std::mem::take(&mut *self.streams());
        streams.outlets.into_iter().for_each(Outlet::stop);
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
