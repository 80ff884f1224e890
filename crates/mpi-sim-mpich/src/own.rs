//! Calls that are more than their arguments: callbacks, buffers, texts, and what is told of a datatype.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::callback::{self, Generalized, Keyval, Kind, Operation};
use crate::handle::{self, Class};
use crate::kept::{self, Kept};
use crate::number::{self, Meaning};
use crate::open_mpi::{self, Function};
use crate::status;

/// `MPI_ERR_IN_STATUS`, `MPI_ERR_BUFFER`, `MPI_ERR_ARG`, `MPI_ERR_INTERN` and `MPI_ERR_NO_MEM`.
pub const IN_STATUS: c_int = 17;
const BUFFER: c_int = 1;
const ARG: c_int = 12;
const INTERN: c_int = 16;
/// Bytes that each library takes of an attached buffer for a message, beside its data.
const OVERHEAD: usize = 96;
const OVERHEAD_BELOW: usize = 128;
/// The version that `MPI_Get_version` returns, as in MPICH's header.
const VERSION: (c_int, c_int) = (4, 0);
const LIBRARY_VERSION: &[u8] = b"MPICH Version: 4.0.2, simulated by Foretop\0";
/// The value of `MPI_MAX_PROCESSOR_NAME` in each library.
const NAME_MAX: usize = 128;
const NAME_MAX_BELOW: usize = 256;

