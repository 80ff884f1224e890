//! Finding anchors and reading bytes, from memory or from disk.

use dedup::{Anchor, Place, Run};

use super::Store;
use super::writing::{ANCHOR_MEMORY_BYTES, Writing, slot_of, value};
use crate::catalogue::Loaded;
use crate::container::{BLOCK_BYTES, Lost, Outline};

/// The most blocks that are read at once: 1 MiB. A random read of one takes about as long as moving it, so that
/// reading on is nearly free, and what was read in vain takes memory from others.
const N_READ_AHEAD: usize = 16;

impl Store {
    pub(super) fn look_up(&mut self, anchor: Anchor) -> Option<Place> {
        self.statistics.n_looked_for += 1;
        if self.dense.get(anchor).is_none() && self.is_sparse(anchor) {
            let slot = self.look_up_sparse(anchor)?;
            self.load(slot);
        }
        let found = self.dense.get(anchor)?;
        let (slot, offset) = (slot_of(found), u64::from(found as u32));
        self.now += 1;
        let (run, start, age) = match self.catalogue.containers.get_mut(&slot) {
            Some(container) => {
                container.used = self.now;
                (container.run, container.start, self.statistics.n_ever - container.born)
            }
            None => {
                let ((run, _), active) = self.active.iter().find(|(_, active)| active.slot == slot)?;
                (*run, active.start, active.data.len() as u64 - offset.min(active.data.len() as u64))
            }
        };
        self.statistics.n_found += 1;
        self.statistics.ages[(age.max(1 << 16).ilog2() as usize - 16).min(31)] += 1;
        Some(Place { run, position: start + offset })
    }

    fn look_up_sparse(&mut self, anchor: Anchor) -> Option<u32> {
        let containers = &self.catalogue.containers;
        let found = self.sparse.get(anchor, &mut *self.storage, |slot| containers.contains_key(&slot));
        found.unwrap_or_else(|_| {
            self.rebuild_index();
            let containers = &self.catalogue.containers;
            // It is all in memory.
            self.sparse.get(anchor, &mut *self.storage, |slot| containers.contains_key(&slot)).ok().flatten()
        })
    }

    pub(super) fn bytes_ahead(&mut self, from: Place) -> &[u8] {
        if let Some(key) = self.active_with(from.run, from.position) {
            let active = &self.active[&key];
            return &active.data[(from.position - active.start) as usize..];
        }
        let Some((slot, offset)) = self.locate(from.run, from.position) else {
            return &[];
        };
        let block = self.block(slot, offset / BLOCK_BYTES);
        block.and_then(|block| block.get(offset % BLOCK_BYTES..)).unwrap_or_default()
    }

    pub(super) fn bytes_behind(&mut self, before: Place) -> &[u8] {
        let Some(last) = before.position.checked_sub(1) else {
            return &[];
        };
        if let Some(key) = self.active_with(before.run, last) {
            let active = &self.active[&key];
            return &active.data[..(before.position - active.start) as usize];
        }
        let Some((slot, offset)) = self.locate(before.run, last) else {
            return &[];
        };
        let block = self.block(slot, offset / BLOCK_BYTES);
        block.and_then(|block| block.get(..=offset % BLOCK_BYTES)).unwrap_or_default()
    }

    /// Returns the key of the container being written that has this byte.
    fn active_with(&self, run: Run, position: u64) -> Option<(Run, Writing)> {
        let keys = [(run, Writing::End), (run, Writing::Again)];
        keys.into_iter()
            .find(|key| self.active.get(key).is_some_and(|held| (held.start..held.end()).contains(&position)))
    }

    fn locate(&self, run: Run, position: u64) -> Option<(u32, usize)> {
        let slot = self.catalogue.find(run, position)?;
        Some((slot, (position - self.catalogue.containers[&slot].start) as usize))
    }

