//! Functions for the library of collectives, when it is preloaded in front and carries out a call that does not get
//! here.

use std::ffi::c_int;

use mpi_abi::Mpi;
use mpi_trace::{Event, Operation, Peer, Subject};

use crate::arguments::Held;
use crate::thread::Inside;

/// Begins such a call: returns the moment to give to [`foretop_tracer_end`], or 0 if the call is not to be recorded.
#[unsafe(no_mangle)]
extern "C" fn foretop_tracer_begin(_operation: u8) -> u64 {
    let Some(mut inside) = Inside::enter() else { return 0 };
    inside.recorder().filter(|recorder| recorder.is_on()).map_or(0, |recorder| recorder.ticks.now())
}

/// Ends such a call. The communicator is the program's handle in C, the peer a root; a peer or tag below 0 is none.
#[unsafe(no_mangle)]
extern "C" fn foretop_tracer_end(
    operation: u8,
    comm: usize,
    peer: c_int,
    tag: c_int,
    bytes: u64,
    start: u64,
    error: c_int,
) {
    if start == 0 {
        return;
    }
    let (Some(operation), Some(mut inside)) = (Operation::of_code(operation), Inside::enter()) else { return };
    let (Some(recorder), Some(mpi)) = (inside.recorder(), Mpi::get()) else { return };
    let end = recorder.ticks.now();
    let known = recorder.comm(Held { word: mpi.handle(comm).0, is_fortran: false });
    recorder.write(&Event {
        start,
        end,
        bytes,
        operation,
        is_failed: error != 0,
        subject: Subject::Call {
            communicator: known.number,
            peer: u32::try_from(peer).map_or(Peer::None, Peer::Rank),
            tag: (tag >= 0).then_some(tag),
        },
    });
}
