//! Whether the ranks of a communicator make the same collective calls in the same order.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use units::Rank;

use crate::call;

/// The part of a collective call that has to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// The function's number.
    pub function: usize,
    pub root: Option<i32>,
}

/// Calls that some ranks of their communicator have begun and others have not, by communicator and number.
#[derive(Default)]
pub struct Collectives(BTreeMap<(u64, u64), Met>);

struct Met {
    call: Collective,
    by: Rank,
    n_missing: u32,
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(call::name(self.function))?;
        self.root.map_or(Ok(()), |root| write!(f, " with root {root}"))
    }
}

impl Collectives {
    /// A rank begins a call on a communicator of so many ranks. If the first one's call is another, that call and who
    /// made it.
    pub fn meet(
        &mut self,
        place: (u64, u64),
        call: Collective,
        by: Rank,
        n_members: u32,
    ) -> Result<(), (Collective, Rank)> {
        let mut entry = match self.0.entry(place) {
            Entry::Vacant(entry) => entry.insert_entry(Met { call, by, n_missing: n_members }),
            Entry::Occupied(entry) => entry,
        };
        let met = entry.get_mut();
        met.n_missing -= 1;
        let (first, is_last) = ((met.call, met.by), met.n_missing == 0);
        if is_last {
            entry.remove();
        }
        if first.0 == call { Ok(()) } else { Err(first) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_agree_call_by_call() {
        let mut collectives = Collectives::default();
        let [sum, barrier] = [Collective { function: 1, root: Some(0) }, Collective { function: 2, root: None }];
        assert_eq!(collectives.meet((7, 1), sum, 0, 2), Ok(()));
        assert_eq!(collectives.meet((7, 2), barrier, 0, 2), Ok(()), "ahead of the other");
        assert_eq!(collectives.meet((8, 1), barrier, 0, 1), Ok(()), "on its own");
        assert_eq!(collectives.meet((7, 1), sum, 1, 2), Ok(()));
        assert_eq!(collectives.meet((7, 2), Collective { root: Some(1), ..sum }, 1, 2), Err((barrier, 0)));
        assert!(collectives.0.is_empty());
    }
}
