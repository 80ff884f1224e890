//! Requests and their answers.

use std::io;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use async_nats::{Subject, Subscriber};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::visitor::{self, Entered};
use super::{At, Core, Handler, reconnecting};
use crate::endpoint::{Endpoint, Place};
use crate::error::ReadError;
use crate::frame::{Decoder, Frame};
use crate::login::next_frame;
use crate::message::{Answer, Ask, Message, Payload, Purpose, Reply, Request, cut};
use crate::transport::{Broken, Connection, Link, Listener};

/// The most requests that may wait at one subject; more are rejected.
const N_PENDING_MAX: usize = 256;

/// Components that answer at the same subject share the requests.
const ANSWERING_GROUP: &str = "foretop";

/// A request that waits for its answer. When it is dropped, whoever asked is told that there is none.
#[derive(Debug)]
pub struct Pending {
    id: u64,
    sender: Option<oneshot::Sender<Bytes>>,
}

impl Pending {
    /// A request of this id, and where its answer comes as frames: for whoever has a handler and no mirror.
    #[must_use]
    pub fn new(id: u64) -> (Self, oneshot::Receiver<Bytes>) {
        let (sender, receiver) = oneshot::channel();
        (Self { id, sender: Some(sender) }, receiver)
    }

    /// Answers.
    pub fn answer(self, answer: Answer) {
        self.answer_with(answer, []);
    }

    /// Answers, with messages that follow. An answer that fits into no frame becomes a refusal that says so.
    pub fn answer_with<'a>(mut self, answer: Answer, messages: impl IntoIterator<Item = &'a Message>) {
        let mut frames = BytesMut::new();
        let mut n_frames = 0;
        let encoded = messages.into_iter().try_for_each(|message| {
            n_frames += 1;
            message.encode(&mut frames)
        });
        match encoded {
            Ok(()) => self.send(answer, n_frames, &frames),
            Err(error) => self.refuse(format!("the answer cannot be sent: {error}")),
        }
    }

    /// Says why there is no answer.
    pub fn refuse(self, reason: impl Into<String>) {
        self.answer(Answer::Refused { reason: reason.into() });
    }

    fn send(&mut self, answer: Answer, n_frames: u32, frames: &[u8]) {
        if let Some(sender) = self.sender.take() {
            // Whoever asked may be gone.
            let _ = sender.send(reply(self.id, answer, n_frames, frames));
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.send(Answer::Refused { reason: "the component gave no answer".to_owned() }, 0, &[]);
    }
}

/// Takes connections, and answers what each asks, one request after the other.
pub(super) async fn accept<H: Handler>(core: Core<H>, listener: Listener, at: At) {
    let wants_token = listener.wants_token();
    let attend = |entered: Entered, at: At| {
        let core = Rc::clone(&core);
        async move {
            let serve = async |connection, decoder, _pass| {
                let _connected = at.counters.connected();
                serve(&core, connection, decoder, &at).await
            };
            entered.welcomed(wants_token, Purpose::Caller, &at, serve).await
        }
    };
    visitor::accept(&listener, &mut JoinSet::new(), &at, attend).await;
}

/// Answers requests until the caller goes.
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
        let answer = answer_to(core, &frame, at).await;
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

/// Answers messages until the connection breaks.
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
        Ok(Some(frame)) => answer_to(core, &frame, at).await,
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

/// Returns the reply to a frame.
async fn answer_to<H: Handler>(core: &Core<H>, frame: &Frame, at: &At) -> Bytes {
    match Message::decode(frame) {
        Ok(Message::Request(request)) => ask(core, request).await,
        // It wants a proof of a token that is not here, or has proved itself already.
        Ok(Message::Greeting(_)) => refusal("no token is wanted here: both sides need the same one, or neither"),
        Ok(_) => refusal("only requests are answered here"),
        Err(error) => {
            at.counters.n_bad.fetch_add(1, Relaxed);
            refusal(&error.to_string())
        }
    }
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
    reply(0, Answer::Refused { reason: reason.to_owned() }, 0, &[])
}

/// A reply and the frames that follow it as bytes. What it repeats of a request is cut; one that fits into no frame
/// becomes a refusal that says so.
///
/// # Panics
/// Never: a refusal that was cut fits.
#[must_use]
pub fn reply(id: u64, answer: Answer, n_frames: u32, frames: &[u8]) -> Bytes {
    let answer = match answer {
        Answer::Refused { reason } => Answer::Refused { reason: cut(reason) },
        Answer::Fitted { model, fitted } => Answer::Fitted { model: cut(model), fitted: cut(fitted) },
        answer => answer,
    };
    let mut bytes = BytesMut::with_capacity(frames.len() + 256);
    match (Reply { id, n_frames, answer }).encode(&mut bytes) {
        Ok(()) => bytes.extend_from_slice(frames),
        Err(error) => {
            let answer = Answer::Refused { reason: format!("the answer cannot be sent: {error}") };
            (Reply { id, n_frames: 0, answer }).encode(&mut bytes).expect("a short refusal fits into a frame");
        }
    }
    bytes.freeze()
}
