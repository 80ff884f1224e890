//! The functions that programs call, by their names in C and Fortran. What is not taken goes to the next function of
//! the same name.
//!
//! An argument is a machine word. MPICH's functions for Fortran 2008 (`_f08ts_`, `_f08ts_large_`), to which arrays come
//! as descriptors, have no shims: they call those of C by name, which are taken here.

use std::cell::Cell;
use std::ffi::{CStr, c_int};

use mpi_abi::Function;
use mpi_tree::Collective;

use crate::arguments::Language;
use crate::{entry, waits};

thread_local! {
    /// Whether a call is on its way to the library already: MPICH's Fortran functions call those of C.
    static IS_PASSING: Cell<bool> = const { Cell::new(false) };
}

/// Takes a call, or passes it on.
fn carry(collective: Collective, language: Language, words: &[usize], pass: impl FnOnce() -> c_int) -> c_int {
    if IS_PASSING.get() {
        return pass();
    }
    entry::take(collective, language, words).or_else(waits::make).unwrap_or_else(|| {
        IS_PASSING.set(true);
        let code = pass();
        IS_PASSING.set(false);
        code
    })
}

const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name ends with a zero byte"),
    }
}

macro_rules! next {
    ($name:literal ($($word:ident),*) $(-> $result:ty)?) => {{
        static NEXT: Function = Function::next(c_name(concat!($name, "\0")));
        let address = NEXT.address();
        assert!(!address.is_null(), "the MPI library has no {}", $name);
        // SAFETY: the function of this name takes as many words; they are those that the program passed.
        unsafe {
            std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($(next!(@word $word)),*) $(-> $result)?>(address)($($word),*)
        }
    }};
    (@word $word:ident) => { usize };
}

macro_rules! collective {
    ($collective:expr, $c:literal $(or $large:literal)?: $($fortran:literal)*, $words:tt) => {
        collective!(@c $collective, Language::C, $c, $words);
        $(collective!(@c $collective, Language::LargeC, $large, $words);)?
        $(collective!(@fortran $collective, $fortran, $words);)*
    };
    (@c $collective:expr, $language:expr, $name:literal, ($($word:ident),*)) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            extern "C" fn shim($($word: usize),*) -> c_int {
                carry($collective, $language, &[$($word),*], || next!($name ($($word),*) -> c_int))
            }
        };
    };
    (@fortran $collective:expr, $name:literal, ($($word:ident),*)) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            extern "C" fn shim($($word: usize,)* error: usize) {
                let mut is_passed = false;
                let code = carry($collective, Language::Fortran, &[$($word),*], || {
                    is_passed = true;
                    next!($name ($($word,)* error));
                    0
                });
                if !is_passed {
                    set_error(error, code);
                }
            }
        };
    };
}

/// Sets the error code, whose place may be left out in Fortran 2008.
fn set_error(error: usize, code: c_int) {
    if error != 0 {
        // SAFETY: a Fortran program passes the address of an integer there.
        unsafe { (error as *mut c_int).write(code) };
    }
}

collective!(Collective::Allreduce, "MPI_Allreduce" or "MPI_Allreduce_c": "mpi_allreduce_" "mpi_allreduce" "mpi_allreduce__" "MPI_ALLREDUCE" "mpi_allreduce_f08" "mpi_allreduce_f08_",
    (send, receive, count, datatype, op, comm));
collective!(Collective::Barrier, "MPI_Barrier": "mpi_barrier_" "mpi_barrier" "mpi_barrier__" "MPI_BARRIER" "mpi_barrier_f08" "mpi_barrier_f08_",
    (comm));
collective!(Collective::Bcast, "MPI_Bcast" or "MPI_Bcast_c": "mpi_bcast_" "mpi_bcast" "mpi_bcast__" "MPI_BCAST" "mpi_bcast_f08" "mpi_bcast_f08_",
    (buffer, count, datatype, root, comm));
