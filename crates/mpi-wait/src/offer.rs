//! Collective calls that are offered to `mpi-coll`, if it is preloaded behind: it makes those that go over a tree, and
//! has all others made here instead of by the MPI library.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::null;

use mpi_abi::Function;
use mpi_trace::WaitState;

use crate::call::guarded;
use crate::pause::BlockedStretch;
use crate::start::{MadeCall, ProgramCall};

thread_local! {
    /// The call that this thread offers.
    static OFFERED: Cell<*const Offer<'static>> = const { Cell::new(null()) };
}

struct Offer<'a> {
    call: ProgramCall<'a>,
    start: &'a Function,
    test: &'a Function,
    blocked: Cell<Option<BlockedStretch<'a>>>,
    made: Cell<Option<MadeCall>>,
}

/// Whether `mpi-coll` is there to take collective calls.
pub(crate) fn is_possible() -> bool {
    !mpi_abi::any(c"condar_init").is_null()
}

impl ProgramCall<'_> {
    /// Offers the call, and makes it if it is not taken.
    ///
    /// # Safety
    /// As of [`ProgramCall::leave`].
    pub(crate) unsafe fn offer(&self, start: &Function, test: &Function) -> MadeCall {
        let blocked = BlockedStretch::begin(self.job, WaitState { is_left: true, ..self.state() });
        let offer = Offer { call: *self, start, test, blocked: Cell::new(Some(blocked)), made: Cell::new(None) };
        OFFERED.set((&raw const offer).cast());
        // SAFETY: as the caller says.
        let code = unsafe { self.arguments.pass() };
        OFFERED.set(null());
        let blocked_ns = offer.blocked.take().map_or(0, BlockedStretch::end);
        offer.made.take().unwrap_or(MadeCall { code, blocked_ns, status: None })
    }
}

/// Makes the call that this thread offers, if there is one: writes its error and returns 1. Else returns 0.
///
/// # Safety
/// There is room for the error.
#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_wait_make(error: *mut c_int) -> c_int {
    let offered = OFFERED.replace(null());
    // SAFETY: whoever offers waits for this call to return, and does not touch the offer meanwhile.
    let Some(offer) = (unsafe { offered.as_ref() }) else { return 0 };
    let made = guarded(|| {
        let blocked_ns = offer.blocked.take().map_or(0, BlockedStretch::end);
        // SAFETY: as of the call that was offered.
        let made = unsafe { offer.call.start(offer.start, offer.test) };
        MadeCall { blocked_ns: made.blocked_ns + blocked_ns, ..made }
    });
    let Some(made) = made else { return 0 };
    offer.made.set(Some(made));
    // SAFETY: as the caller says.
    unsafe { error.write(made.code) };
    1
}
