//! Appending: in memory until a container is full or finished, and on disk from then on.

use dedup::{Anchor, Place, Run, RunId};

use super::Store;
use crate::catalogue::Loaded;
use crate::container::{self, BLOCK_BYTES};
use crate::hints;
use crate::journal::{Entry, Record};

/// Bytes of memory for an anchor: two slots of sixteen bytes in the table, and its entry in the container's outline.
pub(super) const ANCHOR_MEMORY_BYTES: u64 = 2 * 16 + 16;

/// The part of a run that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Writing {
    /// The data that come at its end.
    End,
    /// The data that were forgotten.
    Again,
}

/// A container that is being written.
#[derive(Debug)]
pub(super) struct Active {
    pub slot: u32,
    pub start: u64,
    pub data: Vec<u8>,
    hash: u64,
    anchors: Vec<(Anchor, u32)>,
}

impl Active {
    /// Returns the position of the next byte.
    pub fn end(&self) -> u64 {
        self.start + self.data.len() as u64
    }
}

/// The value of an anchor of what is in memory.
pub(super) fn value(slot: u32, offset: u32) -> u64 {
    u64::from(slot) << 32 | u64::from(offset)
}

/// The container in such a value.
pub(super) fn slot_of(value: u64) -> u32 {
    (value >> 32) as u32
}

impl Store {
    /// Writes what is still in memory only of all runs, so that it outlives the process. What comes next is in
    /// containers of its own.
    pub fn flush(&mut self) {
        let all: Vec<(Run, Writing)> = self.active.keys().copied().collect();
        for key in all {
            self.seal(key);
        }
        if std::mem::take(&mut self.has_new_hints) {
            let runs: Vec<RunId> = self.catalogue.runs.iter().map(|run| run.id).collect();
            // Without them, more is sent after a restart.
            let written = hints::write(&mut *self.storage, self.head, &self.hints, &runs);
            self.statistics.n_unwritten += u64::from(written.is_err());
        }
    }

    /// Writes what is still in memory only of one run, which is complete, and what was restored of all.
    pub fn finish(&mut self, run: Run) {
        let restored: Vec<_> = self.active.keys().copied().filter(|(_, writing)| *writing == Writing::Again).collect();
        restored.into_iter().for_each(|key| self.seal(key));
        self.seal((run, Writing::End));
        self.ends.remove(&run);
    }

    /// Returns the number of bytes that would be lost if the process ended now.
    #[must_use]
    pub fn n_unflushed(&self) -> usize {
        self.active.values().map(|active| active.data.len()).sum()
    }

    /// Writes bytes of a run where they were, in place of what is there.
    pub(super) fn write_again(&mut self, from: Place, bytes: &[u8]) {
        let key = (from.run, Writing::Again);
        if self.active.get(&key).is_some_and(|active| active.end() != from.position) {
            self.seal(key);
        }
        if let Some(slot) = self.catalogue.find(from.run, from.position) {
            self.statistics.n_lost += 1;
            self.give_up(slot);
        }
        self.begin(key, from.position);
        self.write(key, bytes);
    }

    pub(super) fn write(&mut self, key: (Run, Writing), mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let n_written = self.active.get(&key).map_or(0, |active| active.data.len());
            if n_written == 0 && key.1 == Writing::End {
                self.begin(key, self.ends.get(&key.0).copied().unwrap_or(0));
            }
            let (part, rest) = bytes.split_at((self.settings.container_bytes - n_written).min(bytes.len()));
            self.write_part(key, part);
            bytes = rest;
            let active = &self.active[&key];
            if active.data.len() == self.settings.container_bytes {
                let end = active.end();
                self.seal(key);
                if key.1 == Writing::Again {
                    self.begin(key, end);
                }
            }
        }
    }

    fn begin(&mut self, key: (Run, Writing), start: u64) {
        let catalogue = &mut self.catalogue;
        self.active.entry(key).or_insert_with(|| Active {
            slot: catalogue.slot(),
            start,
            data: Vec::new(),
            hash: 0,
            anchors: Vec::new(),
        });
    }

    fn write_part(&mut self, key: (Run, Writing), bytes: &[u8]) {
        let active = self.active.get_mut(&key).expect("a container was begun");
        let base = active.data.len();
        active.data.extend_from_slice(bytes);
        let (mut at, mut last) = (0, None);
        while let Some(taken) = self.gear.next_anchor(&mut active.hash, &bytes[at..]) {
            at += taken;
            // In a stretch of one byte every hash is the same: the first place is enough.
            if last.replace(active.hash) != Some(active.hash) {
                let (anchor, offset) = (Anchor(active.hash), (base + at) as u32);
                active.anchors.push((anchor, offset));
                self.dense.set(anchor, value(active.slot, offset));
            }
        }
        if key.1 == Writing::End {
            *self.ends.entry(key.0).or_insert(0) += bytes.len() as u64;
        }
        self.statistics.n_appended += bytes.len() as u64;
        self.statistics.n_ever += bytes.len() as u64;
    }

    /// Writes a container that is full or finished. One that cannot be written is forgotten: whoever needs it asks for
    /// it.
    fn seal(&mut self, key: (Run, Writing)) {
        let run = key.0;
        let Some(active) = self.active.remove(&key).filter(|active| !active.data.is_empty()) else {
            return;
        };
        self.make_room_on_disk(active.data.len() as u64);
        let (slot, number) = (active.slot, self.next_number);
        self.next_number += 1;
        let sparse: Vec<Anchor> =
            active.anchors.iter().map(|(anchor, _)| *anchor).filter(|&a| self.is_sparse(a)).collect();
        let n_anchors = active.anchors.len() as u64;
        let written = container::write(&mut *self.storage, number, &active.data, active.anchors).and_then(|written| {
            let record = Record::Written(Entry {
                number,
                run: self.catalogue.runs[run.0 as usize].id,
                start: active.start,
                n_bytes: active.data.len() as u32,
                n_disk: u32::try_from(written.1).unwrap_or(u32::MAX),
                sparse,
            });
            self.log(&record)?;
            Ok((written.0, record))
        });
        let Ok((outline, Record::Written(entry))) = written else {
            self.statistics.n_unwritten += 1;
            self.dense.retain(|value| slot_of(value) != slot);
            return;
        };
        self.know(&entry, Some(slot));
        let blocks = active.data.chunks(BLOCK_BYTES).map(|block| Some(block.into())).collect();
        let n_resident = active.data.len() as u64 + n_anchors * ANCHOR_MEMORY_BYTES;
        self.statistics.resident_bytes += n_resident;
        self.now += 1;
        let container = self.catalogue.containers.get_mut(&slot).expect("it was just added");
        container.used = self.now;
        container.loaded = Some(Loaded { outline, blocks, n_resident });
        self.make_room_in_memory();
        self.snapshot_when_due();
    }

    pub(super) fn is_sparse(&self, anchor: Anchor) -> bool {
        let n_bits = self.settings.anchor_bits + self.settings.sparse_bits;
        anchor.0 >> (64 - n_bits) == 0
    }
}
