//! The functions of `include/foretop_kernel.h`.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_double, c_int, c_uint, c_ulonglong};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kernel::Error;
use kernel::control::Change;

use crate::controller::Controller;

// As the header has them.
const OK: c_int = 0;
const REFUSED: c_int = -1;
const NO_AGENT: c_int = -2;
const NO_HANDLE: c_int = -3;
const BAD_VALUE: c_int = -4;
const BROKEN: c_int = -5;
const HOLDER_BYTES: usize = 64;

/// `struct foretop_kernel_status`.
#[repr(C)]
pub struct Status {
    interval_ms: c_ulonglong,
    budget_cores: c_double,
    cost_cores: c_double,
    own_cores: c_double,
    is_on: c_int,
    holder_seconds: c_uint,
    holder: [c_char; HOLDER_BYTES],
}

type Shared = Arc<Mutex<Controller>>;

/// Controllers by handle.
static CONTROLLERS: Mutex<Vec<Option<Shared>>> = Mutex::new(Vec::new());

thread_local! {
    /// Reason of the last call of this thread that did not do what it was asked.
    static REASON: RefCell<CString> = RefCell::default();
}

fn fail(code: c_int, why: &dyn Display) -> c_int {
    REASON.set(CString::new(why.to_string().replace('\0', " ")).unwrap_or_default());
    code
}

fn failed(error: &Error) -> c_int {
    let code = match error {
        Error::AgentRefused { .. } => REFUSED,
        Error::NoAgent { .. } => NO_AGENT,
        _ => BAD_VALUE,
    };
    fail(code, &text::with_causes(error))
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs what may break: a panic must not unwind into the program, which goes on without being measured.
fn guarded(work: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| fail(BROKEN, &"the library panicked, see standard error"))
}

fn with(handle: c_int, work: impl FnOnce(&mut Controller) -> Result<(), Error>) -> c_int {
    guarded(|| {
        let known = usize::try_from(handle).ok().and_then(|at| lock(&CONTROLLERS).get(at).cloned().flatten());
        let Some(controller) = known else { return no_handle(handle) };
        let done = work(&mut lock(&controller));
        done.map_or_else(|error| failed(&error), |()| OK)
    })
}

fn no_handle(handle: c_int) -> c_int {
    fail(NO_HANDLE, &format_args!("{handle} is no handle that foretop_kernel_open gave, or it was closed"))
}

/// A text that may be left out.
///
/// # Safety
/// `text` is null, or ends with a zero byte and outlives what is done with it.
unsafe fn optional<'a>(text: *const c_char) -> Result<Option<&'a str>, Error> {
    // SAFETY: as promised.
    let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
    let wrong = |text: &CStr| Error::Setting {
        what: "text",
        value: text.to_string_lossy().into_owned(),
        right: "text in UTF-8",
    };
    text.map(|text| text.to_str().map_err(|_| wrong(text))).transpose()
}

#[unsafe(no_mangle)]
extern "C" fn foretop_kernel_reason() -> *const c_char {
    REASON.with_borrow(|reason| reason.as_ptr())
}

/// # Safety
/// `socket` is null, or ends with a zero byte.
#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_kernel_open(socket: *const c_char) -> c_int {
    guarded(|| {
        // SAFETY: as promised.
        let opened = unsafe { optional(socket) }.and_then(Controller::open);
        let controller = match opened {
            Ok(controller) => Some(Arc::new(Mutex::new(controller))),
            Err(error) => return failed(&error),
        };
        let mut all = lock(&CONTROLLERS);
        let at = all.iter().position(Option::is_none).unwrap_or_else(|| {
            all.push(None);
            all.len() - 1
        });
        all[at] = controller;
        c_int::try_from(at).unwrap_or(c_int::MAX)
    })
}

#[unsafe(no_mangle)]
extern "C" fn foretop_kernel_close(handle: c_int) -> c_int {
    guarded(|| {
        let taken = usize::try_from(handle).ok().and_then(|at| lock(&CONTROLLERS).get_mut(at).and_then(Option::take));
        let Some(controller) = taken else { return no_handle(handle) };
        let released = lock(&controller).release();
        released.map_or_else(|error| failed(&error), |()| OK)
    })
}

/// # Safety
/// `numbers` is null, or ends with a zero byte.
#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_kernel_nodes(handle: c_int, numbers: *const c_char) -> c_int {
    // SAFETY: as promised.
    with(handle, |controller| controller.set_nodes(unsafe { optional(numbers) }?.unwrap_or_default()))
}

/// # Safety
/// `subsystems` is null, or ends with a zero byte.
#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_kernel_on(handle: c_int, subsystems: *const c_char) -> c_int {
    with(handle, |controller| {
        // SAFETY: as promised.
        let subsystems = unsafe { optional(subsystems) }?.unwrap_or_default();
        controller.change(Change::on(subsystems.split_whitespace()))
    })
}

/// # Safety
/// `subsystems` is null, or ends with a zero byte.
#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_kernel_off(handle: c_int, subsystems: *const c_char) -> c_int {
    with(handle, |controller| {
        // SAFETY: as promised.
        let subsystems = unsafe { optional(subsystems) }?.unwrap_or_default();
        controller.change(Change::off(subsystems.split_whitespace()))
    })
}

/// # Safety
/// `settings` is null, or ends with a zero byte.
#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_kernel_set(handle: c_int, settings: *const c_char) -> c_int {
    // SAFETY: as promised.
    with(handle, |controller| controller.change(unsafe { optional(settings) }?.unwrap_or_default().parse()?))
}

/// # Safety
/// `name` ends with a zero byte.
#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_kernel_lease(
    handle: c_int,
    name: *const c_char,
    seconds: c_uint,
    wait_seconds: c_uint,
) -> c_int {
    with(handle, |controller| {
        // SAFETY: as promised.
        let name = unsafe { optional(name) }?.filter(|name| !name.trim().is_empty());
        let right = "who you are, for those who are refused meanwhile";
        let name = name.ok_or_else(|| Error::Setting { what: "name", value: String::new(), right })?;
        controller.lease(name, seconds, Duration::from_secs(wait_seconds.into()))
    })
}

#[unsafe(no_mangle)]
extern "C" fn foretop_kernel_release(handle: c_int) -> c_int {
    with(handle, Controller::release)
}

/// # Safety
/// `status` is null, or has room for one.
#[unsafe(no_mangle)]
unsafe extern "C" fn foretop_kernel_status(handle: c_int, status: *mut Status) -> c_int {
    with(handle, |controller| {
        let found = controller.status()?;
        // SAFETY: as promised.
        if let Some(place) = unsafe { status.as_mut() } {
            *place = Status::from(&found);
        }
        Ok(())
    })
}

impl From<&kernel::control::Status> for Status {
    fn from(status: &kernel::control::Status) -> Self {
        let (name, holder_seconds) = status.holder.clone().unwrap_or_default();
        let mut holder = [0; HOLDER_BYTES];
        // The last byte stays zero, and no character is cut in two.
        let length = (0..HOLDER_BYTES).rev().find(|length| name.is_char_boundary(*length)).unwrap_or(0);
        for (place, byte) in holder.iter_mut().zip(&name.as_bytes()[..length]) {
            *place = *byte as c_char;
        }
        Self {
            interval_ms: status.interval_ms,
            budget_cores: status.budget_cores.unwrap_or(-1.0),
            cost_cores: status.cost_cores,
            own_cores: status.own_cores,
            is_on: c_int::from(status.is_on),
            holder_seconds,
            holder,
        }
    }
}
