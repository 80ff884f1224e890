//! Fits of models, made beside the sampler: a tick hands out those that are due, and their results are there at the
//! next one.

use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use predict::Task;

use crate::engine::Engine;

/// Fits that wait at most. A series has no more than one under way, so that this is reached by a node of a thousand
/// series whose worker is a whole round behind; what does not get in is cancelled.
const N_WAITING_MAX: usize = 1024;

/// The fit of one series.
pub(crate) type Due = (Arc<str>, Task);

/// The thread that fits. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Fitter {
    queue: Option<SyncSender<Due>>,
    thread: Option<JoinHandle<()>>,
}

impl Fitter {
    pub(crate) fn start(engine: Arc<Mutex<Engine>>) -> io::Result<Self> {
        let (queue, due) = mpsc::sync_channel(N_WAITING_MAX);
        let thread = thread::Builder::new().name("fitter".to_owned()).spawn(move || work(&due, &engine))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Takes what there is room for, and gives back the rest.
    pub(crate) fn put(&self, due: Vec<Due>) -> Vec<Due> {
        let refused = |one: Due| match &self.queue {
            Some(queue) => queue.try_send(one).err().map(|refused| match refused {
                mpsc::TrySendError::Full(one) | mpsc::TrySendError::Disconnected(one) => one,
            }),
            None => Some(one),
        };
        due.into_iter().filter_map(refused).collect()
    }
}

fn work(due: &Receiver<Due>, engine: &Mutex<Engine>) {
    while let Ok((id, task)) = due.recv() {
        let done = task.run();
        engine.lock().unwrap_or_else(PoisonError::into_inner).install(&id, done);
    }
}

impl Drop for Fitter {
    fn drop(&mut self) {
        drop(self.queue.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that fits models panicked");
        }
    }
}
