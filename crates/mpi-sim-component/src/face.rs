//! Functions that the components in C call: those of `c/engine.h`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use mpi_sim::{Envelope, Handle, Mode, Probed, Taken, Wanted};
use units::SimDuration;

use crate::{library, rank};

/// A message that has arrived, or its envelope: then there are no bytes.
#[repr(C)]
struct Message {
    source: u32,
    tag: i32,
    length: usize,
    bytes: *const c_void,
    id: u64,
}

const ANY_SOURCE: i64 = -1;
const ANY_TAG: i64 = i64::MAX;

thread_local! {
    /// The bytes of the message that was taken last.
    static TAKEN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// Messages that matched probes took out.
    static PROBED: RefCell<Option<HashMap<u64, Probed>>> = const { RefCell::new(None) };
}

/// The function that answers `opal_progress`.
static PROGRESS: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static REAL_PROGRESS: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Functions of the components: `struct foretop_front`.
#[repr(C)]
pub struct Front {
    find_comm: unsafe extern "C" fn(*const c_void, *mut u64, *mut u32) -> bool,
    datatype_bytes: unsafe extern "C" fn(usize, bool) -> usize,
    pub become_rank: unsafe extern "C" fn(),
    pub begin_mpi: unsafe extern "C" fn(c_int, *mut c_int),
    meet_neighbours: unsafe extern "C" fn(*mut c_void),
}

static FRONT: AtomicPtr<Front> = AtomicPtr::new(std::ptr::null_mut());

/// The components; nothing before MPI has begun.
pub fn front() -> Option<&'static Front> {
    // SAFETY: a constant of the components, which stay loaded.
    unsafe { FRONT.load(Ordering::Relaxed).as_ref() }
}

#[unsafe(no_mangle)]
extern "C" fn foretop_front_is(front: *const Front) {
    FRONT.store(front.cast_mut(), Ordering::Relaxed);
}

/// The number of a communicator, which is the same on all its ranks and on no other ranks, and how many these are.
pub fn communicator(handle: usize) -> Option<(u64, u32)> {
    let (mut number, mut n_members) = (0, 0);
    // SAFETY: the program's handle, which the call itself takes on trust as well.
    let is_one = unsafe { (front()?.find_comm)(handle as *const c_void, &raw mut number, &raw mut n_members) };
    is_one.then_some((number, n_members))
}

/// Has a communicator's group know who is on this rank's node.
pub fn meet_neighbours(handle: usize) {
    if let Some(front) = front()
        && communicator(handle).is_some()
    {
        // SAFETY: a communicator.
        unsafe { (front.meet_neighbours)(handle as *mut c_void) };
    }
}

/// The bytes of a datatype's data; none before MPI has begun.
pub fn datatype_bytes(handle: usize, is_fortran: bool) -> u64 {
    // SAFETY: the program's handle, which the call itself takes on trust as well.
    front().map_or(0, |front| unsafe { (front.datatype_bytes)(handle, is_fortran) as u64 })
}

fn wanted(source: i64, context: u32, tag: i64) -> Wanted {
    Wanted {
        source: (source != ANY_SOURCE).then_some(source as u32),
        context,
        tag: (tag != ANY_TAG).then_some(tag as i32),
    }
}

fn message(envelope: &Envelope) -> Message {
    let Envelope { source, tag, n_bytes, .. } = *envelope;
    Message { source, tag, length: n_bytes as usize, bytes: std::ptr::null(), id: 0 }
}

#[unsafe(no_mangle)]
extern "C" fn foretop_rank() -> u32 {
    rank::me()
}

#[unsafe(no_mangle)]
extern "C" fn foretop_n_ranks() -> u32 {
    rank::n_ranks()
}

#[unsafe(no_mangle)]
extern "C" fn foretop_node(of: u32) -> u32 {
    rank::job().map_or(0, |job| job.world.hold().machine().place(of).node_idx)
}

