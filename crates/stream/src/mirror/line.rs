//! Lines: connections both ways that the handler speaks over itself, to a child process or to a server that it asks.

use std::cell::RefCell;
use std::io;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::BytesMut;
use tokio::sync::Notify;

use super::input::{Damage, read_bytes};
use super::output::write_bytes;
use super::queue::{Chunk, Queue, Taker, queue};
use super::reconnecting;
use super::{At, Core, Handler};
use crate::counters::Counters;
use crate::endpoint::{Backlog, Endpoint, Overflow, Role};
use crate::error::{OpenError, ReadError};
use crate::frame::Decoder;
use crate::message::MessageError;
use crate::transport::{self, Connection};

/// The most bytes that wait for the other end: a window of a hundred thousand samples of some dozen signals.
/// An end that does not take them is disconnected.
const BACKLOG: Backlog = Backlog { bytes: 64 << 20, overflow: Overflow::Disconnect };

/// The handler's end of a line.
pub(super) struct Line {
    turn: BytesMut,
    n_frames: u64,
    queue: Queue,
    hook: Rc<Hook>,
    counters: Arc<Counters>,
}

/// The place where the handler leaves the stream that the line's task is to use.
#[derive(Default)]
struct Hook {
    stream: RefCell<Option<(UnixStream, Taker)>>,
    changed: Notify,
}

impl Line {
    /// A line on which nothing is said yet.
    fn new(counters: Arc<Counters>) -> (Self, Taker) {
        let (queue, taker) = queue(BACKLOG, Arc::clone(&counters));
        (Self { turn: BytesMut::new(), n_frames: 0, queue, hook: Rc::default(), counters }, taker)
    }

    /// Leaves out what was not said yet, and begins again.
    fn renew(&mut self) -> Taker {
        let (queue, taker) = queue(BACKLOG, Arc::clone(&self.counters));
        (self.queue, self.n_frames) = (queue, 0);
        self.turn.clear();
        taker
    }

    /// Speaks over this socket from here on.
    pub(super) fn attach(&mut self, stream: UnixStream) {
        let taker = self.renew();
        *self.hook.stream.borrow_mut() = Some((stream, taker));
        self.hook.changed.notify_one();
    }

    /// Adds a message; one that fits into no frame is counted as dropped.
    pub(super) fn add(&mut self, encode: impl FnOnce(&mut BytesMut) -> Result<(), MessageError>) {
        match encode(&mut self.turn) {
            Ok(()) => self.n_frames += 1,
            Err(error) => {
                self.counters.n_dropped.fetch_add(1, Relaxed);
                self.counters.note(&error);
            }
        }
    }

    pub(super) fn flush(&mut self) {
        if !self.turn.is_empty() {
            let n_frames = std::mem::take(&mut self.n_frames);
            self.queue.push(Chunk { bytes: self.turn.split().freeze(), n_frames });
        }
    }
}

/// Speaks over what the handler attaches, one after the other. The line is there when this returns.
pub(super) fn run_attached<H: Handler>(core: Core<H>, at: At) -> impl Future<Output = ()> {
    let (line, _) = Line::new(Arc::clone(&at.counters));
    let hook = Rc::clone(&line.hook);
    core.borrow_mut().outputs.lines.insert(at.input, line);
    attached(core, hook, at)
}

async fn attached<H: Handler>(core: Core<H>, hook: Rc<Hook>, at: At) {
    core.borrow_mut().work(|handler, outputs| handler.ended(at.input, outputs));
    loop {
        let taken = hook.stream.borrow_mut().take();
        let Some((stream, taker)) = taken else {
            hook.changed.notified().await;
            continue;
        };
        tokio::select! {
            // What the one before still has to say is of no interest.
            biased;
            () = until_replaced(&hook) => continue,
            ended = speak_over(&core, stream, &taker, &at) => note(ended, &at),
        }
        if hook.stream.borrow().is_none() {
            core.borrow_mut().work(|handler, outputs| handler.ended(at.input, outputs));
        }
    }
}

async fn until_replaced(hook: &Hook) {
    while hook.stream.borrow().is_none() {
        hook.changed.notified().await;
    }
}

async fn speak_over<H: Handler>(core: &Core<H>, stream: UnixStream, taker: &Taker, at: &At) -> Result<(), ReadError> {
    stream.set_nonblocking(true)?;
    let stream = tokio::net::UnixStream::from_std(stream)?;
    let (bytes_in, bytes_out) = stream.into_split();
    speak(core, Connection { bytes_in: Box::new(bytes_in), bytes_out: Box::new(bytes_out) }, taker, at).await
}

/// Connects to a server, again and again, for the handler to ask. The line is there when this returns.
pub(super) fn run_connected<H: Handler>(core: Core<H>, endpoint: Endpoint, at: At) -> impl Future<Output = ()> {
    // What is greeted for is to ask.
    let endpoint = Endpoint { role: Role::Server, ..endpoint };
    let (line, taker) = Line::new(Arc::clone(&at.counters));
    core.borrow_mut().outputs.lines.insert(at.input, line);
    connected(core, endpoint, taker, at)
}

async fn connected<H: Handler>(core: Core<H>, endpoint: Endpoint, mut taker: Taker, at: At) {
    let mut backoff = reconnecting();
    loop {
        match transport::connect(&endpoint, &at.security).await {
            Ok(connection) => {
                backoff.succeeded();
                note(speak(&core, connection, &taker, &at).await, &at);
                let renewed = core.borrow_mut().outputs.lines.get_mut(&at.input).map(Line::renew);
                taker = renewed.expect("a line stays where it was put");
                core.borrow_mut().work(|handler, outputs| handler.ended(at.input, outputs));
            }
            Err(error) => note(Err::<(), OpenError>(error), &at),
        }
        tokio::time::sleep(backoff.next_wait()).await;
    }
}

async fn speak<H: Handler>(core: &Core<H>, connection: Connection, taker: &Taker, at: &At) -> Result<(), ReadError> {
    let Connection { bytes_in, bytes_out } = connection;
    let _connected = at.counters.connected();
    tokio::select! {
        ended = read_bytes(core, bytes_in, Decoder::default(), Damage::EndsIt, at) => ended,
        written = write_bytes(bytes_out, taker) => Ok(written?),
        () = taker.abandoned() => {
            let reason = "the other end does not take what it is sent";
            Err(io::Error::new(io::ErrorKind::TimedOut, reason).into())
        }
    }
}

fn note<E: std::error::Error>(ended: Result<(), E>, at: &At) {
    if let Err(error) = ended {
        at.counters.note(&error);
    }
}
