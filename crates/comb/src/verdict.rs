//! Verdicts on an MPI library by the curves of post-work-wait and rules with stated limits: who moves the data, and
//! when.
//!
//! Three questions for each size (sections 3.2 and 5.1): does a transfer go on while the application works and calls
//! nothing (application offload), does posting move data already, and where does the time go that messages cost. A
//! figure and its interval are set against a limit; where the interval lies on both sides, or the figure means nothing,
//! the verdict is undecided and says why.
//!
//! The rules go by points whose work takes at least [`LONG_WORK`] times as long as the whole transfer without work,
//! where a library that makes progress has had the time for it, and by midmeans. What calls take with empty messages is
//! no part of a transfer and is left out of all shares.

use std::fmt;

use mpi_run::{AWAY_RATIO_MAX, ClockQuality, MalformedRecord, Outcome};
use serde::{Deserialize, Serialize};
use statistics::{Interval, median};
use units::ByteCount;

use super::pairing::Pair;
use super::record::{PWW, PostWorkWait, Spread, TRANSFER, Transfer};

/// Kind of [`Verdict`] records.
pub const VERDICT: &str = "comb.verdict";

/// Work that is long beside a transfer, in transfers.
pub(crate) const LONG_WORK: f64 = 2.0;
/// Largest share left in the wait of a transfer that went on by itself. A library that offloads leaves its last look.
pub(crate) const OFFLOAD_MAX: f64 = 0.2;
/// Smallest share left in the wait of a transfer of which nothing went on. Open MPI 4.1, also over TCP, and
/// MPICH 4.0 leave 72 to 118 % of the transfers of which this could be told.
pub(crate) const NO_PROGRESS_MIN: f64 = 0.7;
/// Posting that takes at least this share of a copy moves the data. Eager messages of 16 KiB take 200 % with MPICH 4.0.
pub(crate) const COPIES_MIN: f64 = 0.5;
/// Posting that takes at most this share of a copy does not: a request to send takes 8 % of a copy of 128 KiB with Open
/// MPI 4.1.
pub(crate) const NO_COPY_MAX: f64 = 0.25;
/// Times are compared if they are at least so many steps of the clock, or looks at it.
const STEPS_MIN: f64 = 10.0;

/// Verdict on one size between two ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The pair of ranks.
    pub pair: Pair,
    /// Size of each message, one in each direction.
    pub size_bytes: u64,
    /// Progress of a transfer without calls.
    pub progress: Progress,
    /// Whether posting moves the data.
    pub posting: Posting,
    /// Phases that take the time that messages cost.
    pub cost: Cost,
}

/// A share and where it lies. It is a ratio of measured times and can leave [0, 1] by noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The estimate.
    pub ratio: f64,
    /// Interval of the share.
    pub interval: Interval,
}

/// Progress of a transfer while the application works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Progress {
    /// Application offload: hardly anything is left to be waited for.
    Offload {
        /// Share of the transfer that is left in the wait.
        left: Share,
    },
    /// A part goes on, the rest is done in the wait.
    Partial {
        /// Share of the transfer that is left in the wait.
        left: Share,
    },
    /// Nothing goes on before the wait.
    None {
        /// Share of the transfer that is left in the wait.
        left: Share,
    },
    /// No finding from the data.
    Undecided {
        /// The reason.
        reason: String,
    },
}

/// Whether posting moves the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Posting {
    /// Posting takes as long as moving the data does.
    Copies {
        /// Posting, by copying as much from memory to memory.
        of_copy: Share,
    },
    /// Posting takes no longer than for an empty message.
    DoesNotCopy {
        /// Posting, by copying as much from memory to memory.
        of_copy: Share,
    },
    /// No finding from the data.
    Undecided {
        /// The reason.
        reason: String,
    },
}

/// Time that messages cost, by phase, at the shortest work that is long beside the transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Cost {
    /// Median nanoseconds of one exchange.
    Told {
        /// Length of that work.
        work_ns: f64,
        /// Time in posting.
        post_ns: f64,
        /// Time by which work takes longer; 0 if that cannot be told from none.
        work_inflation_ns: f64,
        /// Time in waiting.
        wait_ns: f64,
        /// Phase that takes more than half of it, if any.
        most: Option<Phase>,
    },
    /// No finding from the data.
    Undecided {
        /// The reason.
        reason: String,
    },
}

