//! Which container to look in for a sparse anchor: eight bytes a slot, for everything that is on disk.

use dedup::Anchor;

/// Open addressing. A slot has 32 bits of the anchor's hash, by which it lies where it does, and 32 of the container, plus one; zero is free.
///
/// With 134 million sparse anchors, a terabyte's, one strange anchor in 32 has the bits of a known one: a container is then read in vain.
#[derive(Debug, Default)]
pub(crate) struct SparseIndex {
    slots: Vec<u64>,
    n_taken: usize,
}

impl SparseIndex {
    /// Bytes of memory that it takes.
    pub fn n_bytes(&self) -> usize {
        self.slots.len() * size_of::<u64>()
    }

    pub fn get(&self, anchor: Anchor) -> Option<u32> {
        let found = *self.slots.get(self.slot(tag(anchor)))?;
        (found as u32).checked_sub(1)
    }

    /// Sets the container of an anchor, in place of an earlier one.
    pub fn set(&mut self, anchor: Anchor, container: u32) {
        let tag = tag(anchor);
        let at = self.slot(tag);
        self.n_taken += usize::from(self.slots[at] == 0);
        self.slots[at] = u64::from(tag) << 32 | u64::from(container + 1);
    }

    /// Makes room for so many more at three quarters full, without those of containers that are gone.
    pub fn reserve(&mut self, n_more: usize, is_there: impl Fn(u32) -> bool) {
        if (self.n_taken + n_more) * 4 <= self.slots.len() * 3 {
            return;
        }
        let mut kept = std::mem::take(&mut self.slots);
        kept.retain(|&slot| slot != 0 && is_there(slot as u32 - 1));
        self.n_taken = kept.len();
        self.slots = vec![0; ((kept.len() + n_more) * 2).next_power_of_two().max(1 << 12)];
        for slot in kept {
            let at = self.slot((slot >> 32) as u32);
            self.slots[at] = slot;
        }
    }

    /// Where a tag is, or the free slot where it would go.
    fn slot(&self, tag: u32) -> usize {
        let Some(mask) = self.slots.len().checked_sub(1) else {
            return 0;
        };
        // Tags have good bits: they are of a mixed hash.
        let mut at = tag as usize & mask;
        while self.slots[at] != 0 && (self.slots[at] >> 32) as u32 != tag {
            at = (at + 1) & mask;
        }
        at
    }
}

fn tag(anchor: Anchor) -> u32 {
    (anchor.mixed() >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_last_is_found_and_what_is_gone_makes_room() {
        let mut index = SparseIndex::default();
        assert_eq!(index.get(Anchor(1)), None);
        for anchor in 0..20_000 {
            index.reserve(1, |_| true);
            index.set(Anchor(anchor), anchor as u32 % 100);
        }
        index.set(Anchor(5), 77);
        assert_eq!((index.get(Anchor(5)), index.get(Anchor(6)), index.get(Anchor(30_000))), (Some(77), Some(6), None));
        index.reserve(1 << 20, |container| container % 2 == 1);
        assert_eq!((index.get(Anchor(5)), index.get(Anchor(6))), (Some(77), None));
    }
}
