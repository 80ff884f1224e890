//! TCP between two ends, under TLS wherever it leaves this machine.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ConnectionCommon, ServerConfig};
use socket2::{SockRef, TcpKeepalive};
use tls::Complaint;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::error::LinkError;

/// What names an encrypted connection, the same at both ends; zeros for one in the clear.
pub(crate) type Binding = [u8; 32];

/// A connection in both directions.
pub(crate) type Bytes = Box<dyn Both>;

pub(crate) trait Both: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Both for T {}

const QUIET: Duration = Duration::from_secs(60);

/// How the near end knows the far one.
#[derive(Clone, Debug)]
pub(crate) struct NearTls {
    pub config: Arc<ClientConfig>,
    pub name: ServerName<'static>,
}

pub(crate) async fn connect(to: &str, tls: Option<&NearTls>) -> Result<(Bytes, Binding), LinkError> {
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

pub(crate) async fn admit(stream: TcpStream, tls: Option<&Arc<ServerConfig>>) -> Result<(Bytes, Binding), LinkError> {
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

/// Has the other side see that the connection broke whenever it ends, by whatever: what was sent is not all. Without this, a process
/// that is killed would look as if it had said all it had to say.
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
    let exported = connection.export_keying_material(Binding::default(), b"EXPORTER-foretop-tunnel", None);
    exported.map_err(io::Error::other)
}
