//! Arguments that a program passed.

use std::ffi::{c_int, c_void};

use mpi_abi::{Handle, Mpi};

use crate::site::{Place, Style};

/// The arguments of a call, each as the machine word that it came in.
///
/// In Fortran that is an address, and handles are 32-bit integers. All that is read through them is what the called
/// function reads or has written: the program's own memory, which it says is there.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a, const FORTRAN: bool> {
    words: &'a [usize],
    style: Style,
}

/// A handle as the program holds it. Those of C and Fortran are different words for the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Held {
    pub(crate) word: usize,
    pub(crate) is_fortran: bool,
}

impl<'a, const FORTRAN: bool> Arguments<'a, FORTRAN> {
    /// # Safety
    /// A program passed them to a function whose name has this style. What the function writes is looked at only after
    /// it was called and did not fail.
    #[inline(always)]
    pub(crate) unsafe fn new(words: &'a [usize], style: Style) -> Self {
        Self { words, style }
    }

    /// Returns the argument as it came.
    #[inline(always)]
    pub(crate) fn word(&self, place: Place) -> usize {
        debug_assert!(place.index() < self.words.len());
        // SAFETY: the table has places of arguments that the call has, and whoever asks has seen that it is somewhere.
        unsafe { *self.words.get_unchecked(place.index()) }
    }

    /// An `int`.
    #[inline(always)]
    pub(crate) fn int(&self, place: Place) -> c_int {
        let word = self.word(place);
        // SAFETY: Fortran passes the address of an integer.
        if FORTRAN { unsafe { *(word as *const c_int) } } else { word as c_int }
    }

    /// A count; one below zero is an error that the library finds.
    #[inline(always)]
    pub(crate) fn count(&self, place: Place) -> u64 {
        if self.style.is_large {
            let word = self.word(place);
            // SAFETY: as in `int`, of 64 bits.
            let count = if FORTRAN { unsafe { *(word as *const i64) } } else { word as i64 };
            count.max(0) as u64
        } else {
            self.int(place).max(0) as u64
        }
    }

    /// One of an array of counts.
    #[inline]
    pub(crate) fn count_at(&self, place: Place, at: usize) -> u64 {
        let array = self.word(place);
        // SAFETY: the function reads as many, which are there in both languages.
        let count = unsafe {
            if self.style.is_large {
                *(array as *const i64).add(at)
            } else {
                i64::from(*(array as *const c_int).add(at))
            }
        };
        count.max(0) as u64
    }

    /// A handle that was passed by its value.
    #[inline(always)]
    pub(crate) fn held(&self, place: Place, handle_mask: usize) -> Held {
        let word = if FORTRAN { self.int(place) as u32 as usize } else { self.word(place) & handle_mask };
        Held { word, is_fortran: FORTRAN }
    }

    /// One of an array of handles, or the only one at an address.
    #[inline]
    pub(crate) fn held_at(&self, place: Place, at: usize, mpi: &Mpi) -> Held {
        let array = self.word(place) as *const c_void;
        // SAFETY: the function reads or has written as many.
        let word = unsafe { if FORTRAN { *array.cast::<u32>().add(at) as usize } else { mpi.handle_at(array, at).0 } };
        Held { word, is_fortran: FORTRAN }
    }

    /// Whether a flag was set.
    #[inline]
    pub(crate) fn flag(&self, place: Place) -> bool {
        // SAFETY: the function has written an `int`, or a Fortran logical of the same size.
        unsafe { *(self.word(place) as *const c_int) != 0 }
    }

    /// Whether the call failed. Only whoever has the C function's result knows in C.
    #[inline(always)]
    pub(crate) fn is_failed(&self, code: c_int) -> bool {
        if !FORTRAN {
            return code != 0;
        }
        if !self.style.error.is_somewhere() {
            return false;
        }
        let error = self.word(self.style.error) as *const c_int;
        // SAFETY: the function has written it, unless the program does not want to know (Fortran 2008).
        !error.is_null() && unsafe { *error != 0 }
    }
}

impl Held {
    /// The communicator in C.
    pub(crate) fn comm(self, mpi: &Mpi) -> Handle {
        if self.is_fortran { mpi.comm_of_fortran(self.word as c_int) } else { Handle(self.word) }
    }

    /// The request in C.
    pub(crate) fn request(self, mpi: &Mpi) -> Handle {
        if self.is_fortran { mpi.request_of_fortran(self.word as c_int) } else { Handle(self.word) }
    }

    /// The datatype in C.
    pub(crate) fn datatype(self, mpi: &Mpi) -> Handle {
        if self.is_fortran { mpi.datatype_of_fortran(self.word as c_int) } else { Handle(self.word) }
    }
}
