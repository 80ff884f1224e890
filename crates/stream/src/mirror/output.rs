//! Output: the same frames to every reader, each at its own pace.

use std::collections::HashMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::line::Line;
use super::publish::{self, Outbox};
use super::queue::{Chunk, Queue, Taker, queue};
use super::unsent::Unsent;
use super::visitor::{self, Entered, or_panic};
use super::{At, Core, Handler, InputId, reconnecting};
use crate::counters::Counters;
use crate::endpoint::{Backlog, Endpoint, NatsPlace};
use crate::frame::HEADER_BYTES;
use crate::message::{Description, Message, MessageError, Payload, Purpose};
use crate::transport::{self, BytesIn, BytesOut, Connection, DATAGRAM_BYTES_MAX, Listener, Target};

/// Small frames share a datagram up to this size, which no Ethernet cuts.
const SHARED_DATAGRAM_BYTES: usize = 1400;

/// The interval at which the description is sent again, for readers that join a group late.
pub(super) const DESCRIBE_EVERY: Duration = Duration::from_secs(1);

/// The most bytes that one turn collects before they are handed to the writers.
const TURN_BYTES: usize = 64 << 10;

/// A reader has nothing to say. One that says this much all the same is let go.
const CHATTER_BYTES_MAX: usize = 64 << 10;

/// The outputs of a mirror, to which a handler passes its messages.
#[derive(Default)]
pub struct Outputs {
    description: Option<Bytes>,
    /// The same, for whoever announces it.
    described: watch::Sender<Option<Description>>,
    turn: BytesMut,
    n_frames: u64,
    readers: Vec<Queue>,
    /// Those whose place is kept while nobody is connected.
    is_closed: bool,
    pub(super) lines: HashMap<InputId, Line>,
    unsent: Unsent,
}

impl Outputs {
    /// Says what the stream carries, to those who read it and to all who come later. Where that does not fit into a
    /// frame, the status tells so, and no message is sent until another description comes.
    pub fn describe(&mut self, description: &Description) {
        let mut bytes = BytesMut::new();
        let encoded = description.encode(&mut bytes);
        self.unsent.is_undescribed = encoded.is_err();
        match encoded {
            Ok(()) => {
                self.turn.extend_from_slice(&bytes);
                self.n_frames += 1;
                self.description = Some(bytes.freeze());
                self.described.send_replace(Some(description.clone()));
            }
            Err(error) => {
                self.description = None;
                self.described.send_replace(None);
                self.unsent.note(&error);
            }
        }
    }

    /// Returns the facts about unsent messages, for the status.
    pub(super) fn facts(&self) -> impl Iterator<Item = (String, String)> {
        self.unsent.facts()
    }

    /// Returns a receiver of the stream's description, which is updated as the description changes.
    pub(super) fn described(&self) -> watch::Receiver<Option<Description>> {
        self.described.subscribe()
    }

    /// Sends a message to every reader. Nothing is made of it where there is none. One that fits into no frame is
    /// counted.
    pub fn send(&mut self, message: &impl Payload) {
        self.add(|turn| message.encode(turn));
    }

    /// Sends a message of any kind on.
    pub fn forward(&mut self, message: &Message) {
        match message {
            Message::Description(description) => self.describe(description),
            message => self.add(|turn| message.encode(turn)),
        }
    }

    /// Sends a message over a line, to nobody else. Over one that has nobody at its other end it waits, until that is
    /// known.
    ///
    /// # Panics
    /// When there is no such line.
    pub fn send_to(&mut self, line: InputId, message: &impl Payload) {
        self.line(line).add(|turn| message.encode(turn));
    }

    /// Puts the other end of this socket at the other end of a line, in place of what was there. What was sent over the
    /// line and is not gone yet is left out.
    ///
    /// # Panics
    /// When there is no such line.
    pub fn attach(&mut self, line: InputId, socket: UnixStream) {
        self.line(line).attach(socket);
    }

    fn line(&mut self, line: InputId) -> &mut Line {
        self.lines.get_mut(&line).expect("a line was added before it is spoken over")
    }

    /// Bytes that wait for the slowest reader.
    #[must_use]
    pub fn backlog_bytes(&self) -> usize {
        self.readers.iter().map(Queue::n_bytes).max().unwrap_or(0)
    }

    /// Returns the number of readers.
    #[must_use]
    pub fn n_readers(&self) -> usize {
        self.readers.len()
    }

