//! Traffic of one direction of a link, for whoever looks while it works.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use netmodel::Drop;

/// Parts of an octave that errors are told apart by: a quantile is off by 1.1 % at most.
const PARTS: usize = 64;
/// Octaves of nanoseconds: up to 4 s.
const OCTAVES: usize = 32;

/// Counters of one direction. One thread writes, any may read.
#[derive(Debug)]
pub struct Counts {
    arrived: AtomicU64,
    arrived_bytes: AtomicU64,
    sent: AtomicU64,
    sent_bytes: AtomicU64,
    dropped: [AtomicU64; 3],
    dropped_bytes: AtomicU64,
    waiting_bytes: AtomicU64,
    waiting_max_bytes: AtomicU64,
    /// Histogram of the delays with which messages were handed on, by the logarithm of the nanoseconds.
    late: [AtomicU64; PARTS * OCTAVES],
}

/// Counts at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages that were sent.
    pub n_sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Messages that were handed on at the other end.
    pub n_arrived: u64,
    /// Their bytes.
    pub arrived_bytes: u64,
    /// Bytes on the way.
    pub in_flight_bytes: u64,
    /// Bytes that wait for the wire or are on it, when the last message was sent.
    pub waiting_bytes: u64,
    /// The most bytes that waited so far.
    pub waiting_max_bytes: u64,
    /// Messages that a full queue dropped.
    pub n_dropped_queue: u64,
    /// Messages that got lost.
    pub n_dropped_loss: u64,
    /// Messages after the end of the link's trace.
    pub n_dropped_ended: u64,
    /// Median of the time by which messages were handed on late; none is early.
    pub late_median: Option<Duration>,
    /// The 95 % quantile of that time.
    pub late_95: Option<Duration>,
    /// The 99.9 % quantile of that time.
    pub late_999: Option<Duration>,
}

impl Counts {
    pub(crate) fn sent(&self, bytes: u64, waiting_bytes: u64) {
        self.sent.fetch_add(1, Relaxed);
        self.sent_bytes.fetch_add(bytes, Relaxed);
        self.waiting_bytes.store(waiting_bytes, Relaxed);
        self.waiting_max_bytes.fetch_max(waiting_bytes, Relaxed);
    }

    pub(crate) fn dropped(&self, why: Drop, bytes: u64) {
        self.dropped[why as usize].fetch_add(1, Relaxed);
        self.dropped_bytes.fetch_add(bytes, Relaxed);
    }

    /// Counts a message that was handed on, so much after it was due.
    pub(crate) fn arrived(&self, bytes: u64, late: Duration) {
        self.arrived.fetch_add(1, Relaxed);
        self.arrived_bytes.fetch_add(bytes, Relaxed);
        let position = (late.as_nanos().max(1) as f64).log2() * PARTS as f64;
        self.late[(position as usize).min(PARTS * OCTAVES - 1)].fetch_add(1, Relaxed);
    }

    /// Returns the counts as they are.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let [queue, loss, ended] =
            [Drop::Queue, Drop::Loss, Drop::Ended].map(|why| self.dropped[why as usize].load(Relaxed));
        // What is read first cannot be ahead of what it is taken from.
        let gone_bytes = self.arrived_bytes.load(Relaxed) + self.dropped_bytes.load(Relaxed);
        let sent_bytes = self.sent_bytes.load(Relaxed);
        let late: Vec<u64> = self.late.iter().map(|count| count.load(Relaxed)).collect();
        Traffic {
            n_sent: self.sent.load(Relaxed),
            sent_bytes,
            n_arrived: self.arrived.load(Relaxed),
            arrived_bytes: self.arrived_bytes.load(Relaxed),
            in_flight_bytes: sent_bytes.saturating_sub(gone_bytes),
            waiting_bytes: self.waiting_bytes.load(Relaxed),
            waiting_max_bytes: self.waiting_max_bytes.load(Relaxed),
            n_dropped_queue: queue,
            n_dropped_loss: loss,
            n_dropped_ended: ended,
            late_median: quantile(&late, 0.5),
            late_95: quantile(&late, 0.95),
            late_999: quantile(&late, 0.999),
        }
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            arrived: AtomicU64::new(0),
            arrived_bytes: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            sent_bytes: AtomicU64::new(0),
            dropped: Default::default(),
            dropped_bytes: AtomicU64::new(0),
            waiting_bytes: AtomicU64::new(0),
            waiting_max_bytes: AtomicU64::new(0),
            late: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

/// Returns the upper end of the part that holds this quantile.
fn quantile(late: &[u64], share: f64) -> Option<Duration> {
    let n: u64 = late.iter().sum();
    let wanted = (share * n as f64).ceil() as u64;
    let mut seen = 0;
    let at = late.iter().position(|count| {
        seen += count;
        n > 0 && seen >= wanted
    })?;
    Some(Duration::from_nanos(((at + 1) as f64 / PARTS as f64).exp2() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_on_the_way_has_arrived_or_was_dropped() {
        let counts = Counts::default();
        assert_eq!(counts.traffic(), Traffic::default());
        for _ in 0..3 {
            counts.sent(1_000, 2_000);
        }
        counts.dropped(Drop::Loss, 1_000);
        counts.arrived(1_000, Duration::from_micros(20));
        let traffic = counts.traffic();
        assert_eq!((traffic.n_sent, traffic.n_arrived, traffic.n_dropped_loss), (3, 1, 1));
        assert_eq!((traffic.in_flight_bytes, traffic.waiting_bytes), (1_000, 2_000));
        let median = traffic.late_median.unwrap();
        assert!((20..=22).contains(&median.as_micros()), "{median:?}");
    }
}
