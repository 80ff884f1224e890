//! Index from a sparse anchor to the container to look in, for everything that is on disk: eight bytes a slot, a
//! filter before them, in shards that are read from the last snapshot when they are first needed.

use dedup::Anchor;
use dedup::two_level::Filter;

use crate::container::Lost;
use crate::storage::Storage;

/// Shards, chosen by the highest bits of an anchor's hash. Of a terabyte each has some 30,000 anchors, 350 KB.
const SHARD_BITS: u32 = 12;
pub(crate) const N_SHARDS: usize = 1 << SHARD_BITS;
/// The number of bytes that are read or written at once.
const N_PIECE: usize = 1 << 20;
const SLOT_BYTES: usize = size_of::<u64>();

/// Open addressing within shards. A slot has 32 bits of the anchor's hash beside those that choose the shard, by which
/// it lies where it does, and 32 of the container, plus one; zero is free.
///
/// With 122 million sparse anchors, a terabyte's, one strange anchor in 140,000 that passes the filter has the bits of
/// a known one.
#[derive(Debug)]
pub(crate) struct SparseIndex {
    shards: Vec<Shard>,
    statistics: Looked,
}

/// The results of lookups.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Looked {
    /// The filter knew that the anchor is strange.
    pub n_filtered: u64,
    /// The filter let a strange anchor pass.
    pub n_passed: u64,
    /// Shards that were read.
    pub n_shards_read: u64,
}

#[derive(Debug)]
struct Shard {
    filter: Filter,
    n_taken: usize,
    slots: Slots,
}

#[derive(Debug)]
enum Slots {
    Here(Vec<u64>),
    /// Slots in the snapshot, and those that were set since.
    Stored(Stored, Vec<u64>),
}

/// The place of a shard's slots in the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub at: u64,
    pub n_slots: u32,
    pub n_taken: u32,
    pub checksum: u32,
}

/// A shard without its slots: what is read when a store is opened.
#[derive(Debug)]
pub(crate) struct ShardOutline {
    pub stored: Stored,
    pub filter: Filter,
}

impl Default for SparseIndex {
    fn default() -> Self {
        let shard = || Shard { filter: Filter::new(0), n_taken: 0, slots: Slots::Here(Vec::new()) };
        Self { shards: (0..N_SHARDS).map(|_| shard()).collect(), statistics: Looked::default() }
    }
}

impl SparseIndex {
    /// The index of a snapshot, of which no shard has been read.
    pub fn stored(outlines: Vec<ShardOutline>) -> Self {
        let shards = outlines.into_iter().map(|outline| Shard {
            filter: outline.filter,
            n_taken: outline.stored.n_taken as usize,
            slots: Slots::Stored(outline.stored, Vec::new()),
        });
        Self { shards: shards.collect(), statistics: Looked::default() }
    }

    /// Bytes of memory that it takes, filters and slots.
    pub fn n_bytes(&self) -> usize {
        self.shards.iter().map(Shard::n_bytes).sum()
    }

    /// Bytes among them that are filters.
    pub fn n_filter_bytes(&self) -> usize {
        self.shards.iter().map(|shard| size_of_val(shard.filter.words())).sum()
    }

    pub fn looked(&self) -> Looked {
        self.statistics
    }

    /// The container of an anchor.
    ///
    /// # Errors
    /// When the shard cannot be read from the snapshot.
    pub fn get(
        &mut self,
        anchor: Anchor,
        storage: &mut dyn Storage,
        is_there: impl Fn(u32) -> bool,
    ) -> Result<Option<u32>, Lost> {
        let (shard, tag) = place(anchor);
        let shard = &mut self.shards[shard];
        if !shard.filter.may_have(u64::from(tag)) {
            self.statistics.n_filtered += 1;
            return Ok(None);
        }
        if let Slots::Stored(stored, pending) = &mut shard.slots {
            let slots = read(*stored, storage)?;
            let pending = std::mem::take(pending);
            shard.slots = Slots::Here(slots);
            self.statistics.n_shards_read += 1;
            pending.into_iter().for_each(|slot| shard.put(slot, &is_there));
        }
        let found = shard.get(tag);
        self.statistics.n_passed += u64::from(found.is_none());
        Ok(found)
    }

