//! The backlog of one reader, and the short way past it: a writer that waits for frames lends its connection to the
//! queue, which writes what comes at once. To wake a task for it costs as much as the write itself.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::AsyncWrite;
use tokio::sync::Notify;

use crate::counters::Counters;
use crate::endpoint::{Backlog, Overflow};
use crate::transport::BytesOut;

/// The most bytes of one write.
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
    /// The number of bytes in `chunks`.
    n_bytes: usize,
    /// The connection of a writer that waits for frames.
    lent: Option<BytesOut>,
    /// The rest of a chunk that was begun on the lent connection: to be written before all else, and by this writer or
    /// by none.
    begun: Option<Chunk>,
    /// No more will come; what is there is still to be written.
    is_closed: bool,
    /// Nobody takes it any more.
    is_abandoned: bool,
}

/// A connection with the queue, which it is taken from again when its writer goes on or is no more.
struct Lent<'t>(&'t Taker);

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
    /// Writes a chunk where a connection is lent, or adds it and makes room for it; `false` when there is nobody who
    /// would take it.
    pub(super) fn push(&self, chunk: Chunk) -> bool {
        let Waiting { state, changed, abandoned, backlog, counters } = &*self.0;
        let mut state = state.borrow_mut();
        if state.is_abandoned {
            return false;
        }
        if let Some((n_frames, n_bytes)) = state.write(&chunk) {
            counters.add_frames(n_frames, n_bytes as u64);
            if state.begun.is_some() {
                changed.notify_one();
            }
            return true;
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
    /// Takes frames as [`Taker::take`] does. Frames that come are written to `bytes` at once, and only the rest is
    /// returned.
    pub(super) async fn take_lending(&self, bytes: BytesOut) -> (BytesOut, Option<Chunk>) {
        self.0.state.borrow_mut().lent = Some(bytes);
        let lent = Lent(self);
        let chunk = self.take().await;
        let bytes = self.0.state.borrow_mut().lent.take();
        drop(lent);
        (bytes.expect("what was lent is still there"), chunk)
    }

    /// The next frames to be written in one go; `None` when none will come any more.
    pub(super) async fn take(&self) -> Option<Chunk> {
        loop {
            {
                let mut state = self.0.state.borrow_mut();
                if state.is_abandoned {
                    return None;
                }
                if let Some(begun) = state.begun.take() {
                    return Some(begun);
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

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut state = self.0.0.state.borrow_mut();
        state.lent = None;
        if let Some(begun) = state.begun.take() {
            self.0.dropped(&begun);
        }
    }
}

impl State {
    /// Writes as much of a chunk as the lent connection takes at once; how many frames and bytes that were. The rest,
    /// and an error, are for the writer. `None` where nothing is lent, or something is to be written before.
    fn write(&mut self, chunk: &Chunk) -> Option<(u64, usize)> {
        let bytes = self.lent.as_mut().filter(|_| self.chunks.is_empty() && self.begun.is_none())?;
        let mut bytes = Pin::new(bytes);
        let mut context = Context::from_waker(Waker::noop());
        let mut rest = chunk.bytes.clone();
        while !rest.is_empty() {
            match bytes.as_mut().poll_write(&mut context, &rest) {
                Poll::Ready(Ok(n_written)) if n_written > 0 => rest.advance(n_written),
                _ => break,
            }
        }
        let n_written = chunk.bytes.len() - rest.len();
        if rest.is_empty() && matches!(bytes.poll_flush(&mut context), Poll::Ready(Ok(()))) {
            return Some((chunk.n_frames, n_written));
        }
        self.begun = Some(Chunk { bytes: rest, n_frames: chunk.n_frames });
        Some((0, n_written))
    }

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
    use tokio::io::AsyncReadExt;

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

    /// Pushes `n_pushed` chunks of 40 bytes while a connection with room for `room` bytes is lent, and then lets the
    /// writer go on or takes it away.
    async fn lend(room: usize, n_pushed: usize, goes_on: bool) -> (Vec<u8>, Vec<usize>, Arc<Counters>) {
        let (queue, taker, counters) = queue_of(1000, Overflow::DropOldest);
        let (bytes_out, mut other_end) = tokio::io::duplex(room);
        let mut taken = Vec::new();
        {
            let mut waiting = std::pin::pin!(taker.take_lending(Box::new(bytes_out)));
            let mut look = || waiting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(look().is_pending(), "nothing is there yet");
            (0..n_pushed).for_each(|_| assert!(queue.push(chunk(40))));
            if goes_on && let Poll::Ready((_, chunk)) = look() {
                taken.push(chunk.expect("it is not closed").bytes.len());
            }
        }
        queue.close();
        while let Some(n_bytes) = take(&taker).await {
            taken.push(n_bytes);
        }
        let mut got = Vec::new();
        other_end.read_to_end(&mut got).await.unwrap();
        (got, taken, counters)
    }

    #[tokio::test]
    async fn a_writer_that_waits_is_not_woken_for_what_its_connection_takes() {
        let (got, taken, counters) = lend(100, 2, true).await;
        assert_eq!((got.len(), taken, counters.get().n_frames), (80, vec![], 2));
    }

    #[tokio::test]
    async fn what_a_connection_does_not_take_at_once_is_the_writers() {
        let (got, taken, counters) = lend(100, 4, true).await;
        assert_eq!(
            (got.len(), taken, counters.get().n_frames),
            (100, vec![20, 40], 2),
            "the rest of the third goes first"
        );
    }

    #[tokio::test]
    async fn no_other_connection_goes_on_in_the_middle_of_a_chunk() {
        let (got, taken, counters) = lend(100, 4, false).await;
        assert_eq!((got.len(), taken), (100, vec![40]));
        assert_eq!((counters.get().n_frames, counters.get().n_dropped), (2, 1));
    }

    #[tokio::test]
    async fn a_chunk_larger_than_the_backlog_goes_alone() {
        let (queue, taker, counters) = queue_of(100, Overflow::DropOldest);
        queue.push(chunk(30));
        queue.push(chunk(1000));
        assert_eq!((take(&taker).await, counters.get().n_dropped), (Some(1000), 1));
    }
}
