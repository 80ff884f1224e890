//! QUIC between two ends, in place of TLS over TCP: one stream in both directions, whose end is the end of the
//! connection.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, IdleTimeout, Incoming, RecvStream, SendStream, ServerConfig,
    TransportConfig, VarInt,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Binding, Bytes, EXPORTER, NearTls};
use crate::error::LinkError;

/// Spoken on no other kind of connection.
const PROTOCOL: &[u8] = b"foretop-tunnel";
/// Pings of links come more often.
const QUIET_MAX: u32 = 45_000;
/// The most bytes that may be in flight: as much as groups that are not acknowledged.
const WINDOW_BYTES: u32 = 16 << 20;
/// Time that the peer has to receive the notice that this end has gone.
const FAREWELL: Duration = Duration::from_secs(1);

/// A connection of which one stream is used.
struct Quic {
    connection: Connection,
    sender: SendStream,
    receiver: RecvStream,
}

/// Builds the endpoint from which a near end connects.
pub(crate) fn caller() -> io::Result<Endpoint> {
    // Both kinds of addresses where the machine has both.
    Endpoint::client((std::net::Ipv6Addr::UNSPECIFIED, 0).into())
        .or_else(|_| Endpoint::client((std::net::Ipv4Addr::UNSPECIFIED, 0).into()))
}

/// Builds the endpoint at which a far end listens.
pub(crate) fn listener(address: SocketAddr, tls: &Arc<rustls::ServerConfig>) -> io::Result<Endpoint> {
    let mut tls = (**tls).clone();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let crypto = QuicServerConfig::try_from(tls).map_err(io::Error::other)?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport());
    Endpoint::server(config, address)
}

pub(crate) async fn connect(endpoint: &Endpoint, to: &str, tls: &NearTls) -> Result<(Bytes, Binding), LinkError> {
    let mut config = (*tls.config).clone();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    let crypto = QuicClientConfig::try_from(config).map_err(io::Error::other)?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport());
    let is_ipv6 = endpoint.local_addr()?.is_ipv6();
    let mut addresses = tokio::net::lookup_host(to).await?.filter(|address| is_ipv6 || address.is_ipv4());
    let address = addresses.next().ok_or_else(|| io::Error::other(format!("`{to}` has no address to connect to")))?;
    let address = match address {
        SocketAddr::V4(v4) if is_ipv6 => SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()),
        address => address,
    };
    let connecting = endpoint.connect_with(config, address, &tls.name.to_str()).map_err(io::Error::other)?;
    let connection = connecting.await.map_err(broken)?;
    let streams = connection.open_bi().await.map_err(broken)?;
    whole(connection, streams)
}

pub(crate) async fn admit(incoming: Incoming) -> Result<(Bytes, Binding), LinkError> {
    let connection = incoming.accept().map_err(broken)?.await.map_err(broken)?;
    let streams = connection.accept_bi().await.map_err(broken)?;
    whole(connection, streams)
}

/// Tells peers that this end has gone.
pub(crate) async fn leave(endpoint: &Endpoint) {
    endpoint.close(VarInt::from_u32(0), b"");
    // Those who do not hear it notice the silence.
    let _ = tokio::time::timeout(FAREWELL, endpoint.wait_idle()).await;
}

fn whole(connection: Connection, (sender, receiver): (SendStream, RecvStream)) -> Result<(Bytes, Binding), LinkError> {
    let mut binding = Binding::default();
    let exported = connection.export_keying_material(&mut binding, EXPORTER, b"");
    exported.map_err(|_| io::Error::other("the connection gives no key of its own"))?;
    Ok((Box::new(Quic { connection, sender, receiver }), binding))
}

fn transport() -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(QUIET_MAX))))
        .stream_receive_window(VarInt::from_u32(WINDOW_BYTES))
        .receive_window(VarInt::from_u32(WINDOW_BYTES))
        .send_window(u64::from(WINDOW_BYTES));
    Arc::new(config)
}

fn broken(error: ConnectionError) -> io::Error {
    io::Error::from(error)
}

impl Quic {
    /// Whether the peer ended the connection in order.
    fn has_ended(&self) -> bool {
        let reason = self.connection.close_reason();
        matches!(reason, Some(ConnectionError::ApplicationClosed(close)) if close.error_code == VarInt::from_u32(0))
    }
}

impl AsyncRead for Quic {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let polled = AsyncRead::poll_read(Pin::new(&mut self.receiver), context, room);
        match polled {
            Poll::Ready(Err(_)) if self.has_ended() => Poll::Ready(Ok(())),
            polled => polled,
        }
    }
}

impl AsyncWrite for Quic {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write(Pin::new(&mut self.sender), context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(Pin::new(&mut self.sender), context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_shutdown(Pin::new(&mut self.sender), context)
    }
}
