//! Several scopes as one, with helper threads or without; and one into several buffers.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use clock::thread_cpu;

use crate::{Buffer, Pull, Tally};

/// Pulls several sources and gives what they have, one source after the other.
pub struct Gather<T> {
    own: Vec<Box<dyn Pull<T>>>,
    helpers: Vec<Helper<T>>,
}

struct Helper<T> {
    /// Closed to end it.
    ask: Option<Sender<Vec<T>>>,
    answer: Receiver<(Vec<T>, Tally)>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Gather<T> {
    /// Gathers with `n_helpers` threads, each of which pulls an equal share of the sources at the same time as the
    /// others; without helpers, the caller pulls one source after the other.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn new(sources: Vec<Box<dyn Pull<T>>>, n_helpers: usize) -> io::Result<Self> {
        let n_helpers = n_helpers.min(sources.len());
        if n_helpers == 0 {
            return Ok(Self { own: sources, helpers: Vec::new() });
        }
        let mut shares: Vec<Vec<Box<dyn Pull<T>>>> = (0..n_helpers).map(|_| Vec::new()).collect();
        sources.into_iter().enumerate().for_each(|(idx, source)| shares[idx % n_helpers].push(source));
        let helpers = shares.into_iter().map(Helper::start).collect::<io::Result<_>>()?;
        Ok(Self { own: Vec::new(), helpers })
    }
}

impl<T: Send + 'static> Pull<T> for Gather<T> {
    fn pull(&mut self, into: &mut Vec<T>) -> Tally {
        let mut tally = Tally::default();
        for source in &mut self.own {
            tally += source.pull(into);
        }
        for helper in &self.helpers {
            if let Some(ask) = &helper.ask {
                // A helper that panicked answers no more; the others' results are of use without it.
                drop(ask.send(Vec::new()));
            }
        }
        for helper in &self.helpers {
            if let Ok((mut items, of_helper)) = helper.answer.recv() {
                into.append(&mut items);
                tally += of_helper;
            }
        }
        tally
    }
}

impl<T: Send + 'static> Helper<T> {
    fn start(mut sources: Vec<Box<dyn Pull<T>>>) -> io::Result<Self> {
        let (ask, asked) = channel::<Vec<T>>();
        let (give, answer) = channel();
        let thread = Builder::new().name("gather".to_owned()).spawn(move || {
            while let Ok(mut items) = asked.recv() {
                let (mut tally, before) = (Tally::default(), thread_cpu());
                for source in &mut sources {
                    tally += source.pull(&mut items);
                }
                tally.cpu += thread_cpu().saturating_sub(before);
                if give.send((items, tally)).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { ask: Some(ask), answer, thread: Some(thread) })
    }
}

impl<T> Drop for Helper<T> {
    fn drop(&mut self) {
        self.ask = None;
        // One that panicked has said so on its own.
        self.thread.take().map(JoinHandle::join);
    }
}

/// Writes all that passes into buffers, each item into the one that `to` says; others get none of it. What passes goes
/// on.
pub struct Scatter<P, T, F> {
    of: P,
    buffers: Vec<Arc<Buffer<T>>>,
    to: F,
}

impl<P: Pull<T>, T: Clone + Send, F: FnMut(&T) -> usize + Send> Scatter<P, T, F> {
    /// Returns a stage behind `of`. Tuples that belong into no buffer are only passed on.
    pub fn new(of: P, buffers: Vec<Arc<Buffer<T>>>, to: F) -> Self {
        Self { of, buffers, to }
    }
}

impl<P: Pull<T>, T: Clone + Send, F: FnMut(&T) -> usize + Send> Pull<T> for Scatter<P, T, F> {
    fn pull(&mut self, into: &mut Vec<T>) -> Tally {
        let begin = into.len();
        let tally = self.of.pull(into);
        for item in &into[begin..] {
            if let Some(buffer) = self.buffers.get((self.to)(item)) {
                buffer.write(item.clone());
            }
        }
        tally
    }
}
