//! The store: a history whose runs are in containers on disk, with what was used last in memory.

mod lookup;
mod room;
mod writing;

use std::collections::{HashMap, HashSet};

use dedup::{Anchor, AnchorTable, Gear, History, Place, Run, RunId};

use crate::catalogue::{Catalogue, Container};
use crate::container;
use crate::journal::{self, Entry, Head, Record};
use crate::settings::{OpenError, Settings, Statistics};
use crate::sparse::SparseIndex;
use crate::storage::Storage;

use writing::{Active, Writing};

/// A history on disk, for one tenant.
pub struct Store {
    settings: Settings,
    storage: Box<dyn Storage>,
    gear: Gear,
    catalogue: Catalogue,
    /// Containers that are being written.
    active: HashMap<(Run, Writing), Active>,
    /// Where each run that was written to since the store was opened ends.
    ends: HashMap<Run, u64>,
    sparse: SparseIndex,
    /// Anchors of what is in memory: the container's slot above the offset.
    dense: AnchorTable,
    next_number: u64,
    /// Counts uses, so that what was not used for long is known.
    now: u64,
    statistics: Statistics,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("settings", &self.settings)
            .field("statistics", &self.statistics)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens what is in `storage`, or begins there. Reads the journal only.
    ///
    /// # Errors
    /// When it cannot be read, or is not what the settings say.
    pub fn open(mut storage: Box<dyn Storage>, settings: Settings) -> Result<Self, OpenError> {
        let head = Head::new(&settings.key, settings.anchor_bits, settings.sparse_bits);
        let bytes = storage.read_all(journal::NAME).map_err(OpenError::Journal)?;
        let mut store = Self {
            settings,
            storage,
            gear: Gear::new(&settings.key, settings.anchor_bits),
            catalogue: Catalogue::default(),
            active: HashMap::new(),
            ends: HashMap::new(),
            sparse: SparseIndex::default(),
            dense: AnchorTable::default(),
            next_number: 1,
            now: 0,
            statistics: Statistics::default(),
        };
        if bytes.is_empty() {
            store.storage.append(journal::NAME, &head.to_bytes()).map_err(OpenError::Journal)?;
            return Ok(store);
        }
        let records = head.check(&bytes)?;
        let removed = removed(records);
        let mut rest = records;
        while let Some(record) = Record::take(&mut rest) {
            match record {
                Record::Written(entry) if !removed.contains(&entry.number) => store.know(&entry, None),
                _ => {}
            }
        }
        // What follows a half-written record would never be read.
        if !rest.is_empty() || removed.len() > store.catalogue.containers.len() {
            store.rewrite_journal(records, head).map_err(OpenError::Journal)?;
        }
        store.remove_strays();
        Ok(store)
    }

    /// What it has, and did since it was opened.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics { sparse_bytes: self.sparse.n_bytes() as u64, ..self.statistics.clone() }
    }

    /// The anchors that it has.
    #[must_use]
    pub fn gear(&self) -> &Gear {
        &self.gear
    }

    fn know(&mut self, entry: &Entry, slot: Option<u32>) {
        let slot = slot.unwrap_or_else(|| self.catalogue.slot());
        let run = self.catalogue.run(entry.run);
        let catalogue = &self.catalogue;
        self.sparse.reserve(entry.sparse.len(), |slot| catalogue.containers.contains_key(&slot));
        for &anchor in &entry.sparse {
            self.sparse.set(anchor, slot);
        }
        self.next_number = self.next_number.max(entry.number + 1);
        self.statistics.n_containers += 1;
        self.statistics.disk_bytes += u64::from(entry.n_disk);
        let container = Container {
            number: entry.number,
            run,
            start: entry.start,
            n_bytes: entry.n_bytes,
            n_disk: entry.n_disk,
            used: 0,
            born: self.statistics.n_appended,
            loaded: None,
        };
        self.catalogue.add(slot, container);
    }

    /// Drops a container from memory. Its file is another matter.
    fn forget(&mut self, slot: u32) -> Option<Container> {
        let container = self.catalogue.remove(slot)?;
        self.statistics.n_containers -= 1;
        self.statistics.disk_bytes -= u64::from(container.n_disk);
        if let Some(loaded) = &container.loaded {
            self.statistics.resident_bytes -= loaded.n_resident;
            self.dense.retain(|value| writing::slot_of(value) != slot);
        }
        Some(container)
    }

    /// Writes the journal anew, with what is still there.
    fn rewrite_journal(&mut self, mut rest: &[u8], head: Head) -> std::io::Result<()> {
        let mut bytes = head.to_bytes();
        let kept: HashSet<u64> = self.catalogue.containers.values().map(|kept| kept.number).collect();
        while let Some(record) = Record::take(&mut rest) {
            if matches!(&record, Record::Written(entry) if kept.contains(&entry.number)) {
                bytes.extend_from_slice(&record.to_bytes());
            }
        }
        // A crash in between leaves a store without a journal: an empty one, whose files are removed.
        self.storage.create(journal::NAME, &[&bytes])
    }

    /// Removes containers that the journal does not know: written when the process was ended.
    fn remove_strays(&mut self) {
        let known: HashSet<u64> = self.catalogue.containers.values().map(|known| known.number).collect();
        for name in self.storage.names().unwrap_or_default() {
            if let Some(number) = container::number(&name) {
                self.next_number = self.next_number.max(number + 1);
                if !known.contains(&number) {
                    // It takes room until the store is opened the next time.
                    let _ = self.storage.remove(&name);
                }
            }
        }
    }
}

/// The containers that were removed.
fn removed(mut records: &[u8]) -> HashSet<u64> {
    let mut removed = HashSet::new();
    while let Some(record) = Record::take(&mut records) {
        if let Record::Removed { number } = record {
            removed.insert(number);
        }
    }
    removed
}

impl History for Store {
    fn run(&mut self, id: RunId) -> Run {
        self.catalogue.run(id)
    }

    fn id(&self, run: Run) -> RunId {
        self.catalogue.runs[run.0 as usize].id
    }

    fn find(&mut self, anchor: Anchor) -> Option<Place> {
        self.look_up(anchor)
    }

    fn ahead(&mut self, from: Place) -> &[u8] {
        self.bytes_ahead(from)
    }

    fn behind(&mut self, before: Place) -> &[u8] {
        self.bytes_behind(before)
    }

    fn end(&self, run: Run) -> Place {
        Place { run, position: self.ends.get(&run).copied().unwrap_or(0) }
    }

    fn append(&mut self, run: Run, bytes: &[u8]) {
        self.write((run, Writing::End), bytes);
    }

    fn restore(&mut self, from: Place, bytes: &[u8]) {
        self.write_again(from, bytes);
    }
}
