//! Status of a tunnel, for whoever connects to a Unix socket in the folder of its store.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use segment_store::{Period, Statistics, Traffic};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixListener;

use crate::counters::{Counters, Counts};
use crate::memory::Memory;
use crate::steering::Steering;

/// The counts of a tunnel, and the state of its store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// `near` or `far`.
    pub end: String,
    /// The addresses at which the tunnel listens.
    pub listens: Vec<String>,
    /// The counts since the tunnel was started.
    pub counts: Counts,
    /// The level that is sent at.
    pub level: String,
    /// The state of its store.
    pub store: StoreStatus,
    /// The traffic over the store's life, in a minute's periods or longer ones, the oldest first.
    pub history: Vec<PeriodStatus>,
}

/// A period in which something passed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PeriodStatus {
    /// When it began, in nanoseconds of wall time.
    pub begin_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    /// Bytes that local programs gave.
    pub given_bytes: u64,
    /// Bytes among them that were known.
    pub matched_bytes: u64,
    /// Bytes of groups that were sent for them.
    pub sent_bytes: u64,
    /// Bytes that came for local programs.
    pub received_bytes: u64,
    /// Bytes of groups that came for them.
    pub came_bytes: u64,
    /// Bytes that the store appended.
    pub appended_bytes: u64,
    /// Bytes on disk at the end.
    pub disk_bytes: u64,
    /// Hits by age, as [`StoreStatus::hit_ages`].
    pub hit_ages: [u64; segment_store::N_AGES],
}

/// The state of a store, and what it did since it was opened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoreStatus {
    /// Containers on disk.
    pub containers: u64,
    /// Their bytes.
    pub disk_bytes: u64,
    /// Data and anchors in memory.
    pub memory_bytes: u64,
    /// The sparse index in memory, with its filters.
    pub index_bytes: u64,
    /// Its filters.
    pub filter_bytes: u64,
    /// Sparse anchors that the filter knew to be strange.
    pub filtered_total: u64,
    /// Strange ones that it let pass.
    pub filter_passed_total: u64,
    /// Shards of the index that were read from the snapshot.
    pub shards_read_total: u64,
    /// Snapshots that were written.
    pub snapshots_total: u64,
    /// Times that the index had to be made again.
    pub rebuilt_total: u64,
    /// Bytes that were ever appended.
    pub ever_appended_bytes: u64,
    /// Bytes appended.
    pub appended_bytes_total: u64,
    /// Anchors that were looked for.
    pub lookups_total: u64,
    /// Those that were found.
    pub hits_total: u64,
    /// Containers that were loaded from disk.
    pub loaded_total: u64,
    /// Containers that were damaged or gone.
    pub lost_total: u64,
    /// Containers that could not be written.
    pub unwritten_total: u64,
    /// Containers that were given up for the budget.
    pub given_up_total: u64,
    /// Hits by how many bytes were written since: entry `i` counts those from 2^(16+i) on, the first also those with
    /// fewer.
    pub hit_ages: Vec<u64>,
}

impl From<Statistics> for StoreStatus {
    fn from(found: Statistics) -> Self {
        Self {
            containers: found.n_containers,
            disk_bytes: found.disk_bytes,
            memory_bytes: found.resident_bytes,
            index_bytes: found.sparse_bytes,
            filter_bytes: found.filter_bytes,
            filtered_total: found.n_filtered,
            filter_passed_total: found.n_passed,
            shards_read_total: found.n_shards_read,
            snapshots_total: found.n_snapshots,
            rebuilt_total: found.n_rebuilt,
            ever_appended_bytes: found.n_ever,
            appended_bytes_total: found.n_appended,
            lookups_total: found.n_looked_for,
            hits_total: found.n_found,
            loaded_total: found.n_loaded,
            lost_total: found.n_lost,
            unwritten_total: found.n_unwritten,
            given_up_total: found.n_given_up,
            hit_ages: found.ages.to_vec(),
        }
    }
}

impl From<Period> for PeriodStatus {
    fn from(period: Period) -> Self {
        let Traffic { given_bytes, matched_bytes, sent_bytes, received_bytes, came_bytes } = period.traffic;
        Self {
            begin_ns: period.begin_ns,
            end_ns: period.end_ns,
            given_bytes,
            matched_bytes,
            sent_bytes,
            received_bytes,
            came_bytes,
            appended_bytes: period.appended_bytes,
            disk_bytes: period.disk_bytes,
            hit_ages: period.ages,
        }
    }
}

/// Says how a running end does.
#[derive(Clone)]
pub struct Watcher(Teller);

impl std::fmt::Debug for Watcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watcher").field("end", &self.0.end).finish_non_exhaustive()
    }
}

impl Watcher {
    pub(crate) fn new(teller: &Teller) -> Self {
        Self(teller.clone())
    }

    /// Returns the counts since the tunnel was started.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.0.counters.counts()
    }
}

/// The source of the status.
#[derive(Clone)]
pub(crate) struct Teller {
    pub end: &'static str,
    pub listens: Vec<String>,
    pub counters: Arc<Counters>,
    pub memory: Memory,
    pub steering: Steering,
}

impl Teller {
    pub fn status(&self) -> Status {
        Status {
            end: self.end.to_owned(),
            listens: self.listens.clone(),
            counts: self.counters.counts(),
            level: self.steering.level().to_string(),
            store: self.memory.statistics().into(),
            history: self.memory.periods().into_iter().map(PeriodStatus::from).collect(),
        }
    }

    /// Answers at `path`, where a socket of an earlier process may be left.
    pub fn listen(&self, path: &Path) -> io::Result<UnixListener> {
        if std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
            std::fs::remove_file(path)?;
        }
        UnixListener::bind(path)
    }

    /// Tells whoever connects; never ends.
    pub async fn tell(&self, listener: UnixListener) {
        loop {
            if let Ok((mut client, _)) = listener.accept().await {
                let teller = self.clone();
                // Who does not read it delays nobody else.
                tokio::spawn(async move {
                    let status = tokio::task::spawn_blocking(move || teller.status()).await?;
                    client.write_all(&serde_json::to_vec(&status)?).await
                });
            } else {
                // There are no descriptors left; some will be.
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}
