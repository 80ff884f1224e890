//! Functions that kernels in C call, as `mpi.h` declares them.

mod collective;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_double, c_int, c_long};
use std::sync::Mutex;
use std::{ptr, slice};

use units::{Rank as RankIdx, SimDuration};

use self::collective::{
    Parts, allgather, alltoall, barrier, broadcast, exchange, gather, reduce, reduce_scatter, scan, scatter,
};
use super::super::{Contexts, current};
use crate::message::{Envelope, Handle, Mode, Wanted};
use crate::rank::{Rank, Taken};
use crate::world::{Reason, Stopped};

/// Messages of kernels, and those of their collective operations.
const POINT_TO_POINT: u32 = 0;
const COLLECTIVE: u32 = 1;
const ANY: c_int = -1;

type Requests = *mut c_int;
type Statuses = *mut Status;

/// Counterpart of `MPI_Status` of the header.
#[repr(C)]
pub(super) struct Status {
    source: c_int,
    tag: c_int,
    error: c_int,
    bytes: c_long,
}

/// Counterpart of `struct foretop_sim_calls` of the header.
#[repr(C)]
pub(super) struct Calls {
    rank: extern "C" fn() -> c_int,
    n_ranks: extern "C" fn() -> c_int,
    seconds: extern "C" fn() -> c_double,
    compute: extern "C" fn(c_double),
    send: unsafe extern "C" fn(*const u8, c_long, c_int, c_int, c_int) -> c_int,
    receive: unsafe extern "C" fn(*mut u8, c_long, c_int, c_int) -> c_int,
    wait: unsafe extern "C" fn(c_int, Requests, Statuses),
    wait_any: unsafe extern "C" fn(c_int, Requests, Statuses) -> c_int,
    test: unsafe extern "C" fn(c_int, Requests, Statuses) -> c_int,
    probe: unsafe extern "C" fn(c_int, c_int, c_int, Statuses) -> c_int,
    barrier: extern "C" fn(),
    broadcast: unsafe extern "C" fn(*mut u8, c_long, c_int),
    reduce: unsafe extern "C" fn(*mut u8, c_int, c_int, c_int, c_int),
    allgather: unsafe extern "C" fn(*mut u8, c_long),
    alltoall: unsafe extern "C" fn(*const u8, *mut u8, c_long),
    stop: unsafe extern "C" fn(*const c_char, c_int),
    gather: unsafe extern "C" fn(*const u8, c_long, *mut u8, c_int),
    scatter: unsafe extern "C" fn(*const u8, c_long, *mut u8, c_int),
    scan: unsafe extern "C" fn(*mut u8, c_int, c_int, c_int, c_int),
    reduce_scatter: unsafe extern "C" fn(*mut u8, *mut u8, c_int, c_int, c_int),
    exchange: unsafe extern "C" fn(c_int, *const Parts, *const Parts, c_int),
}

pub(super) static CALLS: Calls = Calls {
    rank,
    n_ranks,
    seconds,
    compute,
    send,
    receive,
    wait,
    wait_any,
    test,
    probe,
    barrier,
    broadcast,
    reduce,
    allgather,
    alltoall,
    stop,
    gather,
    scatter,
    scan,
    reduce_scatter,
    exchange,
};

/// Algorithms that ran, by call.
pub(super) type Ran = Mutex<BTreeSet<(&'static str, &'static str)>>;

/// One rank, as its C code sees it.
pub(super) struct Client<'a, 'w> {
    rank: &'a mut Rank<'w, Contexts>,
    ran: &'a Ran,
    members: &'a [RankIdx],
    /// Destination of the bytes of a receive, by handle.
    rooms: Vec<Room>,
}

/// Destination of received bytes.
#[derive(Clone, Copy)]
struct Room {
    at: *mut u8,
    n_bytes: usize,
}

impl<'a, 'w> Client<'a, 'w> {
    pub(super) fn new(rank: &'a mut Rank<'w, Contexts>, members: &'a [RankIdx], ran: &'a Ran) -> Self {
        Self { rank, ran, members, rooms: Vec::new() }
    }