    fn block(&mut self, slot: u32, idx: usize) -> Option<&[u8]> {
        self.load(slot);
        self.now += 1;
        self.catalogue.containers.get_mut(&slot)?.used = self.now;
        let is_there = self.catalogue.containers.get(&slot)?.loaded.as_ref()?.blocks.get(idx)?.is_some();
        if !is_there {
            let read = self.read_blocks(slot, idx);
            self.kept_or_lost(slot, read)?;
        }
        self.catalogue.containers.get(&slot)?.loaded.as_ref()?.blocks.get(idx)?.as_deref()
    }

    fn read_blocks(&mut self, slot: u32, first: usize) -> Result<(), Lost> {
        // As much as was read right before this: what is read in a row is read twice as much at a time, until the
        // limit.
        let n_wanted = self.n_read_before(slot, first).clamp(1, N_READ_AHEAD);
        let container = self.catalogue.containers.get_mut(&slot).expect("the container is known");
        let loaded = container.loaded.as_mut().expect("the container is loaded");
        let n_free = loaded.blocks[first..].iter().take(n_wanted).take_while(|block| block.is_none()).count();
        let last = first + n_free - 1;
        let n_bytes = container.n_bytes as usize;
        let read = loaded.outline.read_blocks(&mut *self.storage, container.number, n_bytes, (first, last))?;
        for (idx, block) in (first..).zip(read) {
            loaded.n_resident += block.len() as u64;
            self.statistics.resident_bytes += block.len() as u64;
            loaded.blocks[idx] = Some(block);
        }
        container.used = self.now;
        self.make_room_in_memory();
        Ok(())
    }

    /// Returns the number of blocks of a run that are in memory right before one: of this container, or of the one
    /// before it.
    fn n_read_before(&self, slot: u32, idx: usize) -> usize {
        let n_at_end = |slot: u32, idx: usize| -> usize {
            let loaded = self.catalogue.containers.get(&slot).and_then(|container| container.loaded.as_ref());
            let blocks = loaded.map_or(&[][..], |loaded| &loaded.blocks);
            blocks[..idx.min(blocks.len())].iter().rev().take(N_READ_AHEAD).take_while(|block| block.is_some()).count()
        };
        if idx > 0 {
            return n_at_end(slot, idx);
        }
        let container = &self.catalogue.containers[&slot];
        let before = container.start.checked_sub(1).and_then(|last| self.catalogue.find(container.run, last));
        before.map_or(0, |before| n_at_end(before, usize::MAX))
    }

    /// Has the anchors of a container in memory.
    fn load(&mut self, slot: u32) {
        let Some(container) = self.catalogue.containers.get(&slot).filter(|container| container.loaded.is_none())
        else {
            return;
        };
        let read = Outline::read(&mut *self.storage, container.number, container.n_bytes as usize);
        let Some(outline) = self.kept_or_lost(slot, read) else {
            return;
        };
        for &(anchor, offset) in &outline.anchors {
            // What is in memory was used later, or written.
            if self.dense.get(anchor).is_none() {
                self.dense.set(anchor, value(slot, offset));
            }
        }
        let n_resident = outline.anchors.len() as u64 * ANCHOR_MEMORY_BYTES;
        self.now += 1;
        self.statistics.n_loaded += 1;
        self.statistics.resident_bytes += n_resident;
        let container = self.catalogue.containers.get_mut(&slot).expect("the container is known");
        container.used = self.now;
        let blocks = (0..outline.n_blocks()).map(|_| None).collect();
        container.loaded = Some(Loaded { outline, blocks, n_resident });
        self.make_room_in_memory();
    }

    /// Returns the data read, or nothing: a container that cannot be read is forgotten, and its file removed.
    fn kept_or_lost<T>(&mut self, slot: u32, read: Result<T, Lost>) -> Option<T> {
        read.inspect_err(|_| {
            self.statistics.n_lost += 1;
            self.give_up(slot);
        })
        .ok()
    }
}
