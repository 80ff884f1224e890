//! Stages of a scope: what can be pulled, and what becomes of it on the way.

use std::marker::PhantomData;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use clock::Clock;
use mpi_job::RingFile;
use mpi_trace::{Cursor, Drain, Event, Ring, RingError, RingHeader};

/// A stage: asked, it gives what is new.
pub trait Pull<T>: Send {
    /// Appends what came since the last time.
    fn pull(&mut self, into: &mut Vec<T>) -> Tally;
}

/// The number of records that one pull, or all of them, took out of rings and buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records and results read.
    pub n_read: u64,
    /// Overwritten before they were read.
    pub n_lost: u64,
    /// Results that did not come this far: a newer one took their place, or the answer that held them was lost.
    pub n_missed: u64,
    /// Processor time that was spent on it by other threads than the one that pulls.
    pub cpu: Duration,
}

/// The item of a scope: an event, and its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// The host, by its position in the tree file.
    pub host: u16,
    /// The rank whose ring it was in.
    pub rank: u32,
    /// The event.
    pub event: Event,
}

/// The memory of a ring: a file that processes share, or memory of this process.
pub trait Space: Send + Sync {
    /// The ring.
    fn ring(&self) -> Ring<'_>;
}

/// Takes events out of rings.
pub struct Read {
    rings: Vec<Reading>,
    n_at_once: usize,
}

struct Reading {
    space: Arc<dyn Space>,
    host: u16,
    rank: u32,
    cursor: Cursor,
    events: Vec<Event>,
}

/// Passes each item through a function that keeps it, changes it or holds it back.
pub struct Through<P, F, T> {
    of: P,
    step: F,
    taken: Vec<T>,
}

/// Pulls no more often than every so often.
pub struct Paced<P, T> {
    of: P,
    every: Duration,
    clock: Arc<dyn Clock>,
    next: Duration,
    item: PhantomData<fn() -> T>,
}

/// Stages behind others.
pub trait PullExt<T: Send>: Pull<T> + Sized {
    /// Only items for which this is true.
    fn filter(self, mut keep: impl FnMut(&T) -> bool + Send) -> impl Pull<T> {
        self.through(move |item, into| {
            if keep(&item) {
                into.push(item);
            }
        })
    }

    /// Another item in place of each.
    fn convert<U: Send>(self, mut convert: impl FnMut(T) -> U + Send) -> impl Pull<U> {
        self.through(move |item, into| into.push(convert(item)))
    }

    /// Whatever `step` makes of the items: fewer, as a rule.
    fn through<U: Send, F: FnMut(T, &mut Vec<U>) + Send>(self, step: F) -> Through<Self, F, T> {
        Through { of: self, step, taken: Vec::new() }
    }

    /// Limits the pulls to at most one in each `every`; in between there is nothing new.
    fn paced(self, every: Duration, clock: Arc<dyn Clock>) -> Paced<Self, T> {
        Paced { of: self, every, clock, next: Duration::ZERO, item: PhantomData }
    }
}

impl<T: Send, P: Pull<T>> PullExt<T> for P {}

impl<T> Pull<T> for Box<dyn Pull<T>> {
    fn pull(&mut self, into: &mut Vec<T>) -> Tally {
        self.as_mut().pull(into)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.n_read += other.n_read;
        self.n_lost += other.n_lost;
        self.n_missed += other.n_missed;
        self.cpu += other.cpu;
    }
}

impl Space for RingFile {
    fn ring(&self) -> Ring<'_> {
        Self::ring(self)
    }
}

/// Memory of this process, as tests and threads have it.
impl Space for (Vec<AtomicU64>, RingHeader) {
    fn ring(&self) -> Ring<'_> {
        let opened: Result<_, RingError> = Ring::open(&self.0);
        opened.expect("a ring was made in it").0
    }
}

impl Read {
    /// Makes a reader of no ring yet; it takes at most `n_at_once` records of each ring at once.
    #[must_use]
    pub fn new(n_at_once: usize) -> Self {
        Self { rings: Vec::new(), n_at_once }
    }

    /// And this ring, from its oldest record on.
    #[must_use]
    pub fn and(mut self, space: Arc<dyn Space>, host: u16, rank: u32) -> Self {
        self.add(space, host, rank);
        self
    }

    /// Also this ring, from its oldest record on.
    pub fn add(&mut self, space: Arc<dyn Space>, host: u16, rank: u32) {
        self.rings.push(Reading { space, host, rank, cursor: Cursor::default(), events: Vec::new() });
    }
}

impl Read {
    /// Leaves out what the rings hold at this moment.
    pub(crate) fn skip(&mut self) {
        self.rings.iter_mut().for_each(|reading| reading.cursor.position = reading.space.ring().n_written());
    }

    /// Does not count as lost what was overwritten before this moment.
    pub(crate) fn begin_at_oldest(&mut self) {
        for Reading { space, cursor, .. } in &mut self.rings {
            let (n_written, capacity) = (space.ring().n_written(), space.ring().capacity());
            // The place of the oldest record may just be written.
            let oldest = if n_written > capacity { n_written + 1 - capacity } else { 0 };
            cursor.position = cursor.position.max(oldest);
        }
    }
}

impl Pull<Tuple> for Read {
    fn pull(&mut self, into: &mut Vec<Tuple>) -> Tally {
        let mut tally = Tally::default();
        for Reading { space, host, rank, cursor, events } in &mut self.rings {
            let mut drain = Drain::from(space.ring(), *cursor);
            tally.n_lost += drain.take(self.n_at_once, events);
            *cursor = drain.cursor();
            tally.n_read += events.len() as u64;
            into.extend(events.drain(..).map(|event| Tuple { host: *host, rank: *rank, event }));
        }
        tally
    }
}

impl<T: Send, U, P: Pull<T>, F: FnMut(T, &mut Vec<U>) + Send> Pull<U> for Through<P, F, T> {
    fn pull(&mut self, into: &mut Vec<U>) -> Tally {
        let tally = self.of.pull(&mut self.taken);
        self.taken.drain(..).for_each(|item| (self.step)(item, into));
        tally
    }
}

impl<T, P: Pull<T>> Pull<T> for Paced<P, T> {
    fn pull(&mut self, into: &mut Vec<T>) -> Tally {
        let now = self.clock.monotonic();
        if now < self.next {
            return Tally::default();
        }
        self.next = now + self.every;
        self.of.pull(into)
    }
}
