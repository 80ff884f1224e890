//! What waits for one reader.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::{Bytes, BytesMut};
use tokio::sync::Notify;

use crate::counters::Counters;
use crate::endpoint::{Backlog, Overflow};

/// What is taken for one write at most.
const WRITE_BYTES: usize = 256 << 10;

/// Whole frames that belong together: what one turn of the mirror gave.
#[derive(Clone)]
pub(super) struct Chunk {
    pub(super) bytes: Bytes,
    pub(super) n_frames: u64,
}

/// The end that the mirror puts frames into.
pub(super) struct Queue(Rc<Waiting>);

/// The end that a writer takes them from. The queue ends with it.
pub(super) struct Taker(Rc<Waiting>);

struct Waiting {
    state: RefCell<State>,
    changed: Notify,
    abandoned: Notify,
    backlog: Backlog,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct State {
    chunks: VecDeque<Chunk>,
    n_bytes: usize,
    /// No more will come; what is there is still to be written.
    is_closed: bool,
    /// Nobody takes it any more.
    is_abandoned: bool,
}

pub(super) fn queue(backlog: Backlog, counters: Arc<Counters>) -> (Queue, Taker) {
    let waiting = Rc::new(Waiting {
        state: RefCell::default(),
        changed: Notify::new(),
        abandoned: Notify::new(),
        backlog,
        counters,
    });
    (Queue(Rc::clone(&waiting)), Taker(waiting))
}

impl Queue {
    /// Adds a chunk, and makes room for it; `false` when there is nobody who would take it.
    pub(super) fn push(&self, chunk: Chunk) -> bool {
        let Waiting { state, changed, abandoned, backlog, counters } = &*self.0;
        let mut state = state.borrow_mut();
        if state.is_abandoned {
            return false;
        }
        while state.n_bytes + chunk.bytes.len() > backlog.bytes
            && let Some(oldest) = state.chunks.pop_front()
        {
            state.n_bytes -= oldest.bytes.len();
            counters.n_dropped.fetch_add(oldest.n_frames, Relaxed);
            state.is_abandoned |= backlog.overflow == Overflow::Disconnect;
        }
        state.n_bytes += chunk.bytes.len();
        state.chunks.push_back(chunk);
        counters.backlog_bytes.store(state.n_bytes as u64, Relaxed);
        changed.notify_one();
        if state.is_abandoned {
            abandoned.notify_one();
        }
        !state.is_abandoned
    }

    pub(super) fn n_bytes(&self) -> usize {
        self.0.state.borrow().n_bytes
    }

    /// Says that no more will come.
    pub(super) fn close(&self) {
        self.0.state.borrow_mut().is_closed = true;
        self.0.changed.notify_one();
    }
}

impl Taker {
    /// The next frames to be written in one go; `None` when none will come any more.
    pub(super) async fn take(&self) -> Option<Chunk> {
        loop {
            {
                let mut state = self.0.state.borrow_mut();
                if state.is_abandoned {
                    return None;
                }
                if !state.chunks.is_empty() {
                    let chunk = state.take();
                    self.0.counters.backlog_bytes.store(state.n_bytes as u64, Relaxed);
                    return Some(chunk);
                }
                if state.is_closed {
                    return None;
                }
            }
            self.0.changed.notified().await;
        }
    }

    /// Returns when this reader may not lag any further, also in the middle of a write.
    pub(super) async fn abandoned(&self) {
        self.0.abandoned.notified().await;
    }

    /// Counts frames that were taken and not written.
    pub(super) fn dropped(&self, chunk: &Chunk) {
        self.0.counters.n_dropped.fetch_add(chunk.n_frames, Relaxed);
    }

    /// Counts frames that were written.
    pub(super) fn written(&self, chunk: &Chunk) {
        self.0.counters.add_frames(chunk.n_frames, chunk.bytes.len() as u64);
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        let mut state = self.0.state.borrow_mut();
        state.is_abandoned = true;
        let n_left = state.chunks.iter().map(|chunk| chunk.n_frames).sum();
        self.0.counters.n_dropped.fetch_add(n_left, Relaxed);
    }
}

impl State {
    /// One chunk as it is, or small ones put together.
    fn take(&mut self) -> Chunk {
        let mut first = self.chunks.pop_front().unwrap_or(Chunk { bytes: Bytes::new(), n_frames: 0 });
        self.n_bytes -= first.bytes.len();
        let fits = |next: &Chunk, so_far: usize| so_far + next.bytes.len() <= WRITE_BYTES;
        if !self.chunks.front().is_some_and(|next| fits(next, first.bytes.len())) {
            return first;
        }
        let mut bytes = BytesMut::with_capacity(self.n_bytes.min(WRITE_BYTES) + first.bytes.len());
        bytes.extend_from_slice(&first.bytes);
        while let Some(next) = self.chunks.pop_front_if(|next| fits(next, bytes.len())) {
            self.n_bytes -= next.bytes.len();
            first.n_frames += next.n_frames;
            bytes.extend_from_slice(&next.bytes);
        }
        Chunk { bytes: bytes.freeze(), n_frames: first.n_frames }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(n_bytes: usize) -> Chunk {
        Chunk { bytes: Bytes::from(vec![7; n_bytes]), n_frames: 1 }
    }

    fn queue_of(bytes: usize, overflow: Overflow) -> (Queue, Taker, Arc<Counters>) {
        let counters = Arc::<Counters>::default();
        let (queue, taker) = queue(Backlog { bytes, overflow }, Arc::clone(&counters));
        (queue, taker, counters)
    }

    async fn take(taker: &Taker) -> Option<usize> {
        taker.take().await.map(|chunk| chunk.bytes.len())
    }

    #[tokio::test]
    async fn the_oldest_go_first_and_are_counted() {
        let (queue, taker, counters) = queue_of(100, Overflow::DropOldest);
        for n_bytes in [40, 41, 42] {
            assert!(queue.push(chunk(n_bytes)));
        }
        assert_eq!(counters.get().n_dropped, 1);
        assert_eq!(take(&taker).await, Some(83), "what is left goes out in one write");
        queue.close();
        assert_eq!(take(&taker).await, None);
    }

    #[tokio::test]
    async fn a_reader_that_may_not_lag_is_let_go() {
        let (queue, taker, counters) = queue_of(100, Overflow::Disconnect);
        assert!(queue.push(chunk(60)));
        assert!(!queue.push(chunk(60)));
        assert_eq!(take(&taker).await, None);
        drop(taker);
        assert_eq!(counters.get().n_dropped, 2);
        assert!(!queue.push(chunk(1)));
    }

    #[tokio::test]
    async fn what_is_there_at_the_end_is_still_given() {
        let (queue, taker, _) = queue_of(100, Overflow::DropOldest);
        queue.push(chunk(5));
        queue.close();
        assert_eq!(take(&taker).await, Some(5));
        assert_eq!(take(&taker).await, None);
    }

    #[tokio::test]
    async fn a_chunk_larger_than_the_backlog_goes_alone() {
        let (queue, taker, counters) = queue_of(100, Overflow::DropOldest);
        queue.push(chunk(30));
        queue.push(chunk(1000));
        assert_eq!((take(&taker).await, counters.get().n_dropped), (Some(1000), 1));
    }
}
