//! The libraries below: functions that this one stands before.

use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::OnceLock;
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
static MPICH: Library = Library::new(c"libmpich.so.12");
static MPICHFORT: Library = Library::new(c"libmpichfort.so.12");
pub static PAL: Library = Library::new(c"libopen-pal.so.40");

/// The face of MPICH, where the program has that: its calls become those of Open MPI in a library that stands in
/// MPICH's place.
#[derive(Clone, Copy)]
pub struct Mpich {
    /// Whether this thread is inside of Open MPI, whose own calls are not the program's.
    pub is_below: extern "C" fn() -> bool,
    comm: extern "C" fn(u32) -> usize,
    datatype: extern "C" fn(u32) -> usize,
}

/// The one that this program has.
pub fn mpich() -> Option<&'static Mpich> {
    static FOUND: OnceLock<Option<Mpich>> = OnceLock::new();
    FOUND.get_or_init(Mpich::find).as_ref()
}

/// Whether the program has loaded an MPICH that is not ours.
pub fn has_other_mpich() -> bool {
    MPICH.is_loaded() && mpich().is_none()
}

/// Whether the program is linked with MPI; before it can have loaded anything.
pub fn is_linked() -> bool {
    MPI.is_loaded() || MPICH.is_loaded()
}

/// The libraries with the functions that the program calls, and their twins for Fortran.
pub fn of_program() -> [&'static Library; 2] {
    if mpich().is_some() { [&MPICH, &MPICHFORT] } else { [&MPI, &MPIFH] }
}

impl Mpich {
    fn find() -> Option<Self> {
        let function = |name: &CStr| {
            // SAFETY: the name ends with a zero.
            let place = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            (!place.is_null()).then_some(place)
        };
        type Address = extern "C" fn(u32) -> usize;
        // SAFETY: the functions of our library have these types.
        unsafe {
            Some(Self {
                is_below: std::mem::transmute::<*mut libc::c_void, extern "C" fn() -> bool>(function(
                    c"foretop_mpich_is_below",
                )?),
                comm: std::mem::transmute::<*mut libc::c_void, Address>(function(c"foretop_mpich_comm")?),
                datatype: std::mem::transmute::<*mut libc::c_void, Address>(function(c"foretop_mpich_type")?),
            })
        }
    }

    /// Open MPI's communicator for the program's. What lies in a word beyond a handle is anything.
    pub fn comm(&self, word: usize) -> usize {
        (self.comm)(word as u32)
    }

    /// Open MPI's datatype for the program's.
    pub fn datatype(&self, word: usize) -> usize {
        (self.datatype)(word as u32)
    }
}

impl Symbol {
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, place: AtomicPtr::new(null_mut()) }
    }

    /// Returns the symbol's address, as [`Library::function`] does.
    pub fn of(&self, library: &Library) -> *mut libc::c_void {
        self.find(|| library.function(self.name))
    }

    /// Returns the address in whatever comes after this library: a tracer that is preloaded too, or else `library`.
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

    fn is_loaded(&self) -> bool {
        // SAFETY: the name ends with a zero, and nothing is loaded.
        unsafe { !libc::dlopen(self.name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD).is_null() }
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
