//! One direction of a link: what becomes of each message, from the moment it is sent.
//!
//! A message waits until those before it are on the wire, takes its time on the wire, and then travels for the
//! latency. What wire and latency are is for a [`Delay`] to say; what [`Rules`] add is the same for all of them.
//! Times are spans since the link began. With the same seed, the same messages at the same times meet the same fate.

mod delay;
mod loss;

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use units::{ByteCount, Ratio};

pub use delay::{Constant, Delay, Passage};
use loss::Losses;

/// Rules of a link beside its delay.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Whether messages share the wire.
    pub wire: Wire,
    /// The most bytes that may wait or be on the wire; a message that would exceed it is dropped. One that is alone
    /// is always taken.
    pub queue: ByteCount,
    /// The share of messages that is lost.
    pub loss: Ratio,
    /// Number of messages in a row that a loss takes on average; 1 or less for losses that are independent of each
    /// other.
    pub burst: f64,
    /// The most that is added to a latency; what is added is uniform from 0 to this.
    pub jitter: Duration,
    /// Whether messages may overtake each other.
    pub order: Order,
}

/// Whether messages share the wire of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// Each message waits for those before it.
    #[default]
    Shared,
    /// Each message has a wire of its own: bandwidth is that of a message, not of the link.
    Own,
}

/// Whether messages may overtake each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// They arrive in the order in which they were sent.
    #[default]
    Fifo,
    /// One with a shorter delay overtakes.
    Free,
}

/// Fate of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Arrives {
        /// Time at which its last byte arrives; never before it was sent.
        at: Duration,
    },
    /// It does not.
    Dropped(Drop),
}

/// The reason why a message does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drop {
    /// Too much was waiting before it.
    Queue,
    /// It got lost on the way.
    Loss,
    /// The link's trace is at its end, and says that nothing is delivered from then on.
    Ended,
}

/// One direction of a link.
pub struct Link {
    delay: Box<dyn Delay>,
    rules: Rules,
    losses: Losses,
    jitter: ChaCha8Rng,
    /// Time at which the wire is free.
    free_at: Duration,
    /// The latest arrival so far.
    last_at: Duration,
    /// Messages that wait or are on the wire: when each has left it, and its bytes.
    waiting: VecDeque<(Duration, u64)>,
    waiting_bytes: u64,
}

impl Rules {
    /// Size of a queue when none is given: enough for TCP on 1 Gbit/s over 30 ms.
    pub const QUEUE: ByteCount = ByteCount::new(4 << 20);
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            wire: Wire::Shared,
            queue: Self::QUEUE,
            loss: Ratio::ZERO,
            burst: 1.0,
            jitter: Duration::ZERO,
            order: Order::Fifo,
        }
    }
}

impl Link {
    /// A link that has carried nothing yet. `delay` is told to begin with a seed made of `seed`.
    #[must_use]
    pub fn new(mut delay: Box<dyn Delay>, rules: Rules, seed: u64) -> Self {
        let mut seeds = ChaCha8Rng::seed_from_u64(seed);
        delay.init(seeds.random());
        let losses = Losses::new(rules.loss, rules.burst, seeds.random());
        let jitter = ChaCha8Rng::seed_from_u64(seeds.random());
        let waiting = VecDeque::new();
        Self {
            delay,
            rules,
            losses,
            jitter,
            free_at: Duration::ZERO,
            last_at: Duration::ZERO,
            waiting,
            waiting_bytes: 0,
        }
    }

    /// Sends a message of `size` at `now`, which is not before the last one was sent.
    pub fn send(&mut self, now: Duration, size: ByteCount) -> Fate {
        let waiting_bytes = self.waiting(now).bytes();
        if waiting_bytes > 0 && waiting_bytes.saturating_add(size.bytes()) > self.rules.queue.bytes() {
            return Fate::Dropped(Drop::Queue);
        }
        let begin = match self.rules.wire {
            Wire::Shared => now.max(self.free_at),
            Wire::Own => now,
        };
        let Some(Passage { serialization, latency }) = self.delay.delay(begin, size) else {
            return Fate::Dropped(Drop::Ended);
        };
        let left = begin.saturating_add(serialization);
        self.free_at = left;
        // One of no size takes no room, and would never be refused.
        if left > now && size > ByteCount::default() {
            self.waiting.push_back((left, size.bytes()));
            self.waiting_bytes += size.bytes();
        }
        // Drawn for each message, lost or not, so that what one of them meets does not depend on the others.
        let extra = self.extra();
        if self.losses.next() {
            return Fate::Dropped(Drop::Loss);
        }
        let mut at = left.saturating_add(latency).saturating_add(extra);
        if self.rules.order == Order::Fifo {
            at = at.max(self.last_at);
            self.last_at = at;
        }
        Fate::Arrives { at }
    }

    /// Returns the bytes that wait or are on the wire at `now`, which is not before the last message was sent.
    pub fn waiting(&mut self, now: Duration) -> ByteCount {
        // Of wires of their own, a short message may leave before a long one; it counts until that has left.
        while let Some((_, bytes)) = self.waiting.pop_front_if(|(left, _)| *left <= now) {
            self.waiting_bytes -= bytes;
        }
        ByteCount::new(self.waiting_bytes)
    }

    /// Returns the moment at which the last message so far leaves the wire.
    #[must_use]
    pub fn free_at(&self) -> Duration {
        self.free_at
    }

    /// Returns the rules of the link beside its delay.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    fn extra(&mut self) -> Duration {
        let most_ns = u64::try_from(self.rules.jitter.as_nanos()).unwrap_or(u64::MAX);
        if most_ns == 0 { Duration::ZERO } else { Duration::from_nanos(self.jitter.random_range(0..=most_ns)) }
    }
}

impl std::ops::Drop for Link {
    fn drop(&mut self) {
        self.delay.finish();
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("rules", &self.rules)
            .field("waiting_bytes", &self.waiting_bytes)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Drop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Queue => "queue",
            Self::Loss => "loss",
            Self::Ended => "ended",
        })
    }
}
