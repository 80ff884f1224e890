//! Hints at what followed the end of a match the last time: the sender's way back into the last version, without a
//! search.
//!
//! A table of a fixed size in which a later hint takes the place of an earlier one. What it forgets is found by
//! anchors, most of it.

use std::fmt;

use crate::history::{Place, Run};

/// 2^17 hints of 16 bytes.
const N_SLOTS: usize = 1 << 17;
/// Ends in the same 2^6 bytes of a run share a slot: few matches are that short, and neighbours stay in one line of a
/// core's cache.
const GRAIN_BITS: u32 = 6;
/// Bits of a position, below those of the run. What lies beyond has no hints.
const POSITION_BITS: u32 = 48;

/// Map from the end of a match to the place where the next one began.
#[derive(Clone)]
pub struct Hints(
    /// Both packed, and zero where there is none.
    Vec<(u64, u64)>,
);

impl Default for Hints {
    fn default() -> Self {
        Self(vec![(0, 0); N_SLOTS])
    }
}

impl fmt::Debug for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hints").finish_non_exhaustive()
    }
}

impl Hints {
    /// Remembers where what followed a match that ended there began.
    pub fn set(&mut self, end: Place, next: Place) {
        if let (Some(end), Some(next)) = (pack(end), pack(next)) {
            self.0[slot(end)] = (end, next);
        }
    }

    /// Returns the place where the next match began the last time, if that is known.
    #[must_use]
    pub fn get(&self, end: Place) -> Option<Place> {
        let end = pack(end)?;
        let (known, next) = self.0[slot(end)];
        (known == end).then(|| unpacked(next))
    }

    /// All that are known: ends, and what began there.
    pub fn entries(&self) -> impl Iterator<Item = (Place, Place)> {
        self.0.iter().filter(|(end, _)| *end != 0).map(|&(end, next)| (unpacked(end), unpacked(next)))
    }
}

fn pack(place: Place) -> Option<u64> {
    let is_small = place.position < 1 << POSITION_BITS && place.run.0 < u32::from(u16::MAX);
    is_small.then(|| (u64::from(place.run.0) + 1) << POSITION_BITS | place.position)
}

fn unpacked(packed: u64) -> Place {
    Place { run: Run((packed >> POSITION_BITS) as u32 - 1), position: packed & ((1 << POSITION_BITS) - 1) }
}

/// Ends that follow each other in a run have slots that do: a sender goes through an old version from its beginning to
/// its end, and finds the next hint where the last one was, not somewhere in memory.
fn slot(end: u64) -> usize {
    let run = (end >> POSITION_BITS).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    ((end >> GRAIN_BITS).wrapping_add(run)) as usize & (N_SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_lead_back_to_any_place_that_they_can_hold() {
        let place = |run, position| Place { run: Run(run), position };
        let mut hints = Hints::default();
        for (end, next) in [(place(0, 0), place(65_534, (1 << 48) - 1)), (place(65_534, 7), place(0, 0))] {
            hints.set(end, next);
            assert_eq!(hints.get(end), Some(next));
            assert!(hints.entries().any(|entry| entry == (end, next)));
        }
        for beyond in [place(65_535, 0), place(u32::MAX, 0), place(0, 1 << 48), place(0, u64::MAX)] {
            hints.set(beyond, place(0, 1));
            hints.set(place(3, 3), beyond);
            assert_eq!((hints.get(beyond), hints.get(place(3, 3))), (None, None));
        }
    }
}
