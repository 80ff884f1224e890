//! Symbols that programs and MPICH's own bindings for Fortran and C++ take from the library beside its calls.
//!
//! Source: `mpi.h` of MPICH 4.0, and what `libmpichfort.so.12` and `libmpichcxx.so.12` ask for.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};

use crate::callback::{self, Keyval, Operation};
use crate::handle;
use crate::number::{self, Meaning};
use crate::open_mpi::Function;
use crate::own;

/// `MPIR_ATTR_PTR`: the value is wanted as C has it.
const AS_POINTER: c_int = 0;

/// Something that a program may hold a copy of, and that Fortran's binding writes before the program begins.
#[repr(transparent)]
pub struct Place<T>(UnsafeCell<T>);

// SAFETY: it is written once, before the program has threads.
unsafe impl<T> Sync for Place<T> {}

/// The address of something, which is all that counts.
#[repr(transparent)]
pub struct Address(*const c_void);

// SAFETY: an address that nobody reads through.
unsafe impl Sync for Address {}

static UNWEIGHTED_PLACE: Place<c_int> = Place(UnsafeCell::new(0));
static WEIGHTS_EMPTY_PLACE: Place<c_int> = Place(UnsafeCell::new(0));

const fn address<T>(of: &'static T) -> Address {
    Address((&raw const *of).cast())
}

#[unsafe(no_mangle)]
static MPI_UNWEIGHTED: Address = address(&UNWEIGHTED_PLACE);
#[unsafe(no_mangle)]
static MPI_WEIGHTS_EMPTY: Address = address(&WEIGHTS_EMPTY_PLACE);
#[unsafe(no_mangle)]
static MPIR_C_MPI_UNWEIGHTED: Address = address(&UNWEIGHTED_PLACE);
#[unsafe(no_mangle)]
static MPIR_C_MPI_WEIGHTS_EMPTY: Address = address(&WEIGHTS_EMPTY_PLACE);
#[unsafe(no_mangle)]
static MPI_F_STATUS_IGNORE: Place<usize> = Place(UnsafeCell::new(0));
#[unsafe(no_mangle)]
static MPI_F_STATUSES_IGNORE: Place<usize> = Place(UnsafeCell::new(0));
#[unsafe(no_mangle)]
static MPIR_F08_MPI_BOTTOM: Place<c_int> = Place(UnsafeCell::new(0));
#[unsafe(no_mangle)]
static MPIR_F08_MPI_IN_PLACE: Place<c_int> = Place(UnsafeCell::new(0));
#[unsafe(no_mangle)]
static MPIR_F08_MPI_STATUS_IGNORE_OBJ: Place<[c_int; 5]> = Place(UnsafeCell::new([0; 5]));
#[unsafe(no_mangle)]
static MPIR_F08_MPI_STATUSES_IGNORE_OBJ: Place<[c_int; 5]> = Place(UnsafeCell::new([0; 5]));
#[unsafe(no_mangle)]
static MPI_F08_STATUS_IGNORE: Address = address(&MPIR_F08_MPI_STATUS_IGNORE_OBJ);
#[unsafe(no_mangle)]
static MPI_F08_STATUSES_IGNORE: Address = address(&MPIR_F08_MPI_STATUSES_IGNORE_OBJ);
#[unsafe(no_mangle)]
static MPI_T_PVAR_ALL_HANDLES: Address = Address(std::ptr::null());

/// `MPI_UNWEIGHTED`.
pub fn unweighted() -> usize {
    MPI_UNWEIGHTED.0.addr()
}

/// `MPI_WEIGHTS_EMPTY`.
pub fn weights_empty() -> usize {
    MPI_WEIGHTS_EMPTY.0.addr()
}

/// The functions for seconds and addresses, under both names.
macro_rules! both {
    ($($name:ident $twin:ident($($argument:ident: $type:ty),*) -> $result:ty { $work:expr })*) => {
        $(#[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> $result {
            $work
        }
        #[unsafe(no_mangle)]
        extern "C" fn $twin($($argument: $type),*) -> $result {
            $work
        })*
    };
}

