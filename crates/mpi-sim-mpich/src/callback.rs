//! Functions of the program that Open MPI calls: they are given the program's handles, constants and statuses.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::handle::{self, Class};
use crate::number::Meaning;
use crate::open_mpi::above;
use crate::status;

/// Distinct functions that one program may have as error handlers: Open MPI tells a handler nothing but the error.
const HANDLERS_MAX: usize = 64;

/// An attribute as the program gives and takes it.
type Attribute = *mut c_void;
type CopyFn = unsafe extern "C" fn(u32, c_int, *mut c_void, Attribute, *mut Attribute, *mut c_int) -> c_int;
type DeleteFn = unsafe extern "C" fn(u32, c_int, Attribute, *mut c_void) -> c_int;
/// The proxy that Fortran's binding has called in place of the program's functions, which the proxy is given first.
type CopyProxy =
    unsafe extern "C" fn(*mut c_void, u32, c_int, *mut c_void, c_int, Attribute, *mut Attribute, *mut c_int) -> c_int;
type DeleteProxy = unsafe extern "C" fn(*mut c_void, u32, c_int, c_int, Attribute, *mut c_void) -> c_int;
type UserFn = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut u32);
type UserProxy = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, u32, *mut c_void);
type Handler = unsafe extern "C" fn(*mut u32, *mut c_int);
type HandlerProxy = unsafe extern "C" fn(c_int, *mut u32, *mut c_int, *mut c_void);

/// `MPIR_ATTR_AINT`: what Fortran has as attributes.
const FORTRAN_INTEGER: c_int = 1;

/// A program's function; none where it gave the null pointer.
fn is_there(function: *mut c_void) -> bool {
    !function.is_null()
}

/// The functions of a key for attributes. They stay for as long as the process does, as attributes may.
pub struct Keyval {
    class: &'static Class,
    copy: *mut c_void,
    delete: *mut c_void,
    extra: *mut c_void,
    proxies: [AtomicPtr<c_void>; 2],
}

static KEYVALS: Mutex<Option<HashMap<c_int, usize>>> = Mutex::new(None);

impl Keyval {
    pub fn new(class: &'static Class, copy: *mut c_void, delete: *mut c_void, extra: *mut c_void) -> &'static Self {
        let proxies = [AtomicPtr::new(null_mut()), AtomicPtr::new(null_mut())];
        Box::leak(Box::new(Self { class, copy, delete, extra, proxies }))
    }

    /// Open MPI's number for it.
    pub fn note(&'static self, number: c_int) {
        let mut all = KEYVALS.lock().expect("nothing panics with it");
        all.get_or_insert_default().insert(number, (&raw const *self).addr());
    }

    /// Has its functions called by these.
    pub fn call_by(number: c_int, proxies: [*mut c_void; 2]) {
        let found = KEYVALS.lock().expect("nothing panics with it").as_ref().and_then(|all| all.get(&number).copied());
        if let Some(keyval) = found {
            // SAFETY: what is in the map was leaked.
            let keyval = unsafe { &*(keyval as *const Self) };
            for (place, proxy) in keyval.proxies.iter().zip(proxies) {
                place.store(proxy, Ordering::Relaxed);
            }
        }
    }

    fn proxy(&self, nth: usize) -> Option<*mut c_void> {
        Some(self.proxies[nth].load(Ordering::Relaxed)).filter(|proxy| !proxy.is_null())
    }
}

/// Open MPI's for `MPI_Comm_create_keyval` and the like.
pub unsafe extern "C" fn copy(
    object: usize,
    keyval: c_int,
    extra: *const Keyval,
    value: Attribute,
    copied: *mut Attribute,
    is_copied: *mut c_int,
) -> c_int {
    // SAFETY: the state is ours, the places are Open MPI's, and the function is what the program said it to be.
    unsafe {
        let of = &*extra;
        if !is_there(of.copy) {
            *is_copied = 0;
            return 0;
        }
        let handle = of.class.handle(object);
        let result = above(|| match of.proxy(0) {
            Some(proxy) => std::mem::transmute::<*mut c_void, CopyProxy>(proxy)(
                of.copy,
                handle,
                keyval,
                of.extra,
                FORTRAN_INTEGER,
                value,
                copied,
                is_copied,
            ),
            None => {
                std::mem::transmute::<*mut c_void, CopyFn>(of.copy)(handle, keyval, of.extra, value, copied, is_copied)
            }
        });
        Meaning::Code.below(result)
    }
}

/// Open MPI's for `MPI_Comm_create_keyval` and the like.
pub unsafe extern "C" fn delete(object: usize, keyval: c_int, value: Attribute, extra: *const Keyval) -> c_int {
    // SAFETY: as in `copy`.
    unsafe {
        let of = &*extra;
        if !is_there(of.delete) {
            return 0;
        }
        let handle = of.class.handle(object);
        let result = above(|| match of.proxy(1) {
            Some(proxy) => std::mem::transmute::<*mut c_void, DeleteProxy>(proxy)(
                of.delete,
                handle,
                keyval,
                FORTRAN_INTEGER,
                value,
                of.extra,
            ),
            None => std::mem::transmute::<*mut c_void, DeleteFn>(of.delete)(handle, keyval, value, of.extra),
        });
        Meaning::Code.below(result)
    }
}

/// The function of an operation, in the place of which Open MPI has this. It stays: a request may use it when the
/// operation is freed.
pub struct Operation {
    function: *mut c_void,
    proxy: AtomicPtr<c_void>,
}

static OPERATIONS: Mutex<Option<HashMap<usize, usize>>> = Mutex::new(None);

impl Operation {
    pub fn new(function: *mut c_void) -> &'static Self {
        Box::leak(Box::new(Self { function, proxy: AtomicPtr::new(null_mut()) }))
    }

