//! Two results of ACE beside each other: what differs beyond chance, of which application, on which rank, in which part
//! of the cycle.
//!
//! Results keep summaries, not times, so what chance does is found by drawing from them ([`chance`]): a median of so
//! many cycles whose quantiles are those of the summary. That takes cycles for independent, and knows nothing of what
//! differs from one run to the next: two runs minutes apart may well differ by more than their own cycles let expect.
//! Sweeps with repetitions tell that as well, and are compared run by run ([`runs`]).

use std::fmt::{self, Write};

use mpi_run::{MalformedRecord, Outcome};
use statistics::Interval;
use statistics::digest::Summary;
use text::figure::span_ns;
use units::{Confidence, Rank};

use crate::record::{APPLICATION, POINT, Planned, Point, RANK, RankResult, SWEEP, SweepResult};

mod chance;
mod runs;
mod setting;

/// A change below this share is not told, however sure it is: compute phases are not steadier.
const CHANGE_MIN: f64 = 0.01;

/// Reasons why two results cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComparisonError {
    /// A result of another program.
    #[error("the {which} result is from `{program}`; only results of `ace` can be compared")]
    Program {
        /// `first` or `second`.
        which: &'static str,
        /// The program that wrote the result.
        program: String,
    },
    /// A record that is not of its form.
    #[error("the {which} result cannot be read")]
    Record {
        /// `first` or `second`.
        which: &'static str,
        /// The malformed record.
        source: MalformedRecord,
    },
    /// Nothing that both have.
    #[error(
        "the two results have no application, exchange or cell of a sweep in common; applications are matched by name"
    )]
    Nothing,
}

/// Differences between two results.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Differences of the circumstances, a sentence each. If there are any, changes may be due to them.
    pub circumstances: Vec<String>,
    /// Changes beyond chance, the largest change first.
    pub changes: Vec<Change>,
    /// Number of comparisons that found no change.
    pub n_unchanged: usize,
    /// Items that could not be compared, a sentence each.
    pub omissions: Vec<String>,
    /// Confidence, meant to hold for all changes together, that none of them is due to chance.
    pub confidence: Confidence,
}

/// Something that changed. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The item that changed.
    pub subject: Subject,
    /// The figure of the item that changed.
    pub figure: Figure,
    /// Value in the first result.
    pub before_ns: f64,
    /// Value in the second result.
    pub after_ns: f64,
    /// Confidence interval of `after_ns / before_ns`; none for a test by ranks.
    pub ratio: Option<Interval>,
}

/// An item that two results have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Phase one: messages or exchanges of a size.
    Benchmark {
        /// Name of the application.
        application: String,
        /// `ping-pong`, or a pattern's name.
        what: String,
        /// Size of one message.
        size_bytes: u64,
    },
    /// Phase two: a part of the cycles of a rank.
    Part {
        /// Name of the application.
        application: String,
        /// Position of the rank in it.
        rank: Rank,
        /// The part of the cycles.
        part: CyclePart,
    },
    /// Runs of a sweep with the same settings.
    Runs {
        /// The settings and the application, as people would say them.
        settings: String,
    },
}

/// A part of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CyclePart {
    /// All of it.
    Cycle,
    /// Its work.
    Compute,
    /// Its wait for other ranks.
    Synchronization,
    /// Its exchange.
    Communication,
}

/// A figure of many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Their middle.
    Median,
    /// The time that one in a hundred exceeds: there dispersion shows first.
    Percentile99,
}

/// Compares two results. Intervals are so wide that all of them together hold with `confidence` (Bonferroni).
///
/// # Errors
/// [`ComparisonError`] when one is none of ACE's, or nothing in them is the same.
pub fn compare(
    first: &Outcome,
    second: &Outcome,
    confidence: Confidence,
    seed: u64,
) -> Result<Comparison, ComparisonError> {
    for (which, outcome) in [("first", first), ("second", second)] {
        if outcome.header.program != "ace" {
            return Err(ComparisonError::Program { which, program: outcome.header.program.clone() });
        }
    }
    let mut omissions = Vec::new();
    let plans = both::<Planned>(APPLICATION, first, second)?;
    let sweeps = both::<SweepResult>(SWEEP, first, second)?;
    let mut circumstances = setting::differences(&first.header, &second.header);
    let (changes, n_compared) = if sweeps.0.is_empty() && sweeps.1.is_empty() {
        setting::compare_plans(&plans, &mut circumstances, &mut omissions);
        let points = both::<Point>(POINT, first, second)?;
        let ranks = both::<RankResult>(RANK, first, second)?;
        circumstances.extend(setting::ranks_off_core(&ranks));
        summaries(&pairs(&points, &ranks), confidence, seed)
    } else {
        circumstances.extend(setting::runs_off_core(&sweeps));
        runs::compare(&sweeps, confidence, seed, &mut omissions)
    };
    if n_compared == 0 && omissions.is_empty() {
        return Err(ComparisonError::Nothing);
    }
    let mut changes: Vec<Change> = changes.into_iter().filter(|change| change.share().abs() >= CHANGE_MIN).collect();
    changes.sort_by(|a, b| b.size().total_cmp(&a.size()));
    let n_unchanged = n_compared - changes.len();
    Ok(Comparison { circumstances, changes, n_unchanged, omissions, confidence })
}

/// All records of a kind, of both results.
fn both<T: serde::de::DeserializeOwned>(
    kind: &str,
    first: &Outcome,
    second: &Outcome,
) -> Result<(Vec<T>, Vec<T>), ComparisonError> {
    let of = |which, outcome: &Outcome| outcome.all(kind).map_err(|source| ComparisonError::Record { which, source });
    Ok((of("first", first)?, of("second", second)?))
}

