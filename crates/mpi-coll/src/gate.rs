//! Gates at which monitors of a host wait for a moment in which they disturb least.
//!
//! A gate is a segment of four halves of words in the job's folder, for each moment a counter to wait on and how
//! many wait. A monitor counts itself and sleeps until the counter moves. The engine looks whether anybody waits,
//! and if so sets that number to zero, moves the counter and wakes all: a monitor that was killed costs one wake-up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::memory::Shared;
use crate::pause::wake_all;

/// Words of a gate's segment.
pub(crate) const N_GATE_WORDS: usize = 16;

/// The gate of one host.
#[derive(Clone)]
pub(crate) struct Gate(pub(crate) Arc<dyn Shared>);

impl Gate {
    /// Opens the gate for the moment when a contribution of this host is on its way to another.
    pub(crate) fn sent(&self) {
        self.open(0);
    }

    /// Opens the gate for the moment when ranks of this host have been let go.
    pub(crate) fn released(&self) {
        self.open(8);
    }

    fn open(&self, word: usize) {
        // SAFETY: two counters of 32 bits lie in one aligned word; nobody accesses it as a whole.
        let [moved, waiting] = unsafe { &*self.0.words()[word..].as_ptr().cast::<[AtomicU32; 2]>() };
        if waiting.load(Ordering::Relaxed) > 0 {
            waiting.store(0, Ordering::SeqCst);
            moved.fetch_add(1, Ordering::SeqCst);
            wake_all(moved);
        }
    }
}
