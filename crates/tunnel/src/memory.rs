//! The store that all links of a tunnel share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use segment_store::{Statistics, Store};

/// How often it is seen to that what was sent outlives the process.
const LOOK: Duration = Duration::from_secs(1);
/// As much is written as soon as nothing more comes; containers should not be small.
const N_WORTHWHILE: usize = 1 << 18;
/// Less is written after so many looks without anything new.
const N_PATIENT_LOOKS: u32 = 10;

/// One store, for whoever has a clone.
#[derive(Clone, Debug)]
pub(crate) struct Memory(Arc<Mutex<Store>>);

impl Memory {
    pub fn new(store: Store) -> Self {
        Self(Arc::new(Mutex::new(store)))
    }

    /// A panic while the store was held leaves it usable: what it says is checked by hashes.
    pub fn lock(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn statistics(&self) -> Statistics {
        self.lock().statistics()
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
