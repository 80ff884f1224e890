//! Recovery of what outlives the process: the journal, its snapshots, and what is made of them when a store is opened.

use std::collections::{HashMap, HashSet};

use super::Store;
use crate::container;
use crate::hints;
use crate::journal::{self, HEAD_BYTES, Record};
use crate::snapshot::{self, Snapshot, Standing};
use crate::sparse::SparseIndex;

/// The part of the journal that is read again when a store is opened: one in so many bytes, and at most so many times
/// [`Settings::tail_bytes`](crate::Settings::tail_bytes).
const TAIL_SHARE: u64 = 32;
const TAIL_TIMES: u64 = 4;

impl Store {
    /// Adds a record to the journal.
    ///
    /// # Errors
    /// When it cannot be written; nothing of it is there then.
    pub(super) fn log(&mut self, record: &Record) -> std::io::Result<()> {
        let bytes = record.to_bytes();
        if let Err(error) = self.storage.append(journal::NAME, &bytes) {
            // What would follow a half-written record would never be read. If this fails too, the next process cuts it
            // off.
            let _ = self.storage.cut(journal::NAME, self.n_journal);
            return Err(error);
        }
        self.n_journal += bytes.len() as u64;
        Ok(())
    }

    /// Writes a snapshot when much of the journal would have to be read without it, and the journal anew when most of
    /// it is of what is gone.
    pub(super) fn snapshot_when_due(&mut self) {
        let tail = self.settings.tail_bytes;
        let n_due = (self.n_snapshot / TAIL_SHARE).clamp(tail, TAIL_TIMES.saturating_mul(tail));
        if self.n_journal - self.n_snapshot < n_due {
            return;
        }
        if self.n_removed > self.catalogue.containers.len() as u64 {
            // It stays as long as it is.
            let _ = self.rewrite_journal();
        }
        let standing = Standing {
            head: self.head,
            n_journal: self.n_journal,
            n_removed: self.n_removed,
            next_number: self.next_number,
            n_ever: self.statistics.n_ever,
        };
        let written = snapshot::write(&mut *self.storage, standing, &self.catalogue, &mut self.sparse, &self.growth);
        match written {
            Ok(()) => self.statistics.n_snapshots += 1,
            Err(_) => {
                self.statistics.n_unwritten += 1;
                // Half a snapshot only takes room.
                let _ = self.storage.remove(snapshot::NEXT);
            }
        }
        // After a failure, the next try is when as much has come again.
        self.n_snapshot = self.n_journal;
    }

    pub(super) fn begin_with(&mut self, snapshot: Snapshot) {
        let Snapshot { standing, catalogue, sparse, growth } = snapshot;
        (self.catalogue, self.sparse, self.growth) = (catalogue, sparse, growth);
        (self.n_journal, self.n_snapshot) = (standing.n_journal, standing.n_journal);
        (self.n_removed, self.next_number) = (standing.n_removed, standing.next_number);
        let containers = self.catalogue.containers.values();
        self.now = containers.clone().map(|held| held.used).max().unwrap_or(0);
        self.statistics.n_containers = containers.len() as u64;
        self.statistics.disk_bytes = containers.map(|held| u64::from(held.n_disk)).sum();
        self.statistics.n_ever = standing.n_ever;
    }

    /// Reads what the journal says beyond the snapshot, and cuts off what a crash left half written.
    pub(super) fn replay(&mut self) -> std::io::Result<()> {
        let bytes = self.journal_from(self.n_journal)?;
        let mut slots: HashMap<u64, u32> =
            self.catalogue.containers.iter().map(|(&slot, held)| (held.number, slot)).collect();
        let mut rest = &bytes[..];
        while let Some(record) = Record::take(&mut rest) {
            match record {
                Record::Written(entry) => {
                    self.statistics.n_ever += u64::from(entry.n_bytes);
                    let slot = self.catalogue.slot();
                    slots.insert(entry.number, slot);
                    self.know(&entry, Some(slot));
                }
                Record::Removed { number } => {
                    self.n_removed += 1;
                    if let Some(slot) = slots.remove(&number) {
                        self.forget(slot);
                    }
                }
                Record::Passed(period) => self.growth.push(*period),
            }
        }
        self.statistics.n_replayed = (bytes.len() - rest.len()) as u64;
        self.n_journal += self.statistics.n_replayed;
        if rest.is_empty() { Ok(()) } else { self.storage.cut(journal::NAME, self.n_journal) }
    }

    /// Makes the index again from the whole journal, after a shard of the snapshot was found to be damaged.
    pub(super) fn rebuild_index(&mut self) {
        self.statistics.n_rebuilt += 1;
        self.sparse = SparseIndex::default();
        let slots: HashMap<u64, u32> =
            self.catalogue.containers.iter().map(|(&slot, held)| (held.number, slot)).collect();
        // What cannot be read is not known.
        let bytes = self.journal_from(HEAD_BYTES as u64).unwrap_or_default();
        let mut rest = &bytes[..];
        while let Some(record) = Record::take(&mut rest) {
            if let Record::Written(entry) = record
                && let Some(&slot) = slots.get(&entry.number)
            {
                self.index(&entry.sparse, slot);
            }
        }
    }

    fn journal_from(&mut self, begin: u64) -> std::io::Result<Vec<u8>> {
        let n_all = self.storage.size(journal::NAME)?;
        let n_bytes = usize::try_from(n_all.saturating_sub(begin)).map_err(std::io::Error::other)?;
        let mut bytes = vec![0; n_bytes];
        self.storage.read(journal::NAME, begin, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes the journal anew, with what is still there. The snapshot is not of it.
    fn rewrite_journal(&mut self) -> std::io::Result<()> {
        let old = self.journal_from(HEAD_BYTES as u64)?;
        let (mut rest, mut bytes) = (&old[..], self.head.to_bytes());
        let kept: HashSet<u64> = self.catalogue.containers.values().map(|kept| kept.number).collect();
        while let Some(record) = Record::take(&mut rest) {
            if matches!(&record, Record::Written(entry) if kept.contains(&entry.number)) {
                bytes.extend_from_slice(&record.to_bytes());
            }
        }
        for period in self.growth.periods() {
            bytes.extend_from_slice(&Record::Passed(Box::new(*period)).to_bytes());
        }
        self.storage.create(journal::NEXT, &[&bytes])?;
        self.storage.rename(journal::NEXT, journal::NAME)?;
        (self.n_journal, self.n_removed) = (bytes.len() as u64, 0);
        Ok(())
    }

    /// Removes what the journal does not know: written when the process was ended.
    pub(super) fn remove_strays(&mut self) {
        let known: HashSet<u64> = self.catalogue.containers.values().map(|known| known.number).collect();
        for name in self.storage.names().unwrap_or_default() {
            let number = container::number(&name);
            self.next_number = self.next_number.max(number.map_or(0, |number| number + 1));
            let is_stray = number.is_some_and(|number| !known.contains(&number));
            if is_stray || [journal::NEXT, snapshot::NEXT, hints::NEXT].contains(&&name[..]) {
                // It takes room until the store is opened the next time.
                let _ = self.storage.remove(&name);
            }
        }
    }
}
