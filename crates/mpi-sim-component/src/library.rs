//! The libraries below: functions that this one stands before.

use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of a library, looked up once.
pub struct Symbol {
    pub name: &'static CStr,
    place: AtomicPtr<libc::c_void>,
}

/// A library that the program has loaded, or will have when a function of it is called.
pub struct Library {
    name: &'static CStr,
    handle: AtomicPtr<libc::c_void>,
}

pub static MPI: Library = Library::new(c"libmpi.so.40");
pub static MPIFH: Library = Library::new(c"libmpi_mpifh.so.40");
pub static PAL: Library = Library::new(c"libopen-pal.so.40");

impl Symbol {
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, place: AtomicPtr::new(null_mut()) }
    }

    /// Where it is, as [`Library::function`].
    pub fn of(&self, library: &Library) -> *mut libc::c_void {
        self.find(|| library.function(self.name))
    }

    /// Where whoever comes after this library has it: a tracer that is preloaded too, or else `library`.
    pub fn next(&self, library: &Library) -> *mut libc::c_void {
        self.find(|| {
            // SAFETY: the name ends with a zero.
            let next = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            if next.is_null() { library.function(self.name) } else { next }
        })
    }

    fn find(&self, look_up: impl FnOnce() -> *mut libc::c_void) -> *mut libc::c_void {
        let mut place = self.place.load(Ordering::Relaxed);
        if place.is_null() {
            place = look_up();
            self.place.store(place, Ordering::Relaxed);
        }
        place
    }
}

impl Library {
    const fn new(name: &'static CStr) -> Self {
        Self { name, handle: AtomicPtr::new(null_mut()) }
    }

    /// The function of that name; the process ends if there is none, as it would without this library.
    pub fn function(&self, name: &CStr) -> *mut libc::c_void {
        self.find(name).unwrap_or_else(|| panic!("{:?} has no function {name:?}", self.name))
    }

    /// The function of that name.
    pub fn find(&self, name: &CStr) -> Option<*mut libc::c_void> {
        let mut handle = self.handle.load(Ordering::Relaxed);
        // SAFETY: both names end with a zero, and the library stays loaded.
        let function = unsafe {
            if handle.is_null() {
                handle = libc::dlopen(self.name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_GLOBAL);
                self.handle.store(handle, Ordering::Relaxed);
            }
            libc::dlsym(handle, name.as_ptr())
        };
        (!handle.is_null() && !function.is_null()).then_some(function)
    }
}
