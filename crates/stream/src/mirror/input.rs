//! Input: sources that are connected to, and connections that are accepted.

use std::io;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use tokio::io::AsyncReadExt;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;

use super::visitor::{self, Entered};
use super::{At, Core, Handler, reconnecting};
use crate::endpoint::{Endpoint, Place, Replay};
use crate::error::ReadError;
use crate::frame::Decoder;
use crate::message::{Message, Purpose};
use crate::transport::{self, BytesIn, Connection, DATAGRAM_BYTES_MAX, Incoming, Listener, Source};

/// The most bytes of one read: a hundred forecasts, so that a slow component's inputs are worked on in large pieces.
const READ_BYTES: usize = 64 << 10;

/// The treatment of bytes that are no frame.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Damage {
    /// The connection is given up.
    EndsIt,
    /// The next frame is looked for.
    IsSkipped,
}

/// Reads a source, again and again where it can be had again.
pub(super) async fn run<H: Handler>(core: Core<H>, mut endpoint: Endpoint, at: At) {
    let mut backoff = reconnecting();
    loop {
        match transport::open_source(&endpoint, &at.security).await {
            Ok(source) => {
                let n_before = at.counters.n_frames.load(Relaxed);
                let ended = read(&core, source, &mut endpoint.place, &at).await;
                if at.counters.n_frames.load(Relaxed) > n_before {
                    backoff.succeeded();
                }
                core.borrow_mut().work(|handler, outputs| handler.ended(at.input, outputs));
                if let Err(error) = &ended {
                    at.counters.note(error);
                }
                // A file that was read is done, be it damaged; one that is not there yet may come.
                if transport::is_finite(&endpoint) {
                    return;
                }
            }
            Err(error) => at.counters.note(&error),
        }
        tokio::time::sleep(backoff.next_wait()).await;
    }
}

/// Reads until the source ends or breaks. `place` is then the place from which to resume.
async fn read<H: Handler>(core: &Core<H>, source: Source, place: &mut Place, at: &At) -> Result<(), ReadError> {
    let _connected = at.counters.connected();
    match source {
        // The other half is kept, so that the peer does not take us for gone.
        Source::Connection(connection) => {
            let _bytes_out = connection.bytes_out;
            read_bytes(core, connection.bytes_in, Decoder::default(), Damage::EndsIt, at).await
        }
        Source::Run { bytes } => read_bytes(core, bytes, Decoder::default(), Damage::IsSkipped, at).await,
        Source::Datagrams(socket) => read_datagrams(core, &socket, at).await,
        Source::Messages(mut incoming) => {
            let ended = read_messages(core, &mut incoming, at).await;
            if let (Place::Nats(place), Some(position)) = (place, incoming.position()) {
                place.replay = Some(Replay::After(position));
            }
            Err(ended.into())
        }
    }
}

/// Takes connections, and reads what each brings.
pub(super) async fn accept<H: Handler>(core: Core<H>, listener: Listener, at: At) {
    let wants_token = listener.wants_token();
    let attend = |entered: Entered, at: At| {
        let core = Rc::clone(&core);
        async move {
            let read = async |connection: Connection, decoder, _pass| {
                let _connected = at.counters.connected();
                let _bytes_out = connection.bytes_out;
                read_bytes(&core, connection.bytes_in, decoder, Damage::EndsIt, &at).await
            };
            let ended = entered.welcomed(wants_token, Purpose::Writer, &at, read).await;
            core.borrow_mut().work(|handler, outputs| handler.ended(at.input, outputs));
            ended
        }
    };
    visitor::accept(&listener, &mut JoinSet::new(), &at, attend).await;
}

pub(super) async fn read_bytes<H: Handler>(
    core: &Core<H>,
    mut bytes: BytesIn,
    mut decoder: Decoder,
    damage: Damage,
    at: &At,
) -> Result<(), ReadError> {
    loop {
        take_frames(core, &mut decoder, damage, at)?;
        decoder.buffer().reserve(READ_BYTES);
        let room = decoder.buffer().capacity() - decoder.buffer().len();
        let n_read = bytes.read_buf(decoder.buffer()).await?;
        if n_read == 0 {
            return decoder.finish().map_err(|error| {
                at.counters.n_bad.fetch_add(1, Relaxed);
                error.into()
            });
        }
        if n_read == room {
            // There is more, and it would be read at once: let writers have their turn.
            take_frames(core, &mut decoder, damage, at)?;
            tokio::task::yield_now().await;
        }
    }
}

/// Hands the whole frames that are there to the handler, in a row.
fn take_frames<H: Handler>(core: &Core<H>, decoder: &mut Decoder, damage: Damage, at: &At) -> Result<(), ReadError> {
    let mut result = Ok(());
    let mut taken = (0, 0);
    core.borrow_mut().work(|handler, outputs| {
        loop {
            let frame = match decoder.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(error) => {
                    at.counters.n_bad.fetch_add(1, Relaxed);
                    if damage == Damage::EndsIt {
                        result = Err(error.into());
                        break;
                    }
                    at.counters.note(&error);
                    decoder.resume();
                    continue;
                }
            };
            taken = (taken.0 + 1, taken.1 + frame.as_bytes().len() as u64);
            match Message::decode(&frame) {
                Ok(message) => handler.message(at.input, message, outputs),
                Err(error) => {
                    at.counters.n_bad.fetch_add(1, Relaxed);
                    at.counters.note(&error);
                }
            }
        }
    });
    at.counters.add_frames(taken.0, taken.1);
    result
}

async fn read_datagrams<H: Handler>(core: &Core<H>, socket: &UdpSocket, at: &At) -> Result<(), ReadError> {
    loop {
        let mut decoder = Decoder::default();
        decoder.buffer().reserve(DATAGRAM_BYTES_MAX);
        socket.recv_buf(decoder.buffer()).await?;
        take_whole_frames(core, &mut decoder, at);
    }
}

/// Reads messages until the input ends, and returns the error that ended it.
async fn read_messages<H: Handler>(core: &Core<H>, incoming: &mut Incoming, at: &At) -> io::Error {
    loop {
        let message = match incoming.next().await {
            Ok(message) => message,
            Err(error) => return error,
        };
        // How many frames were in what the client threw away is not known; there was one at least.
        at.counters.n_dropped.fetch_add(incoming.take_too_slow(), Relaxed);
        let mut decoder = Decoder::default();
        decoder.buffer().extend_from_slice(&message);
        take_whole_frames(core, &mut decoder, at);
    }
}

/// Takes the frames of a datagram or a message, where bytes that are no frame cost those that follow them there.
fn take_whole_frames<H: Handler>(core: &Core<H>, decoder: &mut Decoder, at: &At) {
    let whole = take_frames(core, decoder, Damage::EndsIt, at).and_then(|()| Ok(decoder.finish()?));
    if let Err(error) = whole {
        at.counters.note(&error);
    }
}
