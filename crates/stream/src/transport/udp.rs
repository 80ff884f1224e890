//! UDP, to a host or a multicast group, IPv4 and IPv6.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Socket, Type};
use tokio::net::{UdpSocket, lookup_host};

use super::io_error;
use crate::endpoint::{Endpoint, Host};
use crate::error::OpenError;
use crate::security::Security;

/// What a UDP datagram holds at most, over IPv4.
pub(crate) const DATAGRAM_BYTES_MAX: usize = 65_507;

/// Some thousand datagrams that wait while a component computes.
const RECEIVE_BYTES: usize = 4 << 20;

/// Receives what comes to the port; of a multicast group, what is sent to it by any interface that has a route to it.
pub(super) async fn source(
    endpoint: &Endpoint,
    host: &Host,
    port: u16,
    security: &Security,
) -> Result<UdpSocket, OpenError> {
    let address = resolve(endpoint, host, port, security).await?;
    receiver(address).map_err(io_error(endpoint))
}

/// Sends there.
pub(super) async fn target(
    endpoint: &Endpoint,
    host: &Host,
    port: u16,
    security: &Security,
) -> Result<UdpSocket, OpenError> {
    let address = resolve(endpoint, host, port, security).await?;
    let any: IpAddr = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let open = async {
        let socket = UdpSocket::bind((any, 0)).await?;
        // Where there is no route, it is told here.
        socket.connect(address).await?;
        Ok(socket)
    };
    open.await.map_err(io_error(endpoint))
}

async fn resolve(endpoint: &Endpoint, host: &Host, port: u16, security: &Security) -> Result<SocketAddr, OpenError> {
    let address = match host {
        Host::Address(address) => SocketAddr::new(*address, port),
        Host::Name(name) => lookup_host((name.as_str(), port))
            .await
            .map_err(io_error(endpoint))?
            .next()
            .ok_or_else(|| OpenError::NoAddress { endpoint: endpoint.to_string() })?,
    };
    if address.ip().is_loopback() || security.allow_plain {
        return Ok(address);
    }
    let needed = "leave to go without encryption and token, which UDP has not";
    Err(OpenError::Unprotected { endpoint: endpoint.to_string(), needed })
}

fn receiver(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM.nonblocking(), None)?;
    // The kernel gives what it allows; less is no reason to fail.
    let _ = socket.set_recv_buffer_size(RECEIVE_BYTES);
    if address.ip().is_multicast() {
        // Several components of one host may listen to the same group.
        socket.set_reuse_address(true)?;
    }
    socket.bind(&address.into())?;
    match address.ip() {
        IpAddr::V4(group) if group.is_multicast() => socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED)?,
        IpAddr::V6(group) if group.is_multicast() => socket.join_multicast_v6(&group, 0)?,
        _ => {}
    }
    UdpSocket::from_std(socket.into())
}
