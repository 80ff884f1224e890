//! The transports: what stands between an endpoint's name and bytes that come and go.

mod file;
mod name;
pub(crate) mod nats;
mod pipe;
mod tcp;
mod udp;
mod unix;

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UdpSocket;

pub(crate) use file::FrameFile;
pub(crate) use nats::{Broken, Incoming, Kept, Link};
pub(crate) use udp::DATAGRAM_BYTES_MAX;

use crate::endpoint::{Endpoint, NatsPlace, Place, Role, Stdio};
use crate::error::OpenError;
use crate::security::Security;

/// Time limit for a peer to which we connect, until it has identified itself.
pub(crate) const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

pub(crate) type BytesIn = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type BytesOut = Box<dyn AsyncWrite + Send + Unpin>;

/// The source of messages.
pub(crate) enum Source {
    /// A connection that may break and be made again.
    Connection(Connection),
    /// Bytes that have one end or none: what follows damage is looked for.
    Run { bytes: BytesIn },
    /// Datagrams, each of whole frames.
    Datagrams(UdpSocket),
    /// Messages of whole frames.
    Messages(Incoming),
}

/// The destination of messages.
pub(crate) enum Target {
    Connection(Connection),
    Run(BytesOut),
    File(FrameFile),
    Datagrams(UdpSocket),
    Subject(Link, NatsPlace),
}

/// Channel binding: identifies an encrypted connection, the same at both ends; zeros for one in the clear.
pub(crate) type Binding = [u8; 32];

/// Both ways.
pub(crate) struct Connection {
    pub(crate) bytes_in: BytesIn,
    pub(crate) bytes_out: BytesOut,
}

impl Connection {
    pub(crate) fn new(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        let (bytes_in, bytes_out) = tokio::io::split(stream);
        Self { bytes_in: Box::new(bytes_in), bytes_out: Box::new(bytes_out) }
    }
}

/// A listener, to which others connect.
pub(crate) enum Listener {
    Tcp(tcp::Listener),
    Unix(unix::Listener),
}

/// Somebody who connected, not yet known.
pub(crate) enum Visitor {
    Tcp(tokio::net::TcpStream, Option<tokio_rustls::TlsAcceptor>),
    Unix(tokio::net::UnixStream),
}

impl Listener {
    /// Binds at once, so that what is in the way is told at the start. Needs a runtime around it.
    pub(crate) fn open(endpoint: &Endpoint, security: &Security) -> Result<Self, OpenError> {
        match &endpoint.place {
            Place::Tcp { host, port } => tcp::Listener::open(endpoint, host.as_ref(), *port, security).map(Self::Tcp),
            Place::Unix(path) => unix::Listener::open(endpoint, path).map(Self::Unix),
            Place::Udp { .. } | Place::Pipe(_) | Place::Stdio(_) | Place::File(_) | Place::Nats(_) | Place::Name(_) => {
                Err(OpenError::Role { endpoint: endpoint.to_string(), needed: "nobody connects to it" })
            }
        }
    }

    /// Returns the address at which it listens, as others would write it.
    pub(crate) fn address(&self) -> String {
        match self {
            Self::Tcp(listener) => listener.address(),
            Self::Unix(listener) => listener.address(),
        }
    }

    /// Whether visitors have to show the token.
    pub(crate) fn wants_token(&self) -> bool {
        matches!(self, Self::Tcp(_))
    }

    pub(crate) async fn accept(&self) -> io::Result<Visitor> {
        match self {
            Self::Tcp(listener) => listener.accept().await,
            Self::Unix(listener) => listener.accept().await.map(Visitor::Unix),
        }
    }
}

impl Visitor {
    /// Returns the visitor's address; `None` for a visitor on this host that has no address.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream, _) => stream.peer_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    /// The connection, encrypted where that was asked for.
    pub(crate) async fn admit(self) -> io::Result<(Connection, Binding)> {
        match self {
            Self::Tcp(stream, None) => Ok((tcp::connection(stream), Binding::default())),
            Self::Tcp(stream, Some(tls)) => {
                let stream = tls.accept(stream).await?;
                let binding = tcp::binding(stream.get_ref().1)?;
                Ok((Connection::new(stream), binding))
            }
            Self::Unix(stream) => Ok((unix::connection(stream), Binding::default())),
        }
    }
}

