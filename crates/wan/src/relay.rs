//! A link for programs that do not need to support it: they connect to the relay instead of the target, and need no
//! root.
//!
//! What a relay cannot do: connecting ends in this machine's kernel, so that a client's `connect` returns at once.
//! The round trip that it would have cost is waited before the first byte is taken from the client. The bytes of a
//! connection neither get lost nor overtake each other.

mod tcp;
mod udp;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use netmodel::{Description, DescriptionError, Link, Order, Rules};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::process::{Resource, getrlimit};
use units::{ByteCount, Ratio};
use watch::{OnPanic, Watch};

use crate::alarm::{self, Shift};
use crate::counts::Counts;
use crate::plan::link_seed;

/// Descriptors that are left for the rest of the process.
const N_RESERVED: usize = 128;
/// Descriptors whose input is taken before what is due is looked for again.
const N_AT_ONCE: usize = 64;

/// The kind of messages that are relayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Connections.
    Tcp,
    /// Datagrams; each address they come from is a client of its own.
    Udp,
}

/// Settings of a relay.
#[derive(Clone, Debug)]
pub struct RelayPlan {
    /// The kind of messages that are relayed.
    pub protocol: Protocol,
    /// Address at which clients find it; port 0 takes any.
    pub listen: SocketAddr,
    /// Address of the target.
    pub to: SocketAddr,
    /// The link from clients to the target.
    pub there: Description,
    /// The link from the target to clients.
    pub back: Description,
    /// Greatest number of clients at the same time; further connections are closed, further addresses ignored.
    pub clients_max: usize,
    /// Seed of all chance: that of an emulation with this seed, whose first two links are there and back.
    pub seed: u64,
}

/// A relay at work, until it is dropped.
pub struct Relay {
    address: SocketAddr,
    directions: Both<Arc<Counts>>,
    clients_max: usize,
    _thread: watch::Thread,
}

/// The reason why there is no relay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelayError {
    /// A link that makes no sense.
    #[error("the link {direction} cannot be")]
    Link {
        /// Direction of the link: there or back.
        direction: &'static str,
        /// The cause.
        source: DescriptionError,
    },
    /// A stream with losses or free order: only datagrams can get lost.
    #[error(
        "the bytes of a connection neither get lost nor overtake each other: leave out `loss`, and `order = \"free\"`, or relay UDP"
    )]
    Stream,
    /// An address that cannot be had.
    #[error("cannot listen at {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// Refusal of the system.
    #[error("cannot start the relay")]
    Start(#[source] io::Error),
}

/// A value for each direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Both<T> {
    pub(crate) there: T,
    pub(crate) back: T,
}

/// One of the two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    There,
    Back,
}

/// A direction's link with its counts.
pub(crate) struct Way {
    pub(crate) link: Link,
    /// Size of the queue on it.
    pub(crate) queue: ByteCount,
    pub(crate) counts: Arc<Counts>,
    /// Moment at which the link's time begins.
    origin: Instant,
}

/// The carrier that the loop drives: connections or datagrams.
pub(crate) trait Carrier {
    /// Handles an event of the descriptor that was watched with this key.
    fn ready(&mut self, key: u64, flags: EventFlags);
    /// Carries out what is due.
    fn due(&mut self, now: Duration);
    /// Returns the moment at which something is due next.
    fn next_due(&self) -> Option<Duration>;
}

