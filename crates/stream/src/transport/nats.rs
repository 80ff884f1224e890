//! NATS: subjects that messages are published to, and JetStream streams that keep them.
//!
//! A connection that breaks is not mended in here: who holds it is told, and opens it again when its turn comes, as
//! with every other transport, so that counters and backlogs mean the same.

mod asking;
mod bucket;
mod incoming;
mod keeping;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::watch;

pub(crate) use asking::connection;
pub use bucket::{BucketError, bucket};
pub(crate) use incoming::Incoming;
pub(crate) use keeping::Kept;

use super::HANDSHAKE_LIMIT;
use crate::endpoint::Endpoint;
use crate::error::OpenError;
use crate::security::Security;

/// Connects to the NATS server that `security` names, for whoever speaks to it beside endpoints. The client mends a
/// connection that breaks.
///
/// # Errors
/// [`OpenError`] when that cannot be had within 10 s.
pub async fn connect(security: &Security) -> Result<Client, OpenError> {
    Link::open_named("the NATS server", security, Broken::IsMended).await.map(|link| link.client)
}

/// A server that gives no sign of life for so long is gone, and so is one that keeps an acknowledgement back.
const QUIET: Duration = Duration::from_secs(5);

/// Wait of the client before it mends a connection that is to stay broken. By then its owner has been told and has
/// given it up: over a mended connection, messages would overtake those that were lost with the broken one.
const NOT_MENDED: Duration = Duration::from_mins(1);

/// A connection to a NATS server.
pub(crate) struct Link {
    pub(crate) client: Client,
    gone: watch::Receiver<bool>,
    n_too_slow: Arc<AtomicU64>,
}

/// The treatment of a connection that breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It is over.
    StaysBroken,
    /// The client mends it when it is used again.
    IsMended,
}

impl Link {
    pub(crate) async fn open(endpoint: &Endpoint, security: &Security, broken: Broken) -> Result<Self, OpenError> {
        Self::open_named(&endpoint.to_string(), security, broken).await
    }

    async fn open_named(endpoint: &str, security: &Security, broken: Broken) -> Result<Self, OpenError> {
        let opening = async {
            let (tell_gone, gone) = watch::channel(false);
            let n_too_slow = Arc::<AtomicU64>::default();
            let counter = Arc::clone(&n_too_slow);
            let mut options = options(security).await?.event_callback(move |event| {
                match event {
                    // Nobody may be left who wants to know.
                    Event::Disconnected | Event::Closed if broken == Broken::StaysBroken => drop(tell_gone.send(true)),
                    Event::SlowConsumer(_) => drop(counter.fetch_add(1, Relaxed)),
                    _ => {}
                }
                std::future::ready(())
            });
            let is_open = Arc::<AtomicBool>::default();
            if broken == Broken::StaysBroken {
                let was_open = Arc::clone(&is_open);
                options =
                    options.reconnect_delay_callback(
                        move |_| if was_open.load(Relaxed) { NOT_MENDED } else { Duration::ZERO },
                    );
            }
            let client = options.connect(security.nats.url()).await.map_err(io::Error::other)?;
            is_open.store(true, Relaxed);
            Ok(Self { client, gone, n_too_slow })
        };
        match tokio::time::timeout(HANDSHAKE_LIMIT, opening).await {
            Ok(opened) => opened.map_err(|source| OpenError::Io { endpoint: endpoint.to_owned(), source }),
            Err(_) => Err(OpenError::Late { endpoint: endpoint.to_string(), limit: HANDSHAKE_LIMIT }),
        }
    }

    /// Returns when the connection has broken.
    pub(crate) async fn gone(&self) -> io::Error {
        // The sender lives as long as the client does.
        let _ = self.gone.clone().wait_for(|is_gone| *is_gone).await;
        io::Error::new(io::ErrorKind::ConnectionReset, "the NATS server is gone")
    }

    /// Subscribes, and waits until the server has taken that in; several of one `group` share what comes.
    pub(crate) async fn subscribe(&self, subject: &str, group: Option<&str>) -> io::Result<Subscriber> {
        let subject = subject.to_owned();
        let subscriber = match group {
            Some(group) => self.client.queue_subscribe(subject, group.to_owned()).await,
            None => self.client.subscribe(subject).await,
        };
        let subscriber = subscriber.map_err(io::Error::other)?;
        self.round_trip().await?;
        Ok(subscriber)
    }

    /// Returns when the server has worked off all that was sent before.
    async fn round_trip(&self) -> io::Result<()> {
        let inbox = self.client.new_inbox();
        let mut echo = self.client.subscribe(inbox.clone()).await.map_err(io::Error::other)?;
        self.client.publish(inbox, Bytes::new()).await.map_err(io::Error::other)?;
        tokio::select! {
            _ = echo.next() => Ok(()),
            gone = self.gone() => Err(gone),
            () = tokio::time::sleep(QUIET) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Publishes, and returns when that has left this process.
    pub(crate) async fn publish(&self, subject: &str, messages: impl IntoIterator<Item = Bytes>) -> io::Result<()> {
        for message in messages {
            self.client.publish(subject.to_owned(), message).await.map_err(io::Error::other)?;
        }
        tokio::select! {
            flushed = self.client.flush() => flushed.map_err(io::Error::other),
            gone = self.gone() => Err(gone),
        }
    }

    /// Returns the number of messages that the client dropped since the last call because they were not taken in time.
    pub(crate) fn take_too_slow(&self) -> u64 {
        self.n_too_slow.swap(0, Relaxed)
    }
}

async fn options(security: &Security) -> io::Result<ConnectOptions> {
    let mut options = ConnectOptions::new().name("foretop").ping_interval(QUIET).connection_timeout(QUIET);
    if let Some(tls) = &security.client {
        options = options.tls_client_config((*tls.0).clone());
    }
    match &security.nats.credentials {
        Some(path) => options.credentials_file(path).await.map_err(|error| {
            io::Error::new(error.kind(), format!("cannot use the NATS credentials in `{}`: {error}", path.display()))
        }),
        None => Ok(options),
    }
}
