//! A thread with a name, which is waited for when it is dropped.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use clock::Backoff;

use crate::{OnPanic, RECENT, Watch};

/// The first pause after a panic, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));

/// A watched thread. Dropping it asks it to end, and waits until it has.
#[derive(Debug)]
pub struct Thread {
    stop: Arc<Stop>,
    handle: Option<JoinHandle<()>>,
}

/// A request to a thread to end.
#[derive(Debug, Default)]
pub struct Stop {
    is_asked: Mutex<bool>,
    changed: Condvar,
}

impl Thread {
    /// Starts `work` on a thread called `name`, of which the kernel shows 15 bytes; the name tells it apart from all
    /// others of the watch. Work that returns is done.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn start(
        watch: &Watch,
        name: impl Into<String>,
        on_panic: OnPanic,
        mut work: impl FnMut(&Stop) + Send + 'static,
    ) -> io::Result<Self> {
        let (watch, name, stop) = (watch.clone(), name.into().replace('\0', ""), Arc::<Stop>::default());
        let asked = Arc::clone(&stop);
        let builder = thread::Builder::new().name(name.clone());
        let handle = builder.spawn(move || run(&watch, &name, on_panic, &asked, &mut || work(&asked)))?;
        Ok(Self { stop, handle: Some(handle) })
    }

    /// Asks it to end, and does not wait.
    pub fn ask_to_end(&self) {
        self.stop.ask();
    }

    /// Asks it to end, and leaves it to itself.
    pub fn let_go(mut self) {
        self.handle = None;
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop.ask();
        if let Some(handle) = self.handle.take() {
            // Panics of the work were caught and told.
            let _ = handle.join();
        }
    }
}

fn run(watch: &Watch, name: &str, on_panic: OnPanic, stop: &Stop, work: &mut dyn FnMut()) {
    let mut backoff = Backoff::new(PAUSES.0, PAUSES.1);
    while let Err(panic) = catch_unwind(AssertUnwindSafe(&mut *work)) {
        let message = message_of(&*panic);
        tracing::error!(thread = name, message, "a thread panicked");
        if watch.since_failure(name).is_some_and(|since| since > RECENT) {
            backoff.succeeded();
        }
        watch.panicked(name, on_panic, message);
        if on_panic == OnPanic::End || stop.wait(backoff.next_wait()) {
            break;
        }
        watch.begins_again(name);
    }
    watch.ended(name);
}

/// Returns the message of a panic if it is text, as it is unless somebody panics with another value.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it did not say why").to_owned()
}

impl Stop {
    /// Waits for `span`, or until the end is asked for; returns whether it is.
    pub fn wait(&self, span: Duration) -> bool {
        let is_asked = self.is_asked.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_asked, span, |is_asked| !*is_asked);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn ask(&self) {
        *self.is_asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }
}
