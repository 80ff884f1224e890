//! Fits of models, made beside the sampler: a tick hands out those that are due, and their results are there at the
//! next one.

use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};

use predict::Task;
use watch::{OnPanic, Thread, Watch};

use crate::engine::Engine;

/// Fits that wait at most. A series has no more than one under way, so that this is reached by a node of a thousand
/// series whose worker is a whole round behind; what does not get in is cancelled.
const N_WAITING_MAX: usize = 1024;

/// The fit of one series.
pub(crate) type Due = (Arc<str>, Task);

/// The thread that fits. When it is dropped, it makes the fits that wait, and ends.
#[derive(Debug)]
pub(crate) struct Fitter {
    queue: Queue,
    _thread: Thread,
}

/// Where fits are handed in. Those that come after the fitter's end are given back.
#[derive(Clone, Debug)]
pub(crate) struct Queue(SyncSender<Order>);

#[derive(Debug)]
enum Order {
    Fit(Due),
    /// Tells when everything before it is done.
    #[cfg(test)]
    Tell(SyncSender<()>),
    End,
}

impl Fitter {
    pub(crate) fn start(engine: Arc<Mutex<Engine>>, watch: &Watch) -> io::Result<Self> {
        let (queue, orders) = mpsc::sync_channel(N_WAITING_MAX);
        let thread = Thread::start(watch, "fitter", OnPanic::BeginAgain, move |_| work(&orders, &engine))?;
        Ok(Self { queue: Queue(queue), _thread: thread })
    }

    pub(crate) fn queue(&self) -> Queue {
        self.queue.clone()
    }

    /// Waits until everything that was handed in is done.
    #[cfg(test)]
    pub(crate) fn settle(&self) {
        let (tell, told) = mpsc::sync_channel(1);
        self.queue.0.send(Order::Tell(tell)).unwrap();
        told.recv().unwrap();
    }
}

impl Queue {
    /// Takes what there is room for, and gives back the rest.
    pub(crate) fn put(&self, due: Vec<Due>) -> Vec<Due> {
        let refused = |one: Due| match self.0.try_send(Order::Fit(one)) {
            Err(TrySendError::Full(Order::Fit(one)) | TrySendError::Disconnected(Order::Fit(one))) => Some(one),
            _ => None,
        };
        due.into_iter().filter_map(refused).collect()
    }
}

fn work(orders: &Receiver<Order>, engine: &Mutex<Engine>) {
    while let Ok(order) = orders.recv() {
        match order {
            Order::Fit((id, task)) => {
                let done = task.run();
                engine.lock().unwrap_or_else(PoisonError::into_inner).install(&id, done);
            }
            #[cfg(test)]
            Order::Tell(tell) => tell.send(()).unwrap(),
            Order::End => return,
        }
    }
}

impl Drop for Fitter {
    fn drop(&mut self) {
        // An error says that the thread has ended by itself, which its panic explains.
        let _ = self.queue.0.send(Order::End);
    }
}
