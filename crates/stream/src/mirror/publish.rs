//! Output by NATS: published as it comes, or kept by JetStream and sent again until that is acknowledged.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use tokio::time::Instant;

use super::At;
use super::output::{DESCRIBE_EVERY, frame_bytes};
use super::queue::{Chunk, Taker};
use crate::endpoint::{Keep, NatsPlace};
use crate::transport::{Kept, Link};

/// The most bytes of a message that holds several frames.
const SHARED_MESSAGE_BYTES: usize = 64 << 10;

/// The most messages that may wait for the server's acknowledgement.
const N_UNACKNOWLEDGED_MAX: usize = 256;

/// Messages that were sent to JetStream and are not acknowledged yet. The outbox outlives connections.
pub(super) struct Outbox {
    /// The prefix of the ids of this component's messages.
    writer: Option<String>,
    n_before: u64,
    /// Oldest first; their numbers follow each other.
    unacknowledged: VecDeque<Chunk>,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self { writer: None, n_before: 0, unacknowledged: VecDeque::new() }
    }

    /// Frames that were never acknowledged.
    pub(super) fn n_frames(&self) -> u64 {
        self.unacknowledged.iter().map(|chunk| chunk.n_frames).sum()
    }
}

/// Publishes what comes, until there is nothing more.
pub(super) async fn publish(
    link: &Link,
    place: &NatsPlace,
    taker: &Taker,
    description: impl Fn() -> Option<Bytes>,
    at: &At,
) -> io::Result<()> {
    let mut cutter = Cutter::new(link.client.max_payload());
    loop {
        let chunk = tokio::select! {
            chunk = taker.take() => chunk,
            gone = link.gone() => return Err(gone),
        };
        let Some(chunk) = chunk else {
            return Ok(());
        };
        let messages = cutter.cut(&chunk.bytes, &description, at);
        match link.publish(&place.subject, messages.into_iter().map(|message| message.bytes)).await {
            Ok(()) => taker.written(&chunk),
            Err(error) => {
                taker.dropped(&chunk);
                return Err(error);
            }
        }
    }
}

/// Has JetStream keep what comes, until there is nothing more and all of it is acknowledged.
pub(super) async fn keep(
    link: &Link,
    (place, keep): (&NatsPlace, Keep),
    taker: &Taker,
    description: impl Fn() -> Option<Bytes>,
    (outbox, at): (&mut Outbox, &At),
) -> io::Result<()> {
    let kept = Kept::open(link, place, keep).await?;
    // An inbox has a name that no other has.
    let writer = outbox.writer.get_or_insert_with(|| link.client.new_inbox()).clone();
    let mut cutter = Cutter::new(link.client.max_payload());
    let mut acknowledgements = FuturesOrdered::<Pin<Box<dyn Future<Output = io::Result<()>>>>>::new();
    for (number, chunk) in (outbox.n_before..).zip(&outbox.unacknowledged) {
        acknowledgements.push_back(Box::pin(kept.send(&format!("{writer}-{number}"), chunk.bytes.clone()).await?));
    }
    let mut is_at_end = false;
    while !(is_at_end && acknowledgements.is_empty()) {
        tokio::select! {
            Some(acknowledged) = acknowledgements.next() => {
                acknowledged?;
                outbox.n_before += 1;
                if let Some(chunk) = outbox.unacknowledged.pop_front() {
                    taker.written(&chunk);
                }
            }
            chunk = taker.take(), if !is_at_end && outbox.unacknowledged.len() < N_UNACKNOWLEDGED_MAX => {
                let messages = chunk.as_ref().map_or_else(Vec::new, |chunk| cutter.cut(&chunk.bytes, &description, at));
                is_at_end = chunk.is_none();
                // All are remembered before any is sent, so that none is lost when sending fails.
                let n_first = outbox.n_before + outbox.unacknowledged.len() as u64;
                outbox.unacknowledged.extend(messages.iter().cloned());
                for (number, message) in (n_first..).zip(messages) {
                    acknowledgements.push_back(Box::pin(kept.send(&format!("{writer}-{number}"), message.bytes).await?));
                }
            }
            gone = link.gone() => return Err(gone),
        }
    }
    Ok(())
}

/// Cuts frames that stand in a row into messages of whole frames, and has the description come again in time.
struct Cutter {
    described: Option<Instant>,
    n_bytes_max: usize,
}

impl Cutter {
    fn new(n_bytes_max: usize) -> Self {
        Self { described: None, n_bytes_max }
    }

    fn cut(&mut self, frames: &[u8], description: impl Fn() -> Option<Bytes>, at: &At) -> Vec<Chunk> {
        let mut messages = Vec::new();
        let mut next = BytesMut::new();
        let mut n_frames = 0;
        if self.described.is_none_or(|at| at.elapsed() >= DESCRIBE_EVERY) {
            self.described = Some(Instant::now());
            next.extend_from_slice(&description().unwrap_or_default());
        }
        let mut rest = frames;
        while let Some(n_bytes) = frame_bytes(rest) {
            let frame;
            (frame, rest) = rest.split_at(n_bytes);
            if n_bytes > self.n_bytes_max {
                at.counters.leave_out(n_bytes, self.n_bytes_max);
                continue;
            }
            if !next.is_empty() && next.len() + n_bytes > SHARED_MESSAGE_BYTES.min(self.n_bytes_max) {
                messages.push(Chunk { bytes: next.split().freeze(), n_frames: std::mem::take(&mut n_frames) });
            }
            next.extend_from_slice(frame);
            n_frames += 1;
        }
        if !next.is_empty() {
            messages.push(Chunk { bytes: next.freeze(), n_frames });
        }
        messages
    }
}