/// A phase of post-work-wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Posting.
    Post,
    /// Working.
    Work,
    /// Waiting.
    Wait,
}

/// Conditions under which the figures were made.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// Quality of the worker's clock.
    pub clock: ClockQuality,
    /// Whether ranks take turns on cores.
    pub is_sliced: bool,
}

impl Verdict {
    /// Judges all `points` of one size between two ranks.
    #[must_use]
    pub fn of(transfer: &Transfer, points: &[PostWorkWait], conditions: &Conditions) -> Self {
        let mut long: Vec<&PostWorkWait> =
            points.iter().filter(|point| point.dry.median_ns >= LONG_WORK * transfer.whole.median_ns).collect();
        long.sort_by(|a, b| a.dry.median_ns.total_cmp(&b.dry.median_ns));
        let hindrance = hindrance(points, conditions).or_else(|| long.is_empty().then(|| too_short(transfer)));
        let (progress, posting) = match hindrance {
            Some(reason) => (Progress::Undecided { reason: reason.clone() }, Posting::Undecided { reason }),
            None => (progress(transfer, &long, conditions), posting(transfer, &long, conditions)),
        };
        Self { pair: transfer.pair, size_bytes: transfer.size_bytes, progress, posting, cost: cost(transfer, &long) }
    }
}

/// Returns the reason why all figures of a size mean something else, if there is one.
fn hindrance(points: &[PostWorkWait], conditions: &Conditions) -> Option<String> {
    if conditions.is_sliced {
        return Some("ranks share cores, so that the figures describe time slicing".to_owned());
    }
    let aways: Vec<f64> = points.iter().map(|point| point.away_ratio).collect();
    let away = median(&aways).filter(|away| *away > AWAY_RATIO_MAX)?;
    Some(format!(
        "a rank was off its core for {:.0} % of the time, so that the figures describe time slicing",
        100.0 * away
    ))
}

fn too_short(transfer: &Transfer) -> String {
    format!("no work was {LONG_WORK} times as long as the transfer of {:.1} us", transfer.whole.median_ns / 1e3)
}

fn progress(transfer: &Transfer, long: &[&PostWorkWait], conditions: &Conditions) -> Progress {
    let (post, wait) = (pooled(long, |point| &point.post), pooled(long, |point| &point.wait));
    let calls_ns = transfer.empty_wait.midmean_ns;
    let open_ns = transfer.whole.midmean_ns - post.ratio - calls_ns;
    if open_ns < tellable_ns(conditions) {
        let reason = format!(
            "of a transfer of {:.2} us, posting takes {:.2} us and a wait for an empty message {:.2} us: too little is left that could go on",
            transfer.whole.midmean_ns / 1e3,
            post.ratio / 1e3,
            calls_ns / 1e3
        );
        return Progress::Undecided { reason };
    }
    // The least that can be left of the most that there is, and the other way round.
    let most_ns =
        (transfer.whole.midmean_interval.upper - post.interval.lower - transfer.empty_wait.midmean_interval.lower)
            .max(1.0);
    let least_ns =
        (transfer.whole.midmean_interval.lower - post.interval.upper - transfer.empty_wait.midmean_interval.upper)
            .max(1.0);
    let low_ns = wait.interval.lower - transfer.empty_wait.midmean_interval.upper;
    let high_ns = wait.interval.upper - transfer.empty_wait.midmean_interval.lower;
    let left = Share {
        ratio: (wait.ratio - calls_ns) / open_ns,
        interval: Interval {
            lower: low_ns / if low_ns > 0.0 { most_ns } else { least_ns },
            upper: high_ns / if high_ns > 0.0 { least_ns } else { most_ns },
        },
    };
    if left.interval.upper <= OFFLOAD_MAX {
        Progress::Offload { left }
    } else if left.interval.lower >= NO_PROGRESS_MIN {
        Progress::None { left }
    } else if left.interval.lower > OFFLOAD_MAX && left.interval.upper < NO_PROGRESS_MIN {
        Progress::Partial { left }
    } else {
        let reason = format!(
            "{left} of the transfer is left in the wait: not clearly on one side of {OFFLOAD_MAX} and {NO_PROGRESS_MIN}"
        );
        Progress::Undecided { reason }
    }
}

