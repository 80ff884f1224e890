//! One call at one node: the metrics of Bongo (Euro-Par 2004, section 3; ICPP 2005, section 4.3), in ticks of the
//! node's host.
//!
//! `t1` is when a contributor arrives, `t2` when the combined value leaves downwards, `t3` when the result comes back,
//! `t4` when a contributor leaves with it. The two papers mean different things by "down" and "up"; here they have
//! different names.

use mpi_trace::Flow;

/// Stamps around a node, which all come from one clock.
///
/// For each contributor, [`NodeCall::arrival_wait`] + [`NodeCall::down_last`] + (t3 − t2) + [`NodeCall::up_first`] +
/// [`NodeCall::departure_wait`] is t4 − t1, to the tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCall {
    below: (u64, u64),
    contributors: Vec<(u64, u64)>,
    last_arrival: u64,
    first_departure: u64,
}

impl NodeCall {
    /// `below` is (t2, t3), `contributors` are (t1, t4) of each. None unless each t1 ≤ t2 ≤ t3 ≤ t4 and there are
    /// contributors: such stamps are not those of a call that synchronizes, or not from one clock.
    #[must_use]
    pub fn new(below: (u64, u64), contributors: Vec<(u64, u64)>) -> Option<Self> {
        let last_arrival = contributors.iter().map(|stamps| stamps.0).max()?;
        let first_departure = contributors.iter().map(|stamps| stamps.1).min()?;
        let is_ordered = last_arrival <= below.0 && below.0 <= below.1 && below.1 <= first_departure;
        is_ordered.then_some(Self { below, contributors, last_arrival, first_departure })
    }

    /// Builds the metrics of a call whose data go this way. Where they only go down, stamps of their return mean
    /// nothing, and all that is up from here is 0; where they only come up, all that is down. The operation's root has
    /// the result before it comes back: it leaves with the first.
    #[must_use]
    pub fn of(flow: Flow, below: (u64, u64), contributors: Vec<(u64, u64)>) -> Option<Self> {
        let (combined, back) = below;
        match flow {
            Flow::All => Self::new(below, contributors),
            Flow::ToRoot => {
                let arrivals = contributors.into_iter().map(|(t1, _)| (t1, combined));
                Self::new((combined, combined), arrivals.collect())
            }
            Flow::FromRoot => {
                let departures = || contributors.iter().map(|(_, t4)| *t4);
                let first = departures().filter(|t4| *t4 > back).min().unwrap_or(back);
                Self::new((back, back), departures().map(|t4| (back, t4.max(first))).collect())
            }
        }
    }

    /// Returns the number of contributors.
    #[must_use]
    pub fn n_contributors(&self) -> usize {
        self.contributors.len()
    }

    /// t2 of the node minus t1 of the last contributor: what combining took.
    #[must_use]
    pub fn down_last(&self) -> u64 {
        self.below.0 - self.last_arrival
    }

    /// t4 of the first to leave minus t3: what releasing took at least.
    #[must_use]
    pub fn up_first(&self) -> u64 {
        self.first_departure - self.below.1
    }

    /// t3 − t2: what all below the node took.
    #[must_use]
    pub fn below(&self) -> u64 {
        self.below.1 - self.below.0
    }

    /// Returns the time that contributor `i` waited for the last.
    #[must_use]
    pub fn arrival_wait(&self, i: usize) -> u64 {
        self.last_arrival - self.contributors[i].0
    }

    /// Returns the time from the departure of the first contributor to that of contributor `i`.
    #[must_use]
    pub fn departure_wait(&self, i: usize) -> u64 {
        self.contributors[i].1 - self.first_departure
    }

    /// t2 − t1 of contributor `i`: its arrival wait and `down_last`.
    #[must_use]
    pub fn down(&self, i: usize) -> u64 {
        self.below.0 - self.contributors[i].0
    }

    /// t4 of contributor `i` − t3: `up_first` and its departure wait.
    #[must_use]
    pub fn up(&self, i: usize) -> u64 {
        self.contributors[i].1 - self.below.1
    }

    /// Returns the cost of the node for contributor `i`: t4 − t1 without what was below.
    #[must_use]
    pub fn total(&self, i: usize) -> u64 {
        self.down(i) + self.up(i)
    }

    /// t4 − t1 of contributor `i`.
    #[must_use]
    pub fn span(&self, i: usize) -> u64 {
        self.contributors[i].1 - self.contributors[i].0
    }

    /// Contributors, first to arrive first. Of those that arrive in the same tick, the earlier in the tree is first.
    #[must_use]
    pub fn arrivals(&self) -> Vec<usize> {
        self.order(|stamps| stamps.0)
    }

    /// Contributors, first to leave first.
    #[must_use]
    pub fn departures(&self) -> Vec<usize> {
        self.order(|stamps| stamps.1)
    }

    fn order(&self, stamp: impl Fn(&(u64, u64)) -> u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.contributors.len()).collect();
        order.sort_by_key(|&i| stamp(&self.contributors[i]));
        order
    }
}

/// Returns the round-trip time of the hop between two hosts: the span at the end where the message leaves minus the
/// span at the other end.
/// Each span is from one host's clock, so that the clocks need not agree. A hop that took less than the clocks resolve
/// is 0.
#[must_use]
pub fn two_way(leave_ns: u64, arrive_ns: u64) -> u64 {
    leave_ns.saturating_sub(arrive_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metrics_are_those_of_the_papers() {
        let call = NodeCall::new((120, 200), vec![(100, 230), (110, 210), (90, 215)]).unwrap();
        assert_eq!((call.down_last(), call.below(), call.up_first()), (10, 80, 10));
        assert_eq!([0, 1, 2].map(|i| call.arrival_wait(i)), [10, 0, 20]);
        assert_eq!([0, 1, 2].map(|i| call.departure_wait(i)), [20, 0, 5]);
        assert_eq!(
            [0, 1, 2].map(|i| (call.down(i), call.up(i), call.total(i))),
            [(20, 30, 50), (10, 10, 20), (30, 15, 45)]
        );
        assert_eq!((call.arrivals(), call.departures()), (vec![2, 0, 1], vec![1, 2, 0]));
    }

    #[test]
    fn of_calls_that_go_one_way_only_that_way_counts() {
        let reduce = NodeCall::of(Flow::ToRoot, (120, 125), vec![(100, 101), (110, 300)]).unwrap();
        assert_eq!((reduce.arrival_wait(0), reduce.down_last(), reduce.below(), reduce.up(1)), (10, 10, 0, 0));
        let bcast = NodeCall::of(Flow::FromRoot, (7, 200), vec![(300, 150), (0, 210), (9, 230)]).unwrap();
        assert_eq!((bcast.down(0), bcast.up_first()), (0, 10));
        assert_eq!([0, 1, 2].map(|i| bcast.departure_wait(i)), [0, 0, 20]);
    }

    #[test]
    fn stamps_out_of_order_are_no_call() {
        assert_eq!(NodeCall::new((120, 200), vec![(121, 230)]), None);
        assert_eq!(NodeCall::new((120, 119), vec![(100, 230)]), None);
        assert_eq!(NodeCall::new((120, 200), vec![(100, 230), (100, 199)]), None);
        assert_eq!(NodeCall::new((120, 200), Vec::new()), None);
    }
}
