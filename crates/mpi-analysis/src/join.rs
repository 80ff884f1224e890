//! Stage records of many ranks, joined into calls by their sequence number.

use std::collections::BTreeMap;

use mpi_trace::{Event, Operation, Subject};

/// Two stamps of each collector: when the call went down past it, and when its result came up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamps {
    pub(crate) operation: Operation,
    pub(crate) at: Vec<(u64, u64)>,
    n_missing: usize,
}

/// Calls of which some collectors are known.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    n_collectors: usize,
    n_open_max: usize,
    open: BTreeMap<u64, Stamps>,
    /// The highest sequence number so far, counted on beyond 32 bits.
    newest: Option<u64>,
    /// Calls before this one were given up.
    first: u64,
    pub(crate) n_incomplete: u64,
    /// Records of calls that were given up, or of no collector of this tree.
    pub(crate) n_strangers: u64,
}

const NONE: (u64, u64) = (u64::MAX, 0);
/// First number of the count, so that a rank may be behind the first one seen.
const START: u64 = 1 << 32;

impl Join {
    pub(crate) fn new(n_collectors: usize, n_open_max: usize) -> Self {
        Self {
            n_collectors,
            n_open_max: n_open_max.max(1),
            open: BTreeMap::new(),
            newest: None,
            first: 0,
            n_incomplete: 0,
            n_strangers: 0,
        }
    }

    /// Takes an event, and returns the call that it completes, if any.
    pub(crate) fn take(&mut self, event: &Event) -> Option<Stamps> {
        let Subject::Stage { collector, sequence } = event.subject else { return None };
        let sequence = self.unwrap(sequence);
        if usize::from(collector) >= self.n_collectors || sequence < self.first {
            self.n_strangers += 1;
            return None;
        }
        let fresh =
            || Stamps { operation: event.operation, at: vec![NONE; self.n_collectors], n_missing: self.n_collectors };
        let stamps = self.open.entry(sequence).or_insert_with(fresh);
        let at = &mut stamps.at[usize::from(collector)];
        if *at == NONE {
            stamps.n_missing -= 1;
        }
        *at = (event.start, event.end);
        if stamps.n_missing == 0 {
            return self.open.remove(&sequence);
        }
        if self.open.len() > self.n_open_max
            && let Some((oldest, _)) = self.open.pop_first()
        {
            self.n_incomplete += 1;
            self.first = oldest + 1;
        }
        None
    }

    /// Calls that are not complete yet.
    pub(crate) fn n_open(&self) -> u64 {
        self.open.len() as u64
    }

    /// Returns the number nearest to the newest among all numbers with these low bits.
    fn unwrap(&mut self, sequence: u32) -> u64 {
        let newest = self.newest.unwrap_or(START + u64::from(sequence));
        let away = sequence.wrapping_sub(newest as u32).cast_signed();
        let sequence = newest.saturating_add_signed(away.into());
        self.newest = Some(newest.max(sequence));
        sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(collector: u16, sequence: u32) -> Event {
        Event {
            start: u64::from(sequence),
            end: u64::from(sequence) + 1,
            bytes: 8,
            operation: Operation::ALLREDUCE,
            is_failed: false,
            subject: Subject::Stage { collector, sequence },
        }
    }

    #[test]
    fn calls_are_joined_across_the_wrap_of_their_numbers() {
        let mut join = Join::new(2, 8);
        let numbers = [u32::MAX - 1, u32::MAX, 0, 1];
        assert!(numbers.iter().all(|&number| join.take(&event(0, number)).is_none()));
        let starts = numbers.map(|number| join.take(&event(1, number)).unwrap().at[0].0);
        assert_eq!(starts, numbers.map(u64::from));
        assert_eq!((join.n_open(), join.n_incomplete), (0, 0));
    }

    /// As `mpi-coll` numbers calls of communicators over one tree.
    #[test]
    fn calls_of_two_communicators_over_one_tree_are_joined_however_far_ranks_are_apart() {
        let mut join = Join::new(2, 64);
        let calls: Vec<u32> = (0..60).map(|call| ((call % 2) << 24) | (call / 2)).collect();
        assert!(calls.iter().all(|&call| join.take(&event(0, call)).is_none()));
        let starts: Vec<u64> = calls.iter().map(|&call| join.take(&event(1, call)).unwrap().at[0].0).collect();
        assert!(starts.iter().zip(&calls).all(|(start, call)| *start == u64::from(*call)));
        assert_eq!((join.n_open(), join.n_incomplete, join.n_strangers), (0, 0, 0));
    }

    #[test]
    fn what_stays_incomplete_is_given_up_and_counted() {
        let mut join = Join::new(2, 3);
        (0..10).for_each(|number| assert!(join.take(&event(0, number)).is_none()));
        assert_eq!((join.n_open(), join.n_incomplete), (3, 7));
        assert!(join.take(&event(1, 6)).is_none() && join.take(&event(9, 9)).is_none());
        assert_eq!(join.n_strangers, 2);
        assert!(join.take(&event(1, 7)).is_some());
    }
}
