//! Listeners of ticks besides the store, and their state.

use std::sync::{Arc, Weak};

use remote_write::Status;
use stream::EndpointStatus;
use units::Timestamp;

use super::{Hub, Tick};
use crate::catch_up::Bell;
use crate::engine::about::About;
use crate::fitter;
use crate::follow::Watched;
use crate::outlet::Outlet;
use crate::remote::Remote;

/// Listeners of ticks, and the parts that metrics show. Each takes ticks into a bounded queue of its own, so that none
/// holds the sampler up.
///
/// None of them is kept alive by the hub: they belong to the node, and some of their threads hold the hub.
#[derive(Default)]
pub(crate) struct Listeners {
    /// The queue of fits; while there is none, fits are made right after the tick.
    pub(crate) fits: Option<fitter::Queue>,
    /// The bell of the thread that lets models catch up; while there is none, they catch up right after they fell
    /// behind.
    pub(crate) bell: Option<Bell>,
    /// The servers that are written to.
    pub(crate) remotes: Vec<Weak<Remote>>,
    /// The streams that go out.
    pub(crate) outlets: Vec<Weak<Outlet>>,
    /// The streams that are followed; feeds tell of what comes.
    pub(crate) followed: Vec<Watched>,
}

/// State of writing to one server, for metrics.
#[derive(Clone, Debug)]
pub(crate) struct RemoteCounters {
    /// The name of the server.
    pub(crate) name: Arc<str>,
    pub(crate) status: Status,
    /// Samples that never came to the buffer, because it could not be written for too long.
    pub(crate) n_not_buffered: u64,
}

/// A connection, or several of one endpoint, as metrics show them.
#[derive(Debug)]
pub(crate) struct StreamGauge {
    /// The name of the stream.
    pub(crate) stream: String,
    pub(crate) status: EndpointStatus,
}

impl Listeners {
    pub(super) fn remotes(&self) -> impl Iterator<Item = Arc<Remote>> {
        self.remotes.iter().filter_map(Weak::upgrade)
    }

    fn outlets(&self) -> impl Iterator<Item = Arc<Outlet>> {
        self.outlets.iter().filter_map(Weak::upgrade)
    }
}

impl Hub {
    /// Hands samples to those who write them to servers.
    pub(super) fn offer(&self, tick: &Arc<Tick>) {
        self.listeners.remotes().for_each(|remote| remote.offer(tick));
    }

    /// Hands a tick of the host to the streams that go out.
    pub(super) fn send(&self, label: Timestamp, values: &[(Arc<str>, f64)]) {
        let unit =
            |id: &str| self.engine().get(id).map(|entry| About::unit(&entry.about).to_owned()).unwrap_or_default();
        self.listeners.outlets().for_each(|outlet| outlet.take(label, values, unit));
    }

    /// Returns the problems of servers and of streams that go out; those of followed streams are reported as problems
    /// of feeds.
    pub(super) fn problems_of_listeners(&self) -> Vec<String> {
        let mut problems: Vec<String> = self.listeners.remotes().flat_map(|remote| remote.problems()).collect();
        if let Some(now) = self.pulse().last_label {
            problems.extend(self.listeners.outlets().flat_map(|outlet| outlet.problems(now)));
        }
        problems
    }

    /// Numbers for `/metrics`, of each server.
    pub(crate) fn remote_counters(&self) -> Vec<RemoteCounters> {
        self.listeners.remotes().map(|remote| remote.counters()).collect()
    }

    /// Each endpoint of each stream, and what inlets dropped, by stream.
    pub(crate) fn stream_gauges(&self) -> (Vec<StreamGauge>, Vec<(String, u64)>) {
        let outlets: Vec<_> = self.listeners.outlets().collect();
        let outgoing = outlets.iter().map(|outlet| (outlet.name().to_owned(), outlet.status()));
        let followed = self.listeners.followed.iter().map(|watched| (watched.name().to_owned(), watched.status()));
        let gauges = outgoing.chain(followed).flat_map(|(stream, statuses)| {
            statuses.into_iter().map(move |status| StreamGauge { stream: stream.clone(), status })
        });
        let dropped = outlets.iter().map(|outlet| (outlet.name().to_owned(), outlet.n_dropped_by_inlet()));
        (gauges.collect(), dropped.collect())
    }
}
