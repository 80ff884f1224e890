//! Requests and their answers, and who is let in to ask, read or write.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use async_nats::{Subject, Subscriber};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::reconnecting;
use super::{At, Core, Handler};
use crate::endpoint::{Endpoint, Place};
use crate::error::ReadError;
use crate::frame::{Decoder, Frame};
use crate::message::{Answer, Ask, Greeting, Message, Payload, Purpose, Reply, Request};
use crate::transport::{Broken, Connection, HANDSHAKE_LIMIT, Link, Listener, Visitor};

/// More than this many at one endpoint are let go again.
pub(super) const N_CONNECTIONS_MAX: usize = 4096;

/// As many requests as wait at one subject; more are refused.
const N_PENDING_MAX: usize = 256;

/// Components that answer at the same subject share the requests.
const ANSWERING_GROUP: &str = "foretop";

/// How long to wait when the system has no descriptor left for a connection.
const NO_DESCRIPTOR_PAUSE: Duration = Duration::from_millis(100);

/// A request that waits for its answer. When it is dropped, whoever asked is told that there is none.
#[derive(Debug)]
pub struct Pending {
    id: u64,
    sender: Option<oneshot::Sender<Bytes>>,
}

impl Pending {
    fn new(id: u64) -> (Self, oneshot::Receiver<Bytes>) {
        let (sender, receiver) = oneshot::channel();
        (Self { id, sender: Some(sender) }, receiver)
    }

    /// Answers.
    pub fn answer(self, answer: Answer) {
        self.answer_with(answer, []);
    }

    /// Answers, with messages that follow.
    pub fn answer_with<'a>(mut self, answer: Answer, messages: impl IntoIterator<Item = &'a Message>) {
        let mut frames = BytesMut::new();
        let mut n_frames = 0;
        for message in messages {
            message.encode(&mut frames);
            n_frames += 1;
        }
        self.send(answer, n_frames, &frames);
    }

    /// Says why there is no answer.
    pub fn refuse(self, reason: impl Into<String>) {
        self.answer(Answer::Refused { reason: reason.into() });
    }

    fn send(&mut self, answer: Answer, n_frames: u32, frames: &[u8]) {
        if let Some(sender) = self.sender.take() {
            let mut bytes = BytesMut::with_capacity(frames.len() + 256);
            Reply { id: self.id, n_frames, answer }.encode(&mut bytes);
            bytes.extend_from_slice(frames);
            // Whoever asked may be gone.
            let _ = sender.send(bytes.freeze());
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.send(Answer::Refused { reason: "the component gave no answer".to_owned() }, 0, &[]);
    }
}

/// The next one who connects, while there are not too many. Those who have gone are cleared away.
pub(super) async fn next_visitor(listener: &Listener, present: &mut JoinSet<()>, n_max: usize, at: &At) -> Visitor {
    loop {
        tokio::select! {
            Some(_) = present.join_next() => {}
            visitor = listener.accept() => match visitor {
                Ok(_) if present.len() >= n_max => at.counters.note(&too_many(n_max)),
                Ok(visitor) => return visitor,
                Err(error) => {
                    at.counters.note(&error);
                    tokio::time::sleep(NO_DESCRIPTOR_PAUSE).await;
                }
            },
        }
    }
}

fn too_many(n_max: usize) -> io::Error {
    io::Error::new(io::ErrorKind::QuotaExceeded, format!("there are {n_max} connections already"))
}

/// Lets a visitor in: encrypts, and looks at its token where one is wanted. The decoder has what came after the greeting.
pub(super) async fn welcome(
    visitor: Visitor,
    wants_token: bool,
    purpose: Purpose,
    at: &At,
) -> Result<(Connection, Decoder), ReadError> {
    let welcomed = async {
        let mut connection = visitor.admit().await?;
        let mut decoder = Decoder::default();
        if let (true, Some(token)) = (wants_token, &at.security.token) {
            let frame = next_frame(&mut connection, &mut decoder).await?;
            match Message::decode(&frame)? {
                Message::Greeting(Greeting { role, token: Some(given) })
                    if role == purpose && token.matches(&given) => {}
                _ => {
                    let reason = "somebody connected without the token, or for something else";
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason).into());
                }
            }
        }
        Ok((connection, decoder))
    };
    match tokio::time::timeout(HANDSHAKE_LIMIT, welcomed).await {
        Ok(welcomed) => welcomed,
        Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
    }
}

