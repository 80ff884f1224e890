//! Messages of one size from or to one partner, a few of them under way at a time, in buffers that are used again and
//! again.
//!
//! The crate `mpi` has no requests that live longer than a call's scope and can be tested all at once, so the calls are
//! made here. Nothing else in COMB is unsafe.

use std::os::raw::c_int;
use std::ptr;

use mpi::datatype::Equivalence;
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use units::Rank;

/// Direction of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Sent,
    Received,
}

/// Buffers for messages in one direction. MPI may read or write a buffer from the moment it is posted until it is seen
/// to be complete; meanwhile this holds it in place and lets nobody look.
pub(crate) struct Lane<'a, T> {
    ranks: &'a SimpleCommunicator,
    partner: c_int,
    tag: c_int,
    direction: Direction,
    buffers: Vec<Box<[T]>>,
    length: c_int,
    requests: Vec<ffi::MPI_Request>,
    /// Buffer for the positions of complete requests, which MPI fills.
    completed: Vec<c_int>,
}

impl<'a, T: Equivalence + Copy> Lane<'a, T> {
    /// `n` buffers to send from, each with `length` times `filling` in it.
    pub(crate) fn sending(
        ranks: &'a SimpleCommunicator,
        partner: Rank,
        tag: c_int,
        n: u32,
        length: usize,
        filling: T,
    ) -> Self {
        Self::new(ranks, partner, tag, Direction::Sent, n, length, filling)
    }

    /// `n` buffers to receive into.
    pub(crate) fn receiving(
        ranks: &'a SimpleCommunicator,
        partner: Rank,
        tag: c_int,
        n: u32,
        length: usize,
        filling: T,
    ) -> Self {
        Self::new(ranks, partner, tag, Direction::Received, n, length, filling)
    }

    fn new(
        ranks: &'a SimpleCommunicator,
        partner: Rank,
        tag: c_int,
        direction: Direction,
        n: u32,
        length: usize,
        filling: T,
    ) -> Self {
        let n = n as usize;
        // Written once, so that no message is the first to touch a page.
        let buffers = (0..n).map(|_| vec![filling; length].into_boxed_slice()).collect();
        Self {
            ranks,
            partner: c_int::try_from(partner).expect("MPI counts ranks with 31 bits"),
            tag,
            direction,
            buffers,
            length: c_int::try_from(length).expect("a plan has no longer messages"),
            requests: vec![null(); n],
            completed: vec![0; n],
        }
    }

    /// Returns the number of buffers.
    pub(crate) fn n_buffers(&self) -> usize {
        self.buffers.len()
    }

    /// Hands a buffer to MPI.
    ///
    /// # Panics
    /// When it is under way already.
    #[inline]
    pub(crate) fn post(&mut self, idx: usize) {
        assert!(self.requests[idx] == null(), "a buffer is posted that is under way");
        let datatype = T::equivalent_datatype().as_raw();
        let (buffer, request) = (self.buffers[idx].as_mut_ptr().cast(), &mut self.requests[idx]);
        let ranks = self.ranks.as_raw();
        // SAFETY: the buffer has `length` elements of `datatype`, stays where it is on the heap, and is neither read
        // nor written nor freed here before the request is null again: `buffer` and `buffer_mut` look at that, and so
        // does `drop`.
        let (call, code) = unsafe {
            match self.direction {
                Direction::Sent => {
                    ("MPI_Isend", ffi::MPI_Isend(buffer, self.length, datatype, self.partner, self.tag, ranks, request))
                }
                Direction::Received => {
                    ("MPI_Irecv", ffi::MPI_Irecv(buffer, self.length, datatype, self.partner, self.tag, ranks, request))
                }
            }
        };
        check(call, code);
    }

    /// Hands all buffers to MPI.
    pub(crate) fn post_all(&mut self) {
        (0..self.n_buffers()).for_each(|idx| self.post(idx));
    }

