//! Functions whose arguments are machine words, by their number.

use std::ffi::{c_int, c_void};
use std::mem::transmute;

/// Arguments that a function can be called with.
pub(crate) trait Invoke {
    /// # Safety
    /// There is a function that takes so many words and gives an `int`, or nothing.
    unsafe fn invoke(self, function: *mut c_void) -> c_int;
}

macro_rules! invoke {
    ($n:literal $($argument:ident)*) => {
        impl Invoke for [usize; $n] {
            #[inline(always)]
            unsafe fn invoke(self, function: *mut c_void) -> c_int {
                let [$($argument),*] = self;
                // SAFETY: the caller says so. Where an `int` or nothing is given, the register's rest is not looked at.
                unsafe {
                    let function: unsafe extern "C-unwind" fn($(invoke!(@word $argument)),*) -> c_int = transmute(function);
                    function($($argument),*)
                }
            }
        }
    };
    (@word $argument:ident) => { usize };
}

invoke!(0);
invoke!(1 a);
invoke!(2 a b);
invoke!(3 a b c);
invoke!(4 a b c d);
invoke!(5 a b c d e);
invoke!(6 a b c d e f);
invoke!(7 a b c d e f g);
invoke!(8 a b c d e f g h);
invoke!(9 a b c d e f g h i);
invoke!(10 a b c d e f g h i j);
invoke!(11 a b c d e f g h i j k);
invoke!(12 a b c d e f g h i j k l);
invoke!(13 a b c d e f g h i j k l m);
invoke!(14 a b c d e f g h i j k l m n);
