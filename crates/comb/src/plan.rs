//! Plan of the measurements, and whether it makes sense.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::{ByteCount, Confidence, span};

use super::availability::N_REPETITIONS_MIN;
use super::pairing::Pairing;

/// The longest message: MPI counts elements with 31 bits, and these are bytes.
pub(crate) const SIZE_MAX: ByteCount = ByteCount::new(i32::MAX as u64);
/// A sweep of more points is a slip of the keyboard.
const N_POINTS_MAX: usize = 1_000;
/// The longest work between two calls.
const INTERVAL_MAX: Duration = Duration::from_secs(60);
/// Messages under way at a time; beyond, MPI's own queues are measured.
const QUEUE_MAX: u32 = 1_024;
/// Repetitions of one measurement.
const N_REPETITIONS_MAX: u32 = 100_000;

/// A way of measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Round trips, for latency and bandwidth of messages alone.
    PingPong,
    /// Post-work-wait (section 3.2).
    Pww,
    /// Polling (section 3.1).
    Polling,
    /// Double buffering (section 2.1).
    Buffering,
}

/// All that is to be measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Methods of measurement.
    pub methods: BTreeSet<Method>,
    /// Rule by which ranks are paired.
    pub pairing: Pairing,
    /// Sizes of messages for post-work-wait and polling; round trips go up to the largest.
    pub sizes: Vec<ByteCount>,
    /// Confidence of all intervals.
    pub confidence: Confidence,
    /// Batches of round trips for each size.
    pub n_trip_batches: u32,
    /// Post-work-wait.
    pub pww: PostWorkWaitPlan,
    /// Polling.
    pub polling: PollingPlan,
    /// Double buffering.
    pub buffering: BufferingPlan,
}

/// Post-work-wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostWorkWaitPlan {
    /// Lengths of work; where none is given they are chosen around the time of a transfer.
    pub intervals: Vec<Duration>,
    /// Number of times that each is repeated.
    pub n_cycles: u32,
    /// Whether the support works as well, rather than waiting for its messages at once.
    pub is_mutual: bool,
}

/// Polling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PollingPlan {
    /// Messages under way in each direction.
    pub queue: u32,
    /// Work between polls; where none is given they are chosen around the time of a transfer.
    pub intervals: Vec<Duration>,
    /// Number of times that each is repeated.
    pub n_repetitions: u32,
    /// Aim for the length of one repetition with messages.
    pub span: Duration,
}

/// Double buffering.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BufferingPlan {
    /// Size of each buffer of numbers, which take 8 bytes each.
    pub size: ByteCount,
    /// Number of buffers that are filled.
    pub n_batches: u32,
    /// Number of times that all of it is repeated.
    pub n_repetitions: u32,
}

/// Errors of a plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Nothing to measure.
    #[error("{of} must not be empty")]
    Empty {
        /// The part that is empty.
        of: &'static str,
    },
    /// Too many points.
    #[error("{n} {of} are too many: the limit is {N_POINTS_MAX}")]
    TooMany {
        /// The kind of points.
        of: &'static str,
        /// The number of points.
        n: usize,
    },
    /// More than MPI counts.
    #[error("a message of {size} is too long: MPI counts its bytes with 31 bits, so the limit is {}", SIZE_MAX.bytes())]
    TooLong {
        /// The size as given.
        size: ByteCount,
    },
    /// A number out of its range.
    #[error("{of} of {given} is not from {least} to {most}")]
    Range {
        /// The kind of number.
        of: &'static str,
        /// The number as given.
        given: u64,
        /// The lowest that is right.
        least: u64,
        /// The highest that is right.
        most: u64,
    },
    /// A length of time out of its range.
    #[error("{of} of {} is not from {} to {}", span::format(*given), span::format(*least), span::format(*most))]
    Span {
        /// The kind of length.
        of: &'static str,
        /// The length as given.
        given: Duration,
        /// The shortest that is right.
        least: Duration,
        /// The longest that is right.
        most: Duration,
    },
    /// A size that is not a whole number of values.
    #[error("a buffer of {size} is not a whole number of 8-byte values above 0")]
    Buffer {
        /// The size as given.
        size: ByteCount,
    },
}

impl Plan {
    /// Whether it can be measured on some machine.
    ///
    /// # Errors
    /// The first thing that makes no sense.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.methods.is_empty() {
            return Err(PlanError::Empty { of: "the list of methods" });
        }
        check_count("sizes", self.sizes.len())?;
        if let Some(&size) = self.sizes.iter().chain([&self.buffering.size]).find(|&&size| size > SIZE_MAX) {
            return Err(PlanError::TooLong { size });
        }
        in_range("a number of round-trip batches", self.n_trip_batches, N_REPETITIONS_MIN as u32, N_REPETITIONS_MAX)?;
        self.pww.check()?;
        self.polling.check()?;
        self.buffering.check()
    }

    /// Bytes that one rank needs for its buffers at a time, at most.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        let size = self.sizes.iter().map(|size| size.bytes()).max().unwrap_or(0);
        let of = |method| match method {
            Method::PingPong | Method::Pww => 2 * size,
            Method::Polling => size.saturating_mul(3 * u64::from(self.polling.queue)),
            Method::Buffering => 2 * self.buffering.size.bytes(),
        };
        self.methods.iter().map(|&method| of(method)).max().unwrap_or(0)
    }
}