    fn add(&mut self, encode: impl FnOnce(&mut BytesMut) -> Result<(), MessageError>) {
        if self.readers.is_empty() {
            return;
        }
        if self.unsent.is_undescribed {
            return self.unsent.count();
        }
        if let Err(error) = encode(&mut self.turn) {
            return self.unsent.note(&error);
        }
        self.n_frames += 1;
        if self.turn.len() >= TURN_BYTES {
            self.flush();
        }
    }

    /// Hands what one turn gave to all writers.
    pub(super) fn flush(&mut self) {
        self.lines.values_mut().for_each(Line::flush);
        if self.turn.is_empty() {
            return;
        }
        let chunk = Chunk { bytes: self.turn.split().freeze(), n_frames: std::mem::take(&mut self.n_frames) };
        self.readers.retain(|reader| reader.push(chunk.clone()));
    }

    /// Adds a reader, which gets the description first.
    pub(super) fn join(&mut self, backlog: Backlog, counters: &Arc<Counters>) -> Taker {
        self.flush();
        let (queue, taker) = queue(backlog, Arc::clone(counters));
        if let Some(description) = &self.description {
            queue.push(Chunk { bytes: description.clone(), n_frames: 1 });
        }
        if self.is_closed {
            queue.close();
        }
        self.readers.push(queue);
        taker
    }

    /// Says that nothing more will come.
    pub(super) fn close(&mut self) {
        self.flush();
        self.is_closed = true;
        self.readers.iter().for_each(Queue::close);
    }
}

/// Takes connections, and writes the stream to each.
pub(super) async fn accept<H: Handler>(
    core: Core<H>,
    endpoint: Endpoint,
    listener: Listener,
    at: At,
    mut stopped: watch::Receiver<bool>,
) {
    let mut readers = JoinSet::new();
    let (wants_token, backlog) = (listener.wants_token(), endpoint.backlog);
    let attend = |entered: Entered, at: At| {
        let core = Rc::clone(&core);
        async move {
            let write = async |connection, _, _pass| {
                let _connected = at.counters.connected();
                let taker = core.borrow_mut().outputs.join(backlog, &at.counters);
                Ok(write_connection(connection, &taker).await?)
            };
            entered.welcomed(wants_token, Purpose::Reader, &at, write).await
        }
    };
    let takes_more = visitor::accept(&listener, &mut readers, &at, attend);
    tokio::select! {
        () = takes_more => {}
        _ = stopped.wait_for(|is_stopped| *is_stopped) => {}
    }
    drop(listener);
    while let Some(ended) = readers.join_next().await {
        or_panic(ended);
    }
}

/// Writes the stream to a place, again and again where it can be had again. What is sent while there is no connection
/// waits, as for any slow reader.
pub(super) async fn run_target<H: Handler>(
    core: Core<H>,
    endpoint: Endpoint,
    taker: Taker,
    at: At,
    mut stopped: watch::Receiver<bool>,
) {
    let mut backoff = reconnecting();
    let mut outbox = Outbox::new();
    let mut is_stopped = false;
    while !is_stopped {
        match transport::open_target(&endpoint, &at.security).await {
            Ok(target) => {
                backoff.succeeded();
                let _connected = at.counters.connected();
                match write_target(target, &taker, &core, (&mut outbox, &at)).await {
                    Ok(()) => break,
                    Err(error) => at.counters.note(&error),
                }
            }
            Err(error) => at.counters.note(&error),
        }
        tokio::select! {
            () = tokio::time::sleep(backoff.next_wait()) => {}
            _ = stopped.wait_for(|is_stopped| *is_stopped) => is_stopped = true,
        }
    }
    at.counters.n_dropped.fetch_add(outbox.n_frames(), Relaxed);
}

/// Writes to the target until there is nothing more to write.
async fn write_target<H: Handler>(
    target: Target,
    taker: &Taker,
    core: &Core<H>,
    (outbox, at): (&mut Outbox, &At),
) -> io::Result<()> {
    let description = || core.borrow().outputs.description.clone();
    match target {
        Target::Connection(mut connection) => {
            describe(&mut connection.bytes_out, description()).await?;
            write_connection(connection, taker).await
        }
        Target::Run(mut bytes) => {
            describe(&mut bytes, description()).await?;
            write_bytes(bytes, taker).await
        }
        Target::File(mut file) => {
            if let Some(description) = description() {
                file.append(&description).await?;
            }
            while let Some(chunk) = taker.take().await {
                match file.append(&chunk.bytes).await {
                    Ok(()) => taker.written(&chunk),
                    Err(error) => {
                        taker.dropped(&chunk);
                        return Err(error);
                    }
                }
            }
            Ok(())
        }
        Target::Datagrams(socket) => write_datagrams(&socket, taker, description, at).await,
        Target::Subject(link, place) => match place {
            NatsPlace { keep: Some(keep), .. } => {
                publish::keep(&link, (&place, keep), taker, description, (outbox, at)).await
            }
            _ => publish::publish(&link, &place, taker, description, at).await,
        },
    }
}