    fn request(handle: Handle) -> c_int {
        handle as c_int + 1
    }

    fn expect(&mut self, handle: Handle, room: Room) -> c_int {
        let place = handle as usize;
        if self.rooms.len() <= place {
            self.rooms.resize(place + 1, Room { at: ptr::null_mut(), n_bytes: 0 });
        }
        self.rooms[place] = room;
        Self::request(handle)
    }

    /// Ends a complete request: its bytes go where they belong.
    ///
    /// # Safety
    /// The room of a receive is still there.
    unsafe fn finish(&mut self, request: &mut c_int, status: Option<&mut Status>) -> Result<(), Stopped> {
        let handle = (*request - 1) as Handle;
        *request = 0;
        if let Taken::Received(envelope, bytes) = self.rank.take(handle) {
            let room = self.rooms[handle as usize];
            if bytes.len() > room.n_bytes {
                let sent = format!("rank {} sent {} bytes with tag {}", envelope.source, bytes.len(), envelope.tag);
                return Err(self.stop(format!("{sent}, and the receive has room for {}", room.n_bytes)));
            }
            // SAFETY: the room is as long, by the caller's contract.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), room.at, bytes.len()) };
            if let Some(status) = status {
                *status = Status::of(&envelope);
            }
        }
        Ok(())
    }

    fn stop(&mut self, what: String) -> Stopped {
        let stopped = Stopped { rank: self.rank.me(), at: self.rank.now(), reason: Reason::Ended(what) };
        self.rank.stop(stopped.clone());
        stopped
    }
}

impl Status {
    fn of(envelope: &Envelope) -> Self {
        Self { source: envelope.source as c_int, tag: envelope.tag, error: 0, bytes: envelope.n_bytes as c_long }
    }
}

/// Runs `main` with `client` behind the calls that it makes.
///
/// # Safety
/// `main` is C code that calls back only from the context of the caller.
pub(super) unsafe fn with(client: &RefCell<Client<'_, '_>>, main: impl FnOnce() -> c_int) -> c_int {
    current::set(ptr::from_ref(client).cast_mut().cast());
    main()
}

/// Returns the answer of the calling rank's client. A rank that is stopped does not return to its C code, which is not
/// aware of the stop.
fn ask<T>(work: impl FnOnce(&mut Client<'_, '_>) -> Result<T, Stopped>) -> T {
    // SAFETY: `with` set it, and C code calls only from within.
    let client: &RefCell<Client<'_, '_>> = unsafe { &*current::get().cast() };
    let mut client = client.borrow_mut();
    match work(&mut client) {
        Ok(answer) => answer,
        Err(_) => client.rank.vanish(),
    }
}

/// The slice of an array of C.
///
/// # Safety
/// The pointer holds for so many, or there are none.
unsafe fn array<'a, T>(first: *mut T, n: usize) -> &'a mut [T] {
    if n == 0 || first.is_null() {
        return &mut [];
    }
    // SAFETY: by the caller's contract.
    unsafe { slice::from_raw_parts_mut(first, n) }
}

fn wanted(from: c_int, tag: c_int) -> Wanted {
    let source = (from != ANY).then_some(from as RankIdx);
    Wanted { source, context: POINT_TO_POINT, tag: (tag != ANY).then_some(tag) }
}

extern "C" fn rank() -> c_int {
    ask(|client| Ok(client.rank.me() as c_int))
}

extern "C" fn n_ranks() -> c_int {
    ask(|client| Ok(client.members.len() as c_int))
}

extern "C" fn seconds() -> c_double {
    ask(|client| Ok(client.rank.now().as_nanos() as f64 / 1e9))
}

extern "C" fn compute(seconds: c_double) {
    ask(|client| {
        client.rank.compute(SimDuration::from_nanos((seconds * 1e9).ceil() as u64));
        Ok(())
    });
}

