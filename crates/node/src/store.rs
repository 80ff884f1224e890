//! The store: samples and remembered forecasts in one SQLite file. `docs/formats/store.md` says how they lie in it.
//!
//! A thread of its own writes, so that no disk can hold up the sampler. Readers have a connection of their own.

mod age;
mod block;
mod inbox;
mod limit;
pub(crate) mod programs;
pub(crate) mod read;
mod schema;
mod seal;
mod thin;
mod write;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use units::{ByteCount, Timestamp};
use watch::{OnPanic, Thread, Watch};

pub(crate) use self::inbox::{Batch, Moment, Row, Saved, Status};
pub use self::schema::StoreError;

use self::age::Ageing;
use self::inbox::{Inbox, Work};
use self::schema::{Place, message};

/// The length of the stretches that old samples are thinned to.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// The longest that history in memory is kept.
pub(crate) const MEMORY_RETENTION_MAX: Duration = Duration::from_secs(3600);

/// Transactions are this far apart at least, so that 100 ticks a second do not make 100 transactions.
const COMMIT_EVERY: Duration = Duration::from_millis(100);

/// Time to wait after a failed write: people free a disk within minutes, and a try costs little.
const RETRY_EVERY: Duration = Duration::from_secs(3);

/// Time that a request waits for the disk, before it gets the answer that the store cannot be written.
const FLUSH_TIME_MAX: Duration = Duration::from_secs(10);

/// The whole minute that `time` lies in.
pub(crate) fn minute_of(time: Timestamp) -> Timestamp {
    time.floor_to(MINUTE)
}

/// The open store.
#[derive(Debug)]
pub(crate) struct Store {
    inbox: Arc<Inbox>,
    reader: Mutex<Connection>,
    #[cfg(test)]
    pages_max: Arc<std::sync::atomic::AtomicU32>,
}

/// The thread that writes the store. When it is dropped, it writes what waits, if that can be written, and ends.
#[derive(Debug)]
pub(crate) struct Running {
    inbox: Arc<Inbox>,
    _thread: Thread,
    /// Last, so that the lock is let go after the thread's connection is closed.
    _place: Place,
}

/// The store before its thread runs: what was in it at start.
#[derive(Debug)]
pub(crate) struct Opened {
    place: Place,
    pub(crate) writer: Connection,
    ageing: Ageing,
}

impl Opened {
    /// Opens the store in `directory`, or one in memory, and makes it if there is none.
    ///
    /// # Errors
    /// [`StoreError`], which names the directory or the file and says what to do.
    pub(crate) fn open(directory: Option<&Path>, retention: Duration, size_max: ByteCount) -> Result<Self, StoreError> {
        let (place, retention) = match directory {
            Some(directory) => (Place::directory(directory)?, retention),
            None => (Place::memory(), retention.min(MEMORY_RETENTION_MAX)),
        };
        let writer = place.writer()?;
        let ageing = Ageing::load(&writer, retention, size_max).map_err(|error| place.explain(error))?;
        Ok(Self { place, writer, ageing })
    }

    /// Returns the meaning of an error on reading this store.
    pub(crate) fn explain(&self, error: rusqlite::Error) -> StoreError {
        self.place.explain(error)
    }

    /// Starts the thread that writes. A panic of it ends the node: nobody knows what became of the transaction.
    ///
    /// # Errors
    /// When the file cannot be opened once more, or no thread can be made.
    pub(crate) fn run(self, watch: &Watch) -> Result<(Store, Running), StoreError> {
        let reader = self.place.reader()?;
        let inbox = Arc::new(Inbox::default());
        let mut writer = Writer {
            connection: self.writer,
            ageing: self.ageing,
            inbox: Arc::clone(&inbox),
            #[cfg(test)]
            pages_max: Arc::default(),
        };
        #[cfg(test)]
        let pages_max = Arc::clone(&writer.pages_max);
        let thread = Thread::start(watch, "store", OnPanic::End, move |_| writer.run());
        let thread = thread.map_err(|source| self.place.no_thread(source))?;
        let running = Running { inbox: Arc::clone(&inbox), _thread: thread, _place: self.place };
        let store = Store {
            inbox,
            reader: Mutex::new(reader),
            #[cfg(test)]
            pages_max,
        };
        Ok((store, running))
    }
}