impl Relay {
    /// Begins to relay; `read` returns the text of a trace file.
    ///
    /// # Errors
    /// [`RelayError`] if a link makes no sense, or there is nothing to listen at.
    pub fn start(
        plan: &RelayPlan,
        read: impl Fn(&std::path::Path) -> io::Result<String>,
        watch: &Watch,
    ) -> Result<Self, RelayError> {
        let is_stream = plan.protocol == Protocol::Tcp;
        let plan = RelayPlan { clients_max: plan.clients_max.min(room(plan.protocol)), ..plan.clone() };
        let origin = clock::instant();
        let link = |direction, description: &Description, seed| {
            let mut described = description.clone();
            if is_stream {
                // Connections wait for room instead of losing what they sent.
                described.queue = Some(ByteCount::new(u64::MAX));
            }
            let link = described.link(seed, &read).map_err(|source| RelayError::Link { direction, source })?;
            if is_stream && (link.rules().loss > Ratio::ZERO || link.rules().order == Order::Free) {
                return Err(RelayError::Stream);
            }
            Ok(Way { link, queue: description.queue.unwrap_or(Rules::QUEUE), counts: Arc::default(), origin })
        };
        let ways = Both {
            there: link("there", &plan.there, link_seed(plan.seed, 0))?,
            back: link("back", &plan.back, link_seed(plan.seed, 1))?,
        };
        let directions = Both { there: Arc::clone(&ways.there.counts), back: Arc::clone(&ways.back.counts) };
        let epoll = Arc::new(epoll::create(CreateFlags::CLOEXEC).map_err(|error| RelayError::Start(error.into()))?);
        let listen = |source| RelayError::Listen { address: plan.listen, source };
        let (mut carrier, address): (Box<dyn Carrier + Send>, SocketAddr) = match plan.protocol {
            Protocol::Tcp => {
                let carrier = tcp::Connections::listen(&plan, ways, Arc::clone(&epoll)).map_err(listen)?;
                let address = carrier.address().map_err(listen)?;
                (Box::new(carrier), address)
            }
            Protocol::Udp => {
                let carrier = udp::Datagrams::listen(&plan, ways, Arc::clone(&epoll)).map_err(listen)?;
                let address = carrier.address().map_err(listen)?;
                (Box::new(carrier), address)
            }
        };
        let work = move |stop: &watch::Stop| {
            let events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; N_AT_ONCE];
            let mut at_work = AtWork { carrier: &mut *carrier, epoll: &epoll, events };
            alarm::work(&mut at_work, epoll.as_fd(), origin, stop).expect("waiting works while there is memory")
        };
        let thread = watch::Thread::start(watch, "wan relay", OnPanic::End, work).map_err(RelayError::Start)?;
        Ok(Self { address, directions, clients_max: plan.clients_max, _thread: thread })
    }

    /// Returns the address at which clients find it.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of clients that have room at the same time: as many as were asked for, or as the limit of
    /// open files allows.
    #[must_use]
    pub fn clients_max(&self) -> usize {
        self.clients_max
    }

    /// Returns the counts of the way to the target, and of the way back from it.
    #[must_use]
    pub fn directions(&self) -> [Arc<Counts>; 2] {
        [Arc::clone(&self.directions.there), Arc::clone(&self.directions.back)]
    }
}

/// Connections or datagrams, and the epoll instance that watches their descriptors.
struct AtWork<'c> {
    carrier: &'c mut dyn Carrier,
    epoll: &'c OwnedFd,
    events: [Event; N_AT_ONCE],
}

impl Shift for AtWork<'_> {
    fn due(&mut self, now: Duration) {
        self.carrier.due(now);
    }

    fn next_due(&self) -> Option<Duration> {
        self.carrier.next_due()
    }

    fn take_in(&mut self) -> io::Result<()> {
        let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let n = epoll::wait(self.epoll, &mut self.events[..], Some(&at_once))?;
        for event in &self.events[..n] {
            let (key, flags) = (event.data.u64(), event.flags);
            self.carrier.ready(key, flags);
        }
        Ok(())
    }
}

impl Way {
    /// Returns the link's time. To be called after a read: what was read was sent before it, so that nothing crosses
    /// too early, however long this thread was held up.
    pub(crate) fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    /// Counts a message that was handed on and was due at this moment.
    pub(crate) fn handed_on(&self, size: u64, due: Duration) {
        self.counts.arrived(size, self.now().saturating_sub(due));
    }
}

impl<T> Both<T> {
    pub(crate) fn at(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::There => &mut self.there,
            Direction::Back => &mut self.back,
        }
    }
}

/// Returns the number of clients for which there are descriptors. One more would be neither accepted nor refused.
fn room(protocol: Protocol) -> usize {
    let each = match protocol {
        Protocol::Tcp => 2,
        Protocol::Udp => 1,
    };
    let files = getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok());
    files.map_or(usize::MAX, |files| files.saturating_sub(N_RESERVED).max(each) / each)
}

/// Returns the flags of the input that is waited for.
pub(crate) fn wanted(reads: bool, writes: bool) -> EventFlags {
    let read = if reads { EventFlags::IN } else { EventFlags::empty() };
    let write = if writes { EventFlags::OUT } else { EventFlags::empty() };
    read | write
}
