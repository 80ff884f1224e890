//! Bounded buffers of results: one writer, any number of readers, each of which knows exactly what it lost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Pull, Tally};

/// Results that wait to be read. When it is full, the oldest go.
#[derive(Debug)]
pub struct Buffer<T> {
    capacity: usize,
    kept: Mutex<Kept<T>>,
}

#[derive(Debug)]
struct Kept<T> {
    results: VecDeque<T>,
    n_written: u64,
}

/// A reader's place in a buffer: a stage of a scope.
#[derive(Debug)]
pub struct BufferReader<T> {
    buffer: Arc<Buffer<T>>,
    position: u64,
    is_newest_only: bool,
}

impl<T: Clone> Buffer<T> {
    /// Room for so many results, at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), kept: Mutex::new(Kept { results: VecDeque::new(), n_written: 0 }) }
    }

    /// Appends a result.
    pub fn write(&self, result: T) {
        let mut kept = self.kept();
        if kept.results.len() == self.capacity {
            kept.results.pop_front();
        }
        kept.results.push_back(result);
        kept.n_written += 1;
    }

    /// Results that were ever written.
    #[must_use]
    pub fn n_written(&self) -> u64 {
        self.kept().n_written
    }

    /// Reads all from the oldest on.
    #[must_use]
    pub fn reader(self: &Arc<Self>) -> BufferReader<T> {
        BufferReader { buffer: Arc::clone(self), position: 0, is_newest_only: false }
    }

    /// Reads the newest result only, once: what is passed over was not needed, and is missed, not lost.
    #[must_use]
    pub fn newest(self: &Arc<Self>) -> BufferReader<T> {
        BufferReader { is_newest_only: true, ..self.reader() }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept<T>> {
        // Nothing is half done under the lock when a writer panics.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone + Send> Pull<T> for BufferReader<T> {
    fn pull(&mut self, into: &mut Vec<T>) -> Tally {
        let kept = self.buffer.kept();
        let oldest = kept.n_written - kept.results.len() as u64;
        let from = if self.is_newest_only {
            self.position.max(kept.n_written.saturating_sub(1))
        } else {
            self.position.max(oldest)
        };
        let n_left_out = from - self.position;
        let (n_lost, n_missed) = if self.is_newest_only { (0, n_left_out) } else { (n_left_out, 0) };
        into.extend(kept.results.iter().skip((from - oldest) as usize).cloned());
        self.position = kept.n_written;
        Tally { n_read: kept.n_written - from, n_lost, n_missed, ..Tally::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_knows_what_it_lost() {
        let buffer = Arc::new(Buffer::new(3));
        let (mut all, mut newest, mut late) = (buffer.reader(), buffer.newest(), buffer.reader());
        let pull = |reader: &mut BufferReader<i32>| {
            let mut into = Vec::new();
            let tally = reader.pull(&mut into);
            (into, tally.n_lost)
        };
        buffer.write(1);
        assert_eq!((pull(&mut all), pull(&mut newest)), ((vec![1], 0), (vec![1], 0)));
        (2..=6).for_each(|result| buffer.write(result));
        assert_eq!(pull(&mut all), (vec![4, 5, 6], 2));
        assert_eq!(pull(&mut late), (vec![4, 5, 6], 3));
        assert_eq!(pull(&mut newest), (vec![6], 0));
        assert_eq!((pull(&mut all), pull(&mut newest)), ((vec![], 0), (vec![], 0)));
    }
}
