//! The latest records of traced points, for whoever looks at them while they come, and the cap on how many may.

use std::collections::{BTreeMap, VecDeque};

use crate::Traced;

/// Records of a point that are kept.
const KEPT: usize = 32;

/// Length of the window of rates, and of the cap.
const WINDOW_NS: u64 = 1_000_000_000;

/// A point of a node: the node's number, the subsystem's name, the point's number.
pub type Place = (u32, &'static str, usize);

/// The latest events of all traced points.
#[derive(Debug)]
pub struct Recent {
    points: BTreeMap<Place, Latest>,
    /// Records that may come in a second.
    pub cap: u64,
    window_ns: u64,
    n_in_window: u64,
}

/// The latest events of a traced point.
#[derive(Clone, Debug, Default)]
pub struct Latest {
    /// Records since it was turned on.
    pub received: u64,
    /// Records a second, in the last second that is over.
    pub per_sec: f64,
    /// The last of them, the youngest at the end.
    pub events: VecDeque<Traced>,
    at_window: u64,
}

impl Recent {
    /// Builds an empty set; above `cap` records in a second it is too much.
    pub fn new(cap: u64) -> Self {
        Self { points: BTreeMap::new(), cap, window_ns: 0, n_in_window: 0 }
    }

    /// Forgets all that came.
    pub fn clear(&mut self) {
        *self = Self::new(self.cap);
    }

    /// Takes a record.
    pub fn take(&mut self, node: u32, traced: &Traced) {
        let latest = self.points.entry((node, traced.subsystem.name, traced.point)).or_default();
        latest.received += 1;
        if latest.events.len() == KEPT {
            latest.events.pop_front();
        }
        latest.events.push_back(*traced);
        self.n_in_window += 1;
    }

    /// Returns whether more records came than the cap allows; called when all that there was has been taken.
    pub fn is_too_much(&mut self, now_ns: u64) -> bool {
        let span_ns = now_ns.saturating_sub(self.window_ns);
        let is_too_much = self.n_in_window > self.cap;
        if span_ns >= WINDOW_NS {
            for latest in self.points.values_mut() {
                // What came before the first window began is no rate.
                let n = latest.received - std::mem::replace(&mut latest.at_window, latest.received);
                latest.per_sec = if self.window_ns == 0 { 0.0 } else { n as f64 * 1e9 / span_ns as f64 };
            }
            self.window_ns = now_ns;
            self.n_in_window = 0;
        }
        is_too_much
    }

    /// Returns the points with records.
    pub fn points(&self) -> impl Iterator<Item = (Place, &Latest)> {
        self.points.iter().map(|(place, latest)| (*place, latest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn of(recent: &Recent) -> Latest {
        recent.points().next().unwrap().1.clone()
    }

    #[test]
    fn the_last_records_are_kept_and_their_rate_is_that_of_a_whole_second() {
        let mut recent = Recent::new(1_000);
        recent.is_too_much(S);
        for begin_ns in 0..100 {
            recent.take(3, &Traced { begin_ns, ..Traced::default() });
        }
        assert!(!recent.is_too_much(3 * S));
        let latest = of(&recent);
        assert_eq!((latest.received, latest.per_sec, latest.events.len()), (100, 50.0, KEPT));
        assert_eq!(latest.events.back().unwrap().begin_ns, 99);
        recent.is_too_much(4 * S);
        assert_eq!(of(&recent).per_sec, 0.0);
    }

    #[test]
    fn more_than_the_cap_in_a_second_is_too_much() {
        let mut recent = Recent::new(9);
        recent.is_too_much(S);
        let mut take = |n: u64, now_ns| {
            (0..n).for_each(|_| recent.take(0, &Traced::default()));
            recent.is_too_much(now_ns)
        };
        assert!(!take(9, S + S / 2));
        assert!(take(1, S + S / 2 + 1));
        take(0, 3 * S);
        assert!(!take(9, 3 * S + 1), "a second later they count from 0 again");
    }
}