async fn next_frame(connection: &mut Connection, decoder: &mut Decoder) -> Result<Frame, ReadError> {
    loop {
        if let Some(frame) = decoder.next_frame()? {
            return Ok(frame);
        }
        if connection.bytes_in.read_buf(decoder.buffer()).await? == 0 {
            decoder.finish()?;
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
    }
}

/// Takes connections, and answers what each asks, one request after the other.
pub(super) async fn accept<H: Handler>(core: Core<H>, listener: Listener, at: At) {
    let mut callers = JoinSet::new();
    loop {
        let visitor = next_visitor(&listener, &mut callers, N_CONNECTIONS_MAX, &at).await;
        let (core, wants_token) = (Rc::clone(&core), listener.wants_token());
        let at = At { input: at.input, counters: Arc::clone(&at.counters), security: Rc::clone(&at.security) };
        callers.spawn_local(async move {
            let served = async {
                let (connection, decoder) = welcome(visitor, wants_token, Purpose::Caller, &at).await?;
                let _connected = at.counters.connected();
                serve(&core, connection, decoder, &at).await
            };
            if let Err(error) = served.await {
                at.counters.note(&error);
            }
        });
    }
}

/// Until the caller goes.
async fn serve<H: Handler>(
    core: &Core<H>,
    mut connection: Connection,
    mut decoder: Decoder,
    at: &At,
) -> Result<(), ReadError> {
    loop {
        let frame = match next_frame(&mut connection, &mut decoder).await {
            Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            frame => frame?,
        };
        let Some(answer) = answer_to(core, &frame, at).await else {
            continue;
        };
        connection.bytes_out.write_all(&answer).await?;
        connection.bytes_out.flush().await?;
        at.counters.add_frames(1, answer.len() as u64);
    }
}

/// Answers what is asked at a subject, again and again where the connection breaks.
pub(super) async fn serve_subject<H: Handler>(core: Core<H>, endpoint: Endpoint, at: At) {
    let Place::Nats(place) = &endpoint.place else {
        unreachable!("whatever else is a server listens");
    };
    let mut backoff = reconnecting();
    loop {
        let served = async {
            let link = Link::open(&endpoint, &at.security, Broken::StaysBroken).await.map_err(io::Error::other)?;
            let requests = link.subscribe(&place.subject, Some(ANSWERING_GROUP)).await?;
            backoff.succeeded();
            let _connected = at.counters.connected();
            answer_messages(&core, &link, requests, &at).await
        };
        if let Err(error) = served.await {
            at.counters.note(&error);
        }
        tokio::time::sleep(backoff.next_wait()).await;
    }
}

/// Until the connection breaks.
async fn answer_messages<H: Handler>(core: &Core<H>, link: &Link, mut requests: Subscriber, at: &At) -> io::Result<()> {
    let mut pending = FuturesUnordered::new();
    loop {
        tokio::select! {
            request = requests.next() => {
                let request = request.ok_or(io::ErrorKind::UnexpectedEof)?;
                // Where nothing can be answered, nothing was asked.
                if let Some(inbox) = request.reply {
                    pending.push(answer_message(core, request.payload, inbox, pending.len(), at));
                }
            }
            Some((inbox, answer)) = pending.next() => {
                let n_bytes = answer.len() as u64;
                link.publish(&inbox, pieces(answer, link.client.max_payload())).await?;
                at.counters.add_frames(1, n_bytes);
            }
            gone = link.gone() => return Err(gone),
        }
    }
}

async fn answer_message<H: Handler>(
    core: &Core<H>,
    request: Bytes,
    inbox: Subject,
    n_pending: usize,
    at: &At,
) -> (Subject, Bytes) {
    if n_pending >= N_PENDING_MAX {
        return (inbox, refusal("too many have asked and wait for an answer"));
    }
    let mut decoder = Decoder::default();
    decoder.buffer().extend_from_slice(&request);
    let answer = match decoder.next_frame() {
        Ok(Some(frame)) => answer_to(core, &frame, at).await.unwrap_or_else(|| refusal("nothing was asked")),
        Ok(None) => refusal("half a frame is not a request"),
        Err(error) => {
            at.counters.n_bad.fetch_add(1, Relaxed);
            refusal(&error.to_string())
        }
    };
    (inbox, answer)
}

/// A reply may be longer than a message can be. Whoever asked puts the pieces together as they come.
fn pieces(mut reply: Bytes, n_bytes_max: usize) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || (!reply.is_empty()).then(|| reply.split_to(n_bytes_max.min(reply.len()))))
}

/// What to say to a frame; `None` for one that wants no answer.
async fn answer_to<H: Handler>(core: &Core<H>, frame: &Frame, at: &At) -> Option<Bytes> {
    Some(match Message::decode(frame) {
        Ok(Message::Request(request)) => ask(core, request).await,
        // It may greet where no token is wanted.
        Ok(Message::Greeting(_)) => return None,
        Ok(_) => refusal("only requests are answered here"),
        Err(error) => {
            at.counters.n_bad.fetch_add(1, Relaxed);
            refusal(&error.to_string())
        }
    })
}

async fn ask<H: Handler>(core: &Core<H>, request: Request) -> Bytes {
    let (pending, answer) = Pending::new(request.id);
    {
        let mut core = core.borrow_mut();
        match request.ask {
            Ask::Status {} => pending.answer(Answer::Status(core.status())),
            _ => core.work(|handler, outputs| handler.request(request, pending, outputs)),
        }
    }
    answer.await.expect("a pending request answers when it is dropped")
}

fn refusal(reason: &str) -> Bytes {
    let mut bytes = BytesMut::new();
    Reply { id: 0, n_frames: 0, answer: Answer::Refused { reason: reason.to_owned() } }.encode(&mut bytes);
    bytes.freeze()
}
