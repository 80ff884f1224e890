//! One call of the program: made in the way of its site, and counted.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use clock::monotonic_ns;
use mpi_abi::invoke;
use mpi_trace::{Operation, WaitMode};

use crate::arguments::CallArguments;
use crate::bytes;
use crate::inside::InsideCall;
use crate::job::{self, WaitJob};
use crate::site::{CallEffect, CallSite, CallWay};
use crate::start::{MadeCall, ProgramCall};
use crate::tally::CallTally;

/// `MPI_ERR_INTERN` of Open MPI and MPICH, `MPI_ERR_OTHER` of the standard ABI.
const ERR_INTERN: c_int = 16;

/// Makes a call of the program, unless it is a part of another one.
///
/// # Safety
/// A program called the function of this site with these arguments.
pub(crate) unsafe fn take(site: &'static CallSite, words: &[usize]) -> c_int {
    let next = site.next.address();
    if next.is_null() {
        return ERR_INTERN;
    }
    let inside = if matches!(site.way, CallWay::Defer) { None } else { InsideCall::enter() };
    let Some(_inside) = inside else {
        // SAFETY: the next function of this name takes what this one was called with.
        return unsafe { invoke(next, words) };
    };
    // SAFETY: as the caller says.
    let arguments = unsafe { CallArguments::new(site, words) };
    match (&site.way, WaitJob::get()) {
        // SAFETY: as the caller says.
        (CallWay::Init, _) => unsafe { begin(&arguments) },
        (CallWay::Finalize | CallWay::Abort, Some(_)) => {
            job::end();
            // SAFETY: as above.
            unsafe { invoke(next, words) }
        }
        // SAFETY: as above.
        (_, Some(job)) => unsafe { counted(job, arguments) },
        // SAFETY: as above.
        (_, None) => unsafe { invoke(next, words) },
    }
}

/// # Safety
/// As of [`take`], with `MPI_Init` or `MPI_Init_thread`.
unsafe fn begin(arguments: &CallArguments<'_>) -> c_int {
    job::prepare();
    // SAFETY: as the caller says.
    let code = unsafe { arguments.pass() };
    if code == 0 {
        job::begin();
    }
    code
}

/// # Safety
/// As of [`take`].
unsafe fn counted(job: &WaitJob, arguments: CallArguments<'_>) -> c_int {
    let spec = arguments.site.spec;
    if spec.comm_given_up.is_somewhere() || spec.type_given_up.is_somewhere() {
        guarded(|| job.known.forget(job.mpi, &arguments));
    }
    let communicator = guarded(|| job.known.communicator(job.mpi, &job.members, &arguments)).flatten();
    let communicator = communicator.as_deref();
    if let (Some(Operation::PCONTROL), Some(level)) = (spec.operation, arguments.int(spec.level)) {
        guarded(|| job.mark(level));
    }
    let call = ProgramCall { job, arguments, communicator };
    let start = monotonic_ns();
    // SAFETY: as the caller says.
    let made = unsafe {
        if !spec.is_blocking || call.is_with_nobody() {
            MadeCall { code: arguments.pass(), ..MadeCall::default() }
        } else if let Some(made) = (job.mode != WaitMode::Library).then(|| call.make()).flatten() {
            arguments.set_error(made.code);
            made
        } else {
            call.leave()
        }
    };
    let total_ns = monotonic_ns().saturating_sub(start);
    let is_done = made.code == 0;
    if is_done && job.mode == WaitMode::Block {
        // A call that was begun rang before it waited.
        if made.status.is_none() {
            job.ring_after(&arguments, communicator);
        } else if let (CallEffect::Received, Some(status)) = (spec.effect, made.status) {
            job.ring_source(communicator, status);
        }
    }
    if let Some(operation) = spec.operation {
        let n_bytes = if is_done {
            guarded(|| bytes::of(job.mpi, &job.known, &arguments, communicator, made.status)).unwrap_or(0)
        } else {
            0
        };
        job.tallies.add(operation, CallTally { n_calls: 1, n_bytes, total_ns, blocked_ns: made.blocked_ns });
    }
    made.code
}

/// Runs what may break. A panic must not unwind into the program.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}
