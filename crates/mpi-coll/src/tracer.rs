//! The tracer, if it is preloaded too: it gets a record of each call that never reaches its own functions.

use std::ffi::c_void;

use mpi_abi::Handle;
use mpi_trace::Operation;

type Begin = unsafe extern "C" fn(u8) -> u64;
type End = unsafe extern "C" fn(u8, usize, i32, i32, u64, u64, i32);

#[derive(Clone, Copy)]
pub(crate) struct Tracer {
    begin: Begin,
    end: End,
}

impl Tracer {
    pub(crate) fn find() -> Option<Self> {
        let (begin, end) = (mpi_abi::any(c"foretop_tracer_begin"), mpi_abi::any(c"foretop_tracer_end"));
        // SAFETY: only the tracer has symbols of these names, with these signatures.
        (!begin.is_null() && !end.is_null()).then(|| unsafe {
            Self {
                begin: std::mem::transmute::<*mut c_void, Begin>(begin),
                end: std::mem::transmute::<*mut c_void, End>(end),
            }
        })
    }

    /// Records the begin of a call, at a moment that [`Tracer::end`] wants back.
    pub(crate) fn begin(self, operation: Operation) -> u64 {
        // SAFETY: it takes any number.
        unsafe { (self.begin)(operation.code()) }
    }

    /// Records the end of a call. `root` is -1 if the call has none.
    pub(crate) fn end(self, operation: Operation, comm: Handle, root: i32, n_bytes: u64, began: u64) {
        // SAFETY: as above; the handle is the program's.
        unsafe { (self.end)(operation.code(), comm.0, root, -1, n_bytes, began, 0) };
    }
}