both!(
    MPI_Wtick PMPI_Wtick() -> f64 { own::tick() }
    MPI_Aint_add PMPI_Aint_add(base: isize, by: isize) -> isize { base.wrapping_add(by) }
    MPI_Aint_diff PMPI_Aint_diff(to: isize, from: isize) -> isize { to.wrapping_sub(from) }
);

/// `MPI_COMM_DUP_FN` and its like.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPIR_Dup_fn(
    _: u32,
    _: c_int,
    _: *mut c_void,
    value: *mut c_void,
    copied: *mut *mut c_void,
    is_copied: *mut c_int,
) -> c_int {
    // SAFETY: the places are those of whoever copies.
    unsafe {
        *copied = value;
        *is_copied = 1;
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn MPII_Keyval_set_proxy(keyval: c_int, copy: *mut c_void, delete: *mut c_void) {
    Keyval::call_by(keyval, [copy, delete]);
}

#[unsafe(no_mangle)]
extern "C" fn MPII_Op_set_cxx(op: u32, proxy: *mut c_void) {
    Operation::call_by(handle::OP.address(op), proxy);
}

#[unsafe(no_mangle)]
extern "C" fn MPII_Errhandler_set_cxx(_: u32, proxy: *mut c_void) {
    callback::call_last_by(proxy);
}

#[unsafe(no_mangle)]
extern "C" fn MPII_Grequest_set_lang_f77(_: u32) {
    own::last_is_fortran();
}

/// The value itself where the attribute is one of MPI's: C has the place of it.
unsafe fn value(keyval: c_int, value: *mut *mut c_void) {
    let is_own = Meaning::Keyval.below(keyval) != keyval && keyval != number::WIN_BASE;
    // SAFETY: the attribute's value, which for these keys is the place of an integer.
    unsafe {
        if is_own {
            let place = *value;
            *value = if keyval == number::WIN_SIZE {
                *place.cast::<*mut c_void>()
            } else {
                *place.cast::<c_int>() as isize as *mut c_void
            };
        }
    }
}

/// The functions with which Fortran's binding reads and writes attributes.
macro_rules! attributes {
    ($($get:ident $set:ident $below_get:literal $below_set:literal $class:ident)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $get(
            object: u32,
            keyval: c_int,
            place: *mut *mut c_void,
            flag: *mut c_int,
            kind: c_int,
        ) -> c_int {
            static GET: Function = Function::new($below_get);
            let keyval = number::keyval_of_c(keyval);
            // SAFETY: the caller's places.
            unsafe {
                let key = Meaning::Keyval.below(keyval) as usize;
                let result = GET.call(&[handle::$class.address(object), key, place.addr(), flag.addr()]);
                if result == 0 && *flag != 0 {
                    own::replace_value(keyval, place.addr(), flag.addr());
                    if kind != AS_POINTER {
                        value(keyval, place);
                    }
                }
                Meaning::Code.above(result)
            }
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $set(object: u32, keyval: c_int, value: *mut c_void, _: c_int) -> c_int {
            static SET: Function = Function::new($below_set);
            // SAFETY: an attribute is any word.
            let result = unsafe {
                SET.call(&[handle::$class.address(object), Meaning::Keyval.below(keyval) as usize, value.addr()])
            };
            Meaning::Code.above(result)
        })*
    };
}

attributes!(
    MPII_Comm_get_attr MPII_Comm_set_attr c"PMPI_Comm_get_attr" c"PMPI_Comm_set_attr" COMM
    MPII_Type_get_attr MPII_Type_set_attr c"PMPI_Type_get_attr" c"PMPI_Type_set_attr" TYPE
    MPII_Win_get_attr MPII_Win_set_attr c"PMPI_Win_get_attr" c"PMPI_Win_set_attr" WIN
);
