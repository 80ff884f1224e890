//! Admission of visitors that ask, read or write.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use door::Pass;
use tokio::io::AsyncReadExt;
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinSet};

use super::At;
use crate::error::{LoginError, ReadError};
use crate::frame::Decoder;
use crate::login::{LOGIN_LIMIT, check_in};
use crate::message::Purpose;
use crate::transport::{Connection, Listener, Visitor};

/// Time to wait when the system has no descriptor left for a connection.
const NO_DESCRIPTOR_PAUSE: Duration = Duration::from_millis(100);

/// Somebody who has a place, as a stranger at first.
pub(super) struct Entered {
    visitor: Visitor,
    pass: Pass,
    turned_out: oneshot::Receiver<()>,
}

/// Takes connections for ever. Each is `attend`ed by a task of its own, which ends when its place is given to another.
pub(super) async fn accept<F: Future<Output = Result<(), ReadError>> + 'static>(
    listener: &Listener,
    present: &mut JoinSet<()>,
    at: &At,
    attend: impl Fn(Entered, At) -> F,
) {
    loop {
        tokio::select! {
            Some(ended) = present.join_next() => or_panic(ended),
            visitor = listener.accept() => match visitor {
                Ok(visitor) => enter(visitor, present, at, &attend),
                Err(error) => {
                    at.counters.note(&error);
                    tokio::time::sleep(NO_DESCRIPTOR_PAUSE).await;
                }
            },
        }
    }
}

fn enter<F: Future<Output = Result<(), ReadError>> + 'static>(
    visitor: Visitor,
    present: &mut JoinSet<()>,
    at: &At,
    attend: impl Fn(Entered, At) -> F,
) {
    let (tell, turned_out) = oneshot::channel();
    let peer = visitor.peer().map(|peer| peer.ip());
    let turn_out = move || {
        // Whoever has gone by then need not be told.
        let _ = tell.send(());
    };
    match at.security.door.enter(peer, turn_out) {
        Ok(pass) => {
            let attended = attend(Entered { visitor, pass, turned_out }, at.clone());
            let counters = Arc::clone(&at.counters);
            present.spawn_local(async move {
                if let Err(error) = attended.await {
                    counters.note_visitor(&error);
                }
            });
        }
        Err(full) => at.counters.note(&quota(format!("there are {} connections already", full.total))),
    }
}

/// A task that ended by a panic ends its mirror: nothing may go on without it unseen.
pub(super) fn or_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}

impl Entered {
    /// Lets the visitor in: encrypts, and has it prove that it has the token where one is wanted. Then `serve` has the
    /// connection, what came by it so far, and the place, which it has to keep.
    ///
    /// A reader has nothing to say, so without a token it is a guest at once. Others are guests from their first whole
    /// frame on.
    pub(super) async fn welcomed<F: Future<Output = Result<(), ReadError>>>(
        self,
        wants_token: bool,
        purpose: Purpose,
        at: &At,
        serve: impl FnOnce(Connection, Decoder, Pass) -> F,
    ) -> Result<(), ReadError> {
        let Self { visitor, mut pass, turned_out } = self;
        let peer = visitor.peer();
        let served = async {
            let (mut connection, binding) = in_time(visitor.admit()).await??;
            let mut decoder = Decoder::default();
            let is_known = match at.security.token.as_ref().filter(|_| wants_token) {
                Some(token) => {
                    let checked = in_time(check_in(&mut connection, binding, purpose, token)).await;
                    decoder = checked
                        .unwrap_or(Err(LoginError::Late { limit: LOGIN_LIMIT }))
                        .map_err(|error| failed(error, peer, at))?;
                    true
                }
                None if purpose == Purpose::Reader => true,
                None => has_spoken(&mut connection, &mut decoder).await?,
            };
            if is_known && !pass.welcome() {
                return Err(turned_away().into());
            }
            serve(connection, decoder, pass).await
        };
        tokio::select! {
            biased;
            Ok(()) = turned_out => Err(turned_away().into()),
            served = served => served,
        }
    }
}

async fn in_time<T>(work: impl Future<Output = T>) -> io::Result<T> {
    tokio::time::timeout(LOGIN_LIMIT, work).await.map_err(|_| io::ErrorKind::TimedOut.into())
}

/// Counts and tells who was not let in.
fn failed(error: LoginError, peer: Option<SocketAddr>, at: &At) -> ReadError {
    let peer = peer.map_or_else(|| "somebody on this host".to_owned(), |peer| peer.to_string());
    at.counters.login_failed(&peer, &error);
    ReadError::Login { peer, source: Box::new(error) }
}

/// Returns when a whole frame has come, or the end, of which it says that.
async fn has_spoken(connection: &mut Connection, decoder: &mut Decoder) -> Result<bool, ReadError> {
    while !decoder.has_frame()? {
        if connection.bytes_in.read_buf(decoder.buffer()).await? == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

fn turned_away() -> io::Error {
    quota("somebody who said nothing had to make room for others".to_owned())
}

fn quota(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::QuotaExceeded, reason)
}
