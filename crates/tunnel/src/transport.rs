//! Carriers of a link: TCP, under TLS wherever it leaves this machine, or QUIC.

pub(crate) mod quic;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn::Endpoint;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ConnectionCommon, ServerConfig};
use serde::Deserialize;
use socket2::{SockRef, TcpKeepalive};
use tls::Complaint;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::error::{LinkError, StartError};

/// Channel binding: identifies an encrypted connection, the same at both ends; zeros for one in the clear.
pub(crate) type Binding = [u8; 32];

/// A connection in both directions.
pub(crate) type Bytes = Box<dyn Both>;

pub(crate) trait Both: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Both for T {}

/// The label of what names an encrypted connection (RFC 5705).
const EXPORTER: &[u8] = b"EXPORTER-foretop-tunnel";

/// The carrier of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Carrier {
    #[default]
    Tcp,
    Quic,
}

/// The way in which a far end is authenticated to near ends.
#[derive(Clone, Debug)]
pub(crate) enum FarTls {
    Tcp(Option<Arc<ServerConfig>>),
    Quic(Arc<ServerConfig>),
}

/// The way in which a near end authenticates the far end, over either carrier.
#[derive(Clone, Debug)]
pub(crate) enum NearTlsChoice {
    Tcp(Option<NearTls>),
    Quic(NearTls),
}

/// The listener to which near ends connect.
pub(crate) enum Listener {
    Tcp(TcpListener, Option<Arc<ServerConfig>>),
    Quic(Endpoint),
}

/// The endpoint from which a near end connects.
#[derive(Debug)]
pub(crate) enum Caller {
    Tcp(Option<NearTls>),
    Quic(Endpoint, NearTls),
}

/// Somebody who connected, and has said nothing yet.
pub(crate) enum Arrived {
    Tcp(TcpStream, Option<Arc<ServerConfig>>),
    Quic(Box<quinn::Incoming>),
}

const QUIET: Duration = Duration::from_secs(60);

/// The way in which the near end authenticates the far end.
#[derive(Clone, Debug)]
pub(crate) struct NearTls {
    pub config: Arc<ClientConfig>,
    pub name: ServerName<'static>,
}

impl Listener {
    /// Binds; needs a runtime around it.
    pub async fn bind(address: SocketAddr, tls: FarTls) -> Result<Self, StartError> {
        let bound = match tls {
            FarTls::Tcp(tls) => TcpListener::bind(address).await.map(|listener| Self::Tcp(listener, tls)),
            FarTls::Quic(tls) => quic::listener(address, &tls).map(Self::Quic),
        };
        bound.map_err(|source| StartError::Listen { address, source })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(listener, _) => listener.local_addr(),
            Self::Quic(endpoint) => endpoint.local_addr(),
        }
    }

    async fn accept(&self) -> io::Result<(Arrived, SocketAddr)> {
        match self {
            Self::Tcp(listener, tls) => {
                let (stream, peer) = listener.accept().await?;
                Ok((Arrived::Tcp(stream, tls.clone()), peer))
            }
            Self::Quic(endpoint) => match endpoint.accept().await {
                Some(incoming) => {
                    let peer = incoming.remote_address();
                    Ok((Arrived::Quic(Box::new(incoming)), peer))
                }
                // It is closed when this end leaves, and nobody accepts then.
                None => std::future::pending().await,
            },
        }
    }

    /// Serves whoever connects, one beside the other, until `enough`; then waits for those who are there to leave.
    pub async fn serve<Served: Future<Output = ()> + Send + 'static>(
        &self,
        enough: impl Future<Output = ()>,
        serve: impl Fn(Arrived, SocketAddr) -> Served,
    ) {
        let mut served = JoinSet::new();
        tokio::pin!(enough);
        loop {
            let accepted = tokio::select! {
                accepted = self.accept() => accepted,
                Some(_) = served.join_next() => continue,
                () = &mut enough => break,
            };
            match accepted {
                Ok((arrived, peer)) => drop(served.spawn(serve(arrived, peer))),
                Err(error) => {
                    tracing::warn!(%error, "cannot take a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        while served.join_next().await.is_some() {}
    }

    /// Tells near ends that this end has gone, where that is not told by itself.
    pub async fn leave(&self) {
        if let Self::Quic(endpoint) = self {
            quic::leave(endpoint).await;
        }
    }
}

impl Caller {
    /// Builds the endpoint from which to connect; needs a runtime around it.
    pub fn new(tls: NearTlsChoice) -> io::Result<Self> {
        Ok(match tls {
            NearTlsChoice::Tcp(tls) => Self::Tcp(tls),
            NearTlsChoice::Quic(tls) => Self::Quic(quic::caller()?, tls),
        })
    }

    pub async fn connect(&self, to: &str) -> Result<(Bytes, Binding), LinkError> {
        match self {
            Self::Tcp(tls) => connect(to, tls.as_ref()).await,
            Self::Quic(endpoint, tls) => quic::connect(endpoint, to, tls).await,
        }
    }

    /// Tells the far end that this end has gone, where that is not told by itself.
    pub async fn leave(&self) {
        if let Self::Quic(endpoint, _) = self {
            quic::leave(endpoint).await;
        }
    }
}

impl Arrived {
    pub async fn admit(self) -> Result<(Bytes, Binding), LinkError> {
        match self {
            Self::Tcp(stream, tls) => admit(stream, tls.as_ref()).await,
            Self::Quic(incoming) => quic::admit(*incoming).await,
        }
    }
}

async fn connect(to: &str, tls: Option<&NearTls>) -> Result<(Bytes, Binding), LinkError> {
    let stream = TcpStream::connect(to).await?;
    tune(&stream)?;
    let Some(tls) = tls else {
        return Ok((Box::new(stream), Binding::default()));
    };
    let connected = TlsConnector::from(Arc::clone(&tls.config)).connect(tls.name.clone(), stream).await;
    let stream = connected.map_err(|error| match Complaint::of_io(&error) {
        Some(complaint) => LinkError::Certificate(complaint),
        None => LinkError::Io(error),
    })?;
    let binding = binding(stream.get_ref().1)?;
    Ok((Box::new(stream), binding))
}

async fn admit(stream: TcpStream, tls: Option<&Arc<ServerConfig>>) -> Result<(Bytes, Binding), LinkError> {
    tune(&stream)?;
    let Some(tls) = tls else {
        return Ok((Box::new(stream), Binding::default()));
    };
    let stream = TlsAcceptor::from(Arc::clone(tls)).accept(stream).await?;
    let binding = binding(stream.get_ref().1)?;
    Ok((Box::new(stream), binding))
}

/// Whether everybody who can connect there is on this machine.
pub(crate) fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Has the other side see that the connection broke whenever it ends, by whatever: what was sent is not all. Without
/// this, a process that is killed would look as if it had said all it had to say.
pub(crate) fn break_at_end(stream: &TcpStream) {
    linger(stream, Some(Duration::ZERO));
}

/// Has the connection end in order after all.
pub(crate) fn end_in_order(stream: &TcpStream) {
    linger(stream, None);
}

fn linger(stream: &TcpStream, span: Option<Duration>) {
    // A connection that is gone already needs no more.
    let _ = SockRef::from(stream).set_linger(span);
}

pub(crate) fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(QUIET).with_interval(QUIET / 6).with_retries(3);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

fn binding<Side>(connection: &ConnectionCommon<Side>) -> io::Result<Binding> {
    let exported = connection.export_keying_material(Binding::default(), EXPORTER, None);
    exported.map_err(io::Error::other)
}