collective!(Collective::Reduce, "MPI_Reduce" or "MPI_Reduce_c": "mpi_reduce_" "mpi_reduce" "mpi_reduce__" "MPI_REDUCE" "mpi_reduce_f08" "mpi_reduce_f08_",
    (send, receive, count, datatype, op, root, comm));
collective!(Collective::Gather, "MPI_Gather" or "MPI_Gather_c": "mpi_gather_" "mpi_gather" "mpi_gather__" "MPI_GATHER" "mpi_gather_f08" "mpi_gather_f08_",
    (send, send_count, send_type, receive, receive_count, receive_type, root, comm));
collective!(Collective::Scatter, "MPI_Scatter" or "MPI_Scatter_c": "mpi_scatter_" "mpi_scatter" "mpi_scatter__" "MPI_SCATTER" "mpi_scatter_f08" "mpi_scatter_f08_",
    (send, send_count, send_type, receive, receive_count, receive_type, root, comm));

// Every MPI library has all other functions.
mpi_abi::export_as_beneath! {
    c"MPI_Allreduce_c" c"MPI_Bcast_c" c"MPI_Reduce_c" c"MPI_Gather_c" c"MPI_Scatter_c"
}

/// Functions beside which something is to be done: before, with the words and the language, and after.
macro_rules! beside {
    ($before:expr, $after:expr, $c:literal $($fortran:literal)*, $words:tt) => {
        beside!(@c $before, $after, $c, $words);
        $(beside!(@fortran $before, $after, $fortran, $words);)*
    };
    (@c $before:expr, $after:expr, $name:literal, ($($word:ident),*)) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            extern "C" fn shim($($word: usize),*) -> c_int {
                $before(Language::C, &[$($word),*]);
                let code = next!($name ($($word),*) -> c_int);
                $after();
                code
            }
        };
    };
    (@fortran $before:expr, $after:expr, $name:literal, ($($word:ident),*)) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            extern "C" fn shim($($word: usize,)* error: usize) {
                $before(Language::Fortran, &[$($word),*]);
                next!($name ($($word,)* error));
                $after();
            }
        };
    };
}

fn nothing_before(_language: Language, _words: &[usize]) {}

fn nothing_after() {}

beside!(nothing_before, entry::begin, "MPI_Init", (n_arguments, arguments));
beside!(nothing_before, entry::begin, "MPI_Init_thread", (n_arguments, arguments, required, provided));
// In Fortran they have no arguments of C's `main`.
macro_rules! beside_in_fortran {
    ($before:expr, $after:expr, $words:tt, $($name:literal)*) => { $(beside!(@fortran $before, $after, $name, $words);)* };
}
beside_in_fortran!(nothing_before, entry::begin, (), "mpi_init_" "mpi_init" "mpi_init__" "MPI_INIT" "mpi_init_f08" "mpi_init_f08_");
beside_in_fortran!(nothing_before, entry::begin, (required, provided),
    "mpi_init_thread_" "mpi_init_thread" "mpi_init_thread__" "MPI_INIT_THREAD" "mpi_init_thread_f08" "mpi_init_thread_f08_");
beside!(entry::end, nothing_after, "MPI_Finalize" "mpi_finalize_" "mpi_finalize" "mpi_finalize__" "MPI_FINALIZE" "mpi_finalize_f08" "mpi_finalize_f08_", ());
beside!(entry::forget, nothing_after, "MPI_Comm_free" "mpi_comm_free_" "mpi_comm_free" "mpi_comm_free__" "MPI_COMM_FREE" "mpi_comm_free_f08" "mpi_comm_free_f08_", (comm));
beside!(entry::forget, nothing_after, "MPI_Comm_disconnect" "mpi_comm_disconnect_" "mpi_comm_disconnect" "mpi_comm_disconnect__" "MPI_COMM_DISCONNECT" "mpi_comm_disconnect_f08" "mpi_comm_disconnect_f08_", (comm));
