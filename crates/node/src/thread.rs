//! A thread with a name, which nobody leaves behind.

use std::io;
use std::thread::{self, JoinHandle};

/// A thread. Dropping it waits for its end, so whoever owns it has told it to end before.
#[derive(Debug)]
pub(crate) struct Thread {
    name: &'static str,
    handle: Option<JoinHandle<()>>,
}

impl Thread {
    /// Starts `work` on a thread called `name`, up to 15 bytes of which the kernel shows.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub(crate) fn start(name: &'static str, work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let handle = thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Self { name, handle: Some(handle) })
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if self.handle.take().is_some_and(|handle| handle.join().is_err()) {
            tracing::error!(thread = self.name, "a thread panicked");
        }
    }
}