/// Summaries of the same thing in both results.
fn pairs<'a>(
    points: &'a (Vec<Point>, Vec<Point>),
    ranks: &'a (Vec<RankResult>, Vec<RankResult>),
) -> Vec<(Subject, &'a Summary, &'a Summary)> {
    let mut pairs = Vec::new();
    for point in &points.0 {
        let is_same = |other: &&Point| {
            (&other.application, &other.what, other.size_bytes) == (&point.application, &point.what, point.size_bytes)
        };
        if let Some(other) = points.1.iter().find(is_same) {
            let Point { application, what, size_bytes, .. } = point.clone();
            pairs.push((Subject::Benchmark { application, what, size_bytes }, &point.span, &other.span));
        }
    }
    for result in &ranks.0 {
        let is_same = |other: &&RankResult| (&other.application, other.rank) == (&result.application, result.rank);
        let Some(other) = ranks.1.iter().find(is_same) else { continue };
        for (part, before, after) in [
            (CyclePart::Cycle, &result.cycle, &other.cycle),
            (CyclePart::Compute, &result.compute, &other.compute),
            (CyclePart::Synchronization, &result.synchronization, &other.synchronization),
            (CyclePart::Communication, &result.communication, &other.communication),
        ] {
            let subject = Subject::Part { application: result.application.clone(), rank: result.rank, part };
            pairs.push((subject, before, after));
        }
    }
    pairs
}

/// Returns the changes among these pairs, and the number of figures that were compared.
fn summaries(pairs: &[(Subject, &Summary, &Summary)], confidence: Confidence, seed: u64) -> (Vec<Change>, usize) {
    let figures = [Figure::Median, Figure::Percentile99];
    let known = |figure: Figure| {
        pairs.iter().filter(move |(_, before, after)| [before, after].iter().all(|one| figure.is_known(one)))
    };
    let n_compared = figures.into_iter().map(|figure| known(figure).count()).sum::<usize>();
    let confidence = shared(confidence, n_compared);
    let change = |figure: Figure, (subject, before, after): &(Subject, &Summary, &Summary)| {
        let ratio = chance::ratio(before, after, figure, confidence, seed);
        let (before_ns, after_ns) = (figure.of(before), figure.of(after));
        (!ratio.contains(1.0)).then(|| Change {
            subject: subject.clone(),
            figure,
            before_ns,
            after_ns,
            ratio: Some(ratio),
        })
    };
    let changes = figures.into_iter().flat_map(|figure| known(figure).filter_map(move |pair| change(figure, pair)));
    (changes.collect(), n_compared)
}

/// Returns the confidence of each of `n` intervals that hold together with `confidence`, whatever their dependence.
fn shared(confidence: Confidence, n: usize) -> Confidence {
    Confidence::new(1.0 - (1.0 - confidence.probability()) / n.max(1) as f64).unwrap_or(confidence)
}

impl Figure {
    fn of(self, summary: &Summary) -> f64 {
        match self {
            Self::Median => summary.median_ns,
            Self::Percentile99 => summary.p99_ns,
        }
    }

    /// Returns the share of the times below the figure.
    fn share(self) -> f64 {
        match self {
            Self::Median => 0.5,
            Self::Percentile99 => 0.99,
        }
    }

    /// Whether so many times tell it: a few on either side.
    fn is_known(self, summary: &Summary) -> bool {
        summary.count as f64 * (1.0 - self.share()) >= 3.0 && self.of(summary) > 0.0
    }
}

impl Change {
    /// Returns the change as a share of the value before: 0.1 is a tenth more.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.after_ns / self.before_ns - 1.0
    }

    /// Returns the size of the change, alike for twice as much and half as much.
    fn size(&self) -> f64 {
        (self.after_ns / self.before_ns).ln().abs()
    }
}

impl Comparison {
    /// Returns the comparison as text for people.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = String::new();
        let mut push = |line: fmt::Arguments<'_>| writeln!(text, "{line}").expect("text takes what is written to it");
        for circumstance in &self.circumstances {
            push(format_args!("NOT THE SAME: {circumstance}"));
        }
        let percent = 100.0 * self.confidence.probability();
        match self.changes.len() {
            0 => push(format_args!("nothing changed beyond chance")),
            n => push(format_args!("{n} of {} figures changed beyond chance:", n + self.n_unchanged)),
        }
        for change in &self.changes {
            let range = change.ratio.map_or(String::new(), |ratio| {
                format!(" [{:+.1} %, {:+.1} %]", 100.0 * (ratio.lower - 1.0), 100.0 * (ratio.upper - 1.0))
            });
            push(format_args!(
                "  {:+7.1} %{range}  {}, {}: {} -> {}",
                100.0 * change.share(),
                change.subject,
                change.figure,
                span_ns(change.before_ns),
                span_ns(change.after_ns)
            ));
        }
        for omission in &self.omissions {
            push(format_args!("not compared: {omission}"));
        }
        push(format_args!(
            "(with a confidence of {percent} % for all figures together; changes below {} % are left out; cycles are taken for independent of each other)",
            100.0 * CHANGE_MIN
        ));
        text
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Benchmark { application, what, size_bytes } => {
                write!(f, "{application}, phase one, {what} of {size_bytes} B")
            }
            Self::Part { application, rank, part } => write!(f, "{application}, rank {rank}, {part}"),
            Self::Runs { settings } => write!(f, "runs of {settings}"),
        }
    }
}

impl fmt::Display for CyclePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cycle => "cycle",
            Self::Compute => "compute phase",
            Self::Synchronization => "synchronization",
            Self::Communication => "exchange",
        })
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Median => "median",
            Self::Percentile99 => "99th percentile",
        })
    }
}
