//! Datagrams, each carried for itself; an address that they come from is a client, with a socket of its own towards
//! the target.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use netmodel::{Drop, Fate};
use rustix::event::epoll::{self, EventData, EventFlags};
use units::ByteCount;

use super::{Both, Carrier, Direction, RelayPlan, Way, wanted};
use crate::agenda::{Agenda, Flying};

/// The longest datagram.
const DATAGRAM_BYTES_MAX: usize = 1 << 16;
/// Datagrams read from one socket before others have their turn.
const N_AT_ONCE: usize = 16;
/// Time after which a client that neither sends nor is sent anything gives its place to the next newcomer.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// The key of the socket that clients send to; clients have their numbers, which begin after it.
const LISTENER: u64 = 0;

pub(super) struct Datagrams {
    socket: UdpSocket,
    to: SocketAddr,
    ways: Both<Way>,
    epoll: Arc<OwnedFd>,
    clients: BTreeMap<u64, Client>,
    numbers: BTreeMap<SocketAddr, u64>,
    /// Clients in the order of their last look, with the time of that look.
    looks: VecDeque<(Duration, u64)>,
    n_ever: u64,
    clients_max: usize,
    agenda: Agenda<Datagram>,
    flying: Flying,
    buffer: Vec<u8>,
}

struct Client {
    address: SocketAddr,
    socket: UdpSocket,
    used_at: Duration,
}

struct Datagram {
    client: u64,
    direction: Direction,
    bytes: Box<[u8]>,
}

impl Datagrams {
    pub(super) fn listen(plan: &RelayPlan, ways: Both<Way>, epoll: Arc<OwnedFd>) -> io::Result<Self> {
        let socket = UdpSocket::bind(plan.listen)?;
        socket.set_nonblocking(true)?;
        epoll::add(&epoll, &socket, EventData::new_u64(LISTENER), wanted(true, false))?;
        Ok(Self {
            socket,
            to: plan.to,
            ways,
            epoll,
            clients: BTreeMap::new(),
            numbers: BTreeMap::new(),
            looks: VecDeque::new(),
            n_ever: LISTENER,
            clients_max: plan.clients_max,
            agenda: Agenda::default(),
            flying: Flying::default(),
            buffer: vec![0; DATAGRAM_BYTES_MAX],
        })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn send(&mut self, client: u64, direction: Direction, n: usize, now: Duration) {
        let way = self.ways.at(direction);
        let size = n as u64;
        let fate = match self.flying.has_room(n) {
            true => way.link.send(now, ByteCount::new(size)),
            false => Fate::Dropped(Drop::Queue),
        };
        way.counts.sent(size, way.link.waiting(now).bytes());
        match fate {
            Fate::Arrives { at } => {
                self.flying.begin(n);
                self.agenda.note(at, Datagram { client, direction, bytes: self.buffer[..n].into() });
            }
            Fate::Dropped(why) => way.counts.dropped(why, size),
        }
    }

    /// Returns the number of the client at an address; `None` if there is no place for another.
    fn client_at(&mut self, address: SocketAddr, now: Duration) -> io::Result<Option<u64>> {
        if let Some(number) = self.numbers.get(&address) {
            return Ok(Some(*number));
        }
        self.forget_idle(now);
        if self.clients.len() >= self.clients_max {
            return Ok(None);
        }
        let any: SocketAddr = match self.to {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(any)?;
        socket.set_nonblocking(true)?;
        socket.connect(self.to)?;
        self.n_ever += 1;
        epoll::add(&self.epoll, &socket, EventData::new_u64(self.n_ever), wanted(true, false))?;
        self.clients.insert(self.n_ever, Client { address, socket, used_at: now });
        self.numbers.insert(address, self.n_ever);
        self.looks.push_back((now, self.n_ever));
        Ok(Some(self.n_ever))
    }

    /// Looks at clients whose last look is long ago: each is either gone or looked at again later.
    fn forget_idle(&mut self, now: Duration) {
        while let Some((_, number)) = self.looks.pop_front_if(|(at, _)| *at + IDLE_MAX <= now) {
            let Some(client) = self.clients.get(&number) else { continue };
            if client.used_at + IDLE_MAX <= now {
                self.numbers.remove(&client.address);
                self.clients.remove(&number);
            } else {
                self.looks.push_back((now, number));
            }
        }
    }
}

impl Carrier for Datagrams {
    fn ready(&mut self, key: u64, _flags: EventFlags) {
        for _ in 0..N_AT_ONCE {
            if key == LISTENER {
                // Errors are of earlier datagrams, which nobody received.
                let Ok((n, address)) = self.socket.recv_from(&mut self.buffer) else { return };
                let now = self.ways.there.now();
                // Without a socket or a place the datagram is not heard.
                if let Ok(Some(client)) = self.client_at(address, now) {
                    self.clients.entry(client).and_modify(|client| client.used_at = now);
                    self.send(client, Direction::There, n, now);
                } else {
                    self.ways.there.counts.dropped(Drop::Queue, 0);
                }
            } else {
                let Some(client) = self.clients.get_mut(&key) else { return };
                let Ok(n) = client.socket.recv(&mut self.buffer) else { return };
                let now = self.ways.back.now();
                client.used_at = now;
                self.send(key, Direction::Back, n, now);
            }
        }
    }

    fn due(&mut self, now: Duration) {
        while let Some((due, Datagram { client, direction, bytes })) = self.agenda.take_due(now) {
            self.flying.end(bytes.len());
            let way = self.ways.at(direction);
            let size = bytes.len() as u64;
            let handed_on = self.clients.get(&client).map(|client| match direction {
                Direction::There => client.socket.send(&bytes),
                Direction::Back => self.socket.send_to(&bytes, client.address),
            });
            match handed_on {
                Some(Ok(_)) => way.handed_on(size, due),
                // Nobody is there, or does not read.
                _ => way.counts.dropped(Drop::Queue, size),
            }
        }
    }

    fn next_due(&self) -> Option<Duration> {
        self.agenda.next_due()
    }
}