    /// Open MPI's address for it.
    pub fn note(&'static self, op: usize) {
        let mut all = OPERATIONS.lock().expect("nothing panics with it");
        all.get_or_insert_default().insert(op, (&raw const *self).addr());
    }

    /// Has its function called by another, which is C++'s.
    pub fn call_by(op: usize, proxy: *mut c_void) {
        let found = OPERATIONS.lock().expect("nothing panics with it").as_ref().and_then(|all| all.get(&op).copied());
        if let Some(operation) = found {
            // SAFETY: what is in the map was leaked.
            unsafe { &*(operation as *const Self) }.proxy.store(proxy, Ordering::Relaxed);
        }
    }
}

/// Open MPI calls it for operations of C++, and gives it what it has as their function.
pub unsafe extern "C" fn combine(
    from: *mut c_void,
    into: *mut c_void,
    length: *mut c_int,
    datatype: *const usize,
    operation: *const Operation,
) {
    // SAFETY: the operation is ours, the data are Open MPI's, and the function is what the program said it to be.
    unsafe {
        let operation = &*operation;
        let mut datatype = handle::TYPE.handle(*datatype);
        let proxy = operation.proxy.load(Ordering::Relaxed);
        above(|| {
            if proxy.is_null() {
                let function = std::mem::transmute::<*mut c_void, UserFn>(operation.function);
                function(from, into, length, &raw mut datatype);
            } else {
                let proxy = std::mem::transmute::<*mut c_void, UserProxy>(proxy);
                proxy(from, into, *length, datatype, operation.function);
            }
        });
    }
}

/// The kind of object that an error handler is for, by the number that C++'s binding has for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Comm = 0,
    File = 1,
    Win = 2,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Handling {
    kind: Kind,
    function: usize,
    /// C++'s function that calls it; 0 where there is none.
    proxy: usize,
}

static HANDLERS: Mutex<Vec<Handling>> = Mutex::new(Vec::new());

/// The function for Open MPI that calls this handler; none where there are too many.
pub fn handler(kind: Kind, function: *mut c_void) -> Option<usize> {
    let mut all = HANDLERS.lock().expect("nothing panics with it");
    let handling = Handling { kind, function: function.addr(), proxy: 0 };
    let place = all.iter().position(|known| *known == handling).unwrap_or(all.len());
    let entry = ENTRIES.get(place)?;
    if place == all.len() {
        all.push(handling);
    }
    Some(*entry as *const () as usize)
}

