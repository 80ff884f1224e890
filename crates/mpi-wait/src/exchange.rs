//! Calls that send and receive at the same time, of which the one may wait for the other at the peer's.

use std::ffi::c_int;

use mpi_abi::{Failed, Function, Mpi, Request};

use crate::arguments::{OtherArguments, StatusSpace};
use crate::pause::until;
use crate::start::{MadeCall, ProgramCall};

/// Greatest number of arguments of such a call.
const N_WORDS: usize = 12;
/// Place of the destination in both calls.
const TO: usize = 3;

impl ProgramCall<'_> {
    /// Makes `MPI_Sendrecv`.
    ///
    /// # Safety
    /// A program called it with these arguments; the functions are there.
    pub(crate) unsafe fn exchange(&self, [send, receive, test]: [&Function; 3]) -> MadeCall {
        let own = self.arguments.own();
        let (sending, receiving, comm) = (&own[..5], &own[5..10], own[10]);
        let mut sent = 0_usize;
        let words = OtherArguments::new(sending).with(comm).with(&raw mut sent as usize);
        // SAFETY: as the caller says; the request has room for a handle of any library.
        let code = unsafe { words.call(send, self.arguments.site.is_fortran) };
        if code != 0 {
            return MadeCall { code, ..MadeCall::default() };
        }
        self.job.ring_after(&self.arguments, self.communicator);
        // SAFETY: as the caller says.
        let received = unsafe { self.receive(OtherArguments::new(receiving).with(comm), receive, test) };
        let mut room = StatusSpace::default();
        // SAFETY: the request was begun.
        let done = unsafe { self.finish(&self.waiting(), test, &mut sent, &raw mut room as usize) };
        // SAFETY: as the caller says.
        unsafe { self.complete(received, done) }
    }

    /// Makes `MPI_Sendrecv_replace`; `None` if the library has to.
    ///
    /// # Safety
    /// As of [`ProgramCall::exchange`].
    pub(crate) unsafe fn replace(&self, receive: &Function, test: &Function) -> Option<MadeCall> {
        // SAFETY: as the caller says.
        let (copy, mut sent) = match unsafe { self.send_copy() } {
            Ok(begun) => begun?,
            Err(Failed { code, .. }) => return Some(MadeCall { code, ..MadeCall::default() }),
        };
        self.job.ring_after(&self.arguments, self.communicator);
        let &[buffer, count, datatype, _, _, from, tag, comm, ..] = self.arguments.own() else { return None };
        // SAFETY: as the caller says.
        let received =
            unsafe { self.receive(OtherArguments::new(&[buffer, count, datatype, from, tag, comm]), receive, test) };
        let mut code = 0;
        let blocked_ns = until(self.job, &self.waiting(), || match self.job.mpi.test(&mut sent) {
            Ok(status) => status.is_some(),
            Err(failed) => {
                code = failed.code;
                true
            }
        });
        drop(copy);
        // SAFETY: as the caller says.
        Some(unsafe { self.complete(received, MadeCall { code, blocked_ns, status: None }) })
    }

    /// Begins to send a copy of the buffer; `None` if it is too large.
    ///
    /// # Safety
    /// As of [`ProgramCall::exchange`].
    unsafe fn send_copy(&self) -> Result<Option<(Vec<u8>, Request)>, Failed> {
        let (mpi, spec, arguments) = (self.job.mpi, self.arguments.site.spec, &self.arguments);
        let int = |place| arguments.int(place).unwrap_or(0);
        let (Some(held), Some(comm)) = (arguments.held(spec.datatype, mpi), arguments.held(spec.comm, mpi)) else {
            return Ok(None);
        };
        let datatype = arguments.in_c(held, Mpi::datatype_of_fortran, mpi);
        let comm = arguments.in_c(comm, Mpi::comm_of_fortran, mpi);
        let buffer = match arguments.own()[0] {
            bottom if arguments.site.is_fortran && mpi.fortran_bottom().contains(&bottom) => 0,
            buffer => buffer,
        };
        // The library reports what is wrong with the arguments.
        let Ok(size) = mpi.pack_size(int(spec.count), datatype, comm) else { return Ok(None) };
        let mut copy = vec![0; size];
        // SAFETY: the program passed so many elements.
        unsafe { mpi.pack(buffer, int(spec.count), datatype, &mut copy, comm)? };
        let tag = if arguments.site.is_fortran { arguments.own()[TO + 1] as *const c_int } else { std::ptr::null() };
        // SAFETY: Fortran passes the address of an integer.
        let tag = if tag.is_null() { arguments.own()[TO + 1] as c_int } else { unsafe { *tag } };
        // SAFETY: the copy is there until the request is done.
        let request = unsafe { mpi.isend(&raw const *copy, int(spec.peer), tag, comm)? };
        Ok(Some((copy, request)))
    }

    /// Receives the other message, unless there is none.
    ///
    /// # Safety
    /// As of [`ProgramCall::exchange`], with the arguments of `MPI_Irecv` but for the request.
    unsafe fn receive(&self, words: OtherArguments, receive: &Function, test: &Function) -> MadeCall {
        if self.is_from_nobody() {
            return MadeCall::default();
        }
        let mut request = 0_usize;
        // SAFETY: as the caller says; the request has room for a handle of any library.
        let code = unsafe { words.with(&raw mut request as usize).call(receive, self.arguments.site.is_fortran) };
        if code != 0 {
            return MadeCall { code, ..MadeCall::default() };
        }
        let mut room = StatusSpace::default();
        let status = self.status(&mut room);
        // SAFETY: the request was begun.
        let made = unsafe { self.finish(&self.waiting(), test, &mut request, status) };
        if made.code == 0 {
            self.job.ring_source(self.communicator, status);
        }
        MadeCall { status: None, ..made }
    }

    /// Returns both halves as one call.
    ///
    /// # Safety
    /// As of [`ProgramCall::exchange`].
    unsafe fn complete(&self, mut received: MadeCall, sent: MadeCall) -> MadeCall {
        if self.is_from_nobody() {
            // The library itself writes the status of a message from nobody, if the other message is for nobody, too.
            let own = self.arguments.own();
            let mut words = [0; N_WORDS];
            words[..own.len()].copy_from_slice(own);
            words[TO] = self.arguments.word(self.arguments.site.spec.source).unwrap_or(own[TO]);
            // SAFETY: as the caller says.
            let made = unsafe {
                OtherArguments::new(&words[..own.len()]).call(&self.arguments.site.next, self.arguments.site.is_fortran)
            };
            received.code = made;
        }
        let code = if received.code == 0 { sent.code } else { received.code };
        MadeCall { code, blocked_ns: received.blocked_ns + sent.blocked_ns, status: None }
    }

    fn is_from_nobody(&self) -> bool {
        self.arguments.int(self.arguments.site.spec.source) == Some(self.nobody())
    }
}
