//! Blocking calls as their non-blocking forms: begun, and tested until they are done.

use std::ffi::c_int;

use mpi_abi::Function;
use mpi_trace::{WaitKind, WaitState};

use crate::arguments::{CallArguments, OtherArguments, StatusSpace};
use crate::communicator::CommMembers;
use crate::job::WaitJob;
use crate::pause::{BlockedCall, BlockedStretch, until};
use crate::site::{ArgumentPlace, CallEffect, CallSite, CallWay};
use crate::wake::EnteredCall;

/// A call that was made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MadeCall {
    pub(crate) code: c_int,
    pub(crate) blocked_ns: u64,
    /// Address of the status of a received message.
    pub(crate) status: Option<usize>,
}

/// A call of the program, with its communicator, if it has one.
#[derive(Clone, Copy)]
pub(crate) struct ProgramCall<'a> {
    pub(crate) job: &'a WaitJob,
    pub(crate) arguments: CallArguments<'a>,
    pub(crate) communicator: Option<&'a CommMembers>,
}

impl ProgramCall<'_> {
    /// Leaves the call to the library, and counts the rank as blocked meanwhile.
    ///
    /// # Safety
    /// A program called the function with these arguments.
    pub(crate) unsafe fn leave(&self) -> MadeCall {
        let blocked = BlockedStretch::begin(self.job, WaitState { is_left: true, ..self.state() });
        // SAFETY: as the caller says.
        let code = unsafe { self.arguments.pass() };
        MadeCall { code, blocked_ns: blocked.end(), status: None }
    }

    /// Makes the call in the way of its site; `None` if the library beneath lacks a function for that.
    ///
    /// # Safety
    /// As of [`ProgramCall::leave`].
    pub(crate) unsafe fn make(&self) -> Option<MadeCall> {
        let are_there = |functions: &[&Function]| functions.iter().all(|function| !function.address().is_null());
        // SAFETY: as the caller says; the functions are there.
        unsafe {
            match &self.site().way {
                CallWay::Start { start, test } if are_there(&[start, test]) => {
                    let is_offered = self.job.has_trees && matches!(self.site().spec.effect, CallEffect::Collective(_));
                    Some(if is_offered { self.offer(start, test) } else { self.start(start, test) })
                }
                CallWay::Test { test, flag_at } if are_there(&[test]) => Some(self.test(test, *flag_at)),
                CallWay::Exchange { send, receive, test } if are_there(&[send, receive, test]) => {
                    Some(self.exchange([send, receive, test]))
                }
                CallWay::Replace { receive, test } if are_there(&[receive, test]) => self.replace(receive, test),
                _ => None,
            }
        }
    }

    /// # Safety
    /// As of [`ProgramCall::leave`], and the functions take the call's arguments with a request instead of a status.
    pub(crate) unsafe fn start(&self, start: &Function, test: &Function) -> MadeCall {
        let own = self.arguments.own();
        let own = &own[..self.site().spec.status.index().unwrap_or(own.len())];
        let mut request = 0_usize;
        let entered = EnteredCall::note(self.job, &self.arguments, self.communicator);
        // SAFETY: as the caller says; the request has room for a handle of any library.
        let code =
            unsafe { OtherArguments::new(own).with(&raw mut request as usize).call(start, self.site().is_fortran) };
        if code != 0 {
            return MadeCall { code, ..MadeCall::default() };
        }
        self.job.ring_after(&self.arguments, self.communicator);
        if let Some(entered) = &entered {
            self.job.ring_at_entry(entered);
        }
        let waiting = BlockedCall { entered, ..self.waiting() };
        let mut room = StatusSpace::default();
        let status = self.status(&mut room);
        // SAFETY: as the caller says.
        unsafe { self.finish(&waiting, test, &mut request, status) }
    }

    /// Tests a request until it is done.
    ///
    /// # Safety
    /// The request was begun, and `status` is the address of room for a status.
    pub(crate) unsafe fn finish(
        &self,
        waiting: &BlockedCall<'_>,
        test: &Function,
        request: &mut usize,
        status: usize,
    ) -> MadeCall {
        let (mut flag, mut code): (c_int, c_int) = (0, 0);
        let words = OtherArguments::new(&[&raw mut *request as usize, &raw mut flag as usize, status]);
        let blocked_ns = until(self.job, waiting, || {
            // SAFETY: as the caller says; the flag is read after the call only.
            code = unsafe { words.call(test, self.site().is_fortran) };
            // SAFETY: the function has written the flag through its address.
            code != 0 || unsafe { (&raw const flag).read_volatile() } != 0
        });
        MadeCall { code, blocked_ns, status: Some(status) }
    }

    /// # Safety
    /// As of [`ProgramCall::leave`], and the function takes the call's arguments, with a flag at `flag_at`.
    unsafe fn test(&self, test: &Function, flag_at: Option<usize>) -> MadeCall {
        let mut flag: c_int = 0;
        let own = OtherArguments::new(self.arguments.own());
        let words = flag_at.map_or(own, |at| own.with_at(at, &raw mut flag as usize));
        // The third argument of `MPI_Waitsome` counts completed requests.
        let done = if flag_at.is_some() { &raw const flag } else { self.arguments.words[2] as *const c_int };
        let mut code = 0;
        let blocked_ns = until(self.job, &self.waiting(), || {
            // SAFETY: as the caller says.
            code = unsafe { words.call(test, self.site().is_fortran) };
            // SAFETY: the function has written the flag, or the number.
            code != 0 || unsafe { done.read_volatile() } != 0
        });
        MadeCall { code, blocked_ns, status: None }
    }

    /// Whether the call is with `MPI_PROC_NULL` alone, so that it does not wait.
    pub(crate) fn is_with_nobody(&self) -> bool {
        let spec = self.site().spec;
        let is_message = spec.status.is_somewhere() || spec.effect == CallEffect::Sent;
        let is_nobody = |place: ArgumentPlace| self.arguments.int(place).is_none_or(|rank| rank == self.nobody());
        is_message && spec.peer.is_somewhere() && is_nobody(spec.peer) && is_nobody(spec.source)
    }

    /// `MPI_PROC_NULL`.
    pub(crate) fn nobody(&self) -> c_int {
        self.job.mpi.constants().proc_null
    }

    /// Returns the place for a status: the program's, or `room` if the program ignores it.
    pub(crate) fn status(&self, room: &mut StatusSpace) -> usize {
        let given = self.arguments.word(self.site().spec.status);
        given.filter(|word| !self.job.is_ignored(*word, self.site().is_fortran)).unwrap_or(&raw mut *room as usize)
    }

    /// Returns a wait of this call.
    pub(crate) fn waiting(&self) -> BlockedCall<'static> {
        BlockedCall { state: self.state(), is_far: self.is_far(), entered: None }
    }

    /// Returns the state in which the rank waits for this call.
    pub(crate) fn state(&self) -> WaitState {
        let spec = self.site().spec;
        let kind = match (spec.effect, &self.site().way) {
            (CallEffect::Sent | CallEffect::Exchanged, _) => WaitKind::Sending,
            (CallEffect::Received, _) => WaitKind::Receiving,
            (CallEffect::Collective(_), _) => WaitKind::Collective,
            (_, CallWay::Test { .. }) if spec.comm.is_somewhere() => WaitKind::Receiving,
            (_, CallWay::Test { .. }) => WaitKind::Waiting,
            _ => WaitKind::Other,
        };
        let is_of_one = matches!(kind, WaitKind::Receiving | WaitKind::Sending);
        WaitState { kind, is_left: false, awaited: if is_of_one { self.peer() } else { None } }
    }

    /// The position on this host of the rank that the call names.
    fn peer(&self) -> Option<u32> {
        self.communicator.zip(self.arguments.int(self.site().spec.peer)).and_then(|(known, peer)| known.peer(peer))
    }

    /// Whether a rank of another host may end the wait.
    fn is_far(&self) -> bool {
        if !self.job.is_far_possible {
            return false;
        }
        match self.site().spec.effect {
            CallEffect::Exchanged => self.communicator.is_none_or(|known| known.is_spread),
            _ if self.peer().is_some() && !matches!(self.site().spec.effect, CallEffect::Collective(_)) => false,
            _ => self.communicator.is_none_or(|known| known.is_spread),
        }
    }

    fn site(&self) -> &'static CallSite {
        self.arguments.site
    }
}