/// Opens what is read.
pub(crate) async fn open_source(endpoint: &Endpoint, security: &Security) -> Result<Source, OpenError> {
    match &endpoint.place {
        Place::Tcp { .. } | Place::Unix(_) => connect(endpoint, security).await.map(Source::Connection),
        Place::Udp { .. } => udp::source(endpoint, security).await.map(Source::Datagrams),
        Place::Pipe(path) => pipe::source(endpoint, path).map(|bytes| Source::Run { bytes }),
        Place::File(path) => file::source(endpoint, path).await.map(|bytes| Source::Run { bytes }),
        Place::Nats(place) => {
            let link = Link::open(endpoint, security, Broken::StaysBroken).await?;
            Incoming::open(link, place).await.map(Source::Messages).map_err(io_error(endpoint))
        }
        Place::Stdio(Stdio::Stdin) => Ok(Source::Run { bytes: Box::new(tokio::io::stdin()) }),
        Place::Name(name) => Box::pin(name::source(endpoint, name, security)).await,
        Place::Stdio(Stdio::Stdout) => {
            Err(OpenError::Role { endpoint: endpoint.to_string(), needed: "stdin is what can be read" })
        }
    }
}

/// Opens what is written.
pub(crate) async fn open_target(endpoint: &Endpoint, security: &Security) -> Result<Target, OpenError> {
    match &endpoint.place {
        Place::Tcp { .. } | Place::Unix(_) => connect(endpoint, security).await.map(Target::Connection),
        Place::Udp { .. } => udp::target(endpoint, security).await.map(Target::Datagrams),
        Place::Pipe(path) => pipe::target(endpoint, path).map(Target::Run),
        Place::File(path) => FrameFile::open(endpoint, path).await.map(Target::File),
        Place::Stdio(Stdio::Stdout) => stdout().map(Target::Run).map_err(io_error(endpoint)),
        Place::Nats(place) => {
            let link = Link::open(endpoint, security, Broken::StaysBroken).await?;
            Ok(Target::Subject(link, place.clone()))
        }
        Place::Name(_) => {
            Err(OpenError::Role { endpoint: endpoint.to_string(), needed: "a name can be read from only" })
        }
        Place::Stdio(Stdio::Stdin) => {
            Err(OpenError::Role { endpoint: endpoint.to_string(), needed: "stdout is what can be written" })
        }
    }
}

/// Standard output itself: a program may hold the lock that stands on the usual way to it.
fn stdout() -> io::Result<BytesOut> {
    let stdout = std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?);
    Ok(Box::new(tokio::fs::File::from_std(stdout)))
}

/// Connects to what listens.
pub(crate) async fn connect(endpoint: &Endpoint, security: &Security) -> Result<Connection, OpenError> {
    let connected = async {
        match &endpoint.place {
            Place::Tcp { host, port } => tcp::connect(endpoint, host.as_ref(), *port, security).await,
            Place::Unix(path) => unix::connect(endpoint, path).await,
            Place::Nats(place) => {
                let link = Link::open(endpoint, security, Broken::IsMended).await?;
                nats::connection(link, &place.subject).await.map_err(io_error(endpoint))
            }
            Place::Name(name) => Box::pin(name::connect(endpoint, name, security)).await,
            Place::Udp { .. } | Place::Pipe(_) | Place::Stdio(_) | Place::File(_) => {
                Err(OpenError::Role { endpoint: endpoint.to_string(), needed: "tcp, unix or nats can be connected to" })
            }
        }
    };
    match tokio::time::timeout(HANDSHAKE_LIMIT, connected).await {
        Ok(connected) => connected,
        Err(_) => Err(OpenError::Late { endpoint: endpoint.to_string(), limit: HANDSHAKE_LIMIT }),
    }
}

/// Whether a source of this place ends for good when its bytes do.
pub(crate) fn is_finite(endpoint: &Endpoint) -> bool {
    endpoint.role == Role::Source && matches!(endpoint.place, Place::File(_) | Place::Stdio(_))
}

fn io_error(endpoint: &Endpoint) -> impl Fn(io::Error) -> OpenError {
    let endpoint = endpoint.to_string();
    move |source| OpenError::Io { endpoint: endpoint.clone(), source }
}
