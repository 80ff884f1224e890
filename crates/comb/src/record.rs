//! Measurements as they stand in a result. The kinds are described in `docs/formats/mpi-results.md`.

use serde::{Deserialize, Serialize};
use statistics::{Interval, bootstrap, median, quantile, sorted};
use units::{ByteCount, Confidence, Rank};

use super::availability::Availability;
use super::pairing::Pair;

/// Kind of [`PingPong`] records.
pub const PING_PONG: &str = "comb.ping_pong";
/// Kind of [`Transfer`] records.
pub const TRANSFER: &str = "comb.transfer";
/// Kind of [`PostWorkWait`] records.
pub const PWW: &str = "comb.pww";
/// Kind of [`Polling`] records.
pub const POLLING: &str = "comb.polling";
/// Kind of [`Buffering`] records.
pub const BUFFERING: &str = "comb.buffering";
/// Kind of [`Drift`] records.
pub const DRIFT: &str = "comb.drift";

/// Times of something that was repeated, in nanoseconds. A difference of times can be below 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Half were shorter.
    pub median_ns: f64,
    /// Interval of the median, with the confidence of the run.
    pub interval: Interval,
    /// Mean of the middle half. Where transfers take one of two ways, each with its own time, it lies between them by
    /// how often each was taken, and a median jumps from one to the other.
    pub midmean_ns: f64,
    /// Interval of the midmean.
    pub midmean_interval: Interval,
    /// A twentieth was shorter.
    pub p05_ns: f64,
    /// A twentieth was longer.
    pub p95_ns: f64,
}

/// Round trips of one size (figures 5, 6, 11 and 12).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PingPong {
    /// The pair of ranks.
    pub pair: Pair,
    /// Size of the message.
    pub size_bytes: u64,
    /// Round trips made.
    pub n_trips: u64,
    /// Share of the time that it was measured in for which a rank of the pair was off its core, the worse of the two.
    pub away_ratio: f64,
    /// Half of a round trip, over batches of trips.
    pub half_round_trip: Spread,
    /// Size by median half round trip.
    pub bandwidth_bytes_per_sec: f64,
}

/// Time that a transfer of one size takes if nothing is hidden behind work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// The pair of ranks.
    pub pair: Pair,
    /// Size of each message, one in each direction.
    pub size_bytes: u64,
    /// Posting until both messages are through, without any work.
    pub whole: Spread,
    /// Posting of empty messages: what the calls themselves take.
    pub empty_post: Spread,
    /// Waiting for empty messages that arrived long ago.
    pub empty_wait: Spread,
    /// Copying as many bytes from memory to memory, once, after a pause as long as between exchanges.
    pub copy: Spread,
}

/// Post-work-wait at one size and one length of work (figures 7 to 10).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostWorkWait {
    /// The pair of ranks.
    pub pair: Pair,
    /// Size of each message, one in each direction.
    pub size_bytes: u64,
    /// Work between posting and waiting, by calibration.
    pub work_interval_ns: u64,
    /// The same in turns of work.
    pub n_turns: u64,
    /// Number of cycles measured.
    pub n_cycles: u64,
    /// Share of the time that it was measured in for which a rank of the pair was off its core, the worse of the two.
    pub away_ratio: f64,
    /// Posting receive and send.
    pub post: Spread,
    /// Work while messages may fly.
    pub work: Spread,
    /// Waiting for both messages.
    pub wait: Spread,
    /// The same work without messages.
    pub dry: Spread,
    /// Time by which work took longer with messages than without, cycle by cycle; can be below 0.
    pub inflation: Spread,
    /// Dry by post, work and wait.
    pub availability: Availability,
    /// Received, over the median of post, work and wait; as much was sent.
    pub received_bytes_per_sec: f64,
}

/// Polling at one size and one poll interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Polling {
    /// The pair of ranks.
    pub pair: Pair,
    /// Size of each message.
    pub size_bytes: u64,
    /// Messages under way in each direction.
    pub queue: u32,
    /// Work between polls, by calibration.
    pub poll_interval_ns: u64,
    /// The same in turns of work.
    pub n_turns: u64,
    /// Polls of one repetition.
    pub n_polls: u64,
    /// Number of repetitions measured.
    pub n_repetitions: u64,
    /// Share of the time that it was measured in for which a rank of the pair was off its core, the worse of the two.
    pub away_ratio: f64,
    /// All work of a repetition, without messages.
    pub dry: Spread,
    /// The same with messages.
    pub wet: Spread,
    /// Messages that the worker received in the repetition in the middle.
    pub n_received: f64,
    /// Dry by wet.
    pub availability: Availability,
    /// Received by the worker, at the median; about as much was sent.
    pub received_bytes_per_sec: f64,
}

/// A stream of numbers from producer to consumer (section 2.1). The pair's worker produces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Buffering {
    /// The pair of ranks.
    pub pair: Pair,
    /// Size of each buffer.
    pub buffer_bytes: u64,
    /// Numbers that were produced in all batches.
    pub n_values: u64,
    /// Number of repetitions measured.
    pub n_repetitions: u64,
    /// Share of the time that it was measured in for which a rank of the pair was off its core, the worse of the two.
    pub away_ratio: f64,
    /// Producing all numbers, without messages.
    pub produce: Spread,
    /// Summing as many, without messages.
    pub sum: Spread,
    /// Producing, sending and summing with one buffer on each side.
    pub single: Spread,
    /// The same with two.
    pub double: Spread,
    /// Single by double, repetition by repetition: above 1 where the second buffer helps.
    pub speedup: f64,
    /// Interval of the speedup.
    pub speedup_interval: Interval,
    /// Longer of producing and summing, by double: 1 where all else is hidden behind it. It can be above 1 by noise.
    pub bound_ratio: f64,
    /// Interval of that ratio.
    pub bound_interval: Interval,
    /// Total of the consumer's sums; the producer's is the same to the last bit.
    pub total: f64,
}

/// A second look at the calibration of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// The rank of the worker.
    pub rank: Rank,
    /// The size that was done before, or nothing after double buffering.
    pub after: Option<ByteCount>,
    /// Share by which work takes longer than at the start.
    pub drift_ratio: f64,
}

impl Spread {
    /// Summarizes `spans_ns`; `None` with fewer than two of them.
    #[must_use]
    pub fn of(spans_ns: &[f64], confidence: Confidence, seed: u64) -> Option<Self> {
        Some(Self {
            median_ns: median(spans_ns)?,
            interval: bootstrap(spans_ns, median, confidence, seed)?,
            midmean_ns: midmean(spans_ns)?,
            midmean_interval: bootstrap(spans_ns, midmean, confidence, seed)?,
            p05_ns: quantile(spans_ns, 0.05)?,
            p95_ns: quantile(spans_ns, 0.95)?,
        })
    }
}

/// The mean of those that are left without the lowest and the highest quarter; `None` when there are none.
fn midmean(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let n_out = sorted.len() / 4;
    let middle = &sorted[n_out..sorted.len() - n_out];
    (!middle.is_empty()).then(|| middle.iter().sum::<f64>() / middle.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_midmean_lies_between_two_modes_and_out_of_the_reach_of_wild_values() {
        assert_eq!(midmean(&[1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0]), Some(2.0));
        assert_eq!(midmean(&[2.0, 1e9, 1.0, 3.0, 2.0, 2.0, -1e9, 2.0]), Some(2.0));
        assert_eq!(midmean(&[4.0]), Some(4.0));
        assert_eq!(midmean(&[]), None);
    }
}
