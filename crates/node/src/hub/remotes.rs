//! The servers that are written to: what they are offered, and how writing goes.

use std::sync::Arc;

use remote_write::Status;

use super::{Hub, Tick};
use crate::remote::Remote;

/// How writing to one server goes, for metrics.
#[derive(Clone, Debug)]
pub(crate) struct RemoteCounters {
    /// What the server is called.
    pub(crate) name: Arc<str>,
    pub(crate) status: Status,
    /// Samples that never came to the buffer, because it could not be written for too long.
    pub(crate) n_not_buffered: u64,
}

impl Hub {
    /// Says once which servers are written to; from then on they are offered every sample.
    pub(crate) fn write_to(&self, remotes: Vec<Arc<Remote>>) {
        assert!(self.remotes.set(remotes).is_ok(), "a node is told once which servers it writes to");
    }

    pub(super) fn remotes(&self) -> &[Arc<Remote>] {
        self.remotes.get().map_or(&[], |remotes| remotes)
    }

    /// Hands samples to those who write them to servers. Holds nobody up.
    pub(super) fn offer(&self, tick: &Arc<Tick>) {
        self.remotes().iter().for_each(|remote| remote.offer(tick));
    }

    /// Numbers for `/metrics`, of each server.
    pub(crate) fn remote_counters(&self) -> Vec<RemoteCounters> {
        self.remotes().iter().map(|remote| remote.counters()).collect()
    }
}
