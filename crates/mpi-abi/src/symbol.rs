//! Symbols of the libraries that the process has loaded.

use std::ffi::{CStr, CString, c_int, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Our own libraries, which stand before the MPI library and never for it.
const OURS: [&str; 3] = ["libmpi_tracer", "libmpi_wait", "libmpi_coll"];

/// Returns the next definition of a symbol after the library that this code is part of; null if there is none.
#[must_use]
pub fn next(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends with a zero byte. The lookup runs no code but that of the dynamic linker.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() { private(name) } else { found }
}

/// Returns the definition of a symbol that the program itself would use; null if there is none.
#[must_use]
pub fn any(name: &CStr) -> *mut c_void {
    // SAFETY: as above.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() { private(name) } else { found }
}

/// Returns the file name of the loaded object that has this address, without folders.
pub(crate) fn file_of(address: *mut c_void) -> Option<String> {
    // SAFETY: an object of this type may be all zeros, and the lookup takes any address.
    let path = unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address, &raw mut found) == 0 || found.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(found.dli_fname)
    };
    Some(Path::new(&*path.to_string_lossy()).file_name()?.to_string_lossy().into_owned())
}

/// Returns a symbol of an MPI library that was loaded for a plug-in alone, as Python loads extension modules.
#[cold]
fn private(name: &CStr) -> *mut c_void {
    let mut paths: Vec<CString> = Vec::new();
    // SAFETY: the function has the signature that is asked for, and `paths` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add_path), (&raw mut paths).cast()) };
    for path in &paths {
        // SAFETY: the library is loaded already, so that nothing of it is run now. Its handle is kept, and with it the
        // library.
        let symbol = unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() { library } else { libc::dlsym(library, name.as_ptr()) }
        };
        if !symbol.is_null() {
            return symbol;
        }
    }
    std::ptr::null_mut()
}

/// # Safety
/// `paths` is a `Vec<CString>` that nobody else uses meanwhile.
unsafe extern "C" fn add_path(info: *mut libc::dl_phdr_info, _size: usize, paths: *mut c_void) -> c_int {
    // SAFETY: the linker passes a loaded object, whose name is null or ends with a zero byte; `paths` is as promised.
    let (info, paths) = unsafe { (&*info, &mut *paths.cast::<Vec<CString>>()) };
    if !info.dlpi_name.is_null() {
        // SAFETY: as above.
        let path = unsafe { CStr::from_ptr(info.dlpi_name) };
        if is_mpi_library(&path.to_string_lossy()) {
            paths.push(path.to_owned());
        }
    }
    0
}

fn is_mpi_library(path: &str) -> bool {
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("libmpi") && !OURS.iter().any(|own| name.starts_with(own))
}

/// A function that is looked up at its first call and kept.
#[derive(Debug)]
pub struct Function {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Function {
    /// Builds the function for the [`next`] of this name.
    #[must_use]
    pub const fn next(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &'static CStr {
        self.name
    }

    /// Returns its address; null if there is none.
    #[inline(always)]
    #[must_use]
    pub fn address(&self) -> *mut c_void {
        // What is stored is the address of code, which was there before and changes no more: no other memory hangs on
        // it.
        let known = self.address.load(Ordering::Relaxed);
        if known.is_null() { self.find() } else { known }
    }

    #[cold]
    #[inline(never)]
    fn find(&self) -> *mut c_void {
        let found = next(self.name);
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_libraries_are_not_taken_for_mpi() {
        assert!(is_mpi_library("/usr/lib/libmpi.so.40") && is_mpi_library("libmpichfort.so.12"));
        assert!(!is_mpi_library("/opt/libmpi_tracer.so") && !is_mpi_library("/lib/libc.so.6"));
    }

    #[test]
    fn a_symbol_that_nobody_has_is_null() {
        assert!(any(c"MPI_No_such_function").is_null());
        assert!(!any(c"dlsym").is_null());
        assert!(file_of(any(c"getpid")).is_some_and(|name| name.starts_with("libc.")));
        assert_eq!(file_of(std::ptr::null_mut()), None);
    }
}
