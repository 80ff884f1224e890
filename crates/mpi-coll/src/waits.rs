//! The library of waits, if it is preloaded in front: it makes calls that do not go over a tree, so that ranks give up
//! their core in them.

use std::ffi::c_int;
use std::sync::OnceLock;

type Make = unsafe extern "C" fn(*mut c_int) -> c_int;

/// Has the library of waits make the call that came from there, and returns the call's error; `None` if the call came
/// from elsewhere.
pub(crate) fn make() -> Option<c_int> {
    static FOUND: OnceLock<Option<Make>> = OnceLock::new();
    let make = (*FOUND.get_or_init(|| {
        let address = mpi_abi::any(c"foretop_wait_make");
        // SAFETY: only the library of waits has a symbol of this name, with this signature.
        (!address.is_null()).then(|| unsafe { std::mem::transmute::<*mut std::ffi::c_void, Make>(address) })
    }))?;
    let mut error = 0;
    // SAFETY: there is room for the error.
    (unsafe { make(&raw mut error) } == 1).then_some(error)
}
