//! Data that Open MPI needs until a request is done, and that the program would have kept itself.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::handle;

pub enum Kept {
    /// Datatypes of a call that goes on.
    Types(#[expect(dead_code, reason = "Open MPI reads it")] Vec<usize>),
    /// The place where a communicator that is being made will be, and the program's place for it.
    Comm { made: Box<usize>, place: usize },
}

static ALL: Mutex<Option<HashMap<usize, Vec<Kept>>>> = Mutex::new(None);
static IS_ANY: AtomicBool = AtomicBool::new(false);

/// Whether anything is kept.
pub fn is_any() -> bool {
    IS_ANY.load(Ordering::Relaxed)
}

pub fn keep(request: usize, kept: Kept) {
    let mut all = ALL.lock().expect("nothing panics with it");
    all.get_or_insert_default().entry(request).or_default().push(kept);
    IS_ANY.store(true, Ordering::Relaxed);
}

/// Drops what belongs to requests that were there before a call and are not now.
pub fn drop_done(before: &[usize], after: &[usize]) {
    let mut all = ALL.lock().expect("nothing panics with it");
    let Some(all) = all.as_mut() else { return };
    let done = before.iter().zip(after).filter(|(before, after)| before != after);
    for kept in done.filter_map(|(request, _)| all.remove(request)).flatten() {
        if let Kept::Comm { made, place } = kept {
            // SAFETY: the program's place is its own until the request is done, which it was just now.
            unsafe { *(place as *mut u32) = handle::COMM.handle(*made) };
        }
    }
    IS_ANY.store(!all.is_empty(), Ordering::Relaxed);
}
