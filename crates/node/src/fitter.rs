//! Fits of models, made beside the sampler: a tick hands out those that are due, and their results are there at the
//! next one.

use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};

use predict::{Cancel, Task};
use watch::{OnPanic, Stop, Thread, Watch};

use crate::catch_up::Bell;
use crate::engine::Engine;

/// Fits that wait at most. A series has no more than one under way, so that this is reached by a node of a thousand
/// series whose worker is a whole round behind; what does not get in is cancelled.
const N_WAITING_MAX: usize = 1024;

/// The fit of one series.
pub(crate) type Due = (Arc<str>, Task);

/// The thread that fits. When it is dropped, it gives up the fit that is under way and those that wait: they are due
/// again in the states that are saved.
#[derive(Debug)]
pub(crate) struct Fitter {
    queue: Queue,
    cancel: Cancel,
    _thread: Thread,
}

/// The queue that takes fits. Fits that come after the fitter's end are given back.
#[derive(Clone, Debug)]
pub(crate) struct Queue(SyncSender<Order>);

#[derive(Debug)]
enum Order {
    Fit(Due),
    /// A request to report when everything before it is done.
    #[cfg(test)]
    Tell(SyncSender<()>),
    End,
}

impl Fitter {
    /// Rings `bell` for each series whose fit is back.
    pub(crate) fn start(engine: Arc<Mutex<Engine>>, bell: Bell, watch: &Watch) -> io::Result<Self> {
        let (queue, orders) = mpsc::sync_channel(N_WAITING_MAX);
        let cancel = Cancel::new();
        let cancelled = cancel.clone();
        let work = move |_: &Stop| work(&orders, &engine, &bell, &cancelled);
        let thread = Thread::start(watch, "fitter", OnPanic::BeginAgain, work)?;
        Ok(Self { queue: Queue(queue), cancel, _thread: thread })
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

fn work(orders: &Receiver<Order>, engine: &Mutex<Engine>, bell: &Bell, cancel: &Cancel) {
    while let Ok(order) = orders.recv() {
        match order {
            Order::Fit((id, task)) => {
                let under_way = UnderWay { engine, bell, id: Some(id) };
                let Some(done) = task.run_unless(cancel) else { return };
                under_way.end(|engine, id| engine.install(id, done));
            }
            #[cfg(test)]
            Order::Tell(tell) => tell.send(()).unwrap(),
            Order::End => return,
        }
    }
}

/// A fit of a series, which is not waited for when it panics.
struct UnderWay<'a> {
    engine: &'a Mutex<Engine>,
    bell: &'a Bell,
    id: Option<Arc<str>>,
}

impl UnderWay<'_> {
    fn end(mut self, how: impl FnOnce(&mut Engine, &str)) {
        self.tell(how);
    }

    fn tell(&mut self, how: impl FnOnce(&mut Engine, &str)) {
        if let Some(id) = self.id.take() {
            how(&mut self.engine.lock().unwrap_or_else(PoisonError::into_inner), &id);
            self.bell.ring(id);
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.tell(Engine::cancel_task);
        }
    }
}

impl Drop for Fitter {
    fn drop(&mut self) {
        self.cancel.cancel();
        // An error says that the thread has ended already.
        let _ = self.queue.0.send(Order::End);
    }
}
