//! The store that all links of a tunnel share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use segment_store::{Period, Statistics, Store, Traffic};

use crate::counters::{Counters, Counts};

/// The interval of the checks that sent data outlive the process.
const LOOK: Duration = Duration::from_secs(1);
/// The interval at which the traffic is recorded in the store.
const PERIOD: Duration = Duration::from_secs(60);
/// The number of bytes that are written as soon as nothing more comes; containers should not be small.
const N_WORTHWHILE: usize = 1 << 18;
/// Less is written after so many looks without anything new.
const N_PATIENT_LOOKS: u32 = 10;

/// One store, for whoever has a clone.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    store: Arc<Mutex<Store>>,
    /// Up to when, and up to which counts, the store was told what passed.
    noted: Arc<Mutex<(i64, Counts)>>,
}

impl Memory {
    pub fn new(store: Store) -> Self {
        let noted = (clock::now().as_nanos(), Counts::default());
        Self { store: Arc::new(Mutex::new(store)), noted: Arc::new(Mutex::new(noted)) }
    }

    /// A panic while the store was held leaves it usable: what it says is checked by hashes.
    pub fn lock(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn statistics(&self) -> Statistics {
        self.lock().statistics()
    }

    pub fn periods(&self) -> Vec<Period> {
        self.lock().periods().to_vec()
    }

    /// Has the store remember what passed since the last time, if anything did.
    pub fn note(&self, counters: &Counters) {
        let (end, counts) = (clock::now().as_nanos(), counters.counts());
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let (begin, before) = std::mem::replace(&mut *noted, (end, counts));
        let more = |count: fn(&Counts) -> u64| count(&counts) - count(&before);
        let traffic = Traffic {
            given_bytes: more(|counts| counts.given_bytes_total),
            matched_bytes: more(|counts| counts.matched_bytes_total),
            sent_bytes: more(|counts| counts.sent_bytes_total),
            received_bytes: more(|counts| counts.received_bytes_total),
            came_bytes: more(|counts| counts.came_bytes_total),
        };
        if traffic != Traffic::default() {
            self.lock().note((begin, end), traffic);
        }
    }

    /// Does so every so often; never ends.
    pub async fn keep_noted(&self, counters: &Counters) {
        loop {
            tokio::time::sleep(PERIOD).await;
            self.note(counters);
        }
    }

    /// Writes what is in memory only.
    pub async fn flush(&self) {
        let memory = self.clone();
        // It ends with the process, or it panicked, which the log has.
        let _ = tokio::task::spawn_blocking(move || memory.lock().flush()).await;
    }

    /// Writes what is in memory only whenever nothing more comes for a while; never ends.
    pub async fn keep_flushed(&self) {
        let (mut n_before, mut n_looks) = (0, 0);
        loop {
            tokio::time::sleep(LOOK).await;
            let (n_appended, n_unflushed) = {
                let store = self.lock();
                (store.statistics().n_appended, store.n_unflushed())
            };
            n_looks = if n_appended == n_before { n_looks + 1 } else { 0 };
            n_before = n_appended;
            let is_due = n_looks >= 1 && n_unflushed >= N_WORTHWHILE || n_looks >= N_PATIENT_LOOKS;
            if is_due && n_unflushed > 0 {
                self.flush().await;
                n_looks = 0;
            }
        }
    }
}
