//! How ranks come together between two measurements: quietly where others may still be at work, sharply where a time begins.

use std::time::Duration;

use mpi::collective::CommunicatorCollectives;
use mpi::topology::SimpleCommunicator;

/// Between two looks at who is there: work of the others on the same core is not disturbed much.
const NAP: Duration = Duration::from_micros(50);

/// Waits until all are there, asleep most of the time. Collective.
///
/// MPI's own waiting keeps a core busy, which on a shared core takes half of what is measured.
pub fn gather_quietly(ranks: &SimpleCommunicator) {
    let mut request = ranks.immediate_barrier();
    while let Err(unfinished) = request.test() {
        std::thread::sleep(NAP);
        request = unfinished;
    }
}

/// Waits until all are there, wide awake, so that all go on within microseconds. Collective.
pub fn start_together(ranks: &SimpleCommunicator) {
    ranks.barrier();
}