fn posting(transfer: &Transfer, long: &[&PostWorkWait], conditions: &Conditions) -> Posting {
    let copy = &transfer.copy;
    if copy.midmean_ns < tellable_ns(conditions) {
        let reason = format!(
            "a copy of {} takes {:.0} ns, too little to tell",
            ByteCount::new(transfer.size_bytes),
            copy.midmean_ns
        );
        return Posting::Undecided { reason };
    }
    let post = pooled(long, |point| &point.post);
    let empty = &transfer.empty_post;
    let of_copy = Share {
        ratio: (post.ratio - empty.midmean_ns) / copy.midmean_ns,
        interval: Interval {
            lower: (post.interval.lower - empty.midmean_interval.upper) / copy.midmean_interval.upper,
            upper: (post.interval.upper - empty.midmean_interval.lower) / copy.midmean_interval.lower,
        },
    };
    if of_copy.interval.lower >= COPIES_MIN {
        Posting::Copies { of_copy }
    } else if of_copy.interval.upper <= NO_COPY_MAX {
        Posting::DoesNotCopy { of_copy }
    } else {
        let reason =
            format!("posting takes {of_copy} of a copy: not clearly on one side of {NO_COPY_MAX} and {COPIES_MIN}");
        Posting::Undecided { reason }
    }
}

fn cost(transfer: &Transfer, long: &[&PostWorkWait]) -> Cost {
    let Some(point) = long.first() else { return Cost::Undecided { reason: too_short(transfer) } };
    let inflation = &point.inflation;
    let work_inflation_ns = if inflation.interval.lower > 0.0 { inflation.median_ns } else { 0.0 };
    let parts =
        [(Phase::Post, point.post.median_ns), (Phase::Work, work_inflation_ns), (Phase::Wait, point.wait.median_ns)];
    let whole: f64 = parts.iter().map(|(_, part_ns)| part_ns).sum();
    Cost::Told {
        work_ns: point.dry.median_ns,
        post_ns: point.post.median_ns,
        work_inflation_ns,
        wait_ns: point.wait.median_ns,
        most: parts.into_iter().find(|(_, part_ns)| *part_ns > 0.5 * whole).map(|(phase, _)| phase),
    }
}

/// A phase over several points: middles of their midmeans and of the ends of their intervals, in nanoseconds.
fn pooled(points: &[&PostWorkWait], phase: impl Fn(&PostWorkWait) -> &Spread) -> Share {
    let middle = |part: fn(&Spread) -> f64| {
        let parts: Vec<f64> = points.iter().map(|point| part(phase(point))).collect();
        median(&parts).unwrap_or(f64::NAN)
    };
    Share {
        ratio: middle(|spread| spread.midmean_ns),
        interval: Interval {
            lower: middle(|spread| spread.midmean_interval.lower),
            upper: middle(|spread| spread.midmean_interval.upper),
        },
    }
}

fn tellable_ns(conditions: &Conditions) -> f64 {
    STEPS_MIN * (conditions.clock.resolution_ns as f64).max(conditions.clock.cost_ns)
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |ratio: f64| 100.0 * ratio;
        let Interval { lower: low, upper: high } = self.interval;
        write!(f, "{:.0} % [{:.0}, {:.0}]", percent(self.ratio), percent(low), percent(high))
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offload { left } => {
                write!(f, "makes progress without calls: {left} of the transfer is left in the wait")
            }
            Self::Partial { left } => {
                write!(f, "makes part of its progress without calls: {left} of the transfer is left in the wait")
            }
            Self::None { left } => {
                write!(f, "makes no progress without calls: {left} of the transfer is left in the wait")
            }
            Self::Undecided { reason } => write!(f, "progress without calls undecided: {reason}"),
        }
    }
}

