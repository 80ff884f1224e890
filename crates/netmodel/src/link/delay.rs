//! Delay of a message on a link, as three functions; the simplest of them.

use std::time::Duration;

use units::{Bandwidth, ByteCount};

use crate::Line;

/// Delay of the messages of a link. To have one of your own, write these three functions
/// (`examples/own_delay.rs`).
pub trait Delay: Send {
    /// Begins; all chance is to come from `seed`.
    fn init(&mut self, seed: u64) {
        let _ = seed;
    }

    /// Returns the delay of a message of `size` that begins to be sent at `begin`, a time since the link began that
    /// never goes back where messages share the wire. `None` where the link delivers nothing any more.
    fn delay(&mut self, begin: Duration, size: ByteCount) -> Option<Passage>;

    /// Ends.
    fn finish(&mut self) {}
}

/// Delay of a message on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Time on the wire, where the next message waits for this one.
    pub serialization: Duration,
    /// Time that the message then travels, beside others.
    pub latency: Duration,
}

/// The same latency and bandwidth at any time: alpha + beta n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// One way.
    pub latency: Duration,
    /// `None` where the wire costs no time.
    pub bandwidth: Option<Bandwidth>,
}

impl Delay for Constant {
    fn delay(&mut self, _begin: Duration, size: ByteCount) -> Option<Passage> {
        let serialization = self.bandwidth.map_or(Duration::ZERO, |bandwidth| bandwidth.serialization_time(size));
        Some(Passage { serialization, latency: self.latency })
    }
}

/// A fitted line: beta n on the wire, alpha of latency.
impl Delay for Line {
    fn delay(&mut self, _begin: Duration, size: ByteCount) -> Option<Passage> {
        let alpha = Self { alpha_ns: self.alpha_ns, beta_ns_per_byte: 0.0 };
        let beta = Self { alpha_ns: 0.0, beta_ns_per_byte: self.beta_ns_per_byte };
        Some(Passage { serialization: beta.span(size), latency: alpha.span(size) })
    }
}