    /// Sets the container of an anchor, in place of an earlier one. Those of containers that are gone make room.
    pub fn set(&mut self, anchor: Anchor, container: u32, is_there: impl Fn(u32) -> bool) {
        let (shard, tag) = place(anchor);
        let shard = &mut self.shards[shard];
        let slot = u64::from(tag) << 32 | u64::from(container + 1);
        match &mut shard.slots {
            Slots::Here(_) => shard.put(slot, &is_there),
            Slots::Stored(_, pending) => {
                pending.push(slot);
                shard.filter.insert(u64::from(tag));
            }
        }
    }

    /// Writes all slots to `name`, where nothing is, and gives what a snapshot has to say of the shards.
    ///
    /// # Errors
    /// When they cannot be written, or those of the last snapshot cannot be read.
    pub fn write(
        &self,
        name: &str,
        storage: &mut dyn Storage,
        is_there: impl Fn(u32) -> bool,
    ) -> Result<Vec<ShardOutline>, Lost> {
        let (mut outlines, mut piece, mut at) = (Vec::with_capacity(N_SHARDS), Vec::new(), 0);
        for shard in &self.shards {
            let merged;
            let (slots, filter, n_taken) = match &shard.slots {
                Slots::Here(slots) => (slots, &shard.filter, shard.n_taken),
                Slots::Stored(stored, pending) => {
                    let slots = Slots::Here(read(*stored, storage)?);
                    let mut whole = Shard { filter: shard.filter.clone(), n_taken: shard.n_taken, slots };
                    pending.iter().for_each(|&slot| whole.put(slot, &is_there));
                    merged = whole;
                    let Slots::Here(slots) = &merged.slots else { unreachable!("it was just read") };
                    (slots, &merged.filter, merged.n_taken)
                }
            };
            let began = piece.len();
            slots.iter().for_each(|slot| piece.extend_from_slice(&slot.to_le_bytes()));
            let stored = Stored {
                at,
                n_slots: slots.len() as u32,
                n_taken: n_taken as u32,
                checksum: crc32fast::hash(&piece[began..]),
            };
            at += (slots.len() * SLOT_BYTES) as u64;
            outlines.push(ShardOutline { stored, filter: filter.clone() });
            if piece.len() >= N_PIECE {
                storage.append(name, &piece)?;
                piece.clear();
            }
        }
        storage.append(name, &piece)?;
        Ok(outlines)
    }

    /// Shards that are not in memory are in this snapshot from here on.
    pub fn moved(&mut self, outlines: Vec<ShardOutline>) {
        for (shard, outline) in self.shards.iter_mut().zip(outlines) {
            if matches!(shard.slots, Slots::Stored(..)) {
                *shard = Shard {
                    filter: outline.filter,
                    n_taken: outline.stored.n_taken as usize,
                    slots: Slots::Stored(outline.stored, Vec::new()),
                };
            }
        }
    }
}

impl Shard {
    fn n_bytes(&self) -> usize {
        let n_slots = match &self.slots {
            Slots::Here(slots) => slots.capacity(),
            Slots::Stored(_, pending) => pending.capacity(),
        };
        n_slots * SLOT_BYTES + size_of_val(self.filter.words())
    }

    fn get(&self, tag: u32) -> Option<u32> {
        let Slots::Here(slots) = &self.slots else { return None };
        let found = *slots.get(find(slots, tag))?;
        if (found >> 32) as u32 == tag { (found as u32).checked_sub(1) } else { None }
    }

    fn put(&mut self, slot: u64, is_there: &impl Fn(u32) -> bool) {
        let Slots::Here(slots) = &mut self.slots else { return };
        if (self.n_taken + 1) * 4 > slots.len() * 3 {
            let mut kept = std::mem::take(slots);
            kept.retain(|&slot| slot != 0 && is_there(slot as u32 - 1));
            self.n_taken = kept.len();
            // Between five eighths and three quarters are taken, and one is free in the smallest shard, too.
            let n_slots = ((kept.len() + 1) * 8 / 5).max(4);
            self.filter = Filter::new(n_slots * 3 / 4);
            *slots = vec![0; n_slots];
            for slot in kept {
                let tag = (slot >> 32) as u32;
                let at = find(slots, tag);
                slots[at] = slot;
                self.filter.insert(u64::from(tag));
            }
        }
        let tag = (slot >> 32) as u32;
        let at = find(slots, tag);
        self.n_taken += usize::from(slots[at] == 0);
        slots[at] = slot;
        self.filter.insert(u64::from(tag));
    }
}

