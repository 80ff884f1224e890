//! The Open MPI below: its functions and objects, which are looked up in that library alone, as both libraries have the
//! same names.

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// No call of MPI has more arguments.
pub const ARGUMENTS_MAX: usize = 14;

const LIBRARY: &CStr = c"libmpi.so.40";

static HANDLE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

thread_local! {
    /// Whether this thread is inside of Open MPI.
    static IS_BELOW: Cell<bool> = const { Cell::new(false) };
}

/// A function, looked up once.
pub struct Function {
    name: &'static CStr,
    place: AtomicPtr<c_void>,
}

impl Function {
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, place: AtomicPtr::new(null_mut()) }
    }

    /// Calls it with these arguments; what a function does not take it does not see.
    ///
    /// # Safety
    /// They are what the function takes.
    pub unsafe fn call(&self, arguments: &[usize]) -> c_int {
        // SAFETY: the caller's arguments; a call of C may pass more words than the function looks at.
        below(|| unsafe { call_words(self.address(), arguments) as c_int })
    }

    /// The same for a function that gives an address.
    ///
    /// # Safety
    /// As of [`Self::call`].
    pub unsafe fn call_address(&self, arguments: &[usize]) -> usize {
        // SAFETY: the caller's.
        below(|| unsafe { call_words(self.address(), arguments) })
    }

    fn address(&self) -> *mut c_void {
        let mut place = self.place.load(Ordering::Relaxed);
        if place.is_null() {
            place = symbol(self.name).unwrap_or_else(|| panic!("{LIBRARY:?} has no function {:?}", self.name));
            self.place.store(place, Ordering::Relaxed);
        }
        place
    }
}

unsafe fn call_words(function: *mut c_void, arguments: &[usize]) -> usize {
    type Word = usize;
    type Words = unsafe extern "C" fn(
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
    ) -> usize;
    let mut a = [0; ARGUMENTS_MAX];
    a[..arguments.len()].copy_from_slice(arguments);
    // SAFETY: all arguments of MPI are words, integers and addresses, and the function is one of MPI.
    unsafe {
        let function = std::mem::transmute::<*mut c_void, Words>(function);
        function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13])
    }
}

/// Returns the symbol that Open MPI has under this name.
pub fn symbol(name: &CStr) -> Option<*mut c_void> {
    let mut library = HANDLE.load(Ordering::Relaxed);
    // SAFETY: both names end with a zero, and the library stays loaded.
    let found = unsafe {
        if library.is_null() {
            library = libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL);
            HANDLE.store(library, Ordering::Relaxed);
        }
        if library.is_null() { library } else { libc::dlsym(library, name.as_ptr()) }
    };
    (!found.is_null()).then_some(found)
}

/// Does something inside of Open MPI, whose own calls of MPI are then not the program's.
pub fn below<T>(work: impl FnOnce() -> T) -> T {
    within(true, work)
}

/// Calls back into the program.
pub fn above<T>(work: impl FnOnce() -> T) -> T {
    within(false, work)
}

fn within<T>(is_below: bool, work: impl FnOnce() -> T) -> T {
    let before = IS_BELOW.replace(is_below);
    let result = work();
    IS_BELOW.set(before);
    result
}

/// Asked by the component that stands before both libraries: whose a call is.
#[unsafe(no_mangle)]
extern "C" fn foretop_mpich_is_below() -> bool {
    IS_BELOW.get()
}