impl Store {
    /// Hands over what is to be written, and returns at once.
    pub(crate) fn put(&self, batch: Batch) {
        self.inbox.put(batch);
    }

    /// Waits until everything handed over is written.
    ///
    /// # Errors
    /// A sentence, when it cannot be written.
    pub(crate) fn flush(&self) -> Result<(), String> {
        self.inbox.flush(FLUSH_TIME_MAX)
    }

    /// Lets the file grow to so many pages only, as a full disk does; 0 takes the limit away.
    #[cfg(test)]
    pub(crate) fn limit_pages(&self, n_pages: u32) {
        self.pages_max.store(n_pages, std::sync::atomic::Ordering::Relaxed);
    }

    /// Lets the thread panic at its next write.
    #[cfg(test)]
    fn break_thread(&self) {
        self.limit_pages(BROKEN);
    }

    pub(crate) fn status(&self) -> Status {
        self.inbox.status()
    }

    /// Asks the store, on a connection that only reads, as it is at one moment. May take as long as a disk does.
    ///
    /// # Errors
    /// SQLite's sentence.
    pub(crate) fn read<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, String> {
        let reader: MutexGuard<'_, Connection> = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        // Rows go from one table to another while they are read.
        let answer = reader.unchecked_transaction().and_then(|moment| ask(&moment));
        answer.map_err(|error| message(&error))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.inbox.stop();
    }
}

/// A limit of pages that lets the thread panic.
#[cfg(test)]
const BROKEN: u32 = u32::MAX;

/// The thread that writes.
struct Writer {
    connection: Connection,
    ageing: Ageing,
    inbox: Arc<Inbox>,
    #[cfg(test)]
    pages_max: Arc<std::sync::atomic::AtomicU32>,
}

impl Writer {
    fn run(&mut self) {
        let _end = self.inbox.ending();
        while let Work::Write(batches) = self.inbox.take() {
            #[cfg(test)]
            self.limit_pages();
            match write::write(&mut self.connection, &batches, self.ageing.minutes_until()) {
                Ok(()) => {
                    self.inbox.done(&batches);
                    self.age(&batches);
                    self.inbox.pause(COMMIT_EVERY);
                }
                Err(error) if self.inbox.failed(batches, message(&error)) => {
                    tracing::warn!(error = message(&error), "samples cannot be written");
                    self.inbox.pause(RETRY_EVERY);
                }
                Err(error) => {
                    tracing::error!(error = message(&error), "the last samples cannot be written");
                    break;
                }
            }
        }
    }

    fn age(&mut self, batches: &[Batch]) {
        if batches.iter().any(|batch| !batch.removed.is_empty()) {
            self.ageing.note_removal();
        }
        let tick = batches.iter().rev().find_map(|batch| batch.tick);
        let Some(tick) = tick else { return };
        if let Err(error) = self.ageing.work(&mut self.connection, tick.label, tick.now) {
            self.inbox.report(message(&error));
        }
    }

    #[cfg(test)]
    fn limit_pages(&self) {
        let n_pages = self.pages_max.load(std::sync::atomic::Ordering::Relaxed);
        assert_ne!(n_pages, BROKEN, "as a test wanted it");
        let n_pages = if n_pages == 0 { u32::MAX - 1 } else { n_pages };
        self.connection.pragma_update_and_check(None, "max_page_count", n_pages, |_| Ok(())).unwrap();
    }
}

#[cfg(test)]
mod limit_tests;
#[cfg(test)]
mod tests;