impl PostWorkWaitPlan {
    fn check(&self) -> Result<(), PlanError> {
        check_intervals("work intervals", &self.intervals, Duration::ZERO)?;
        in_range("a number of cycles", self.n_cycles, N_REPETITIONS_MIN as u32, N_REPETITIONS_MAX)
    }
}

impl PollingPlan {
    fn check(&self) -> Result<(), PlanError> {
        check_intervals("poll intervals", &self.intervals, Duration::from_nanos(1))?;
        in_range("a queue", self.queue, 1, QUEUE_MAX)?;
        in_range("a number of repetitions", self.n_repetitions, N_REPETITIONS_MIN as u32, N_REPETITIONS_MAX)?;
        in_span("a repetition", self.span, Duration::from_micros(100))
    }
}

impl BufferingPlan {
    fn check(&self) -> Result<(), PlanError> {
        if self.size.bytes() == 0 || !self.size.bytes().is_multiple_of(8) {
            return Err(PlanError::Buffer { size: self.size });
        }
        in_range("a number of batches", self.n_batches, 2, 1_000_000)?;
        in_range("a number of repetitions", self.n_repetitions, N_REPETITIONS_MIN as u32, N_REPETITIONS_MAX)
    }
}

fn check_count(of: &'static str, n: usize) -> Result<(), PlanError> {
    match n {
        0 => Err(PlanError::Empty { of: "the list of sizes" }),
        n if n > N_POINTS_MAX => Err(PlanError::TooMany { of, n }),
        _ => Ok(()),
    }
}

/// No interval at all is right: they are chosen then.
fn check_intervals(of: &'static str, intervals: &[Duration], least: Duration) -> Result<(), PlanError> {
    if intervals.len() > N_POINTS_MAX {
        return Err(PlanError::TooMany { of, n: intervals.len() });
    }
    intervals.iter().try_for_each(|&interval| in_span("an interval", interval, least))
}

fn in_range(of: &'static str, given: u32, least: u32, most: u32) -> Result<(), PlanError> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    let [given, least, most] = [given, least, most].map(u64::from);
    Err(PlanError::Range { of, given, least, most })
}

fn in_span(of: &'static str, given: Duration, least: Duration) -> Result<(), PlanError> {
    let most = INTERVAL_MAX;
    if (least..=most).contains(&given) { Ok(()) } else { Err(PlanError::Span { of, given, least, most }) }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PingPong => "ping-pong",
            Self::Pww => "pww",
            Self::Polling => "polling",
            Self::Buffering => "buffering",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            methods: [Method::Pww, Method::Polling].into(),
            pairing: Pairing::Halves,
            sizes: vec![ByteCount::new(1 << 20)],
            confidence: Confidence::P95,
            n_trip_batches: 15,
            pww: PostWorkWaitPlan { intervals: Vec::new(), n_cycles: 15, is_mutual: false },
            polling: PollingPlan { queue: 4, intervals: Vec::new(), n_repetitions: 9, span: Duration::from_millis(5) },
            buffering: BufferingPlan { size: ByteCount::new(80), n_batches: 2, n_repetitions: 5 },
        }
    }

    #[track_caller]
    fn check_refused(change: impl FnOnce(&mut Plan), words: &str) {
        let mut plan = plan();
        change(&mut plan);
        let told = plan.check().unwrap_err().to_string();
        assert!(told.contains(words), "{told}");
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        assert_eq!(plan().check(), Ok(()));
        check_refused(|plan| plan.sizes.clear(), "the list of sizes must not be empty");
        check_refused(|plan| plan.methods.clear(), "the list of methods must not be empty");
        check_refused(
            |plan| plan.sizes = vec![ByteCount::new(1 << 31)],
            "a message of 2GiB is too long: MPI counts its bytes with 31 bits",
        );
        check_refused(|plan| plan.sizes = vec![ByteCount::new(1); 1_001], "1001 sizes are too many");
        check_refused(|plan| plan.polling.queue = 0, "a queue of 0 is not from 1 to 1024");
        check_refused(|plan| plan.pww.n_cycles = 4, "a number of cycles of 4 is not from 5");
        check_refused(|plan| plan.polling.intervals = vec![Duration::ZERO], "an interval of 0s is not from 1ns to 1m");
        check_refused(
            |plan| plan.pww.intervals = vec![Duration::from_secs(61)],
            "an interval of 1m 1s is not from 0s to 1m",
        );
        check_refused(|plan| plan.buffering.size = ByteCount::new(81), "a buffer of 81B is not a whole number");
    }

    #[test]
    fn work_of_no_length_is_a_point_of_its_own() {
        let mut plan = plan();
        plan.pww.intervals = vec![Duration::ZERO];
        assert_eq!(plan.check(), Ok(()));
    }

    #[test]
    fn buffers_are_those_of_the_hungriest_method() {
        assert_eq!(plan().buffer_bytes(), 12 << 20);
        let mut plan = plan();
        plan.methods = [Method::Pww].into();
        assert_eq!(plan.buffer_bytes(), 2 << 20);
    }
}