/// Computes, for programs, for what takes so long on this host, whatever `--compute` says.
#[unsafe(no_mangle)]
extern "C" fn foretop_sim_compute(nanoseconds: u64) {
    if rank::is_simulated() {
        rank::rank().compute(SimDuration::from_nanos(nanoseconds));
    }
}

/// The same for Fortran.
#[unsafe(no_mangle)]
extern "C" fn foretop_sim_compute_(nanoseconds: &i64) {
    foretop_sim_compute(u64::try_from(*nanoseconds).unwrap_or(0));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_send(
    to: u32,
    context: u32,
    tag: i32,
    mode: c_int,
    length: usize,
    fill: extern "C" fn(*mut c_void, *mut u8, usize),
    from: *mut c_void,
) -> Handle {
    let mode = match mode {
        0 => Mode::Standard,
        1 => Mode::Synchronous,
        _ => Mode::Ready,
    };
    let mut bytes = Box::new_uninit_slice(length);
    if length > 0 {
        fill(from, bytes.as_mut_ptr().cast(), length);
    }
    rank::note_sent(length);
    // SAFETY: the convertor wrote all bytes.
    rank::rank().send(to, context, tag, mode, unsafe { bytes.assume_init() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_declare(context: u32, members: *const u32, n_members: usize) {
    if rank::is_simulated() {
        // SAFETY: the component's list.
        rank::rank().declare(context, unsafe { std::slice::from_raw_parts(members, n_members) }, false);
    }
}

#[unsafe(no_mangle)]
extern "C" fn foretop_forget_context(context: u32) {
    if rank::is_simulated() {
        rank::rank().forget(context);
    }
}

#[unsafe(no_mangle)]
extern "C" fn foretop_receive(source: i64, context: u32, tag: i64) -> Handle {
    rank::rank().receive(wanted(source, context, tag))
}

#[unsafe(no_mangle)]
extern "C" fn foretop_receive_matched(id: u64) -> Handle {
    let probed = PROBED.with_borrow_mut(|probed| probed.as_mut().and_then(|probed| probed.remove(&id)));
    rank::rank().receive_probed(probed.expect("the message of a matched probe is received once"))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_probe(
    source: i64,
    context: u32,
    tag: i64,
    waits: bool,
    takes: bool,
    place: *mut Message,
) -> bool {
    let (mut rank, wanted) = (rank::rank(), wanted(source, context, tag));
    let found = if takes {
        let probed = if waits { rank.take_probed(wanted).map(Some) } else { rank.take_probed_now(wanted) };
        let probed = probed.unwrap_or_else(|why| rank::stopped(why));
        probed.map(|probed| {
            let found = Message { id: probed.id(), ..message(probed.envelope()) };
            PROBED.with_borrow_mut(|all| all.get_or_insert_default().insert(found.id, probed));
            found
        })
    } else {
        let found = if waits { rank.probe(wanted).map(Some) } else { rank.probe_now(wanted) };
        found.unwrap_or_else(|why| rank::stopped(why)).as_ref().map(message)
    };
    let is_found = found.is_some();
    if let Some(found) = found {
        // SAFETY: the component's place for the envelope.
        unsafe { place.write(found) };
    }
    is_found
}

#[unsafe(no_mangle)]
extern "C" fn foretop_cancel(handle: Handle) -> bool {
    rank::rank().cancel(handle).unwrap_or_else(|why| rank::stopped(why))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_wait_any(handles: *const Handle, n_handles: usize) -> usize {
    // SAFETY: the component's handles.
    let handles = unsafe { std::slice::from_raw_parts(handles, n_handles) };
    rank::rank().wait_any(handles).unwrap_or_else(|why| rank::stopped(why))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_wait_all(handles: *const Handle, n_handles: usize) {
    // SAFETY: the component's handles.
    let handles = unsafe { std::slice::from_raw_parts(handles, n_handles) };
    rank::rank().wait_all(handles).unwrap_or_else(|why| rank::stopped(why));
}

/// Puts down which are complete by now.
#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_test(handles: *const Handle, n_handles: usize, complete: *mut bool) {
    // SAFETY: the component's handles, and as many places for answers.
    let (handles, places) = unsafe {
        (std::slice::from_raw_parts(handles, n_handles), std::slice::from_raw_parts_mut(complete, n_handles))
    };
    places.copy_from_slice(&rank::rank().test(handles).unwrap_or_else(|why| rank::stopped(why)));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_take(handle: Handle, place: *mut Message) {
    let taken = match rank::rank().take(handle) {
        Taken::Received(envelope, bytes) => {
            let bytes = TAKEN.with_borrow_mut(|taken| {
                *taken = bytes.into_vec();
                taken.as_ptr().cast()
            });
            Message { bytes, ..message(&envelope) }
        }
        Taken::Sent | Taken::Cancelled => Message { source: 0, tag: 0, length: 0, bytes: std::ptr::null(), id: 0 },
    };
    // SAFETY: the component's place for the message.
    unsafe { place.write(taken) };
}

#[unsafe(no_mangle)]
extern "C" fn foretop_polled() {
    rank::rank().test_nothing().unwrap_or_else(|why| rank::stopped(why));
}

#[unsafe(no_mangle)]
extern "C" fn foretop_progress_by(progress: extern "C" fn()) {
    PROGRESS.store(progress as *mut c_void, Ordering::Relaxed);
}

/// Does what Open MPI's own `opal_progress` does.
#[unsafe(no_mangle)]
extern "C" fn foretop_progress() {
    let mut real = REAL_PROGRESS.load(Ordering::Relaxed);
    if real.is_null() {
        real = library::PAL.function(c"opal_progress");
        REAL_PROGRESS.store(real, Ordering::Relaxed);
    }
    // SAFETY: the function of that name takes nothing and gives nothing.
    unsafe { std::mem::transmute::<*mut c_void, extern "C" fn()>(real)() }
}

/// Stands before Open MPI's function of this name, which its loops call until something is there.
#[unsafe(no_mangle)]
extern "C" fn opal_progress() {
    let progress = PROGRESS.load(Ordering::Relaxed);
    if progress.is_null() {
        foretop_progress();
    } else {
        // SAFETY: the component's function.
        unsafe { std::mem::transmute::<*mut c_void, extern "C" fn()>(progress)() }
    }
}

#[unsafe(no_mangle)]
extern "C" fn foretop_abort(status: c_int) -> ! {
    match rank::call_name() {
        Some("MPI_Abort") | None => rank::fail(format!("the program was aborted with status {status}")),
        // Errors end the program unless it says otherwise.
        Some(_) => rank::fail(format!("it failed: {}", error_text(status))),
    }
}

/// Returns the text of MPI for an error.
fn error_text(status: c_int) -> String {
    const LENGTH_MAX: usize = 256;
    let place = library::MPI.function(c"PMPI_Error_string");
    let (mut text, mut length) = ([0_u8; LENGTH_MAX], 0);
    // SAFETY: the function of that name has these arguments, and the text is as long as Open MPI's longest.
    let known = unsafe {
        let find = std::mem::transmute::<*mut c_void, extern "C" fn(c_int, *mut u8, *mut c_int) -> c_int>(place);
        find(status, text.as_mut_ptr(), &raw mut length)
    };
    let length = usize::try_from(length).unwrap_or(0).min(LENGTH_MAX);
    if known == 0 { String::from_utf8_lossy(&text[..length]).into_owned() } else { format!("error {status}") }
}

#[unsafe(no_mangle)]
extern "C" fn foretop_finalized() {
    if let Some(job) = rank::job() {
        job.notes[rank::me() as usize].is_finalized.store(true, Ordering::Relaxed);
    }
}