/// Has the handler that was made last called by C++'s function.
pub fn call_last_by(proxy: *mut c_void) {
    if let Some(last) = HANDLERS.lock().expect("nothing panics with it").last_mut() {
        last.proxy = proxy.addr();
    }
}

type Entry = unsafe extern "C" fn(*mut usize, *mut c_int);

unsafe extern "C" fn handle_nth<const NTH: usize>(object: *mut usize, code: *mut c_int) {
    let handling = HANDLERS.lock().expect("nothing panics with it")[NTH];
    // SAFETY: both places are Open MPI's, and the function is what the program said it to be.
    unsafe {
        let class = match handling.kind {
            Kind::Comm => &handle::COMM,
            Kind::File => &handle::FILE,
            Kind::Win => &handle::WIN,
        };
        let (mut handle, mut told) = (class.handle(*object), Meaning::Code.above(*code));
        let (handle, told) = (&raw mut handle, &raw mut told);
        above(|| {
            if handling.proxy == 0 {
                std::mem::transmute::<usize, Handler>(handling.function)(handle, told);
            } else {
                let proxy = std::mem::transmute::<usize, HandlerProxy>(handling.proxy);
                proxy(handling.kind as c_int, handle, told, handling.function as *mut c_void);
            }
        });
    }
}

macro_rules! entries {
    ($($tens:literal)*) => {
        [$(
            handle_nth::<{ $tens }>, handle_nth::<{ $tens + 1 }>, handle_nth::<{ $tens + 2 }>, handle_nth::<{ $tens + 3 }>,
            handle_nth::<{ $tens + 4 }>, handle_nth::<{ $tens + 5 }>, handle_nth::<{ $tens + 6 }>, handle_nth::<{ $tens + 7 }>,
        )*]
    };
}

static ENTRIES: [Entry; HANDLERS_MAX] = entries!(0 8 16 24 32 40 48 56);

/// A generalized request.
pub struct Generalized {
    pub query: *mut c_void,
    pub free: *mut c_void,
    pub cancel: *mut c_void,
    pub extra: *mut c_void,
    pub is_fortran: bool,
}

impl Generalized {
    /// Calls a function of the program. One of Fortran takes places, and writes its result to the last.
    unsafe fn call(&self, function: *mut c_void, argument: usize) -> c_int {
        type Takes = unsafe extern "C" fn(*mut c_void, usize, *mut c_int) -> c_int;
        let mut result = 0;
        // SAFETY: the function is what the program said it to be; one of C does not look at the third argument.
        let returned = unsafe {
            let function = std::mem::transmute::<*mut c_void, Takes>(function);
            function(self.extra, argument, &raw mut result)
        };
        if self.is_fortran { result } else { returned }
    }

    unsafe fn call_alone(&self) -> c_int {
        let mut result = 0;
        // SAFETY: as in `call`.
        let returned = unsafe {
            let function =
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int>(self.free);
            function(self.extra, &raw mut result)
        };
        if self.is_fortran { result } else { returned }
    }
}

pub unsafe extern "C" fn query(of: *const Generalized, place: *mut status::Below) -> c_int {
    // SAFETY: the state is ours, and the status Open MPI's.
    unsafe {
        let of = &*of;
        let mut told: status::Above = std::mem::zeroed();
        told.become_(*place, true);
        let result = above(|| of.call(of.query, (&raw mut told).addr()));
        *place = told.below();
        Meaning::Code.below(result)
    }
}

pub unsafe extern "C" fn cancel(of: *const Generalized, is_complete: c_int) -> c_int {
    // SAFETY: the state is ours.
    unsafe {
        let of = &*of;
        let result = above(|| {
            if of.is_fortran {
                of.call(of.cancel, (&raw const is_complete).addr())
            } else {
                of.call(of.cancel, is_complete as usize)
            }
        });
        Meaning::Code.below(result)
    }
}

/// The last that is called of a request.
pub unsafe extern "C" fn free(of: *mut Generalized) -> c_int {
    // SAFETY: the state was made for this request.
    unsafe {
        let of = Box::from_raw(of);
        let result = above(|| of.call_alone());
        Meaning::Code.below(result)
    }
}