    /// Adds to `found` which buffers came back since the last look. Lets MPI make progress, and does not wait.
    #[inline]
    pub(crate) fn collect(&mut self, found: &mut Vec<usize>) {
        let n = self.requests.len() as c_int;
        let mut n_completed = 0;
        // SAFETY: there are `n` requests, each null or active, and room for as many positions; statuses are not asked
        // for.
        let code = unsafe {
            ffi::MPI_Testsome(
                n,
                self.requests.as_mut_ptr(),
                &mut n_completed,
                self.completed.as_mut_ptr(),
                ffi::RSMPI_STATUSES_IGNORE,
            )
        };
        check("MPI_Testsome", code);
        // MPI_UNDEFINED, a negative number, where all requests are null.
        let n_completed = usize::try_from(n_completed).unwrap_or(0);
        found.extend(self.completed[..n_completed].iter().map(|&idx| idx as usize));
    }

    /// Waits until a buffer is back; at once where it was not posted.
    #[inline]
    pub(crate) fn wait(&mut self, idx: usize) {
        // SAFETY: the request is null or active, and is this lane's; the status is not asked for.
        let code = unsafe { ffi::MPI_Wait(&mut self.requests[idx], ffi::RSMPI_STATUS_IGNORE) };
        check("MPI_Wait", code);
    }

    /// Waits until all buffers are back.
    pub(crate) fn wait_all(&mut self) {
        (0..self.n_buffers()).for_each(|idx| self.wait(idx));
    }

    /// Takes back all buffers for which no message will come.
    ///
    /// # Panics
    /// When a message came nonetheless: partners disagree on how many there were.
    pub(crate) fn cancel_rest(&mut self) {
        for idx in 0..self.n_buffers() {
            if self.requests[idx] != null() {
                assert!(self.cancel(idx), "a message came that its sender had not counted");
            }
        }
    }

    /// Whether it was cancelled, and not completed before.
    fn cancel(&mut self, idx: usize) -> bool {
        let mut status = std::mem::MaybeUninit::<ffi::MPI_Status>::uninit();
        let mut is_cancelled = 0;
        // SAFETY: the request is active; waiting for it fills the status before that is asked.
        let codes = unsafe {
            [
                ("MPI_Cancel", ffi::MPI_Cancel(&mut self.requests[idx])),
                ("MPI_Wait", ffi::MPI_Wait(&mut self.requests[idx], status.as_mut_ptr())),
                ("MPI_Test_cancelled", ffi::MPI_Test_cancelled(status.as_ptr(), &mut is_cancelled)),
            ]
        };
        codes.into_iter().for_each(|(call, code)| check(call, code));
        is_cancelled != 0
    }

    /// Returns the contents of a buffer.
    ///
    /// # Panics
    /// When it is under way.
    pub(crate) fn buffer(&self, idx: usize) -> &[T] {
        assert!(self.requests[idx] == null(), "a buffer is read that is under way");
        &self.buffers[idx]
    }

    /// A buffer to fill.
    ///
    /// # Panics
    /// When it is under way.
    pub(crate) fn buffer_mut(&mut self, idx: usize) -> &mut [T] {
        assert!(self.requests[idx] == null(), "a buffer is written that is under way");
        &mut self.buffers[idx]
    }
}

impl<T> Drop for Lane<'_, T> {
    fn drop(&mut self) {
        if self.requests.iter().any(|request| *request != null()) {
            // MPI would write into memory that is no longer ours.
            std::mem::forget(std::mem::take(&mut self.buffers));
            assert!(std::thread::panicking(), "messages are left under way");
        }
    }
}

fn null() -> ffi::MPI_Request {
    // SAFETY: a constant of the library that nobody writes.
    unsafe { ptr::addr_of!(ffi::RSMPI_REQUEST_NULL).read() }
}

/// MPI ends all ranks on its own unless it is told not to; a code that comes back nonetheless ends them here.
fn check(call: &str, code: c_int) {
    assert!(code == ffi::MPI_SUCCESS as c_int, "{call} failed with code {code}");
}
