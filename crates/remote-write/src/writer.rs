//! The writer: the buffer's front, and the thread behind it.

use std::sync::Arc;
use std::time::Duration;

use watch::{OnPanic, Thread, Watch};

use crate::buffer::{Buffer, Place};
use crate::chunk::Chunk;
use crate::error::{BufferError, SettingsError};
use crate::sender::{Sender, Shared};
use crate::settings::Settings;
use crate::status::Status;

/// Time limit at the end for samples to be sent that are still in the buffer.
const STOP_TIME: Duration = Duration::from_secs(5);

/// Sends samples to one server.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    /// Let go of when the writer is dropped: it may be in the middle of a request.
    thread: Option<Thread>,
}

/// The reason why a writer does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Settings that cannot be met.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The buffer.
    #[error(transparent)]
    Buffer(#[from] BufferError),
}

impl Writer {
    /// Opens the buffer, and begins to send what is in it, on a watched thread.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left running then.
    pub fn start(settings: &Settings, place: &Place, watch: &Watch) -> Result<Writer, StartError> {
        settings.check()?;
        let shared = Arc::new(Shared::new(Buffer::open(place, settings.buffer_bytes)?));
        let mut sender = Sender::new(settings, Arc::clone(&shared))?;
        let no_thread = |source| BufferError::NoThread { address: settings.address.to_string(), source };
        let name = format!("remote write {}", settings.address);
        let thread = Thread::start(watch, name, OnPanic::BeginAgain, move |_| sender.run()).map_err(no_thread)?;
        Ok(Writer { shared, thread: Some(thread) })
    }

    /// Puts a chunk into the buffer. From then on it is not lost, unless the buffer is full for so long that it becomes
    /// the oldest of what is given up, or the server refuses it. Takes as long as a disk does.
    ///
    /// # Errors
    /// When it cannot be written. The chunk is not in the buffer then, and the caller may try again.
    pub fn put(&self, chunk: &Chunk) -> Result<(), BufferError> {
        if chunk.is_empty() {
            return Ok(());
        }
        let packed = snap::raw::Encoder::new();
        let body = { packed }.compress_vec(&chunk.encode()).expect("a chunk is shorter than snappy's 4 GiB");
        let n_given_up = self.shared.buffer.push(chunk.n_samples() as u64, &body)?;
        self.shared.count(|status| status.dropped.n_overflowed += n_given_up);
        Ok(())
    }

    /// Returns the status of writing.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.status()
    }

    /// Sends what waits, for five seconds at most, and ends. What is not sent then stays in the buffer.
    pub fn stop(&self) {
        self.shared.stop(STOP_TIME);
    }
}

impl Drop for Writer {
    /// A thread in the middle of a request ends after it by itself.
    fn drop(&mut self) {
        self.shared.stop(Duration::ZERO);
        if let Some(thread) = self.thread.take() {
            thread.let_go();
        }
    }
}