/// A connection that is made again begins with what the stream carries.
async fn describe(bytes: &mut BytesOut, description: Option<Bytes>) -> io::Result<()> {
    match description {
        Some(description) => bytes.write_all(&description).await,
        None => Ok(()),
    }
}

async fn write_connection(connection: Connection, taker: &Taker) -> io::Result<()> {
    let Connection { bytes_in, bytes_out } = connection;
    tokio::select! {
        written = write_bytes(bytes_out, taker) => written,
        () = taker.abandoned() => Err(io::Error::new(io::ErrorKind::TimedOut, "a reader that was too slow was let go")),
        // A reader that goes is noticed though nothing is written.
        gone = until_gone(bytes_in) => gone,
    }
}

async fn until_gone(mut bytes_in: BytesIn) -> io::Result<()> {
    let mut n_bytes = 0;
    let mut ignored = [0; 512];
    loop {
        match bytes_in.read(&mut ignored).await? {
            0 => return Err(io::ErrorKind::ConnectionReset.into()),
            n_read => n_bytes += n_read,
        }
        if n_bytes > CHATTER_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a reader that speaks was let go"));
        }
    }
}

/// Writes what comes, and shuts the connection down when there is nothing more.
pub(super) async fn write_bytes(mut bytes: BytesOut, taker: &Taker) -> io::Result<()> {
    loop {
        let chunk;
        (bytes, chunk) = taker.take_lending(bytes).await;
        let Some(chunk) = chunk else { return bytes.shutdown().await };
        let written = async {
            bytes.write_all(&chunk.bytes).await?;
            bytes.flush().await
        };
        match written.await {
            Ok(()) => taker.written(&chunk),
            Err(error) => {
                taker.dropped(&chunk);
                return Err(error);
            }
        }
    }
}

async fn write_datagrams(
    socket: &UdpSocket,
    taker: &Taker,
    description: impl Fn() -> Option<Bytes>,
    at: &At,
) -> io::Result<()> {
    let mut described: Option<Instant> = None;
    while let Some(chunk) = taker.take().await {
        if described.is_none_or(|at| at.elapsed() >= DESCRIBE_EVERY) {
            described = Some(Instant::now());
            if let Some(description) = description() {
                send(socket, &description).await?;
            }
        }
        let (mut n_frames, mut n_bytes) = (chunk.n_frames, chunk.bytes.len());
        for datagram in datagrams(&chunk.bytes) {
            if datagram.len() <= DATAGRAM_BYTES_MAX {
                send(socket, datagram).await?;
            } else {
                // Only a frame that stands alone is so long.
                (n_frames, n_bytes) = (n_frames - 1, n_bytes - datagram.len());
                at.counters.leave_out(datagram.len(), DATAGRAM_BYTES_MAX);
            }
        }
        at.counters.add_frames(n_frames, n_bytes as u64);
    }
    Ok(())
}

/// Sends a datagram. A peer that does not listen is no error, because with UDP a listener may appear at any time.
async fn send(socket: &UdpSocket, datagram: &[u8]) -> io::Result<()> {
    match socket.send(datagram).await {
        Err(error) if error.kind() != io::ErrorKind::ConnectionRefused => Err(error),
        _ => Ok(()),
    }
}

/// Cuts frames that stand in a row into datagrams of whole frames. What no datagram holds stands alone.
fn datagrams(mut frames: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let mut n_bytes = 0;
        while let Some(next) = frame_bytes(&frames[n_bytes..]) {
            if n_bytes > 0 && n_bytes + next > SHARED_DATAGRAM_BYTES {
                break;
            }
            n_bytes += next;
        }
        let (datagram, rest) = frames.split_at(n_bytes);
        frames = rest;
        (n_bytes > 0).then_some(datagram)
    })
}

/// Returns the length of the frame that these bytes, which were made here, begin with.
pub(super) fn frame_bytes(frames: &[u8]) -> Option<usize> {
    let length = frames.get(4..8)?;
    Some(HEADER_BYTES + u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize)
}
