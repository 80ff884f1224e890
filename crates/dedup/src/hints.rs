//! What followed the end of a match the last time: the sender's way back into the last version, without a search.
//!
//! A table of a fixed size in which a later hint takes the place of an earlier one. It is of one process: what it forgets is found by anchors.

use crate::gear::Anchor;
use crate::history::Place;

/// 2^16 hints of 32 bytes.
const N_SLOTS: usize = 1 << 16;

/// From the end of a match to where the next one began.
pub(crate) struct Hints(Vec<Option<(Place, Place)>>);

impl Hints {
    pub fn new() -> Self {
        Self(vec![None; N_SLOTS])
    }

    pub fn set(&mut self, end: Place, next: Place) {
        let slot = slot(end);
        self.0[slot] = Some((end, next));
    }

    pub fn get(&self, end: Place) -> Option<Place> {
        self.0[slot(end)].filter(|(known, _)| *known == end).map(|(_, next)| next)
    }
}

fn slot(place: Place) -> usize {
    Anchor(place.position ^ u64::from(place.run.0) << 48).mixed() as usize & (N_SLOTS - 1)
}
