//! Contents of a call's record: where it was, with whom, how many bytes, and what it did besides.

use std::ffi::{c_int, c_void};

use mpi_abi::{Mpi, Status};
use mpi_trace::{Event, Operation, Peer, Subject};

use crate::arguments::Arguments;
use crate::communicator::{Known, Within};
use crate::site::{Place, Spec};
use crate::thread::Recorder;

/// A call that has returned.
pub(crate) struct Made {
    pub(crate) operation: Option<Operation>,
    pub(crate) is_failed: bool,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// The place and the peer of a call, as far as they were known before it; its arguments do not show them any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) on: Known,
    pub(crate) peer: Peer,
    pub(crate) tag: Option<i32>,
}

impl Found {
    pub(crate) fn on(on: Known) -> Self {
        Self { on, peer: Peer::None, tag: None }
    }
}

pub(crate) fn is_set<const FORTRAN: bool>(spec: &Spec, arguments: &Arguments<'_, FORTRAN>) -> bool {
    !spec.flag.is_somewhere() || arguments.flag(spec.flag)
}

/// Writes the record of a call, and those of its parts.
#[inline(always)]
pub(crate) fn record<const FORTRAN: bool>(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    made: &Made,
) {
    let Some(event) = event(recorder, spec, arguments, made, None) else { return };
    let position = recorder.position();
    recorder.write(&event);
    if spec.posted.is_somewhere() && !made.is_failed {
        recorder.posted(arguments.held_at(spec.posted, 0, recorder.mpi), position);
    }
    let has_parts =
        [spec.recvstatus, spec.recvsource, spec.requests, spec.cancelled].into_iter().any(Place::is_somewhere);
    if has_parts && !made.is_failed {
        record_parts(recorder, spec, arguments, &event);
    }
}

#[inline(never)]
fn record_parts<const FORTRAN: bool>(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    event: &Event,
) {
    if let (true, Subject::Call { communicator, .. }) = (spec.recvstatus.is_somewhere(), event.subject) {
        // SAFETY: the function has written it.
        let status = unsafe { recorder.mpi.status_at(arguments.word(spec.recvstatus) as *const c_void, 0) };
        let subject = Subject::Part { communicator, peer: whom(recorder.mpi, status.source), tag: Some(status.tag) };
        recorder.write(&Event { operation: Operation::RECV, bytes: status.bytes, subject, ..*event });
        return;
    }
    if let (true, Subject::Call { communicator, .. }) = (spec.recvsource.is_somewhere(), event.subject) {
        let bytes = if spec.recvcount.is_somewhere() {
            product(recorder, arguments, arguments.count(spec.recvcount), spec.recvdatatype)
        } else {
            event.bytes
        };
        let (peer, tag) = (whom(recorder.mpi, arguments.int(spec.recvsource)), Some(arguments.int(spec.recvtag)));
        let subject = Subject::Part { communicator, peer, tag };
        recorder.write(&Event { operation: Operation::IRECV, bytes, subject, ..*event });
        return;
    }
    if spec.cancelled.is_somewhere() {
        let held = arguments.held_at(spec.cancelled, 0, recorder.mpi);
        // With the times of the receive, by which its reader finds it.
        if let Some(receive) = recorder.called_off(held)
            && let Subject::Call { communicator, peer, tag } | Subject::Part { communicator, peer, tag } =
                receive.subject
        {
            let subject = Subject::Part { communicator, peer, tag };
            recorder.write(&Event { operation: Operation::CANCEL, subject, ..receive });
        }
        return;
    }
    let n = if spec.number.is_somewhere() { arguments.int(spec.number).max(0) as usize } else { 1 };
    for at in 0..n {
        let held = arguments.held_at(spec.requests, at, recorder.mpi);
        if let Some(part) = recorder.started(held) {
            recorder.posted(held, recorder.position());
            recorder.write(&Event { start: event.start, end: event.end, ..part });
        }
    }
}

/// [`event`] as one piece of code, where nothing is known of the arguments before.
#[inline(never)]
pub(crate) fn any_event<const FORTRAN: bool>(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    made: &Made,
    found: Option<Found>,
) -> Option<Event> {
    event(recorder, spec, arguments, made, found)
}

/// Returns the event to be recorded of a call; none of a call that is not recorded.
#[inline(always)]
fn event<const FORTRAN: bool>(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    made: &Made,
    found: Option<Found>,
) -> Option<Event> {
    let &Made { operation: Some(operation), is_failed, start, end } = made else { return None };
    let known = found.map_or_else(|| where_it_was(recorder, spec, arguments, is_failed), |found| found.on);
    let status = if spec.status.is_somewhere() && !is_failed && is_set(spec, arguments) {
        // SAFETY: the function has written it.
        Some(unsafe { recorder.mpi.status_at(arguments.word(spec.status) as *const c_void, 0) })
    } else {
        None
    };
    // Of a call that failed, nobody knows whether its type can be asked for its size.
    let bytes = if is_failed { 0 } else { bytes(recorder, spec, arguments, known, status.as_ref()) };
    let (peer, tag) = match (&status, found) {
        (None, Some(Found { peer, tag, .. })) => (peer, tag),
        _ => (peer(recorder, spec, arguments, status.as_ref()), tag(spec, arguments, status.as_ref())),
    };
    let subject = Subject::Call { communicator: known.number, peer, tag };
    Some(Event { start, end, bytes, operation, is_failed, subject })
}

