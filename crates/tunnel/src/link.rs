//! A link: all streams between two ends over one connection, with an encoder for one direction and a decoder for the
//! other.
//!
//! Four parts run side by side and end together: the reader, the writer, the encoder and the decoder, the last two on
//! threads of their own because they compute and read from disk. Nothing deadlocks, because the reader never waits:
//! what comes is bounded by what was granted. A sender has credit for each stream, and room for what is not
//! acknowledged; whoever takes more breaks the protocol. Control frames go before data.

mod decoding;
mod encoding;
mod reading;
mod writing;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dedup::{RunId, Settings};
use tokio::sync::{Semaphore, mpsc, watch};

use crate::counters::Counters;
use crate::error::LinkError;
use crate::frame::Frame;
use crate::handshake::Terms;
use crate::memory::Memory;
use crate::neighbour::Neighbours;
use crate::steering::Steering;
use crate::transport::Bytes;

/// Bytes of groups that may wait for the decoder: what an honest sender has room for, with what groups have beside
/// their data.
const QUEUED_BYTES_MAX: u64 = 4 * 1024 * ROOM_KIB as u64;
/// Streams at the same time.
const STREAMS_MAX: usize = 4096;
/// Pieces that may wait for the encoder, each of at most [`PIECE_BYTES`].
const N_WORK: usize = 32;
/// Groups that may wait for the writer.
const N_GROUPS: usize = 16;
/// The most bytes that are read from a local program at once, and become a group.
pub(crate) const PIECE_BYTES: usize = 1 << 16;
/// The interval at which a check is made whether the streams have come to their ends.
const DRAIN_LOOK: Duration = Duration::from_millis(50);
/// The number of KiB that may be in flight without an acknowledgement; both ends agree on it.
const ROOM_KIB: usize = 16 << 10;

/// The state that every link of a tunnel has in common.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub memory: Memory,
    pub counters: Arc<Counters>,
    pub settings: Settings,
    pub steering: Steering,
    /// The neighbours that are asked for missing bytes before the peer is asked.
    pub neighbours: Option<Arc<Neighbours>>,
    /// The number of bytes of a stream that are taken before credit is given.
    pub n_window: u32,
    /// Time that streams have to come to their end when the process is told to end.
    pub drain: Duration,
    /// Becomes true when all links have to end.
    pub stop: watch::Receiver<bool>,
}

/// Input from a local program.
#[derive(Debug)]
pub(crate) enum Work {
    Data { stream: u32, lane: u8, bytes: Vec<u8> },
    End { stream: u32 },
    Reset { stream: u32, reason: String },
}

/// Output for a local program.
#[derive(Debug)]
pub(crate) enum Inbound {
    Opened,
    Data(Vec<u8>),
    End,
    Reset(String),
}

/// Input from the peer for the decoder, in the peer's order.
#[derive(Debug)]
enum Incoming {
    Group { stream: u32, lane: u8, group: Vec<u8> },
    End { stream: u32 },
    Reset { stream: u32, reason: String },
}

/// A stream that the peer opens.
#[derive(Debug)]
pub(crate) struct Opening {
    pub stream: u32,
    pub component: String,
    pub target: String,
    /// The stream's input.
    pub inbound: mpsc::UnboundedReceiver<Inbound>,
}

/// A stream at this end.
#[derive(Debug)]
struct Entry {
    inbound: mpsc::UnboundedSender<Inbound>,
    /// Bytes that this end may send.
    credit: Arc<Semaphore>,
    /// Bytes that the peer may send.
    n_granted: usize,
}

/// Groups that the peer has not acknowledged.
#[derive(Debug, Default)]
struct Held {
    /// The number of the first one.
    first: u64,
    groups: VecDeque<HeldGroup>,
}

#[derive(Debug)]
struct HeldGroup {
    data: Vec<u8>,
    n_asked: u32,
}

/// Closes the link of a run that has ended, or was dropped on the way: its threads would wait forever.
struct Closing<'a>(&'a Link);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
        self.0.common.counters.links.sub(1);
    }
}

