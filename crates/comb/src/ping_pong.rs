//! Round trips: what latency and bandwidth of messages are where nothing else is asked of the processor.

use mpi::point_to_point::{Destination, Source};
use mpi::topology::Communicator;

use super::bench::Bench;
use super::record::PingPong;
use super::together::{start_together, worst_of_pair};

/// Trips that are timed together: a single short one is a few looks at the clock.
const N_TRIPS: u64 = 10;
/// Longer messages are timed one by one.
const LONG_BYTES: u64 = 64 << 10;
/// Batches before those that count.
const N_WARMING: u32 = 3;

/// Measures `n_batches` of trips, in all pairs at once. Collective; a record on workers only.
pub(crate) fn measure(bench: &Bench, size_bytes: u64, n_batches: u32) -> Option<PingPong> {
    let partner = bench.ranks.process_at_rank(bench.partner() as i32);
    let (outgoing, mut incoming) = (vec![1_u8; size_bytes as usize], vec![0_u8; size_bytes as usize]);
    let n_trips = if size_bytes < LONG_BYTES { N_TRIPS } else { 1 };
    let mut batch = || {
        bench.time(|| {
            for _ in 0..n_trips {
                if bench.is_worker() {
                    partner.send(&outgoing[..]);
                    partner.receive_into(&mut incoming[..]);
                } else {
                    partner.receive_into(&mut incoming[..]);
                    partner.send(&outgoing[..]);
                }
            }
        })
    };
    start_together(bench.ranks);
    for _ in 0..N_WARMING {
        batch();
    }
    let mut presence = bench.presence();
    let halves: Vec<f64> = (0..n_batches).map(|_| presence.watch(&mut batch) / (2 * n_trips) as f64).collect();
    let away_ratio = worst_of_pair(bench, presence.take_away_ratio());
    bench.is_worker().then(|| {
        let half_round_trip = bench.spread(&halves);
        PingPong {
            pair: bench.pair,
            size_bytes,
            n_trips: n_trips * u64::from(n_batches),
            away_ratio,
            half_round_trip,
            bandwidth_bytes_per_sec: 1e9 * size_bytes as f64 / half_round_trip.median_ns.max(1.0),
        }
    })
}
