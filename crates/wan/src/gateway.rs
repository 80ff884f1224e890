//! A site's gateway: reads the packets that leave the site, keeps each for as long as its link takes, and writes it
//! where it goes.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use netmodel::{Drop, Fate, Link};
use units::ByteCount;
use watch::Stop;

use crate::agenda::{Agenda, Flying};
use crate::alarm::{self, Shift};
use crate::counts::Counts;
use crate::plan::Plan;

/// Packets that are read before those that are due are looked for again.
const N_AT_ONCE: usize = 16;
/// The longest packet there is.
const PACKET_BYTES_MAX: usize = 1 << 16;
/// Bytes of an IP header, without options: the shortest packet.
const HEADER_BYTES: usize = 20;
/// Value of [`Hop::ns`] while links do nothing, because what remains is being measured.
const OPEN: u64 = u64::MAX;

/// Cost of crossing two gateways and the hosts' devices, which is taken off each delay.
#[derive(Debug)]
pub(crate) struct Hop {
    ns: AtomicU64,
}

/// One site's gateway.
pub(crate) struct Gateway {
    device: Arc<File>,
    /// Links that begin here, by position of the site where each ends.
    pub(crate) ways: Vec<Option<Way>>,
    hop: Arc<Hop>,
    /// Moment at which the links' time begins.
    origin: Instant,
    agenda: Agenda<Packet>,
    flying: Flying,
}

/// A link that begins here.
pub(crate) struct Way {
    pub(crate) link: Link,
    /// The device of the gateway at its end.
    pub(crate) to: Arc<File>,
    pub(crate) counts: Arc<Counts>,
}

/// A packet on its way to a site.
struct Packet {
    to: usize,
    bytes: Box<[u8]>,
    /// Whether the packet is counted; those that cross while that cost is measured are not.
    is_counted: bool,
}

impl Hop {
    pub(crate) fn open() -> Self {
        Self { ns: AtomicU64::new(OPEN) }
    }

    /// Begins to delay on the links, by so much less.
    pub(crate) fn take_off(&self, cost: Duration) {
        self.ns.store(cost.as_nanos() as u64, Relaxed);
    }

    fn cost(&self) -> Option<Duration> {
        Some(self.ns.load(Relaxed)).filter(|ns| *ns != OPEN).map(Duration::from_nanos)
    }
}

impl Gateway {
    /// Builds a gateway without links as yet; time begins at `origin`.
    pub(crate) fn new(device: Arc<File>, n_sites: usize, hop: Arc<Hop>, origin: Instant) -> Self {
        let ways = (0..n_sites).map(|_| None).collect();
        Self { device, ways, hop, origin, agenda: Agenda::default(), flying: Flying::default() }
    }

    /// Carries packets until it is asked to stop.
    pub(crate) fn run(&mut self, stop: &Stop) -> std::io::Result<()> {
        let (device, origin) = (Arc::clone(&self.device), self.origin);
        let mut at_work = AtWork { gateway: self, buffer: vec![0; PACKET_BYTES_MAX] };
        alarm::work(&mut at_work, device.as_fd(), origin, stop)
    }

    fn send(&mut self, bytes: &[u8]) {
        // Other protocols than IPv4 cross no link; the kernel sends some of IPv6's by itself.
        let Some(to) = destination(bytes) else { return };
        let Some(way) = self.ways.get_mut(to).and_then(Option::as_mut) else { return };
        let (now, size) = (clock::instant() - self.origin, bytes.len() as u64);
        let Some(cost) = self.hop.cost() else {
            self.flying.begin(bytes.len());
            self.agenda.note(now, Packet { to, bytes: bytes.into(), is_counted: false });
            return;
        };
        let fate = match self.flying.has_room(bytes.len()) {
            true => way.link.send(now, ByteCount::new(size)),
            false => Fate::Dropped(Drop::Queue),
        };
        way.counts.sent(size, way.link.waiting(now).bytes());
        match fate {
            Fate::Arrives { at } => {
                self.flying.begin(bytes.len());
                let packet = Packet { to, bytes: bytes.into(), is_counted: true };
                self.agenda.note(at.saturating_sub(cost).max(now), packet);
            }
            Fate::Dropped(why) => way.counts.dropped(why, size),
        }
    }

    fn hand_on(&mut self, now: Duration) {
        while let Some((due, packet)) = self.agenda.take_due(now) {
            self.flying.end(packet.bytes.len());
            let Some(way) = self.ways.get_mut(packet.to).and_then(Option::as_mut) else { continue };
            let size = packet.bytes.len() as u64;
            // A device takes a packet as a whole or not at all.
            match (&*way.to).write_all(&packet.bytes) {
                _ if !packet.is_counted => {}
                Ok(()) => way.counts.arrived(size, clock::instant().duration_since(self.origin).saturating_sub(due)),
                // The device at the end is full, or about to go.
                Err(_) => way.counts.dropped(Drop::Queue, size),
            }
        }
    }
}

/// A gateway, and the buffer that a packet is read into.
struct AtWork<'g> {
    gateway: &'g mut Gateway,
    buffer: Vec<u8>,
}

impl Shift for AtWork<'_> {
    fn due(&mut self, now: Duration) {
        self.gateway.hand_on(now);
    }

    fn next_due(&self) -> Option<Duration> {
        self.gateway.agenda.next_due()
    }

    fn take_in(&mut self) -> std::io::Result<()> {
        for _ in 0..N_AT_ONCE {
            match (&*self.gateway.device).read(&mut self.buffer) {
                Ok(n) => self.gateway.send(&self.buffer[..n]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Returns the site that an IPv4 packet goes to.
fn destination(packet: &[u8]) -> Option<usize> {
    let header: &[u8; HEADER_BYTES] = packet.first_chunk()?;
    let is_ipv4 = header[0] >> 4 == 4;
    Plan::site_of([header[16], header[17], header[18], header[19]]).filter(|_| is_ipv4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packets_site_is_in_its_header() {
        let mut packet = [0; 28];
        packet[0] = 0x45;
        packet[16..20].copy_from_slice(&[198, 18, 3, 1]);
        assert_eq!(destination(&packet), Some(2));
        assert_eq!(destination(&packet[..19]), None);
        packet[0] = 0x60;
        assert_eq!(destination(&packet), None);
    }
}
