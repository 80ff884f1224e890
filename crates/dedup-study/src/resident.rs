//! Memory for so many pieces, of which one leaves when there is no room.

use std::collections::{HashSet, VecDeque};

/// The piece that leaves memory first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaves {
    LeastRecentlyUsed,
    Oldest,
}

/// Pieces in memory, by their numbers.
pub(crate) struct Resident {
    n_max: usize,
    leaves: Leaves,
    /// The next to leave first.
    order: VecDeque<usize>,
    known: HashSet<usize>,
    /// The number of times that a piece was brought in.
    pub n_loads: u64,
}

impl Resident {
    pub fn new(n_max: usize, leaves: Leaves) -> Self {
        Self { n_max: n_max.max(1), leaves, order: VecDeque::new(), known: HashSet::new(), n_loads: 0 }
    }

    /// The same with this piece, which nobody had to load.
    pub fn with(mut self, piece: usize) -> Self {
        self.bring(piece);
        self
    }

    pub fn has(&self, piece: usize) -> bool {
        self.known.contains(&piece)
    }

    /// The next to leave first.
    pub fn pieces(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().copied()
    }

    /// Uses a piece, which is loaded unless it is there.
    pub fn touch(&mut self, piece: usize) {
        // Most touches are of the last one.
        if self.order.back() == Some(&piece) {
            return;
        }
        if !self.has(piece) {
            self.n_loads += 1;
            self.bring(piece);
        } else if self.leaves == Leaves::LeastRecentlyUsed {
            self.order.retain(|&resident| resident != piece);
            self.order.push_back(piece);
        }
    }

    fn bring(&mut self, piece: usize) {
        self.order.push_back(piece);
        self.known.insert(piece);
        if self.order.len() > self.n_max
            && let Some(gone) = self.order.pop_front()
        {
            self.known.remove(&gone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_stays_unless_the_oldest_leaves() {
        for (leaves, n_loads, left) in [(Leaves::LeastRecentlyUsed, 3, [3, 1]), (Leaves::Oldest, 4, [3, 1])] {
            let mut resident = Resident::new(2, leaves);
            [1, 2, 1, 3, 1].into_iter().for_each(|piece| resident.touch(piece));
            assert_eq!((resident.n_loads, resident.pieces().collect::<Vec<_>>()), (n_loads, left.to_vec()));
            assert!(resident.has(1) && !resident.has(2));
        }
    }
}
