//! `MPI_Init` before the ranks are forked: once for all of them, so that they share the memory that it takes.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{face, library, rank};

/// The level that Open MPI's one-sided communication over messages allows; programs that ask for more get this one.
const MPI_THREAD_SERIALIZED: c_int = 2;

/// The function that `MPI_Init` and its like call.
const INIT: &CStr = c"ompi_mpi_init";

type Init = unsafe extern "C" fn(c_int, *mut *mut c_char, c_int, *mut c_int, bool) -> c_int;

/// Whether MPI is set up, and the program has not asked for it.
static IS_READY: AtomicBool = AtomicBool::new(false);

/// Has Open MPI set itself up. Where it cannot, ranks find out why by themselves.
pub fn prepare() {
    let Some(init) = library::MPI.find(INIT) else { return };
    let mut provided = 0;
    // SAFETY: the function of that name is of this type; no rank has been forked.
    let status = unsafe {
        std::mem::transmute::<*mut c_void, Init>(init)(0, null_mut(), MPI_THREAD_SERIALIZED, &raw mut provided, false)
    };
    IS_READY.store(status == 0, Ordering::Relaxed);
}

/// Gives a rank that was just forked its own place.
pub fn become_rank() {
    if IS_READY.load(Ordering::Relaxed)
        && let Some(front) = face::front()
    {
        // SAFETY: MPI is set up.
        unsafe { (front.become_rank)() };
    }
}

/// Stands before Open MPI's function of this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn ompi_mpi_init(
    n_arguments: c_int,
    arguments: *mut *mut c_char,
    requested: c_int,
    provided: *mut c_int,
    may_repeat: bool,
) -> c_int {
    let requested = requested.min(MPI_THREAD_SERIALIZED);
    let status = match face::front() {
        // SAFETY: MPI is set up, and the place for the level is the caller's.
        Some(front) if IS_READY.swap(false, Ordering::Relaxed) => unsafe {
            (front.begin_mpi)(requested, provided);
            0
        },
        // SAFETY: the caller's arguments.
        _ => unsafe {
            std::mem::transmute::<*mut c_void, Init>(library::MPI.function(INIT))(
                n_arguments,
                arguments,
                requested,
                provided,
                may_repeat,
            )
        },
    };
    if status == 0 && rank::is_simulated() {
        rank::initialized();
    }
    status
}
