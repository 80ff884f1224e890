//! Those who look at the node all the time: one asks how it is, one reads its stream.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use stream::{Endpoint, Message, Reader, Security};
use units::Timestamp;

use crate::node;

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A problem that is told for a minute after it ended: hostile clients take a stream, too, and read nothing of it.
const TOLD_AFTERWARDS: &str = "a reader is too slow";

/// Health of the node at one time, as the node reported it.
#[derive(Clone, Debug)]
pub struct Look {
    pub at: Timestamp,
    /// Its problems, none when it is well; `None` when it did not answer.
    pub problems: Option<Vec<String>>,
}

/// The last looks, and what came by the stream.
#[derive(Clone, Default)]
pub struct Watcher(Arc<Shared>);

#[derive(Default)]
struct Shared {
    last: Mutex<Option<Look>>,
    n_messages: AtomicU64,
    n_disorderly: AtomicU64,
    is_over: AtomicBool,
}

impl Watcher {
    /// Begins to look at the node at `url`, and to read its stream.
    pub fn start(url: &str, endpoint: Endpoint) -> Self {
        let watcher = Self::default();
        let (looking, reading, url) = (watcher.clone(), watcher.clone(), url.to_owned());
        thread::spawn(move || looking.look(&url));
        thread::spawn(move || reading.read(&endpoint));
        watcher
    }

    /// Returns the node's last report, if it was requested after `since`.
    pub fn after(&self, since: Timestamp) -> Option<Look> {
        let last = self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone().filter(|look| look.at > since)
    }

    /// Messages so far, and those that were not later than the one before.
    pub fn frames(&self) -> (u64, u64) {
        (self.0.n_messages.load(Ordering::SeqCst), self.0.n_disorderly.load(Ordering::SeqCst))
    }

    /// Looks and reads no more.
    pub fn end(&self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }

    fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::SeqCst)
    }

    fn look(&self, url: &str) {
        let agent = node::agent();
        while !self.is_over() {
            let at = clock::now();
            let problems = node::get(&agent, url, "/healthz").ok().and_then(|health| {
                let problems = health["problems"].as_array()?.iter();
                Some(
                    problems
                        .filter_map(|problem| problem.as_str())
                        .filter(|problem| !problem.contains(TOLD_AFTERWARDS))
                        .map(str::to_owned)
                        .collect(),
                )
            });
            *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Look { at, problems });
            clock::sleep(LOOK_EVERY);
        }
    }

    fn read(&self, endpoint: &Endpoint) {
        while !self.is_over() {
            let Ok(mut reader) = Reader::open(endpoint, &Security::default()) else {
                clock::sleep(LOOK_EVERY);
                continue;
            };
            let mut last = None;
            while let Ok(Some(message)) = reader.next(Duration::from_secs(2)) {
                let Message::Measurement(measurement) = message else { continue };
                self.0.n_messages.fetch_add(1, Ordering::SeqCst);
                if last.is_some_and(|last| last >= measurement.number) {
                    self.0.n_disorderly.fetch_add(1, Ordering::SeqCst);
                }
                last = Some(measurement.number);
            }
        }
    }
}
