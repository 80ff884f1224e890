//! The calls of a program by name: an entry for each MPI function, which takes any arguments because it never looks at
//! them.
//!
//! An entry replaces the caller's return address, notes the original on a stack of its own, and goes on to the real
//! function; that returns to code which takes the note and goes back to the caller. So a call's name, its place in the
//! program, and the time that it takes are known without its signature. A function that is left by `longjmp` or an
//! exception leaves a note behind, which the next call from further up the stack removes.
//!
//! The library's algorithms of collective operations have entries too, which only note that they ran.

use std::arch::naked_asm;
use std::cell::{Cell, UnsafeCell};

use mpi_abi::export_as_beneath;

use crate::library::{self, MPI, Symbol};
use crate::{face, rank};

/// Calls inside of calls: a program's callbacks, tracers, Fortran's wrappers. Deeper ones are not noted.
const DEPTH_MAX: usize = 64;

/// A function of MPI.
pub struct Function {
    /// Its names, by the second of which, `PMPI_…`, tracers call it that have one of the others too; then those of
    /// Fortran.
    symbols: [Symbol; N_NAMES],
    is_refused: bool,
    /// Position of the argument of a collective call that is the communicator, from 1; 0 for other calls.
    comm: usize,
    /// Position of the argument that is the root; 0 where there is none.
    root: usize,
    /// Position of the argument that is a count, before its datatype; 0 where there is none.
    count: usize,
    /// Whether it matters to the call which ranks are on one node.
    asks_for_neighbours: bool,
}

/// Algorithm by which a collective operation may be done.
pub struct Algorithm {
    symbol: Symbol,
    /// The operation, as in `allreduce`.
    pub operation: &'static str,
    pub name: &'static str,
}

impl Function {
    fn name(&self) -> &'static str {
        self.symbols[0].name.to_str().expect("names of functions are ASCII")
    }
}

/// A call that has not returned.
#[derive(Clone, Copy)]
struct Note {
    /// Place on the stack where the return address lies.
    slot: usize,
    returns_to: usize,
}

/// Indices of a function's names from which on they are `PMPI_…` and Fortran's.
const PROFILED: usize = 1;
const FORTRAN: usize = 2;

thread_local! {
    /// The entry of the outermost call.
    static OUTERMOST: Cell<usize> = const { Cell::new(0) };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static NOTES: UnsafeCell<[Note; DEPTH_MAX]> = const { UnsafeCell::new([Note { slot: 0, returns_to: 0 }; DEPTH_MAX]) };
}

/// Number of functions.
pub const N_FUNCTIONS: usize = FUNCTIONS.len();

include!(concat!(env!("OUT_DIR"), "/entries.rs"));

/// The name of a function by the number that [`rank::enter`] was given.
pub fn name(function: usize) -> &'static str {
    FUNCTIONS[function].name()
}

/// All algorithms; no more than a word has bits.
pub fn algorithms() -> &'static [Algorithm] {
    const { assert!(ALGORITHMS.len() <= u64::BITS as usize) };
    &ALGORITHMS
}

/// Returns the depth of the calls of this thread.
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

/// Place where noted functions return to.
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

/// The place of an argument, counted from 1. Those in registers are where `entry` has saved them and takes them back
/// from.
fn argument(slot: *mut usize, nth: usize) -> *mut usize {
    if nth <= 6 { slot.wrapping_sub(2 + nth) } else { slot.wrapping_add(nth - 6) }
}

/// The bytes that a call's count and datatype stand for.
fn data_bytes(function: &Function, is_fortran: bool, slot: *mut usize) -> u64 {
    if function.count == 0 {
        return 0;
    }
    // SAFETY: the function has both arguments, in Fortran as places of integers; a count has 32 bits.
    let (count, datatype) = unsafe {
        let (count, datatype) = (argument(slot, function.count).read(), argument(slot, function.count + 1).read());
        if is_fortran {
            ((count as *const i32).read(), (datatype as *const i32).read() as usize)
        } else {
            (count as i32, datatype)
        }
    };
    // MPICH has the same handles in both languages.
    let (datatype, is_fortran) = match library::mpich() {
        Some(mpich) => (mpich.datatype(datatype), false),
        None => (datatype, is_fortran),
    };
    u64::try_from(count).unwrap_or(0) * face::datatype_bytes(datatype, is_fortran)
}

/// Notes a call, and gives the function to go on to.
extern "C" fn enter(entry: usize, slot: *mut usize) -> *mut libc::c_void {
    let (number, name) = (entry / N_NAMES, entry % N_NAMES);
    let Some(function) = FUNCTIONS.get(number) else {
        let algorithm = entry - N_NAMES * FUNCTIONS.len();
        rank::ran(algorithm);
        return ALGORITHMS[algorithm].symbol.of(&MPI);
    };
    if library::mpich().is_some_and(|mpich| (mpich.is_below)()) {
        return MPI.function(function.symbols[name].name);
    }
    if rank::is_simulated() {
        note(entry, function, slot);
    }
    let [mpi, fortran] = library::of_program();
    match name {
        PROFILED => function.symbols[PROFILED].of(mpi),
        FORTRAN.. => function.symbols[name].next(fortran),
        _ => function.symbols[name].next(mpi),
    }
}

/// Has a call return to `exit`, and tells the rank of it if it is the program's own.
fn note(entry: usize, function: &Function, slot: *mut usize) {
    let (number, name) = (entry / N_NAMES, entry % N_NAMES);
    let mut depth = DEPTH.get();
    // SAFETY: the notes are this thread's, and nobody holds a reference to them beyond these functions.
    let notes = NOTES.with(|notes| unsafe { &mut *notes.get() });
    // The stack grows downwards: whoever called this one has a higher slot.
    while depth > 0 && notes[depth - 1].slot <= slot.addr() {
        depth -= 1;
    }
    if depth == DEPTH_MAX {
        return;
    }
    // SAFETY: the slot holds the return address of the entry that jumped here.
    let returns_to = unsafe { slot.replace(exit as *const () as usize) };
    notes[depth] = Note { slot: slot.addr(), returns_to };
    DEPTH.set(depth + 1);
    if depth == 0 {
        OUTERMOST.set(entry);
        rank::enter(number, returns_to, || data_bytes(function, name >= FORTRAN, slot));
        if function.is_refused {
            rank::refuse(function.name());
        }
    }
    let outermost = OUTERMOST.get();
    // Fortran's function calls that of C, whose arguments are known.
    let is_programs = depth == 0 || depth == 1 && outermost / N_NAMES == number && outermost % N_NAMES >= FORTRAN;
    if function.comm > 0 && is_programs && name < FORTRAN {
        // SAFETY: the function has these arguments; the root is an integer of 32 bits.
        let (comm, root) = unsafe {
            let root = (function.root > 0).then(|| argument(slot, function.root).read() as i32);
            (argument(slot, function.comm).read(), root)
        };
        let comm = library::mpich().map_or(comm, |mpich| mpich.comm(comm));
        if function.asks_for_neighbours {
            face::meet_neighbours(comm);
        }
        rank::begin_collective(number, comm, root);
    }
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
