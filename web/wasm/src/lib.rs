//! The controller of `playback` for browsers: a C interface that JavaScript calls without generated code.
//!
//! A page writes into two buffers, one of text and one of numbers, calls a function, and reads the answer from the
//! same buffers; `web/playback/core.ts` is the other side. A function that refuses what it was given returns
//! [`REFUSED`], and the text says why. wasm-bindgen would bring a program of exactly its own version, for seven
//! functions that take numbers.

mod pacer;

use std::sync::{Mutex, MutexGuard, PoisonError};

use pacer::Pacer;
use playback::Law;

/// Return value of a function that refuses its input; any other return value is at least 0.
pub const REFUSED: i32 = -1;

/// Players of a page at the same time.
const N_PACERS_MAX: usize = 64;

/// Bytes that a page may ask for: the names of a law and a model.
const N_TEXT_BYTES_MAX: usize = 4096;

static TEXT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static NUMBERS: Mutex<[f64; pacer::N_NUMBERS]> = Mutex::new([0.0; pacer::N_NUMBERS]);
static PACERS: Mutex<Vec<Option<Pacer>>> = Mutex::new(Vec::new());

/// Returns the address of a buffer for a text of `n_bytes` bytes; beyond a limit, the buffer is shorter than that.
#[unsafe(no_mangle)]
pub extern "C" fn text(n_bytes: usize) -> *mut u8 {
    let mut text = lock(&TEXT);
    *text = vec![0; n_bytes.min(N_TEXT_BYTES_MAX)];
    text.as_mut_ptr()
}

/// Returns the address of the answer's text.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    lock(&TEXT).as_ptr()
}

/// Returns the number of bytes of the answer's text.
#[unsafe(no_mangle)]
pub extern "C" fn answer_length() -> usize {
    lock(&TEXT).len()
}

/// Returns the address of the buffer of numbers that are written and read; [`pacer`] lists them.
#[unsafe(no_mangle)]
pub extern "C" fn numbers() -> *mut f64 {
    lock(&NUMBERS).as_mut_ptr()
}

/// Answers with the names of all laws, separated by blanks.
#[unsafe(no_mangle)]
pub extern "C" fn laws() {
    say(&Law::ALL.map(Law::name).join(" "));
}

/// A pacer of the law and the model that the text names, on a line each, and of the limits and the request in the
/// numbers. Returns its number.
#[unsafe(no_mangle)]
pub extern "C" fn open() -> i32 {
    let text = String::from_utf8_lossy(&lock(&TEXT)).into_owned();
    let opened = Pacer::open(&text, &lock(&NUMBERS)).and_then(|pacer| {
        let mut pacers = lock(&PACERS);
        let idx = pacers.iter().position(Option::is_none).unwrap_or(pacers.len());
        if idx == N_PACERS_MAX {
            return Err(format!("{N_PACERS_MAX} players are open: close one first"));
        }
        if idx == pacers.len() {
            pacers.push(None);
        }
        pacers[idx] = Some(pacer);
        Ok(idx as i32)
    });
    opened.unwrap_or_else(|why| refuse(&why))
}

/// Takes media that arrived, in seconds of the rendition that all arrival is measured in, over seconds in which
/// something was asked for.
#[unsafe(no_mangle)]
pub extern "C" fn arrived(pacer: i32, media_seconds: f64, elapsed_seconds: f64) -> i32 {
    with(pacer, |pacer| pacer.arrived(media_seconds, elapsed_seconds))
}

/// Decides, of the situation in the numbers, and leaves the decision there.
#[unsafe(no_mangle)]
pub extern "C" fn decide(pacer: i32, elapsed_seconds: f64) -> i32 {
    with(pacer, |pacer| pacer.decide(&mut lock(&NUMBERS), elapsed_seconds))
}

/// Play broke off, was stopped, or the listener asks for another rate: the next change of the rate is not heard as one.
#[unsafe(no_mangle)]
pub extern "C" fn fall_silent(pacer: i32) -> i32 {
    with(pacer, |pacer| {
        pacer.fall_silent();
        Ok(())
    })
}

/// Ends a pacer, whose number another may have then.
#[unsafe(no_mangle)]
pub extern "C" fn close(pacer: i32) {
    if let Some(place) = usize::try_from(pacer).ok().and_then(|idx| lock(&PACERS).get_mut(idx).map(Option::take)) {
        drop(place);
    }
}

fn with(pacer: i32, action: impl FnOnce(&mut Pacer) -> Result<(), String>) -> i32 {
    let mut pacers = lock(&PACERS);
    let found = usize::try_from(pacer).ok().and_then(|idx| pacers.get_mut(idx)).and_then(Option::as_mut);
    let done = found.ok_or_else(|| format!("{pacer} is no open player")).and_then(action);
    done.map_or_else(|why| refuse(&why), |()| 0)
}

fn refuse(why: &str) -> i32 {
    say(why);
    REFUSED
}

fn say(text: &str) {
    *lock(&TEXT) = text.as_bytes().to_vec();
}

/// A panic ends a WebAssembly module for good, so nothing is ever left half done behind a lock.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
