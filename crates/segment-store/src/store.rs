//! The store: a history whose runs are in containers on disk, with what was used last in memory.

mod lookup;
mod recovery;
mod room;
mod writing;

use std::collections::HashMap;

use dedup::{Anchor, AnchorTable, Gear, Hints, History, Place, Run, RunId};

use crate::catalogue::{Catalogue, Container};
use crate::growth::{Growth, N_AGES, Period, Traffic};
use crate::hints;
use crate::journal::{self, Entry, HEAD_BYTES, Head, Record};
use crate::settings::{OpenError, Settings, Statistics};
use crate::snapshot;
use crate::sparse::SparseIndex;
use crate::storage::Storage;

use writing::{Active, Writing};

/// A history on disk, for one tenant.
pub struct Store {
    settings: Settings,
    storage: Box<dyn Storage>,
    gear: Gear,
    head: Head,
    catalogue: Catalogue,
    /// Containers that are being written.
    active: HashMap<(Run, Writing), Active>,
    /// The end of each run that was written to since the store was opened.
    ends: HashMap<Run, u64>,
    sparse: SparseIndex,
    hints: Hints,
    /// Whether there are hints that are not on disk.
    has_new_hints: bool,
    /// Anchors of what is in memory: the container's slot above the offset.
    dense: AnchorTable,
    growth: Growth,
    /// The part of the statistics that periods have.
    counted: Counted,
    next_number: u64,
    /// Bytes of the journal.
    n_journal: u64,
    /// The number of those bytes that are in the last snapshot, or could not be put into one.
    n_snapshot: u64,
    /// Records in the journal of containers that are gone.
    n_removed: u64,
    /// Counts uses, so that what was not used for long is known.
    now: u64,
    statistics: Statistics,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    n_appended: u64,
    ages: [u64; N_AGES],
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
    /// Opens what is in `storage`, or begins there. Reads the last snapshot without its index, and what the journal
    /// says since: no container, and the whole journal only if the snapshot is damaged or gone.
    ///
    /// # Errors
    /// When it cannot be read, or is not what the settings say.
    pub fn open(storage: Box<dyn Storage>, settings: Settings) -> Result<Self, OpenError> {
        let mut store = Self {
            settings,
            storage,
            gear: Gear::new(&settings.key, settings.anchor_bits),
            head: Head::new(&settings.key, settings.anchor_bits, settings.sparse_bits),
            catalogue: Catalogue::default(),
            active: HashMap::new(),
            ends: HashMap::new(),
            sparse: SparseIndex::default(),
            hints: Hints::default(),
            has_new_hints: false,
            dense: AnchorTable::default(),
            growth: Growth::default(),
            counted: Counted::default(),
            next_number: 1,
            n_journal: HEAD_BYTES as u64,
            n_snapshot: HEAD_BYTES as u64,
            n_removed: 0,
            now: 0,
            statistics: Statistics::default(),
        };
        let head = store.head;
        if store.storage.size(journal::NAME).map_err(OpenError::Journal)? == 0 {
            store.storage.append(journal::NAME, &head.to_bytes()).map_err(OpenError::Journal)?;
        }
        let mut bytes = [0; HEAD_BYTES];
        match store.storage.read(journal::NAME, 0, &mut bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Err(OpenError::Format),
            read => read.map_err(OpenError::Journal)?,
        }
        head.check(&bytes)?;
        match snapshot::read(&mut *store.storage, head) {
            Some(snapshot) => store.begin_with(snapshot),
            None => store.statistics.n_rebuilt += u64::from(store.storage.size(snapshot::NAME).unwrap_or(0) > 0),
        }
        store.replay().map_err(OpenError::Journal)?;
        store.remove_strays();
        let known = |id| store.catalogue.known(id);
        if let Some(hints) = hints::read(&mut *store.storage, head, known) {
            store.hints = hints;
        }
        Ok(store)
    }

    /// Returns the state of the store, and what it did since it was opened.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let looked = self.sparse.looked();
        Statistics {
            sparse_bytes: self.sparse.n_bytes() as u64,
            filter_bytes: self.sparse.n_filter_bytes() as u64,
            n_filtered: looked.n_filtered,
            n_passed: looked.n_passed,
            n_shards_read: looked.n_shards_read,
            ..self.statistics.clone()
        }
    }

    /// The anchors that it has.
    #[must_use]
    pub fn gear(&self) -> &Gear {
        &self.gear
    }

    /// The run of this name, if it is known: unlike [`History::run`] it makes none.
    #[must_use]
    pub fn known_run(&self, id: RunId) -> Option<Run> {
        self.catalogue.known(id)
    }

    /// Returns the growth and use of the store by period, as recorded by [`Store::note`].
    #[must_use]
    pub fn periods(&self) -> &[Period] {
        self.growth.periods()
    }

    /// Remembers what passed in a period that ended just now. Times are in nanoseconds of wall time.
    pub fn note(&mut self, (begin_ns, end_ns): (i64, i64), traffic: Traffic) {
        let (ages, n_appended) = (self.statistics.ages, self.statistics.n_appended);
        let period = Period {
            begin_ns,
            end_ns,
            traffic,
            appended_bytes: n_appended - self.counted.n_appended,
            disk_bytes: self.statistics.disk_bytes,
            ages: std::array::from_fn(|i| ages[i] - self.counted.ages[i]),
        };
        self.counted = Counted { n_appended, ages };
        self.growth.push(period);
        // Without it, the period is forgotten at the end.
        let _ = self.log(&Record::Passed(Box::new(period)));
    }

    /// A container is known from here on.
    fn know(&mut self, entry: &Entry, slot: Option<u32>) {
        let slot = slot.unwrap_or_else(|| self.catalogue.slot());
        let run = self.catalogue.run(entry.run);
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
            born: self.statistics.n_ever,
            loaded: None,
        };
        self.catalogue.add(slot, container);
        self.index(&entry.sparse, slot);
    }

    fn index(&mut self, anchors: &[Anchor], slot: u32) {
        let containers = &self.catalogue.containers;
        for &anchor in anchors {
            self.sparse.set(anchor, slot, |slot| containers.contains_key(&slot));
        }
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

    fn led(&self, end: Place) -> Option<Place> {
        self.hints.get(end)
    }

    fn lead(&mut self, end: Place, next: Place) {
        self.hints.set(end, next);
        self.has_new_hints = true;
    }

    fn restore(&mut self, from: Place, bytes: &[u8]) {
        self.write_again(from, bytes);
    }
}
