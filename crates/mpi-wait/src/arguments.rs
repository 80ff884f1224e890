//! Arguments that a program passed, and those of the functions that are called instead.

use std::ffi::{c_int, c_void};

use mpi_abi::{Function, Handle, Mpi, invoke};

use crate::site::{ArgumentPlace, CallSite};

/// Greatest number of arguments of a call.
const N_WORDS_MAX: usize = 14;

/// Room for a status of any library.
pub(crate) type StatusSpace = [u64; 4];

/// The arguments of a call, each as the machine word that it came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallArguments<'a> {
    pub(crate) site: &'static CallSite,
    pub(crate) words: &'a [usize],
}

/// Arguments for another function of the same language.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtherArguments {
    words: [usize; N_WORDS_MAX],
    n: usize,
}

impl<'a> CallArguments<'a> {
    /// # Safety
    /// A program passed them to a function of this name. What the function writes is looked at only after the function
    /// was called and did not fail.
    pub(crate) unsafe fn new(site: &'static CallSite, words: &'a [usize]) -> Self {
        Self { site, words }
    }

    /// Returns the argument as it came.
    pub(crate) fn word(&self, place: ArgumentPlace) -> Option<usize> {
        place.index().map(|at| self.words[at])
    }

    /// Returns an `int`.
    pub(crate) fn int(&self, place: ArgumentPlace) -> Option<c_int> {
        let word = self.word(place)?;
        // SAFETY: Fortran passes the address of an integer.
        Some(if self.site.is_fortran { unsafe { *(word as *const c_int) } } else { word as c_int })
    }

    /// Returns a count; one below zero is an error that the library finds.
    pub(crate) fn count(&self, place: ArgumentPlace) -> Option<u64> {
        if !self.site.is_large {
            return self.int(place).map(|count| count.max(0) as u64);
        }
        // SAFETY: as in `int`, of 64 bits.
        let read = |word: usize| if self.site.is_fortran { unsafe { *(word as *const i64) } } else { word as i64 };
        self.word(place).map(|word| read(word).max(0) as u64)
    }

    /// Returns the sum of the first `n` counts of an array.
    pub(crate) fn sum(&self, place: ArgumentPlace, n: usize) -> u64 {
        (0..n).fold(0, |sum: u64, at| sum.saturating_add(self.count_at(place, at)))
    }

    /// Returns one of an array of counts.
    pub(crate) fn count_at(&self, place: ArgumentPlace, at: usize) -> u64 {
        let Some(array) = self.word(place) else { return 0 };
        // SAFETY: the function reads as many, which are there in both languages.
        let count = unsafe {
            if self.site.is_large {
                *(array as *const i64).add(at)
            } else {
                i64::from(*(array as *const c_int).add(at))
            }
        };
        count.max(0) as u64
    }

    /// Returns a handle that was passed by its value, as the word that the program holds.
    pub(crate) fn held(&self, place: ArgumentPlace, mpi: &Mpi) -> Option<usize> {
        let value =
            |word| if self.site.is_fortran { self.int(place).unwrap_or(0) as u32 as usize } else { mpi.handle(word).0 };
        self.word(place).map(value)
    }

    /// Returns one of an array of handles, or the only one at an address, likewise.
    pub(crate) fn held_at(&self, place: ArgumentPlace, at: usize, mpi: &Mpi) -> Option<usize> {
        let read = |word: usize| {
            let array = word as *const c_void;
            // SAFETY: the function reads or has written as many.
            unsafe {
                if self.site.is_fortran { *array.cast::<u32>().add(at) as usize } else { mpi.handle_at(array, at).0 }
            }
        };
        self.word(place).map(read)
    }

    /// Returns the handle in C of what the program holds as this word.
    pub(crate) fn in_c(&self, held: usize, of_fortran: fn(&Mpi, c_int) -> Handle, mpi: &Mpi) -> Handle {
        if self.site.is_fortran { of_fortran(mpi, held as c_int) } else { Handle(held) }
    }

    /// Sets the error that a Fortran program receives; its place may be left out in Fortran 2008.
    pub(crate) fn set_error(&self, code: c_int) {
        if let Some(word) = self.word(self.site.error_at).filter(|word| *word != 0) {
            // SAFETY: a Fortran program passes the address of an integer there.
            unsafe { (word as *mut c_int).write(code) };
        }
    }

    /// Makes the call itself, and returns its error.
    ///
    /// # Safety
    /// The function beneath is there.
    pub(crate) unsafe fn pass(&self) -> c_int {
        // SAFETY: the function of this name takes what this one was called with.
        let code = unsafe { invoke(self.site.next.address(), self.words) };
        if !self.site.is_fortran {
            return code;
        }
        let error = self.word(self.site.error_at).filter(|word| *word != 0);
        // SAFETY: the function has written it.
        error.map_or(0, |word| unsafe { *(word as *const c_int) })
    }

    /// Returns the arguments without the error.
    pub(crate) fn own(&self) -> &'a [usize] {
        &self.words[..self.site.error_at.index().unwrap_or(self.words.len())]
    }
}

impl OtherArguments {
    pub(crate) fn new(words: &[usize]) -> Self {
        let mut all = [0; N_WORDS_MAX];
        all[..words.len()].copy_from_slice(words);
        Self { words: all, n: words.len() }
    }

    pub(crate) fn with(mut self, word: usize) -> Self {
        self.words[self.n] = word;
        self.n += 1;
        self
    }

    pub(crate) fn with_at(mut self, at: usize, word: usize) -> Self {
        self.words.copy_within(at..self.n, at + 1);
        self.words[at] = word;
        self.n += 1;
        self
    }

    /// Calls a function with these arguments, and returns its error.
    ///
    /// # Safety
    /// The function is there and takes these arguments, in Fortran with an error behind them.
    pub(crate) unsafe fn call(self, function: &Function, is_fortran: bool) -> c_int {
        if !is_fortran {
            // SAFETY: as the caller says.
            return unsafe { invoke(function.address(), &self.words[..self.n]) };
        }
        let mut error: c_int = 0;
        let with_error = self.with(&raw mut error as usize);
        // SAFETY: as the caller says.
        unsafe { invoke(function.address(), &with_error.words[..with_error.n]) };
        error
    }
}
