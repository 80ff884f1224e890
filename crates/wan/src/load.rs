//! Load tests of an emulated link on this machine, beside its model: rates, ping-pongs and sums over either arm, and
//! how late messages of many senders are.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use netmodel::{Description, DescriptionError, Fate, Link};
use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use socket2::{Domain, Socket, Type};
use units::{Bandwidth, ByteCount};
use watch::Watch;

use crate::alarm;
use crate::counts::{Counts, Traffic};
use crate::emulation::{Emulation, EmulationError};
use crate::plan::{LinkPlan, Plan, Site};
use crate::probe::{self, Probe};
use crate::relay::{Protocol, Relay, RelayError, RelayPlan};

/// Address of any free port of this host.
const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
/// Bytes that are written at once to fill a link.
const BLOCK_BYTES: usize = 256 << 10;
/// Pause of a sender between two messages.
const PAUSE: Duration = Duration::from_millis(10);
/// Bytes of a short message, as of a request.
const MESSAGE_BYTES: usize = 64;
/// Bytes of a packet that are not the program's, and those that are: headers of IPv4 and TCP with time stamps.
const HEADER_BYTES: u64 = 52;
const CONTENT_BYTES: u64 = 1_448;

/// Congestion control by which TCP sends at once what its window allows. A machine's own way may be BBR's, which
/// spreads a message over the round trip: one of 8 KiB then takes 3 ms longer over a link of 10 ms, whatever the link
/// is.
const UNPACED: &str = "reno";

/// The arm that carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// A relay.
    Relay,
    /// Hosts behind gateways, which need root.
    Hosts,
}

/// Two ends, and the same link there and back between them.
pub struct Bed {
    link: Description,
    listener: TcpListener,
    carrier: Carrier,
}

enum Carrier {
    Relay(Relay),
    Hosts(Emulation),
}