impl fmt::Display for Posting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Copies { of_copy } => write!(f, "posting moves the data: it takes {of_copy} of a copy in memory"),
            Self::DoesNotCopy { of_copy } => write!(f, "posting moves no data: it takes {of_copy} of a copy in memory"),
            Self::Undecided { reason } => write!(f, "whether posting moves data is undecided: {reason}"),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Told { work_ns, post_ns, work_inflation_ns, wait_ns, most } => {
                let whole_ns = (post_ns + work_inflation_ns + wait_ns).max(1.0);
                let percent = |part_ns: f64| 100.0 * part_ns / whole_ns;
                write!(
                    f,
                    "beside {:.1} us of work an exchange costs {:.2} us: post {:.0} %, longer work {:.0} %, wait {:.0} %",
                    work_ns / 1e3,
                    whole_ns / 1e3,
                    percent(*post_ns),
                    percent(*work_inflation_ns),
                    percent(*wait_ns)
                )?;
                if most.is_none() { f.write_str("; no phase takes more than half") } else { Ok(()) }
            }
            Self::Undecided { reason } => write!(f, "where the time goes is undecided: {reason}"),
        }
    }
}

/// A verdict for each size and pair with post-work-wait in a result.
///
/// # Errors
/// The record that is not what its kind says.
pub(crate) fn verdicts(outcome: &Outcome) -> Result<Vec<Verdict>, MalformedRecord> {
    let points: Vec<PostWorkWait> = outcome.all(PWW)?;
    let transfers: Vec<Transfer> = outcome.all(TRANSFER)?;
    let verdict = |transfer: &Transfer| {
        let is_of = |point: &&PostWorkWait| point.pair == transfer.pair && point.size_bytes == transfer.size_bytes;
        let of_size: Vec<PostWorkWait> = points.iter().filter(is_of).cloned().collect();
        let place = outcome.header.ranks.iter().find(|place| place.rank == transfer.pair.worker)?;
        let conditions = Conditions { clock: place.clock, is_sliced: outcome.header.is_oversubscribed() };
        (!of_size.is_empty()).then(|| Verdict::of(transfer, &of_size, &conditions))
    };
    Ok(transfers.iter().filter_map(verdict).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::availability::Availability;

    const PAIR: Pair = Pair { worker: 0, support: 1 };
    const CONDITIONS: Conditions =
        Conditions { clock: ClockQuality { resolution_ns: 20, cost_ns: 25.0 }, is_sliced: false };
    const CALLS_NS: f64 = 200.0;
    const COPY_NS: f64 = 20_000.0;

    /// Times that vary by `noise` of themselves.
    fn spread(median_ns: f64, noise: f64) -> Spread {
        let at = |factor: f64| median_ns + factor * noise * median_ns.abs();
        let interval = Interval { lower: at(-0.2), upper: at(0.2) };
        let (midmean_ns, midmean_interval) = (median_ns, interval);
        Spread { median_ns, interval, midmean_ns, midmean_interval, p05_ns: at(-1.0), p95_ns: at(1.0) }
    }

    /// A library of which is known what it does with a transfer of 100 us.
    struct Library {
        posted_ns: f64,
        left_ns: f64,
        inflation_ns: f64,
        away_ratio: f64,
        noise: f64,
    }

    impl Library {
        fn transfer(&self) -> Transfer {
            Transfer {
                pair: PAIR,
                size_bytes: 1 << 20,
                whole: spread(100_000.0 + 2.0 * CALLS_NS, self.noise),
                empty_post: spread(CALLS_NS, self.noise),
                empty_wait: spread(CALLS_NS, self.noise),
                copy: spread(COPY_NS, self.noise),
            }
        }

        fn point(&self, work_ns: f64) -> PostWorkWait {
            PostWorkWait {
                pair: PAIR,
                size_bytes: 1 << 20,
                work_interval_ns: work_ns as u64,
                n_turns: 1,
                n_cycles: 51,
                away_ratio: self.away_ratio,
                post: spread(CALLS_NS + self.posted_ns, self.noise),
                work: spread(work_ns + self.inflation_ns, self.noise),
                wait: spread(CALLS_NS + self.left_ns, self.noise),
                dry: spread(work_ns, self.noise),
                inflation: spread(self.inflation_ns, self.noise),
                availability: Availability::without_work(),
                received_bytes_per_sec: 0.0,
            }
        }

        fn verdict(&self, works_us: &[f64], conditions: &Conditions) -> Verdict {
            let points: Vec<PostWorkWait> = works_us.iter().map(|work_us| self.point(1e3 * work_us)).collect();
            Verdict::of(&self.transfer(), &points, conditions)
        }
    }

    const STEADY: Library = Library { posted_ns: 0.0, left_ns: 0.0, inflation_ns: 0.0, away_ratio: 0.0, noise: 0.02 };
    const WORKS_US: [f64; 4] = [0.0, 50.0, 300.0, 600.0];

    fn told(library: &Library) -> Verdict {
        library.verdict(&WORKS_US, &CONDITIONS)
    }

    #[test]
    fn a_library_that_goes_on_by_itself_offloads_and_copies_nothing() {
        let verdict = told(&STEADY);
        assert!(matches!(verdict.progress, Progress::Offload { .. }), "{}", verdict.progress);
        assert!(matches!(verdict.posting, Posting::DoesNotCopy { .. }), "{}", verdict.posting);
    }

    #[test]
    fn a_library_that_moves_all_in_the_wait_makes_no_progress() {
        let verdict = told(&Library { left_ns: 95_000.0, ..STEADY });
        let Progress::None { left } = verdict.progress else { panic!("{}", verdict.progress) };
        assert!((left.ratio - 0.95).abs() < 0.01 && left.interval.contains(0.95), "{left}");
        assert!(
            matches!(verdict.cost, Cost::Told { most: Some(Phase::Wait), work_ns: 300_000.0, .. }),
            "{}",
            verdict.cost
        );
    }

    #[test]
    fn half_a_transfer_in_the_wait_is_part_of_the_progress() {
        let verdict = told(&Library { left_ns: 45_000.0, ..STEADY });
        assert!(matches!(verdict.progress, Progress::Partial { .. }), "{}", verdict.progress);
    }

    #[test]
    fn a_library_that_copies_when_posting_is_found_out() {
        let verdict = told(&Library { posted_ns: COPY_NS, ..STEADY });
        assert!(matches!(verdict.posting, Posting::Copies { .. }), "{}", verdict.posting);
        assert!(matches!(verdict.cost, Cost::Told { most: Some(Phase::Post), .. }), "{}", verdict.cost);
    }

    #[test]
    fn posting_that_is_the_whole_transfer_leaves_nothing_to_be_judged() {
        // The fault that the paper found: a send that returns when it is done.
        let verdict = told(&Library { posted_ns: 100_000.0, ..STEADY });
        let Progress::Undecided { reason } = &verdict.progress else { panic!("{}", verdict.progress) };
        assert!(reason.contains("too little is left that could go on"), "{reason}");
        assert!(matches!(verdict.posting, Posting::Copies { .. }));
    }

    #[test]
    fn longer_work_that_is_beyond_noise_is_a_cost() {
        let verdict = told(&Library { inflation_ns: 30_000.0, ..STEADY });
        assert!(matches!(verdict.cost, Cost::Told { most: Some(Phase::Work), .. }), "{}", verdict.cost);
        let noisy = Library { noise: 8.0, inflation_ns: 30_000.0, ..STEADY };
        let Cost::Told { work_inflation_ns, .. } = noisy.verdict(&[300.0], &CONDITIONS).cost else { panic!() };
        assert_eq!(work_inflation_ns, 0.0);
    }

    #[track_caller]
    fn check_undecided(verdict: &Verdict, words: &str) {
        let Progress::Undecided { reason } = &verdict.progress else { panic!("{}", verdict.progress) };
        assert!(reason.contains(words), "{reason}");
    }

    #[test]
    fn what_the_data_do_not_say_is_undecided_with_its_reason() {
        check_undecided(&STEADY.verdict(&[0.0, 50.0, 150.0], &CONDITIONS), "no work was 2 times as long");
        check_undecided(&STEADY.verdict(&WORKS_US, &Conditions { is_sliced: true, ..CONDITIONS }), "time slicing");
        check_undecided(&told(&Library { left_ns: 20_000.0, noise: 0.5, ..STEADY }), "not clearly on one side");
        check_undecided(&told(&Library { away_ratio: 0.25, ..STEADY }), "off its core for 25 % of the time");
        let short = Transfer { copy: spread(30.0, 0.02), ..STEADY.transfer() };
        let verdict = Verdict::of(&short, &[STEADY.point(300_000.0)], &CONDITIONS);
        assert!(matches!(&verdict.posting, Posting::Undecided { reason } if reason.contains("too little to tell")));
    }
}
