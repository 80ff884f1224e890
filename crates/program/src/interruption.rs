//! Signals that ask this program to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::Failure;

/// Whether somebody has asked the program to end. The second time, it ends at once.
#[derive(Clone, Debug)]
pub struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Starts the watch: from here on, Ctrl-C and a request to terminate only set this, the first time.
    ///
    /// # Errors
    /// When the system does not let this process wait for them.
    pub fn watch() -> Result<Self, Failure> {
        let flag = Arc::new(AtomicBool::new(false));
        let watch = |signal| {
            // Before the flag is set, so that the first signal only sets it.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&flag))?;
            signal_hook::flag::register(signal, Arc::clone(&flag))
        };
        for signal in [SIGINT, SIGTERM] {
            watch(signal).map_err(|error| Failure::work(format!("cannot wait for signals: {error}")))?;
        }
        Ok(Self(flag))
    }

    /// Whether it has.
    #[must_use]
    pub fn has_come(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
