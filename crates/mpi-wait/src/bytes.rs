//! Bytes of a call, counted as `docs/formats/communication-trace.md` says.

use std::ffi::c_void;

use mpi_abi::Mpi;

use crate::arguments::CallArguments;
use crate::communicator::{CommMembers, KnownHandles};
use crate::site::{ArgumentPlace, CallEffect};

/// Returns the bytes of one message of a call that did not fail. The status is that of the received message.
pub(crate) fn of(
    mpi: &Mpi,
    known: &KnownHandles,
    arguments: &CallArguments<'_>,
    communicator: Option<&CommMembers>,
    status: Option<usize>,
) -> u64 {
    let spec = arguments.site.spec;
    let size =
        |place: ArgumentPlace| arguments.held(place, mpi).map_or(0, |held| known.type_size(mpi, arguments, held));
    let product = |count: u64, place: ArgumentPlace| if count == 0 { 0 } else { count.saturating_mul(size(place)) };
    let n_peers = communicator.map_or(0, CommMembers::n_peers);
    let is_receive = spec.effect == CallEffect::Received;
    if let (true, Some(status)) = (is_receive, status) {
        // SAFETY: the library has written a status there.
        return unsafe { mpi.status_at(status as *const c_void, 0) }.bytes;
    }
    if spec.rootdatatype.is_somewhere() && arguments.int(spec.peer) == communicator.map(|known| known.rank) {
        return match arguments.count(spec.rootcount) {
            Some(count) => product(count, spec.rootdatatype),
            None => product(arguments.sum(spec.rootcounts, n_peers), spec.rootdatatype) / n_peers.max(1) as u64,
        };
    }
    if let Some(count) = arguments.count(spec.count) {
        product(count, spec.datatype)
    } else if let Some(count) = arguments.count(spec.blockcount) {
        product(count, spec.datatype).saturating_mul(n_peers as u64)
    } else if spec.sumcounts.is_somewhere() {
        product(arguments.sum(spec.sumcounts, n_peers), spec.datatype)
    } else if spec.datatypes.is_somewhere() {
        let each = |at| match arguments.count_at(spec.counts, at) {
            0 => 0,
            count => arguments
                .held_at(spec.datatypes, at, mpi)
                .map_or(0, |held| count.saturating_mul(known.type_size(mpi, arguments, held))),
        };
        (0..n_peers).map(each).sum::<u64>() / n_peers.max(1) as u64
    } else if spec.counts.is_somewhere() {
        product(arguments.sum(spec.counts, n_peers), spec.datatype) / n_peers.max(1) as u64
    } else {
        0
    }
}
