//! Leases: who serves which partition, agreed on in a bucket whose entries expire.
//!
//! `partition.N` is whose it is, and `member.ID` that a server lives. All are renewed three times in the length of a
//! lease. A partition is taken by creating its entry, which only one can; it is renewed against the revision that it
//! had, so that a server that was suspended for longer than its lease notices that somebody else has it. Each takes its
//! share and gives up what is above it, so that who joins gets as much as the others have.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::{Duration, Instant};

use async_nats::jetstream::kv::Store;
use async_nats::jetstream::kv::UpdateErrorKind;
use bytes::Bytes;
use futures_util::StreamExt;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The partitions that this server holds.
pub(crate) struct Leases {
    store: Store,
    id: String,
    n_partitions: u32,
    length: Duration,
    /// Partitions held, each with the revision at which its lease was renewed.
    held: BTreeMap<u32, u64>,
    renewed: Instant,
}

/// Changes by a round of renewals.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) taken: BTreeSet<u32>,
    pub(crate) lost: BTreeSet<u32>,
}

impl Leases {
    pub(crate) fn new(store: Store, id: String, n_partitions: u32, length: Duration) -> Self {
        Self { store, id, n_partitions, length, held: BTreeMap::new(), renewed: clock::instant() }
    }

    /// Runs one round: renews, gives up what is above the share, and takes what nobody has.
    pub(crate) async fn round(&mut self) -> Changes {
        let mut changes = Changes::default();
        match self.try_round(&mut changes).await {
            Ok(()) => self.renewed = clock::instant(),
            // Others may have taken over what could not be renewed in time.
            Err(_) if self.renewed.elapsed() >= self.length => {
                changes.lost.extend(std::mem::take(&mut self.held).into_keys());
            }
            Err(_) => {}
        }
        // What was taken and could not be held in the same round never was ours.
        changes.taken.retain(|partition| self.held.contains_key(partition));
        changes
    }

    async fn try_round(&mut self, changes: &mut Changes) -> Result<(), Failure> {
        self.store.put(format!("member.{}", self.id), Bytes::new()).await?;
        for (partition, revision) in self.held.clone() {
            match self.store.update(key(partition), self.id.clone().into(), revision).await {
                Ok(revision) => drop(self.held.insert(partition, revision)),
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {
                    self.held.remove(&partition);
                    changes.lost.insert(partition);
                }
                Err(error) => return Err(error.into()),
            }
        }
        let (n_members, others) = self.look().await?;
        let share = (self.n_partitions as usize).div_ceil(n_members.max(1));
        while self.held.len() > share
            && let Some((partition, revision)) = self.held.pop_last()
        {
            changes.lost.insert(partition);
            self.store.delete_expect_revision(key(partition), Some(revision)).await?;
        }
        // Each begins at another place, so that those who start together do not ask for the same.
        let first = crc32fast::hash(self.id.as_bytes()) % self.n_partitions;
        for partition in (first..self.n_partitions).chain(0..first) {
            if self.held.len() >= share {
                break;
            }
            if self.held.contains_key(&partition) || others.contains(&partition) || changes.lost.contains(&partition) {
                continue;
            }
            // That another was faster is no failure.
            if let Ok(revision) = self.store.create(key(partition), self.id.clone().into()).await {
                self.held.insert(partition, revision);
                changes.taken.insert(partition);
            }
        }
        Ok(())
    }

    /// Returns the number of servers that live, and the partitions that are held.
    async fn look(&self) -> Result<(usize, HashSet<u32>), Failure> {
        let mut keys = self.store.keys().await?;
        let (mut n_members, mut taken) = (0, HashSet::new());
        while let Some(key) = keys.next().await {
            match key?.split_once('.') {
                Some(("member", _)) => n_members += 1,
                Some(("partition", number)) => taken.extend(number.parse::<u32>()),
                _ => {}
            }
        }
        Ok((n_members, taken))
    }

    /// Gives everything up, so that others need not wait for the end of the leases.
    pub(crate) async fn give_up(&mut self) -> Result<(), Failure> {
        self.store.delete(format!("member.{}", self.id)).await?;
        while let Some((partition, revision)) = self.held.pop_last() {
            self.store.delete_expect_revision(key(partition), Some(revision)).await?;
        }
        Ok(())
    }
}

fn key(partition: u32) -> String {
    format!("partition.{partition}")
}