/// The reason why nothing was measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A faulty link.
    #[error(transparent)]
    Link(#[from] DescriptionError),
    /// Failure of the relay.
    #[error(transparent)]
    Relay(#[from] RelayError),
    /// Failure of the hosts.
    #[error(transparent)]
    Emulation(#[from] EmulationError),
    /// Failure of a socket.
    #[error("cannot exchange messages over the emulated link")]
    Socket(#[from] io::Error),
}

impl Arm {
    /// Returns the bytes that the link carries for so many of a program's.
    fn wire_bytes(self, bytes: u64) -> ByteCount {
        ByteCount::new(match self {
            Self::Relay => bytes,
            Self::Hosts => bytes + HEADER_BYTES * bytes.div_ceil(CONTENT_BYTES),
        })
    }
}

impl Bed {
    /// Makes the two ends. The link follows no trace file.
    ///
    /// # Errors
    /// [`LoadError`] if the link or the arm cannot be had.
    pub fn new(arm: Arm, link: &Description, watch: &Watch) -> Result<Self, LoadError> {
        let link = link.clone();
        match arm {
            Arm::Relay => {
                let listener = TcpListener::bind(HERE)?;
                let carrier = Carrier::Relay(relay(Protocol::Tcp, listener.local_addr()?, &link, watch)?);
                Ok(Self { link, listener, carrier })
            }
            Arm::Hosts => {
                let site = |name: &str| {
                    let hosts = vec![format!("{name}-host")];
                    Site { name: name.to_owned(), hosts, lan_bandwidth: None }
                };
                let way = |from, to| LinkPlan { from, to, description: link.clone() };
                let plan = Plan::of(vec![site("left"), site("right")], vec![way(0, 1), way(1, 0)]);
                // These hosts find nobody by name, so that the file of this machine will do.
                let emulation = Emulation::start(&plan, Path::new("/etc/hosts"), watch)?;
                let listener = emulation.within(1, 0, || TcpListener::bind((plan.address(1, 0), 0)))?;
                Ok(Self { link, listener, carrier: Carrier::Hosts(emulation) })
            }
        }
    }

    /// Measures the rate at which the link delivers while one connection fills it for `span`, of which the first third
    /// is left out.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn rate(&self, span: Duration) -> Result<Option<Bandwidth>, LoadError> {
        let there = self.there();
        let drain = |mut stream: &TcpStream| {
            let mut block = vec![0; BLOCK_BYTES];
            while stream.read(&mut block).is_ok_and(|n| n > 0) {}
        };
        self.beside(drain, |mut stream| {
            let block = vec![0; BLOCK_BYTES];
            let stopwatch = clock::Stopwatch::start();
            let mut begin = None;
            loop {
                stream.write_all(&block)?;
                let seen = (stopwatch.elapsed(), there.traffic().arrived_bytes);
                if seen.0 < span / 3 {
                    continue;
                }
                let (begun_at, before) = *begin.get_or_insert(seen);
                if seen.0 >= span {
                    let rate = 8.0 * (seen.1 - before) as f64 / (seen.0 - begun_at).as_secs_f64();
                    return Ok(Bandwidth::new(rate as u64));
                }
            }
        })
    }

    /// Measures the time of each of `n` ping-pongs of this size.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn ping_pongs(&self, size_bytes: u32, n: usize) -> Result<Vec<Duration>, LoadError> {
        let answer = |stream: &TcpStream| while probe::answer_message(stream).is_ok() {};
        let usual = tcp_congestion(&self.listener).map_err(io::Error::from)?;
        set_tcp_congestion(&self.listener, UNPACED).map_err(io::Error::from)?;
        let took = self.beside(answer, |stream| {
            let mut probe = Probe::over(stream)?;
            (0..n).map(|_| probe.ping_pong(size_bytes)).collect()
        });
        set_tcp_congestion(&self.listener, &usual).map_err(io::Error::from)?;
        took
    }

    /// Computes the time of a ping-pong of this size by the model alone.
    ///
    /// # Errors
    /// If the description of the link is faulty.
    pub fn modelled(&self, size_bytes: u32) -> Result<Option<Duration>, LoadError> {
        let arm = match self.carrier {
            Carrier::Relay(_) => Arm::Relay,
            Carrier::Hosts(_) => Arm::Hosts,
        };
        let crossing = |bytes: u64| {
            let mut link: Link = self.link.link(1, no_file)?;
            Ok::<_, LoadError>(match link.send(Duration::ZERO, arm.wire_bytes(bytes)) {
                Fate::Arrives { at } => Some(at),
                Fate::Dropped(_) => None,
            })
        };
        let size_bytes = u64::from(size_bytes);
        let there = crossing(size_bytes + probe::LENGTH_BYTES)?;
        Ok(there.zip(crossing(size_bytes)?).map(|(there, back)| there + back))
    }

    /// Returns the counts of the link there.
    fn there(&self) -> Arc<Counts> {
        match &self.carrier {
            Carrier::Relay(relay) => Arc::clone(&relay.directions()[0]),
            Carrier::Hosts(emulation) => Arc::clone(&emulation.links()[0]),
        }
    }

    /// Does `work` at one end of a connection, and `other` at its other end as long as it takes.
    fn beside<T>(
        &self,
        other: impl FnOnce(&TcpStream) + Send,
        work: impl FnOnce(TcpStream) -> io::Result<T>,
    ) -> Result<T, LoadError> {
        let to = self.listener.local_addr()?;
        // Both ends of a connection pace what they send in the same way; one that has begun does not change that any
        // more.
        let connect = |address: SocketAddr| {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
            set_tcp_congestion(&socket, &tcp_congestion(&self.listener)?)?;
            socket.connect(&address.into())?;
            Ok(TcpStream::from(socket))
        };
        let stream = match &self.carrier {
            Carrier::Relay(relay) => connect(relay.address()),
            Carrier::Hosts(emulation) => emulation.within(0, 0, || connect(to)),
        }?;
        thread::scope(|scope| {
            scope.spawn(|| self.listener.accept().map(|(stream, _)| other(&stream)));
            Ok(work(stream)?)
        })
    }
}

/// Measures how late messages of `n_senders` are that each send one every 10 ms through a relay of this delay;
/// `n_messages` in all.
///
/// # Errors
/// [`LoadError`] if there is no relay, or no socket for a sender.
pub fn lateness(n_senders: usize, delay: Duration, n_messages: usize, watch: &Watch) -> Result<Traffic, LoadError> {
    let target = UdpSocket::bind(HERE)?;
    let link = Description { latency: Some(delay), ..Description::default() };
    let relay = relay(Protocol::Udp, target.local_addr()?, &link, watch)?;
    let sender = |_| {
        let sender = UdpSocket::bind(HERE)?;
        sender.connect(relay.address()).map(|()| sender)
    };
    let senders = (0..n_senders).map(sender).collect::<io::Result<Vec<UdpSocket>>>()?;
    let slot = PAUSE / u32::try_from(n_senders.max(1)).unwrap_or(u32::MAX);
    let begin = clock::instant();
    for (number, sender) in (0..n_messages).zip(senders.iter().cycle()) {
        // Somewhere in its slot, so that messages do not come in step with the machine's clocks.
        let within = slot.mul_f64((number as f64 * 0.618_034).fract());
        alarm::wait(&mut [], begin + slot * number as u32 + within, Duration::ZERO).map_err(io::Error::from)?;
        sender.send(&[0; MESSAGE_BYTES])?;
    }
    let there = &relay.directions()[0];
    loop {
        let traffic = there.traffic();
        // What the relay has not read by then, its socket had no room for.
        if traffic.in_flight_bytes == 0 && begin.elapsed() > slot * n_messages as u32 + delay + PAUSE {
            return Ok(traffic);
        }
        clock::sleep(PAUSE);
    }
}

fn relay(protocol: Protocol, to: SocketAddr, link: &Description, watch: &Watch) -> Result<Relay, RelayError> {
    let (there, back) = (link.clone(), link.clone());
    let plan = RelayPlan { protocol, listen: HERE.into(), to, there, back, clients_max: 10_000, seed: 1 };
    Relay::start(&plan, no_file, watch)
}

fn no_file(_: &Path) -> io::Result<String> {
    Err(io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A busy machine makes all of it slower, never faster.
    #[test]
    fn a_relay_carries_no_more_than_its_link_says() {
        let watch = Watch::new(Arc::new(clock::System::start()));
        let rate = "80Mbit/s".parse().ok();
        let link = Description { latency: Some(Duration::from_millis(5)), bandwidth: rate, ..Description::default() };
        let bed = Bed::new(Arm::Relay, &link, &watch).unwrap();
        let modelled = bed.modelled(100_000).unwrap();
        assert_eq!(modelled, Some(Duration::from_nanos(30_000_400)));
        assert!(bed.ping_pongs(100_000, 2).unwrap().into_iter().all(|took| Some(took) >= modelled));
        let carried = bed.rate(Duration::from_millis(300)).unwrap();
        // What a busy machine held up before the span began arrives in it; without a link it would be gigabits.
        assert!(carried.is_some_and(|carried| carried.bits_per_sec() < 400_000_000), "{carried:?}");
        let traffic = lateness(3, Duration::from_millis(2), 30, &watch).unwrap();
        assert!(traffic.n_arrived == 30 && traffic.late_median < traffic.late_999, "{traffic:?}");
    }
}