/// Returns the place of a tag, or the free slot where the tag would go. Any slot if there is neither: a snapshot
/// may have a shard without a free one.
fn find(slots: &[u64], tag: u32) -> usize {
    if slots.is_empty() {
        return 0;
    }
    // Tags have good bits: they are of a mixed hash.
    let mut at = ((u64::from(tag) * slots.len() as u64) >> 32) as usize;
    for _ in 0..slots.len() {
        if slots[at] == 0 || (slots[at] >> 32) as u32 == tag {
            break;
        }
        at = if at + 1 == slots.len() { 0 } else { at + 1 };
    }
    at
}

fn read(stored: Stored, storage: &mut dyn Storage) -> Result<Vec<u64>, Lost> {
    let mut bytes = vec![0; stored.n_slots as usize * SLOT_BYTES];
    storage.read(crate::snapshot::NAME, stored.at, &mut bytes)?;
    if crc32fast::hash(&bytes) != stored.checksum {
        return Err(Lost::Altered);
    }
    Ok(bytes.as_chunks().0.iter().map(|slot| u64::from_le_bytes(*slot)).collect())
}

/// The shard of an anchor, and its tag there.
fn place(anchor: Anchor) -> (usize, u32) {
    let mixed = anchor.mixed();
    ((mixed >> (64 - SHARD_BITS)) as usize, (mixed >> (32 - SHARD_BITS)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Folder;

    #[test]
    fn what_was_set_last_is_found_and_what_is_gone_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let mut storage = Folder::open(folder.path()).unwrap();
        let mut index = SparseIndex::default();
        let mut get = |index: &mut SparseIndex, anchor| index.get(Anchor(anchor), &mut storage, |_| true).unwrap();
        assert_eq!(get(&mut index, 1), None);
        for anchor in 0..200_000 {
            index.set(Anchor(anchor), anchor as u32 % 100, |_| true);
        }
        index.set(Anchor(5), 77, |_| true);
        assert_eq!([5, 6, 300_000].map(|anchor| get(&mut index, anchor)), [Some(77), Some(6), None]);
        for anchor in 1_000_000..1_500_000 {
            index.set(Anchor(anchor), 101, |container| container % 2 == 1);
        }
        assert_eq!([5, 6].map(|anchor| get(&mut index, anchor)), [Some(77), None]);
        assert!(index.n_bytes() < 600_000 * 14, "{}", index.n_bytes());
    }

    #[test]
    fn shards_of_any_size_are_searched_to_an_end() {
        let mut shard = Shard { filter: Filter::new(0), n_taken: 0, slots: Slots::Here(Vec::new()) };
        for n in 1..100_u64 {
            shard.put((n << 25) << 32 | n, &|_| true);
            assert_eq!((shard.get((n << 25) as u32), shard.get(77)), (Some(n as u32 - 1), None), "of {n}");
        }
        // Some were written without a free slot.
        let slots = (1..5).map(|n| n << 62 | n).collect();
        let mut full = Shard { filter: Filter::new(3), n_taken: 4, slots: Slots::Here(slots) };
        assert_eq!(full.get(77), None);
        full.put(77 << 32 | 9, &|_| true);
        assert_eq!(full.get(77), Some(8));
    }

    #[test]
    fn the_filter_keeps_strange_anchors_out_as_its_formula_says() {
        let folder = tempfile::tempdir().unwrap();
        let mut storage = Folder::open(folder.path()).unwrap();
        let mut index = SparseIndex::default();
        (0..1_000_000).for_each(|anchor| index.set(Anchor(anchor), 1, |_| true));
        let n_strange = 500_000;
        for anchor in 0..n_strange {
            assert_eq!(index.get(Anchor((1 << 40) + anchor), &mut storage, |_| true).unwrap(), None);
        }
        let looked = index.looked();
        assert_eq!(looked.n_filtered + looked.n_passed, n_strange);
        // 2.16 % where a shard is about to grow, 0.9 % where it just did.
        let share = looked.n_passed as f64 / n_strange as f64;
        assert!((0.008..0.022).contains(&share), "{share}");
    }
}