#[inline(always)]
fn where_it_was<const FORTRAN: bool>(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    is_failed: bool,
) -> Known {
    if spec.comm.is_somewhere() {
        let held = arguments.held(spec.comm, recorder.handle_mask);
        if is_failed { recorder.comm_if_known(held) } else { recorder.comm(held) }
    } else if spec.win.is_somewhere() {
        recorder.within(Within::Window, arguments.held(spec.win, recorder.handle_mask))
    } else if spec.file.is_somewhere() {
        recorder.within(Within::File, arguments.held(spec.file, recorder.handle_mask))
    } else {
        Known::WORLD
    }
}

#[inline(always)]
fn peer<const FORTRAN: bool>(
    recorder: &Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    status: Option<&Status>,
) -> Peer {
    let given = match status {
        Some(status) => status.source,
        None if spec.peer.is_somewhere() => arguments.int(spec.peer),
        None => return Peer::None,
    };
    whom(recorder.mpi, given)
}

/// A rank as a program gives it or a status has it.
#[inline(always)]
pub(crate) fn whom(mpi: &Mpi, given: c_int) -> Peer {
    u32::try_from(given).map_or_else(|_| nobody(mpi, given), Peer::Rank)
}

#[inline(always)]
fn nobody(mpi: &Mpi, given: c_int) -> Peer {
    if given == mpi.constants().proc_null {
        Peer::Null
    } else if given == mpi.constants().any_source {
        Peer::Any
    } else {
        Peer::None
    }
}

#[inline(always)]
fn tag<const FORTRAN: bool>(spec: &Spec, arguments: &Arguments<'_, FORTRAN>, status: Option<&Status>) -> Option<i32> {
    match status {
        Some(status) => Some(status.tag),
        None => spec.tag.is_somewhere().then(|| arguments.int(spec.tag)),
    }
}

/// Returns the bytes of one message, as `docs/formats/communication-trace.md` counts.
#[inline(always)]
fn bytes<const FORTRAN: bool>(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    known: Known,
    status: Option<&Status>,
) -> u64 {
    if spec.rootdatatype.is_somewhere() {
        let root = arguments.int(spec.peer);
        let constants = recorder.mpi.constants();
        if root == constants.root || u32::try_from(root).is_ok_and(|root| root == known.rank) {
            return bytes_at_root(recorder, spec, arguments, known);
        }
        if root == constants.proc_null {
            return 0;
        }
    }
    if spec.count.is_somewhere() {
        match status {
            Some(status) => status.bytes,
            None if spec.partitions.is_somewhere() => {
                let n_partitions = arguments.int(spec.partitions).max(0) as u64;
                product(recorder, arguments, arguments.count(spec.count).saturating_mul(n_partitions), spec.datatype)
            }
            None => product(recorder, arguments, arguments.count(spec.count), spec.datatype),
        }
    } else if spec.blockcount.is_somewhere() {
        product(recorder, arguments, arguments.count(spec.blockcount), spec.datatype)
            .saturating_mul(known.n_peers.into())
    } else if spec.counts.is_somewhere() || spec.sumcounts.is_somewhere() {
        bytes_of_many(recorder, spec, arguments, known)
    } else {
        0
    }
}

#[inline(never)]
fn bytes_at_root<const FORTRAN: bool>(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    known: Known,
) -> u64 {
    if spec.rootcount.is_somewhere() {
        return product(recorder, arguments, arguments.count(spec.rootcount), spec.rootdatatype);
    }
    let sum = sum(arguments, spec.rootcounts, known.n_peers);
    product(recorder, arguments, sum, spec.rootdatatype) / u64::from(known.n_peers.max(1))
}

#[inline(never)]
fn bytes_of_many<const FORTRAN: bool>(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    known: Known,
) -> u64 {
    if spec.sumcounts.is_somewhere() {
        // The parts are those of the own side, which is not counted of an intercommunicator.
        let n_parts = if known.is_inter() { 0 } else { known.n_peers };
        return product(recorder, arguments, sum(arguments, spec.sumcounts, n_parts), spec.datatype);
    }
    let sum = if spec.datatypes.is_somewhere() {
        (0..known.n_peers as usize).fold(0_u64, |sum, at| {
            let count = arguments.count_at(spec.counts, at);
            if count == 0 {
                return sum;
            }
            let held = arguments.held_at(spec.datatypes, at, recorder.mpi);
            sum.saturating_add(count.saturating_mul(recorder.type_size(held)))
        })
    } else {
        product(recorder, arguments, sum(arguments, spec.counts, known.n_peers), spec.datatype)
    };
    sum / u64::from(known.n_peers.max(1))
}

fn sum<const FORTRAN: bool>(arguments: &Arguments<'_, FORTRAN>, counts: Place, n: u32) -> u64 {
    (0..n as usize).fold(0_u64, |sum, at| sum.saturating_add(arguments.count_at(counts, at)))
}

/// Returns the count times the size of the datatype. If the count is 0, programs pass types that do not exist.
#[inline(always)]
fn product<const FORTRAN: bool>(
    recorder: &mut Recorder,
    arguments: &Arguments<'_, FORTRAN>,
    count: u64,
    datatype: Place,
) -> u64 {
    if count == 0 {
        return 0;
    }
    let held = arguments.held(datatype, recorder.handle_mask);
    count.saturating_mul(recorder.type_size(held))
}
