//! Meeting of ranks between two measurements: quietly where others may still be at work, sharply where a time begins.

use std::time::Duration;

use mpi::collective::CommunicatorCollectives;
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator, SimpleCommunicator};

use super::bench::Bench;

const WORST_TAG: i32 = 8;

/// Pause between two looks at who is there: work of the others on the same core is not disturbed much.
const NAP: Duration = Duration::from_micros(50);

/// Waits until all are there, asleep most of the time. Collective.
///
/// MPI's own waiting keeps a core busy, which on a shared core takes half of what is measured.
pub(crate) fn gather_quietly(ranks: &SimpleCommunicator) {
    let mut request = ranks.immediate_barrier();
    while let Err(unfinished) = request.test() {
        clock::sleep(NAP);
        request = unfinished;
    }
}

/// The larger one of a pair's two values, on the worker; the support's own on the support. Both of the pair call.
pub(crate) fn worst_of_pair(bench: &Bench, mine: f64) -> f64 {
    let partner = bench.ranks.process_at_rank(bench.partner() as i32);
    if bench.is_worker() {
        let (theirs, _) = partner.receive_with_tag::<f64>(WORST_TAG);
        mine.max(theirs)
    } else {
        partner.send_with_tag(&mine, WORST_TAG);
        mine
    }
}

/// Waits until all are there, wide awake, so that all go on within microseconds. Collective.
pub(crate) fn start_together(ranks: &SimpleCommunicator) {
    ranks.barrier();
}
