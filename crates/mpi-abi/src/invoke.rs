//! Functions whose arguments are machine words, by their number.

use std::ffi::{c_int, c_void};
use std::mem::transmute;

/// Arguments that a function can be called with.
pub trait Invoke {
    /// Calls the function.
    ///
    /// # Safety
    /// There is a function that takes so many words and gives an `int`, or nothing.
    unsafe fn invoke(self, function: *mut c_void) -> c_int;
}

macro_rules! invoke {
    ($($n:literal ($($argument:ident)*))*) => {
        $(impl Invoke for [usize; $n] {
            #[inline(always)]
            unsafe fn invoke(self, function: *mut c_void) -> c_int {
                let [$($argument),*] = self;
                // SAFETY: the caller says so. Where an `int` or nothing is given, the register's rest is not looked at.
                unsafe {
                    let function: unsafe extern "C-unwind" fn($(invoke!(@word $argument)),*) -> c_int = transmute(function);
                    function($($argument),*)
                }
            }
        })*

        /// Calls a function with arguments whose number is not known to the compiler.
        ///
        /// # Panics
        /// If there are more arguments than any call of MPI has.
        ///
        /// # Safety
        /// As of [`Invoke::invoke`].
        pub unsafe fn invoke(function: *mut c_void, words: &[usize]) -> c_int {
            match *words {
                // SAFETY: as the caller says.
                $([$($argument),*] => unsafe { [$($argument),*].invoke(function) },)*
                _ => panic!("no call of MPI has {} arguments", words.len()),
            }
        }
    };
    (@word $argument:ident) => { usize };
}

invoke! {
    0 ()
    1 (a)
    2 (a b)
    3 (a b c)
    4 (a b c d)
    5 (a b c d e)
    6 (a b c d e f)
    7 (a b c d e f g)
    8 (a b c d e f g h)
    9 (a b c d e f g h i)
    10 (a b c d e f g h i j)
    11 (a b c d e f g h i j k)
    12 (a b c d e f g h i j k l)
    13 (a b c d e f g h i j k l m)
    14 (a b c d e f g h i j k l m n)
}
