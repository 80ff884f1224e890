//! Offsets between the ranks' clocks, by round trips to rank 0.
//!
//! A message goes to rank 0 and comes back with its time; whatever the way there and back took, that time lies between
//! the two looks at the own clock, so the shortest of many trips bounds the offset best (Cristian 1989).

use clock::Stopwatch;
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator, SimpleCommunicator};

use crate::header::Offset;

/// The most trips per rank: the shortest of them is rarely beaten by further ones.
const N_TRIPS_MAX: usize = 200;

/// The fewest: some always have to wait until rank 0 looks.
const N_TRIPS_MIN: usize = 10;

/// Limit of the time of a rank's trips where they are slow: between sites 10 ms apart, 200 for each of 8 ranks would
/// take half a minute.
const SPAN_NS_MAX: u64 = 50_000_000;

/// Requests of a rank to rank 0.
const TIME: u8 = 1;
const ENOUGH: u8 = 0;

impl Offset {
    /// Returns the offset of this rank's clock from rank 0's. Collective; ranks take their turns.
    #[must_use]
    pub fn to_first(ranks: &SimpleCommunicator, clock: &Stopwatch) -> Self {
        let me = ranks.rank();
        if me == 0 {
            for rank in 1..ranks.size() {
                answer(ranks, rank, clock);
            }
            Self::default()
        } else {
            ask(ranks, clock)
        }
    }
}

fn answer(ranks: &SimpleCommunicator, rank: i32, clock: &Stopwatch) {
    let other = ranks.process_at_rank(rank);
    while other.receive::<u8>().0 == TIME {
        other.send(&clock.elapsed_ns());
    }
}

fn ask(ranks: &SimpleCommunicator, clock: &Stopwatch) -> Offset {
    let first = ranks.process_at_rank(0);
    let mut best = Offset { ahead_ns: 0.0, bound_ns: f64::INFINITY };
    let began = clock.elapsed_ns();
    for trip in 0..N_TRIPS_MAX {
        let before = clock.elapsed_ns();
        if trip >= N_TRIPS_MIN && before - began > SPAN_NS_MAX {
            break;
        }
        first.send(&TIME);
        let (there, _) = first.receive::<u64>();
        let after = clock.elapsed_ns();
        let bound_ns = (after - before) as f64 / 2.0;
        if bound_ns < best.bound_ns {
            best = Offset { ahead_ns: (before as f64 + bound_ns) - there as f64, bound_ns };
        }
    }
    first.send(&ENOUGH);
    best
}
