//! A link for programs that know nothing of it: they connect to the relay instead of the target, and need no root.
//!
//! What a relay cannot do: connecting ends in this machine's kernel, so that a client's `connect` returns at once. The round trip that it would have cost is
//! waited before the first byte is taken from the client. The bytes of a connection neither get lost nor overtake each other.

mod tcp;
mod udp;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netmodel::{Description, DescriptionError, Link, Order};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags};
use std::os::fd::{AsFd, OwnedFd};
use units::Ratio;
use watch::{OnPanic, Watch};

use crate::alarm::{self, SPIN, Woken};
use crate::counts::Counts;

/// How often a relay asks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Descriptors whose input is taken before what is due is looked for again.
const N_AT_ONCE: usize = 64;

/// What is relayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Connections.
    Tcp,
    /// Datagrams; each address they come from is a client of its own.
    Udp,
}

/// What a relay is to do.
#[derive(Clone, Debug)]
pub struct RelayPlan {
    /// What is relayed.
    pub protocol: Protocol,
    /// Where clients find it; port 0 takes any.
    pub listen: SocketAddr,
    /// Where it leads.
    pub to: SocketAddr,
    /// The link from clients to the target.
    pub there: Description,
    /// The link from the target to clients.
    pub back: Description,
    /// Clients at the same time; further connections are closed, further addresses not heard.
    pub clients_max: usize,
    /// All chance comes from this.
    pub seed: u64,
}

/// A relay at work, until it is dropped.
pub struct Relay {
    address: SocketAddr,
    directions: Both<Arc<Counts>>,
    _thread: watch::Thread,
}

/// Why there is no relay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelayError {
    /// A link makes no sense.
    #[error("the link {direction} cannot be")]
    Link {
        /// There or back.
        direction: &'static str,
        /// Why.
        source: DescriptionError,
    },
    /// Only datagrams can get lost.
    #[error(
        "the bytes of a connection neither get lost nor overtake each other: leave out `loss`, and `order = \"free\"`, or relay UDP"
    )]
    Stream,
    /// No address.
    #[error("cannot listen at {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The system refuses.
    #[error("cannot start the relay")]
    Start(#[source] io::Error),
}

/// Something for each direction.
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
    pub(crate) counts: Arc<Counts>,
}

/// What the loop drives: connections or datagrams.
pub(crate) trait Carrier {
    /// A descriptor that was watched with this key has something.
    fn ready(&mut self, key: u64, flags: EventFlags, now: Duration);
    /// Does what is due.
    fn due(&mut self, now: Duration);
    /// When something is due next.
    fn next_due(&self) -> Option<Duration>;
}

impl Relay {
    /// Begins to relay; `read` gives the text of a trace file.
    ///
    /// # Errors
    /// [`RelayError`] when a link makes no sense, or there is nothing to listen at.
    pub fn start(
        plan: &RelayPlan,
        read: impl Fn(&std::path::Path) -> io::Result<String>,
        watch: &Watch,
    ) -> Result<Self, RelayError> {
        let link = |direction, description: &Description, seed| {
            let link = description.link(seed, &read).map_err(|source| RelayError::Link { direction, source })?;
            let is_stream = plan.protocol == Protocol::Tcp;
            if is_stream && (link.rules().loss > Ratio::ZERO || link.rules().order == Order::Free) {
                return Err(RelayError::Stream);
            }
            Ok(Way { link, counts: Arc::default() })
        };
        let ways = Both {
            there: link("there", &plan.there, plan.seed)?,
            back: link("back", &plan.back, plan.seed.wrapping_add(1))?,
        };
        let directions = Both { there: Arc::clone(&ways.there.counts), back: Arc::clone(&ways.back.counts) };
        let epoll = Arc::new(epoll::create(CreateFlags::CLOEXEC).map_err(|error| RelayError::Start(error.into()))?);
        let listen = |source| RelayError::Listen { address: plan.listen, source };
        let origin = clock::instant();
        let (mut carrier, address): (Box<dyn Carrier + Send>, SocketAddr) = match plan.protocol {
            Protocol::Tcp => {
                let carrier = tcp::Connections::listen(plan, ways, Arc::clone(&epoll)).map_err(listen)?;
                let address = carrier.address().map_err(listen)?;
                (Box::new(carrier), address)
            }
            Protocol::Udp => {
                let carrier = udp::Datagrams::listen(plan, ways, Arc::clone(&epoll)).map_err(listen)?;
                let address = carrier.address().map_err(listen)?;
                (Box::new(carrier), address)
            }
        };
        let work = move |stop: &watch::Stop| {
            run(&mut *carrier, &epoll, origin, stop).expect("waiting works while there is memory")
        };
        let thread = watch::Thread::start(watch, "wan relay", OnPanic::End, work).map_err(RelayError::Start)?;
        Ok(Self { address, directions, _thread: thread })
    }

    /// Where clients find it.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What has been carried to the target, and back from it.
    #[must_use]
    pub fn directions(&self) -> [Arc<Counts>; 2] {
        [Arc::clone(&self.directions.there), Arc::clone(&self.directions.back)]
    }
}

fn run(carrier: &mut dyn Carrier, epoll: &OwnedFd, origin: Instant, stop: &watch::Stop) -> io::Result<()> {
    alarm::prepare_thread()?;
    let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; N_AT_ONCE];
    let mut next_look = clock::instant();
    loop {
        let now = clock::instant();
        if now >= next_look {
            if stop.wait(Duration::ZERO) {
                return Ok(());
            }
            next_look = now + LOOK_EVERY;
        }
        carrier.due(now - origin);
        let due = carrier.next_due().map(|due| origin + due).filter(|due| *due < next_look);
        let spin = if due.is_some() { SPIN } else { Duration::ZERO };
        let mut inputs = [PollFd::from_borrowed_fd(epoll.as_fd(), PollFlags::IN)];
        if alarm::wait(&mut inputs, due.unwrap_or(next_look), spin)? == Woken::Ready {
            let n = epoll::wait(epoll, &mut events[..], Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 }))?;
            for event in &events[..n] {
                let (key, flags) = (event.data.u64(), event.flags);
                carrier.ready(key, flags, clock::instant() - origin);
            }
        }
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

/// What input is waited for.
pub(crate) fn wanted(reads: bool, writes: bool) -> EventFlags {
    let read = if reads { EventFlags::IN } else { EventFlags::empty() };
    let write = if writes { EventFlags::OUT } else { EventFlags::empty() };
    read | write
}
