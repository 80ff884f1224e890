//! A site's gateway: reads the packets that leave the site, keeps each for as long as its link takes, and writes it where it goes.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use netmodel::{Drop, Fate, Link};
use rustix::event::{PollFd, PollFlags};
use units::ByteCount;
use watch::Stop;

use crate::agenda::Agenda;
use crate::alarm::{self, SPIN, Woken};
use crate::counts::Counts;
use crate::plan::Plan;

/// How often a gateway asks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Packets that are read before those that are due are looked for again.
const N_AT_ONCE: usize = 16;
/// The longest packet there is.
const PACKET_BYTES_MAX: usize = 1 << 16;
/// Of an IP header, without options: the shortest packet.
const HEADER_BYTES: usize = 20;
/// In [`Hop::ns`]: links do nothing, because what remains is being measured.
const OPEN: u64 = u64::MAX;

/// What it costs to cross two gateways and the hosts' devices, which is taken off each delay.
#[derive(Debug)]
pub(crate) struct Hop {
    ns: AtomicU64,
}

/// One site's gateway.
pub(crate) struct Gateway {
    pub(crate) device: Arc<File>,
    /// By position of the site where a link ends.
    pub(crate) ways: Vec<Option<Way>>,
    pub(crate) hop: Arc<Hop>,
    /// Where links' time begins.
    pub(crate) origin: Instant,
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
}

impl Hop {
    pub(crate) fn open() -> Self {
        Self { ns: AtomicU64::new(OPEN) }
    }

    /// From here on links delay, by so much less.
    pub(crate) fn take_off(&self, cost: Duration) {
        self.ns.store(cost.as_nanos() as u64, Relaxed);
    }

    fn cost(&self) -> Option<Duration> {
        Some(self.ns.load(Relaxed)).filter(|ns| *ns != OPEN).map(Duration::from_nanos)
    }
}

impl Gateway {
    /// Carries packets until it is asked to stop.
    pub(crate) fn run(&mut self, stop: &Stop) -> std::io::Result<()> {
        alarm::prepare_thread()?;
        let mut agenda = Agenda::default();
        let mut buffer = vec![0; PACKET_BYTES_MAX];
        let device = Arc::clone(&self.device);
        let mut next_look = clock::instant();
        loop {
            let now = clock::instant();
            if now >= next_look {
                if stop.wait(Duration::ZERO) {
                    return Ok(());
                }
                next_look = now + LOOK_EVERY;
            }
            self.hand_on(&mut agenda, now - self.origin);
            let due = agenda.next_due().map(|due| self.origin + due).filter(|due| *due < next_look);
            let spin = if due.is_some() { SPIN } else { Duration::ZERO };
            let mut inputs = [PollFd::from_borrowed_fd(device.as_fd(), PollFlags::IN)];
            if alarm::wait(&mut inputs, due.unwrap_or(next_look), spin)? == Woken::Ready {
                self.take_in(&device, &mut buffer, &mut agenda)?;
            }
        }
    }

    fn take_in(&mut self, mut device: &File, buffer: &mut [u8], agenda: &mut Agenda<Packet>) -> std::io::Result<()> {
        for _ in 0..N_AT_ONCE {
            match device.read(buffer) {
                Ok(n) => self.send(&buffer[..n], agenda),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn send(&mut self, bytes: &[u8], agenda: &mut Agenda<Packet>) {
        // Other protocols than IPv4 cross no link; the kernel sends some of IPv6's by itself.
        let Some(to) = destination(bytes) else { return };
        let Some(way) = self.ways.get_mut(to).and_then(Option::as_mut) else { return };
        let (now, size) = (clock::instant() - self.origin, bytes.len() as u64);
        let Some(cost) = self.hop.cost() else {
            agenda.note(now, Packet { to, bytes: bytes.into() });
            return;
        };
        let fate = way.link.send(now, ByteCount::new(size));
        way.counts.sent(size, way.link.waiting(now).bytes());
        match fate {
            Fate::Arrives { at } => agenda.note(at.saturating_sub(cost).max(now), Packet { to, bytes: bytes.into() }),
            Fate::Dropped(why) => way.counts.dropped(why, size),
        }
    }

    fn hand_on(&mut self, agenda: &mut Agenda<Packet>, now: Duration) {
        while let Some((due, packet)) = agenda.take_due(now) {
            let Some(way) = self.ways.get_mut(packet.to).and_then(Option::as_mut) else { continue };
            let size = packet.bytes.len() as u64;
            match (&*way.to).write(&packet.bytes) {
                Ok(_) => way.counts.arrived(size, clock::instant().duration_since(self.origin).saturating_sub(due)),
                // The device at the end is full, or about to go.
                Err(_) => way.counts.dropped(Drop::Queue, size),
            }
        }
    }
}

/// The site that an IPv4 packet goes to.
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