unsafe extern "C" fn send(data: *const u8, n_bytes: c_long, to: c_int, tag: c_int, mode: c_int) -> c_int {
    ask(|client| {
        let n_ranks = client.members.len();
        let Some(to) = RankIdx::try_from(to).ok().filter(|to| (*to as usize) < n_ranks) else {
            return Err(client.stop(format!("rank {to} of a send is none of the {n_ranks} ranks")));
        };
        // SAFETY: C's `data` holds so many bytes.
        let bytes = unsafe { array(data.cast_mut(), n_bytes as usize) };
        let mode = [Mode::Standard, Mode::Synchronous, Mode::Buffered, Mode::Ready][mode as usize];
        Ok(Client::request(client.rank.send(to, POINT_TO_POINT, tag, mode, (&*bytes).into())))
    })
}

unsafe extern "C" fn receive(data: *mut u8, n_bytes: c_long, from: c_int, tag: c_int) -> c_int {
    ask(|client| {
        let handle = client.rank.receive(wanted(from, tag));
        Ok(client.expect(handle, Room { at: data, n_bytes: n_bytes as usize }))
    })
}

unsafe extern "C" fn wait(n: c_int, requests: Requests, statuses: Statuses) {
    ask(|client| {
        // SAFETY: C's arrays have so many.
        let (requests, statuses) = unsafe { (array(requests, n as usize), array(statuses, n as usize)) };
        let open: Vec<Handle> = requests.iter().filter(|one| **one > 0).map(|one| (*one - 1) as Handle).collect();
        client.rank.wait_all(&open)?;
        for (idx, request) in requests.iter_mut().enumerate().filter(|(_, request)| **request > 0) {
            // SAFETY: MPI leaves receives' rooms alone until they are complete.
            unsafe { client.finish(request, statuses.get_mut(idx))? };
        }
        Ok(())
    });
}

unsafe extern "C" fn wait_any(n: c_int, requests: Requests, status: Statuses) -> c_int {
    const UNDEFINED: c_int = -32_766;
    ask(|client| {
        // SAFETY: as in `wait`, with one status.
        let (requests, status) = unsafe { (array(requests, n as usize), status.as_mut()) };
        let places: Vec<usize> = (0..requests.len()).filter(|idx| requests[*idx] > 0).collect();
        if places.is_empty() {
            return Ok(UNDEFINED);
        }
        let open: Vec<Handle> = places.iter().map(|idx| (requests[*idx] - 1) as Handle).collect();
        let first = places[client.rank.wait_any(&open)?];
        // SAFETY: as in `wait`.
        unsafe { client.finish(&mut requests[first], status)? };
        Ok(first as c_int)
    })
}

unsafe extern "C" fn test(n: c_int, requests: Requests, statuses: Statuses) -> c_int {
    ask(|client| {
        // SAFETY: as in `wait`.
        let (requests, statuses) = unsafe { (array(requests, n as usize), array(statuses, n as usize)) };
        let open: Vec<Handle> = requests.iter().filter(|one| **one > 0).map(|one| (*one - 1) as Handle).collect();
        if client.rank.test(&open)?.contains(&false) {
            return Ok(0);
        }
        for (idx, request) in requests.iter_mut().enumerate().filter(|(_, request)| **request > 0) {
            // SAFETY: as in `wait`.
            unsafe { client.finish(request, statuses.get_mut(idx))? };
        }
        Ok(1)
    })
}

unsafe extern "C" fn probe(from: c_int, tag: c_int, waits: c_int, status: Statuses) -> c_int {
    ask(|client| {
        let wanted = wanted(from, tag);
        let found = if waits == 0 { client.rank.probe_now(wanted)? } else { Some(client.rank.probe(wanted)?) };
        // SAFETY: C's status, or none.
        if let (Some(envelope), Some(status)) = (found, unsafe { status.as_mut() }) {
            *status = Status::of(&envelope);
        }
        Ok(c_int::from(found.is_some()))
    })
}

unsafe extern "C" fn stop(call: *const c_char, code: c_int) {
    ask(|client| -> Result<(), Stopped> {
        // SAFETY: the header gives a text.
        let call = unsafe { CStr::from_ptr(call) }.to_string_lossy();
        Err(client.stop(format!("{call}: code {code}")))
    });
}
