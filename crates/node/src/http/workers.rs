//! Work that takes longer than an async thread may be held up, on blocking threads and within limits.

use std::sync::Arc;

use predict::Cancel;
use tokio::sync::Semaphore;

use super::refusal::Refusal;
use crate::api::ErrorCode;

/// A limited number of blocking threads with a limited queue before them.
#[derive(Clone)]
pub(crate) struct Workers {
    what: &'static str,
    admitted: Arc<Semaphore>,
    running: Arc<Semaphore>,
}

impl Workers {
    /// `n_running` pieces of work at once, and `n_waiting` more in the queue; `what` they are, for people.
    pub(crate) fn new(what: &'static str, n_running: usize, n_waiting: usize) -> Self {
        let admitted = Arc::new(Semaphore::new(n_running + n_waiting));
        Self { what, admitted, running: Arc::new(Semaphore::new(n_running)) }
    }

    /// Runs `work` on a blocking thread, as soon as it is its turn.
    ///
    /// # Errors
    /// `too_many` when the queue is full, and whatever `work` gives.
    ///
    /// # Cancellation
    /// Work that waits is given up; work that runs goes on to its end, and its place is free only then.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.run_unless(|_| work()).await
    }

    /// Runs work as [`Workers::run`] does, but work that runs is cancelled too.
    pub(crate) async fn run_unless<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cancel) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let asked = CancelOnDrop(Cancel::new());
        let cancel = asked.0.clone();
        let Ok(admitted) = Arc::clone(&self.admitted).try_acquire_owned() else {
            let message = format!("too many {} at once; ask again in a moment", self.what);
            return Err(Refusal::new(ErrorCode::TooMany, message));
        };
        let running = Arc::clone(&self.running).acquire_owned().await.expect("the semaphore is never closed");
        let done = tokio::task::spawn_blocking(move || {
            let _places = (admitted, running);
            work(&cancel)
        });
        done.await.unwrap_or_else(|error| Err(Refusal::internal(&error)))
    }
}

/// Guard that cancels the work when dropped: if whoever asked is gone, so is the reason for the work.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn beyond_the_queue_work_is_refused_and_before_it_all_is_done() {
        let workers = Workers::new("fits", 1, 1);
        let (release, blocked) = mpsc::channel::<()>();
        let first = tokio::spawn({
            let workers = workers.clone();
            async move { workers.run(move || Ok(blocked.recv().is_ok())).await }
        });
        while workers.running.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let second = tokio::spawn({
            let workers = workers.clone();
            async move { workers.run(|| Ok(true)).await }
        });
        while workers.admitted.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(workers.run(|| Ok(true)).await.is_err(), "a third piece of work was taken");
        release.send(()).unwrap();
        assert!(first.await.unwrap().unwrap() && second.await.unwrap().unwrap());
    }

    #[tokio::test]
    async fn work_ends_when_whoever_asked_is_gone() {
        let workers = Workers::new("fits", 1, 0);
        let asked = tokio::spawn({
            let workers = workers.clone();
            let endless = |cancel: &Cancel| {
                while !cancel.is_cancelled() {
                    std::thread::yield_now();
                }
                Ok(())
            };
            async move { workers.run_unless(endless).await }
        });
        while workers.running.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        asked.abort();
        while workers.admitted.available_permits() == 0 {
            tokio::task::yield_now().await;
        }
    }
}
