//! TCP, with TLS and a token beyond the loopback.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rustls::ConnectionCommon;
use rustls::pki_types::ServerName;
use socket2::{Domain, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::{Binding, Connection, Visitor, io_error};
use crate::endpoint::{Encryption, Endpoint, Host, Role};
use crate::error::{LoginError, OpenError};
use crate::login::{LOGIN_LIMIT, log_in};
use crate::message::Purpose;
use crate::security::Security;

/// The most connections that may wait to be accepted: a thousand readers that come back at once after a restart.
const N_WAITING_MAX: i32 = 1024;

/// A peer that says nothing for so long is asked whether it is still there, and is gone when it does not answer.
const QUIET: Duration = Duration::from_secs(30);

pub(crate) struct Listener {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
}

impl Listener {
    pub(super) fn open(
        endpoint: &Endpoint,
        host: Option<&Host>,
        port: u16,
        security: &Security,
    ) -> Result<Self, OpenError> {
        let address = match host.unwrap_or(&Host::LOOPBACK) {
            Host::Address(address) => *address,
            // Names are not looked up to listen: what one of them is today decides who can connect.
            Host::Name(name) if name == "localhost" => IpAddr::from([127, 0, 0, 1]),
            Host::Name(_) => {
                return Err(OpenError::Role {
                    endpoint: endpoint.to_string(),
                    needed: "an address to listen on, not a name",
                });
            }
        };
        if !address.is_loopback() {
            check_protected(endpoint, security)?;
        }
        let listener = bind(SocketAddr::new(address, port)).map_err(io_error(endpoint))?;
        let tls = security.server.as_ref().filter(|_| endpoint.encryption == Encryption::AsConfigured);
        Ok(Self { listener, tls: tls.map(|tls| TlsAcceptor::from(tls.0.clone())) })
    }

    pub(super) fn address(&self) -> String {
        self.listener.local_addr().map_or_else(|_| String::new(), |address| format!("tcp:{address}"))
    }

    pub(super) async fn accept(&self) -> io::Result<Visitor> {
        let (stream, _) = self.listener.accept().await?;
        tune(&stream)?;
        Ok(Visitor::Tcp(stream, self.tls.clone()))
    }
}

fn check_protected(endpoint: &Endpoint, security: &Security) -> Result<(), OpenError> {
    let needed = match security {
        Security { token: None, .. } => "a token",
        Security { allow_plain: true, .. } => return Ok(()),
        Security { server: None, .. } => "a certificate, or leave to go without",
        _ if endpoint.encryption == Encryption::Off => "TLS, which it has switched off",
        _ => return Ok(()),
    };
    Err(OpenError::Unprotected { endpoint: endpoint.to_string(), needed })
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(N_WAITING_MAX)?;
    TcpListener::from_std(socket.into())
}

pub(super) async fn connect(
    endpoint: &Endpoint,
    host: Option<&Host>,
    port: u16,
    security: &Security,
) -> Result<Connection, OpenError> {
    let host = host.unwrap_or(&Host::LOOPBACK);
    let stream = match host {
        Host::Address(address) => TcpStream::connect((*address, port)).await,
        Host::Name(name) => TcpStream::connect((name.as_str(), port)).await,
    };
    let stream = stream
        .and_then(|stream| {
            refuse_itself(&stream)?;
            tune(&stream)?;
            Ok(stream)
        })
        .map_err(io_error(endpoint))?;
    let is_local = stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback());
    let tls = security.client.as_ref().filter(|_| endpoint.encryption == Encryption::AsConfigured);
    let (mut connection, binding) = match tls {
        Some(tls) => {
            let stream = TlsConnector::from(tls.0.clone())
                .connect(server_name(endpoint, host)?, stream)
                .await
                .map_err(|error| io_error(endpoint)(with_remedy(error)))?;
            let binding = binding(stream.get_ref().1).map_err(io_error(endpoint))?;
            (Connection::new(stream), binding)
        }
        None if !is_local && !security.allow_plain => {
            let needed = "certificates to believe, or leave to go without";
            return Err(OpenError::Unprotected { endpoint: endpoint.to_string(), needed });
        }
        _ => (connection(stream), Binding::default()),
    };
    if let Some(token) = &security.token {
        let purpose = purpose(endpoint.role);
        let logged_in = tokio::time::timeout(LOGIN_LIMIT, log_in(&mut connection, binding, purpose, token)).await;
        let late = || LoginError::Listener { answer: Some(Box::new(LoginError::Late { limit: LOGIN_LIMIT })) };
        let failed = |source| OpenError::Login { endpoint: endpoint.to_string(), source };
        logged_in.unwrap_or_else(|_| Err(late())).map_err(failed)?;
    }
    Ok(connection)
}

/// Whoever tries a free port of its own machine again and again gets connected to itself some day, and would keep the
/// port from who should listen there.
fn refuse_itself(stream: &TcpStream) -> io::Result<()> {
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(())
}

/// An error of a certificate in words that say what would mend it.
fn with_remedy(error: io::Error) -> io::Error {
    tls::Complaint::of_io(&error).map_or(error, io::Error::other)
}

fn server_name(endpoint: &Endpoint, host: &Host) -> Result<ServerName<'static>, OpenError> {
    match host {
        Host::Address(address) => Ok(ServerName::IpAddress((*address).into())),
        Host::Name(name) => ServerName::try_from(name.clone())
            .map_err(|error| io_error(endpoint)(io::Error::new(io::ErrorKind::InvalidInput, error))),
    }
}

/// Returns the purpose of a connection to an endpoint of this role.
fn purpose(role: Role) -> Purpose {
    match role {
        Role::Source | Role::Connect => Purpose::Reader,
        Role::Target | Role::Accept => Purpose::Writer,
        Role::Server => Purpose::Caller,
    }
}

/// Returns the keying material that both ends of an encrypted connection share, and no others (RFC 5705).
pub(super) fn binding<Side>(connection: &ConnectionCommon<Side>) -> io::Result<Binding> {
    let exported = connection.export_keying_material(Binding::default(), b"EXPORTER-foretop-stream", None);
    exported.map_err(io::Error::other)
}

pub(super) fn connection(stream: TcpStream) -> Connection {
    let (bytes_in, bytes_out) = stream.into_split();
    Connection { bytes_in: Box::new(bytes_in), bytes_out: Box::new(bytes_out) }
}

fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(QUIET).with_interval(QUIET / 6).with_retries(3);
    socket2::SockRef::from(stream).set_tcp_keepalive(&keepalive)
}
