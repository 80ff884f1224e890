//! UDP, to a host or a multicast group, IPv4 and IPv6.

use std::io;
use std::net::{IpAddr, SocketAddr};

use socket2::{Domain, InterfaceIndexOrAddress, Socket, Type};
use tokio::net::{UdpSocket, lookup_host};

use super::io_error;
use crate::endpoint::{Endpoint, Host, Multicast, Place};
use crate::error::OpenError;
use crate::security::Security;

/// The most bytes of a UDP datagram, over IPv4.
pub(crate) const DATAGRAM_BYTES_MAX: usize = 65_507;

/// Some thousand datagrams that wait while a component computes.
const RECEIVE_BYTES: usize = 4 << 20;

/// Receives what comes to the port; of a multicast group, what is sent to it by the interface that the endpoint names,
/// or else by any that has a route to it.
pub(super) async fn source(endpoint: &Endpoint, security: &Security) -> Result<UdpSocket, OpenError> {
    let (address, multicast) = resolve(endpoint, security).await?;
    receiver(address, multicast).map_err(io_error(endpoint))
}

/// Sends there.
pub(super) async fn target(endpoint: &Endpoint, security: &Security) -> Result<UdpSocket, OpenError> {
    let (address, multicast) = resolve(endpoint, security).await?;
    let open = async {
        let socket = UdpSocket::from_std(sender(address, multicast)?.into())?;
        // Where there is no route, it is told here.
        socket.connect(address).await?;
        Ok(socket)
    };
    open.await.map_err(io_error(endpoint))
}

async fn resolve<'a>(endpoint: &'a Endpoint, security: &Security) -> Result<(SocketAddr, &'a Multicast), OpenError> {
    let Place::Udp { host, port, multicast } = &endpoint.place else { unreachable!("it is a place by UDP") };
    let address = match host {
        Host::Address(address) => SocketAddr::new(*address, *port),
        Host::Name(name) => lookup_host((name.as_str(), *port))
            .await
            .map_err(io_error(endpoint))?
            .next()
            .ok_or_else(|| OpenError::NoAddress { endpoint: endpoint.to_string() })?,
    };
    if address.ip().is_loopback() || security.allow_plain {
        return Ok((address, multicast));
    }
    let needed = "leave to go without encryption and token, which UDP has not";
    Err(OpenError::Unprotected { endpoint: endpoint.to_string(), needed })
}

fn socket(address: SocketAddr, multicast: &Multicast) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM.nonblocking(), None)?;
    // Whatever the routes say.
    socket.bind_device(multicast.interface.as_ref().map(String::as_bytes))?;
    Ok(socket)
}

fn sender(address: SocketAddr, multicast: &Multicast) -> io::Result<Socket> {
    let socket = socket(address, multicast)?;
    match (multicast.ttl, address.is_ipv4()) {
        (Some(ttl), true) => socket.set_multicast_ttl_v4(ttl.into())?,
        (Some(ttl), false) => socket.set_multicast_hops_v6(ttl.into())?,
        (None, _) => {}
    }
    Ok(socket)
}

fn receiver(address: SocketAddr, multicast: &Multicast) -> io::Result<UdpSocket> {
    let socket = socket(address, multicast)?;
    // The kernel gives what it allows; less is no reason to fail.
    let _ = socket.set_recv_buffer_size(RECEIVE_BYTES);
    if address.ip().is_multicast() {
        // Several components of one host may listen to the same group.
        socket.set_reuse_address(true)?;
    }
    socket.bind(&address.into())?;
    // 0 is whichever has a route.
    let interface = multicast.interface.as_deref().map_or(Ok(0), index_of)?;
    match address.ip() {
        IpAddr::V4(group) if group.is_multicast() => {
            socket.join_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(interface))?;
        }
        IpAddr::V6(group) if group.is_multicast() => socket.join_multicast_v6(&group, interface)?,
        _ => {}
    }
    UdpSocket::from_std(socket.into())
}

fn index_of(interface: &str) -> io::Result<u32> {
    let index = std::fs::read_to_string(format!("/sys/class/net/{interface}/ifindex"))?;
    index.trim_end().parse().map_err(io::Error::other)
}
