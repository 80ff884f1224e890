//! The calls of a program by name: an entry for each MPI function, which takes any arguments because it never looks at them.
//!
//! An entry replaces the caller's return address, notes the original on a stack of its own, and goes on to the real function;
//! that returns to code which takes the note and goes back to the caller. So a call's name, its place in the program, and the
//! time that it takes are known without its signature. A function that is left by `longjmp` or an exception leaves a note behind,
//! which the next call from further up the stack removes.

use std::arch::naked_asm;
use std::cell::{Cell, UnsafeCell};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::{library, rank};

/// The level that Open MPI's one-sided communication over messages allows; programs that ask for more get this one.
const MPI_THREAD_SERIALIZED: usize = 2;

/// Calls inside of calls: a program's callbacks, tracers, Fortran's wrappers. Deeper ones are not noted.
const DEPTH_MAX: usize = 64;

/// A function of MPI.
pub struct Function {
    /// The name under which the library has it, `PMPI_…`.
    symbol: &'static CStr,
    is_refused: bool,
    real: AtomicPtr<libc::c_void>,
}

impl Function {
    const fn new(symbol: &'static CStr, is_refused: bool) -> Self {
        Self { symbol, is_refused, real: AtomicPtr::new(null_mut()) }
    }

    fn name(&self) -> &'static str {
        self.symbol.to_str().expect("names of functions are ASCII").trim_start_matches('P')
    }

    fn real(&self) -> *mut libc::c_void {
        let mut real = self.real.load(Ordering::Relaxed);
        if real.is_null() {
            real = library::MPI.function(self.symbol);
            self.real.store(real, Ordering::Relaxed);
        }
        real
    }
}

/// A call that has not returned.
#[derive(Clone, Copy)]
struct Note {
    /// Where on the stack the return address lies.
    slot: usize,
    returns_to: usize,
}

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static NOTES: UnsafeCell<[Note; DEPTH_MAX]> = const { UnsafeCell::new([Note { slot: 0, returns_to: 0 }; DEPTH_MAX]) };
}

/// How many functions there are.
pub const N_FUNCTIONS: usize = FUNCTIONS.len();

include!(concat!(env!("OUT_DIR"), "/entries.rs"));

/// The name of a function by the number that [`rank::enter`] was given.
pub fn name(function: usize) -> &'static str {
    FUNCTIONS[function].name()
}

/// How deep the calls of this thread are.
pub fn depth() -> usize {
    DEPTH.get()
}

/// All entries come here, with the function's number on the stack above the return address.
#[unsafe(naked)]
unsafe extern "C" fn entry() {
    naked_asm!(
        "push rax",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "mov rdi, [rsp + 56]",
        "lea rsi, [rsp + 64]",
        "sub rsp, 8",
        "call {enter}",
        "add rsp, 8",
        "mov [rsp + 56], rax",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "pop rax",
        "ret",
        enter = sym enter,
    )
}

/// Where noted functions return to.
#[unsafe(naked)]
unsafe extern "C" fn exit() {
    naked_asm!(
        "sub rsp, 8",
        "push rax",
        "push rdx",
        "sub rsp, 8",
        "call {leave}",
        "mov [rsp + 24], rax",
        "add rsp, 8",
        "pop rdx",
        "pop rax",
        "ret",
        leave = sym leave,
    )
}

/// Notes a call, and gives the function to go on to.
extern "C" fn enter(function: usize, slot: *mut usize) -> *mut libc::c_void {
    let is_refused = FUNCTIONS[function].is_refused;
    if rank::is_simulated() {
        if FUNCTIONS[function].symbol == c"PMPI_Init_thread" {
            // SAFETY: `entry` has saved the third argument five words below the return address, and takes it back from there.
            let level = unsafe { &mut *slot.sub(5) };
            *level = (*level).min(MPI_THREAD_SERIALIZED);
        }
        let mut depth = DEPTH.get();
        // SAFETY: the notes are this thread's, and nobody holds a reference to them beyond these functions.
        let notes = NOTES.with(|notes| unsafe { &mut *notes.get() });
        // The stack grows downwards: whoever called this one has a higher slot.
        while depth > 0 && notes[depth - 1].slot <= slot.addr() {
            depth -= 1;
        }
        if depth < DEPTH_MAX {
            // SAFETY: the slot holds the return address of the entry that jumped here.
            let returns_to = unsafe { slot.replace(exit as *const () as usize) };
            notes[depth] = Note { slot: slot.addr(), returns_to };
            DEPTH.set(depth + 1);
            if depth == 0 {
                rank::enter(function, returns_to);
                if is_refused {
                    rank::refuse(FUNCTIONS[function].name());
                }
            }
        }
    }
    FUNCTIONS[function].real()
}

/// Takes the last note, and gives the address to return to.
extern "C" fn leave() -> usize {
    let depth = DEPTH.get() - 1;
    if depth == 0 {
        rank::leave();
    }
    DEPTH.set(depth);
    // SAFETY: as in `enter`.
    NOTES.with(|notes| unsafe { (*notes.get())[depth].returns_to })
}