/// One end of a link, for those who use it.
#[derive(Debug)]
pub(crate) struct Link {
    common: Common,
    their_window: usize,
    control: mpsc::UnboundedSender<Frame>,
    work: mpsc::Sender<Work>,
    streams: Mutex<HashMap<u32, Entry>>,
    next_stream: AtomicU32,
    held: Mutex<Held>,
    room: Semaphore,
    /// Bytes of groups that wait for the decoder.
    n_queued: AtomicU64,
    /// Work that was given and has not been written yet.
    n_unwritten: AtomicU64,
    ended: watch::Sender<bool>,
    /// The destination of streams that the peer opens; without it, none may be opened.
    openings: Option<mpsc::UnboundedSender<Opening>>,
}

/// The parts that a link needs besides itself in order to run.
pub(crate) struct Parts {
    stream: Bytes,
    own_run: RunId,
    their_run: RunId,
    control: mpsc::UnboundedReceiver<Frame>,
    work: mpsc::Receiver<Work>,
}

impl Common {
    /// Does what goes on beside links: flushes, notes what passed, chooses the level. Never ends.
    pub async fn keep(&self) {
        tokio::select! {
            () = self.memory.keep_flushed() => {}
            () = self.memory.keep_noted(&self.counters) => {}
            () = self.steering.steer(Arc::clone(&self.counters)) => {}
        }
    }

    /// Notes and writes what is in memory only.
    pub async fn end(&self) {
        self.memory.note(&self.counters);
        self.memory.flush().await;
    }

    /// Waits until the streams of these links have come to their ends, for a while: whoever is still there then is
    /// broken off.
    pub async fn drain(&self, links: impl Fn() -> Vec<Arc<Link>>) {
        let all_ended = async {
            while !links().iter().all(|link| link.is_drained()) {
                tokio::time::sleep(DRAIN_LOOK).await;
            }
        };
        let _ = tokio::time::timeout(self.drain, all_ended).await;
    }

    /// Returns when all links have to end.
    pub async fn stopped(&self) {
        // Without anybody who could stop it, it is stopped.
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }
}

impl Link {
    /// A link over a connection whose ends know each other.
    pub fn new(
        common: Common,
        stream: Bytes,
        (ours, theirs): (Terms, Terms),
        openings: Option<mpsc::UnboundedSender<Opening>>,
    ) -> (Arc<Self>, Parts) {
        let (control_in, control) = mpsc::unbounded_channel();
        let (work_in, work) = mpsc::channel(N_WORK);
        let link = Self {
            common,
            their_window: theirs.n_window as usize,
            control: control_in,
            work: work_in,
            streams: Mutex::default(),
            next_stream: AtomicU32::new(1),
            held: Mutex::default(),
            room: Semaphore::new(ROOM_KIB),
            n_queued: AtomicU64::new(0),
            n_unwritten: AtomicU64::new(0),
            ended: watch::Sender::new(false),
            openings,
        };
        (Arc::new(link), Parts { stream, own_run: ours.run, their_run: theirs.run, control, work })
    }

    /// Runs it until either end has enough, or something goes wrong. All its streams end then.
    pub async fn run(self: &Arc<Self>, parts: Parts) -> LinkError {
        let counters = &self.common.counters;
        counters.links.add(1);
        let closing = Closing(self);
        let (reader, writer) = tokio::io::split(parts.stream);
        let (groups_in, groups) = mpsc::channel(N_GROUPS);
        let (incoming_in, incoming) = mpsc::unbounded_channel();
        let (repairs_in, repairs) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Handle::current();
        let (link, handle) = (Arc::clone(self), runtime.clone());
        let mut encoder = tokio::task::spawn_blocking(move || {
            encoding::encode(&link, &handle, parts.own_run, parts.work, &groups_in);
        });
        let link = Arc::clone(self);
        let mut decoder =
            tokio::task::spawn_blocking(move || decoding::decode(&link, runtime, parts.their_run, incoming, repairs));
        let error = tokio::select! {
            error = reading::read(self, reader, incoming_in, repairs_in) => error,
            error = writing::write(self, writer, parts.control, groups) => error,
            _ = &mut encoder => LinkError::Ended,
            decoded = &mut decoder => decoded.unwrap_or(LinkError::Ended),
            () = self.common.stopped() => LinkError::Ended,
        };
        drop(closing);
        // They have the store, which whoever comes next may open.
        if !encoder.is_finished() {
            drop(encoder.await);
        }
        if !decoder.is_finished() {
            drop(decoder.await);
        }
        error
    }