macro_rules! below {
    ($name:ident($($argument:expr),*)) => {{
        static BELOW: Function = Function::new(
            match std::ffi::CStr::from_bytes_with_nul(concat!("PMPI_", stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name has no zero inside"),
            });
        BELOW.call(&[$($argument as usize),*])
    }};
}

fn told(result: c_int) -> c_int {
    Meaning::Code.above(result)
}

unsafe fn create_keyval(
    class: &'static Class,
    functions: [*mut c_void; 2],
    keyval: *mut c_int,
    extra: *mut c_void,
    create: impl FnOnce(usize, usize, *mut c_int, *const Keyval) -> c_int,
) -> c_int {
    let of = Keyval::new(class, functions[0], functions[1], extra);
    let mut number = 0;
    let (copy, delete) = (callback::copy as *const () as usize, callback::delete as *const () as usize);
    let result = create(copy, delete, &raw mut number, of);
    if result == 0 {
        of.note(number);
        // SAFETY: the program's place.
        unsafe { *keyval = number };
    }
    told(result)
}

macro_rules! keyvals {
    ($($name:ident $create:ident $class:ident)*) => {
        $(pub unsafe extern "C" fn $name(
            copy: *mut c_void,
            delete: *mut c_void,
            keyval: *mut c_int,
            extra: *mut c_void,
        ) -> c_int {
            // SAFETY: the program's arguments.
            unsafe {
                create_keyval(&handle::$class, [copy, delete], keyval, extra, |copy, delete, number, of| {
                    below!($create(copy, delete, number, of))
                })
            }
        })*
    };
}

keyvals!(
    mpi_comm_create_keyval Comm_create_keyval COMM
    mpi_keyval_create Comm_create_keyval COMM
    mpi_type_create_keyval Type_create_keyval TYPE
    mpi_win_create_keyval Win_create_keyval WIN
);

macro_rules! handlers {
    ($($name:ident $create:ident $kind:ident)*) => {
        $(pub unsafe extern "C" fn $name(function: *mut c_void, handler: *mut u32) -> c_int {
            let Some(entry) = callback::handler(Kind::$kind, function) else { return INTERN };
            let mut made = 0_usize;
            // SAFETY: the entry is a handler, and the place the program's.
            unsafe {
                let result = below!($create(entry, &raw mut made));
                *handler = handle::ERRHANDLER.handle(made);
                told(result)
            }
        })*
    };
}

handlers!(
    mpi_comm_create_errhandler Comm_create_errhandler Comm
    mpi_errhandler_create Comm_create_errhandler Comm
    mpi_file_create_errhandler File_create_errhandler File
    mpi_win_create_errhandler Win_create_errhandler Win
);

pub unsafe extern "C" fn mpi_op_create(function: *mut c_void, commutes: c_int, op: *mut u32) -> c_int {
    let operation = Operation::new(function);
    let mut made = 0_usize;
    // SAFETY: `combine` is what C++'s binding would have there, and the operation is what it is then given; the place
    // is the program's.
    unsafe {
        let result = below!(Op_create((callback::combine as *const ()), commutes, &raw mut made));
        if result == 0 {
            static SET: Function = Function::new(c"ompi_op_set_cxx_callback");
            SET.call(&[made, (&raw const *operation).addr()]);
            operation.note(made);
            *op = handle::OP.handle(made);
        }
        told(result)
    }
}

/// The request that was started last, of which Fortran's binding says afterwards that it is its own.
static LAST_STARTED: Mutex<usize> = Mutex::new(0);

pub unsafe extern "C" fn mpi_grequest_start(
    query: *mut c_void,
    free: *mut c_void,
    cancel: *mut c_void,
    extra: *mut c_void,
    request: *mut u32,
) -> c_int {
    let of = Box::into_raw(Box::new(Generalized { query, free, cancel, extra, is_fortran: false }));
    *LAST_STARTED.lock().expect("nothing panics with it") = of.addr();
    let functions = [callback::query as *const (), callback::free as *const (), callback::cancel as *const ()];
    let [query, free, cancel] = functions.map(|function| function as usize);
    let mut made = handle::REQUEST.null();
    // SAFETY: the functions take this state, and the place is the program's.
    unsafe {
        let result = below!(Grequest_start(query, free, cancel, of, &raw mut made));
        *request = handle::REQUEST.handle(made);
        told(result)
    }
}

/// Has the functions of the request that was started last called as Fortran's.
pub fn last_is_fortran() {
    let last = *LAST_STARTED.lock().expect("nothing panics with it") as *mut Generalized;
    // SAFETY: it was started just now, and nobody can have freed it.
    if let Some(last) = unsafe { last.as_mut() } {
        last.is_fortran = true;
    }
}

/// The program's buffer and its size; Open MPI has another, as it takes more for a message.
static ATTACHED: Mutex<Option<(usize, c_int, Vec<u8>)>> = Mutex::new(None);

pub unsafe extern "C" fn mpi_buffer_attach(buffer: *mut c_void, size: c_int) -> c_int {
    let mut attached = ATTACHED.lock().expect("nothing panics with it");
    let Ok(room) = usize::try_from(size) else { return ARG };
    if attached.is_some() {
        return BUFFER;
    }
    // Each message takes a whole number of words, and the first starts at one.
    let n_messages = room / OVERHEAD;
    let own = vec![0; room + n_messages * (OVERHEAD_BELOW - OVERHEAD + size_of::<usize>()) + size_of::<usize>()];
    // SAFETY: the buffer stays until it is detached.
    let result = unsafe { below!(Buffer_attach(own.as_ptr(), own.len())) };
    if result == 0 {
        *attached = Some((buffer.addr(), size, own));
    }
    told(result)
}

pub unsafe extern "C" fn mpi_buffer_detach(buffer: *mut c_void, size: *mut c_int) -> c_int {
    let (mut own, mut own_size) = (0_usize, 0);
    // SAFETY: both are places, as are the program's.
    unsafe {
        let result = below!(Buffer_detach(&raw mut own, &raw mut own_size));
        if let Some((given, given_size, _)) = ATTACHED.lock().expect("nothing panics with it").take_if(|_| result == 0)
        {
            *buffer.cast::<usize>() = given;
            *size = given_size;
        }
        told(result)
    }
}

pub unsafe extern "C" fn mpi_get_library_version(text: *mut c_char, length: *mut c_int) -> c_int {
    // SAFETY: the program's room for a text holds `MPI_MAX_LIBRARY_VERSION_STRING`.
    unsafe {
        text.cast::<u8>().copy_from(LIBRARY_VERSION.as_ptr(), LIBRARY_VERSION.len());
        *length = LIBRARY_VERSION.len() as c_int - 1;
    }
    0
}

pub unsafe extern "C" fn mpi_get_version(version: *mut c_int, subversion: *mut c_int) -> c_int {
    // SAFETY: the program's places.
    unsafe { (*version, *subversion) = VERSION };
    0
}

pub unsafe extern "C" fn mpi_get_processor_name(text: *mut c_char, length: *mut c_int) -> c_int {
    let mut name = [0_u8; NAME_MAX_BELOW];
    let mut known = 0;
    // SAFETY: there is as much room as Open MPI wants, and the program has as much as MPICH wants.
    unsafe {
        let result = below!(Get_processor_name(name.as_mut_ptr(), &raw mut known));
        let known = usize::try_from(known).unwrap_or(0).min(NAME_MAX - 1);
        text.cast::<u8>().copy_from(name.as_ptr(), known);
        *text.add(known) = 0;
        *length = known as c_int;
        told(result)
    }
}

/// Returns the contents that a datatype was made of. The numbers of some constructors have a meaning.
pub unsafe extern "C" fn mpi_type_get_contents(
    datatype: u32,
    n_integers: c_int,
    n_addresses: c_int,
    n_datatypes: c_int,
    integers: *mut c_int,
    addresses: *mut usize,
    datatypes: *mut u32,
) -> c_int {
    const SUBARRAY: c_int = 12;
    const DARRAY: c_int = 13;
    let datatype = handle::TYPE.address(datatype);
    let mut types = vec![0_usize; usize::try_from(n_datatypes).unwrap_or(0)];
    let mut told_of = [0; 4];
    let [place, other, more, combiner] = told_of.each_mut().map(|place: &mut c_int| &raw mut *place);
    // SAFETY: the program's arguments, and as many datatypes as it has room for.
    unsafe {
        let types = (types.as_mut_ptr(), &mut types);
        let result =
            below!(Type_get_contents(datatype, n_integers, n_addresses, n_datatypes, integers, addresses, types.0));
        if result != 0 {
            return told(result);
        }
        for (i, address) in types.1.iter().enumerate().filter(|(_, address)| **address != 0) {
            *datatypes.add(i) = handle::TYPE.handle(*address);
        }
        below!(Type_get_envelope(datatype, place, other, more, combiner));
        let above = |meaning: Meaning, at: usize| *integers.add(at) = meaning.above(*integers.add(at));
        match told_of[3] {
            SUBARRAY => above(Meaning::Order, 3 * *integers as usize + 1),
            DARRAY => {
                let n = *integers.add(2) as usize;
                (3 + n..3 + 2 * n).for_each(|at| above(Meaning::Distribution, at));
                (3 + 2 * n..3 + 3 * n).for_each(|at| above(Meaning::Argument, at));
                above(Meaning::Order, 3 + 4 * n);
            }
            _ => {}
        }
    }
    0
}

/// Statuses of Fortran are laid out as those of C.
pub unsafe extern "C" fn mpi_status_c2f(status: *const status::Above, fortran: *mut status::Above) -> c_int {
    // SAFETY: the program's places.
    unsafe { *fortran = *status };
    0
}

pub unsafe extern "C" fn mpi_status_f2c(fortran: *const status::Above, status: *mut status::Above) -> c_int {
    // SAFETY: the program's places.
    unsafe { *status = *fortran };
    0
}

pub extern "C" fn mpi_file_c2f(_: *mut c_void) -> c_int {
    0
}

pub extern "C" fn mpi_file_f2c(_: c_int) -> *mut c_void {
    null_mut()
}

/// Open MPI may say only later what the new communicator is.
pub unsafe extern "C" fn mpi_comm_idup(comm: u32, place: *mut u32, request: *mut u32) -> c_int {
    let mut made = Box::new(0_usize);
    let mut started = handle::REQUEST.null();
    // SAFETY: the place for the communicator is kept until the request is done.
    unsafe {
        let result = below!(Comm_idup(handle::COMM.address(comm), &raw mut *made, &raw mut started));
        *place = handle::COMM.handle(*made);
        *request = handle::REQUEST.handle(started);
        if result == 0 {
            kept::keep(started, Kept::Comm { made, place: place.addr() });
        }
        told(result)
    }
}

/// Returns the number of ranks that a call on a communicator exchanges data with.
pub fn n_others(comm: usize) -> usize {
    let comm = handle::COMM.address(comm as u32);
    let (mut is_inter, mut n) = (0, 0);
    // SAFETY: both are places.
    unsafe {
        below!(Comm_test_inter(comm, &raw mut is_inter));
        if is_inter == 0 {
            below!(Comm_size(comm, &raw mut n));
        } else {
            below!(Comm_remote_size(comm, &raw mut n));
        }
    }
    usize::try_from(n).unwrap_or(0)
}

#[derive(Default)]
pub struct Neighbours {
    pub sources: usize,
    pub targets: usize,
}

/// Returns the numbers of neighbours of this rank.
pub fn n_neighbours(comm: usize) -> Neighbours {
    const CART: c_int = 1;
    const GRAPH: c_int = 2;
    const DIST_GRAPH: c_int = 3;
    let comm = handle::COMM.address(comm as u32);
    let (mut topology, mut rank, mut sources, mut targets, mut is_weighted) = (0, 0, 0, 0, 0);
    // SAFETY: all are places.
    unsafe {
        below!(Topo_test(comm, &raw mut topology));
        match topology {
            CART => {
                below!(Cartdim_get(comm, &raw mut sources));
                sources *= 2;
                targets = sources;
            }
            GRAPH => {
                below!(Comm_rank(comm, &raw mut rank));
                below!(Graph_neighbors_count(comm, rank, &raw mut sources));
                targets = sources;
            }
            DIST_GRAPH => {
                below!(Dist_graph_neighbors_count(comm, &raw mut sources, &raw mut targets, &raw mut is_weighted));
            }
            _ => return Neighbours::default(),
        }
    }
    let count = |n: c_int| usize::try_from(n).unwrap_or(0);
    Neighbours { sources: count(sources), targets: count(targets) }
}

/// Some attributes that MPI defines are numbers with a meaning, and their value is the place of one.
pub unsafe fn replace_value(keyval: c_int, value: usize, flag: usize) {
    static RANKS: [AtomicI32; 2] = [AtomicI32::new(0), AtomicI32::new(0)];
    static LAST: AtomicI32 = AtomicI32::new(0);
    static MODEL: AtomicI32 = AtomicI32::new(0);
    let (place, above): (&AtomicI32, fn(c_int) -> c_int) = match keyval {
        number::HOST => (&RANKS[0], |rank| Meaning::Rank.above(rank)),
        number::IO => (&RANKS[1], |rank| Meaning::Rank.above(rank)),
        number::LAST_USED_CODE => (&LAST, |code| Meaning::Code.above(code)),
        // Open MPI's `MPI_WIN_UNIFIED` is 0 and `MPI_WIN_SEPARATE` 1.
        number::WIN_MODEL => (&MODEL, |model| 2 - model),
        _ => return,
    };
    // SAFETY: both are places of the program, and the value is that of an integer where there is one.
    unsafe {
        if *(flag as *const c_int) != 0 {
            let value = value as *mut *const c_int;
            place.store(above(**value), Ordering::Relaxed);
            *value = place.as_ptr();
        }
    }
}

/// The clock's step.
pub fn tick() -> f64 {
    let Some(function) = open_mpi::symbol(c"PMPI_Wtick") else { return 0.0 };
    // SAFETY: the function of that name takes nothing.
    unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> f64>(function)() }
}