    /// Opens a stream to a target of the peer's. `None` when there are too many, or the link has ended.
    pub fn open(&self, component: String, target: String) -> Option<(u32, mpsc::UnboundedReceiver<Inbound>)> {
        let stream = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let inbound = self.add(stream)?;
        self.control.send(Frame::Open { stream, component, target }).ok()?;
        Some((stream, inbound))
    }

    /// Hands over what a local program gave; false when the link has ended.
    pub async fn give(&self, work: Work) -> bool {
        self.common.counters.encoder_queue.add(1);
        self.n_unwritten.fetch_add(1, Ordering::Relaxed);
        let is_given = self.work.send(work).await.is_ok();
        if !is_given {
            self.common.counters.encoder_queue.sub(1);
        }
        is_given
    }

    /// Says that the target of a stream answered.
    pub fn send_opened(&self, stream: u32) {
        self.say(Frame::Opened { stream });
    }

    /// Returns the credit of a stream, which is what may be sent on it, if the stream is there.
    pub fn credit(&self, stream: u32) -> Option<Arc<Semaphore>> {
        self.streams().get(&stream).map(|entry| Arc::clone(&entry.credit))
    }

    /// The local program took so many bytes: as many more may come.
    pub fn took(&self, stream: u32, n_bytes: usize) {
        if let Some(entry) = self.streams().get_mut(&stream) {
            entry.n_granted += n_bytes;
        }
        self.say(Frame::Credit { stream, n_bytes: n_bytes as u32 });
    }

    /// A stream has come to its end at this end.
    pub fn forget(&self, stream: u32) {
        if self.streams().remove(&stream).is_some() {
            self.common.counters.streams.sub(1);
        }
    }

    /// Returns the number of bytes that a stream may bring before credit is given.
    pub fn window(&self) -> usize {
        self.common.n_window as usize
    }

    /// Whether the link has ended. Its threads may still be at work.
    pub fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Returns when the link has ended.
    pub async fn ended(&self) {
        // The sender is in `self`.
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Whether all streams have ended, and all that was said on them has reached the peer.
    fn is_drained(&self) -> bool {
        let is_still = || self.n_unwritten.load(Ordering::Relaxed) == 0 && self.held().groups.is_empty();
        self.has_ended() || self.streams().is_empty() && is_still()
    }

    fn close(&self) {
        self.ended.send_replace(true);
        self.room.close();
        for (_, entry) in self.streams().drain() {
            self.common.counters.streams.sub(1);
            entry.credit.close();
        }
        let held = std::mem::take(&mut *self.held());
        let n_held: usize = held.groups.iter().map(|group| group.data.len()).sum();
        self.common.counters.unacknowledged_bytes.sub(n_held as u64);
    }

    fn add(&self, stream: u32) -> Option<mpsc::UnboundedReceiver<Inbound>> {
        let mut streams = self.streams();
        if streams.len() >= STREAMS_MAX || *self.ended.borrow() {
            return None;
        }
        let (inbound_in, inbound) = mpsc::unbounded_channel();
        let credit = Arc::new(Semaphore::new(self.their_window));
        streams.insert(stream, Entry { inbound: inbound_in, credit, n_granted: self.window() });
        self.common.counters.streams.add(1);
        self.common.counters.streams_total.add(1);
        Some(inbound)
    }

    fn say(&self, frame: Frame) {
        // Nobody listens when the link has ended.
        let _ = self.control.send(frame);
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<u32, Entry>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the room that a group takes, in KiB.
fn kib(n_bytes: usize) -> u32 {
    n_bytes.div_ceil(1024).max(1) as u32
}
