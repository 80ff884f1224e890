//! An emulated application from a trace, and how sure each part of it is.

mod cycles;
mod matrix;
mod remark;
mod sizes;

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use mpi_trace::{Call, Collective, Mode, Row, Trace};
use serde::Serialize;
use statistics::median;
use units::Rank;

use self::cycles::Cycles;
use self::matrix::{Likeness, Matrix};
use crate::application::{Application, Load, Span};
use crate::pattern::Pattern;

/// Bounds of the load of an emulated application, in percent.
const LOAD_MIN: f64 = 1.0;
const LOAD_MAX: f64 = 95.0;

/// Reasons why no emulated application can be made from a trace.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// A single rank.
    #[error("the trace has {n_ranks} rank; messages need at least 2")]
    Ranks {
        /// The number of ranks in the trace.
        n_ranks: u32,
    },
    /// No messages.
    #[error("the trace has neither a send nor a collective that moves data, so there is nothing to emulate")]
    Silent,
    /// No rank computes between its calls.
    #[error(
        "no rank of the trace has two exchanges with a computation between them, so there are no cycles; record at least 2"
    )]
    Cycles,
}

/// An emulated application, and what it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The application to be emulated.
    pub application: Application,
    /// Fit of the pattern to the trace.
    pub pattern: PatternEvidence,
    /// Median over the ranks of the mean length of a cycle, in nanoseconds.
    pub cycle_ns: f64,
    /// Exchanges with computation between them in each cycle.
    pub n_exchanges: usize,
    /// Share of the exchanges that have the calls of the one a cycle before.
    pub regularity_ratio: f64,
    /// The least and the most share of time in communication among the ranks, before it was brought into the
    /// emulation's range.
    pub load_ratios: (f64, f64),
    /// Median of those of all ranks.
    pub load_ratio: f64,
    /// Distinct sizes of messages.
    pub n_sizes: usize,
    /// The largest difference between the shares of messages up to any size, recorded and emulated.
    pub size_distance_ratio: f64,
    /// Share of the sends that are of the emulated mode; none of a collective.
    pub mode_ratio: Option<f64>,
}

/// Goodness of fit of a pattern to a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PatternEvidence {
    /// Share of the time in communication, barriers left out, that is the pattern's: in its calls, times the share of
    /// messages that it has.
    pub share_ratio: f64,
    /// Difference of the recorded messages from the pattern's, though they are of that pattern; empty if there is none.
    pub difference: String,
    /// The pattern that fits next best, and its share.
    pub next: Option<(Pattern, f64)>,
}

/// A pattern, how much of the communication it is, and which calls are its own.
struct Candidate {
    pattern: Pattern,
    evidence: PatternEvidence,
    collective: Option<Collective>,
}

/// Finds the emulated application that is most like a trace.
///
/// # Errors
/// [`FitError`] where there are no two ranks, no messages or no cycles.
pub fn fit(trace: &Trace) -> Result<Fitted, FitError> {
    let n_ranks = trace.n_ranks();
    if n_ranks < 2 {
        return Err(FitError::Ranks { n_ranks });
    }
    let cycles = Cycles::of(trace);
    let candidate = candidate(trace, &cycles).ok_or(FitError::Silent)?;
    let loads: Vec<f64> = cycles.ranks.iter().filter_map(|rank| rank.load()).collect();
    let lengths: Vec<f64> = cycles.ranks.iter().filter_map(|rank| rank.length()).collect();
    let (Some(load_ratio), Some(cycle_ns)) = (median(&loads), median(&lengths)) else { return Err(FitError::Cycles) };
    let messages = || trace.calls().iter().filter(|row| candidate.is_own(row.call));
    let sizes = sizes::fit(&counted(messages().map(|row| row.size_bytes)));
    let modes = counted(messages().filter_map(|row| mode_of(row.call)));
    let mode = modes.iter().max_by_key(|(_, n)| **n);
    let n_sends: u64 = modes.values().sum();
    let application = Application {
        name: "traced".to_owned(),
        ranks: Some(n_ranks),
        pattern: candidate.pattern,
        // Messages by single sends whose pattern is emulated by one call have no mode there.
        mode: mode.map(|(mode, _)| *mode).filter(|_| !candidate.pattern.is_collective()).unwrap_or_default(),
        size: sizes.sizes,
        load_percent: load(load_ratio),
        iterations: n_cycles(&cycles),
        time: None,
        start_offset: Span::default(),
        synchronize_every: synchronize_every(&cycles),
    };
    Ok(Fitted {
        application,
        pattern: candidate.evidence,
        cycle_ns,
        n_exchanges: cycles.n_exchanges,
        regularity_ratio: cycles.regularity_ratio,
        load_ratios: (loads.iter().copied().fold(1.0, f64::min), loads.iter().copied().fold(0.0, f64::max)),
        load_ratio,
        n_sizes: sizes.n_distinct,
        size_distance_ratio: sizes.distance_ratio,
        mode_ratio: mode.map(|(_, n)| *n as f64 / n_sends as f64),
    })
}

fn counted<T: Ord>(values: impl Iterator<Item = T>) -> BTreeMap<T, u64> {
    let mut counts = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_insert(0) += 1;
    }
    counts
}

fn mode_of(call: Call) -> Option<Mode> {
    match call {
        Call::Send(mode) => Some(mode),
        Call::Receive | Call::Wait | Call::Collective(_) | Call::Barrier => None,
    }
}

impl Candidate {
    /// Whether such a call tells the sizes of the pattern's messages.
    fn is_own(&self, call: Call) -> bool {
        match call {
            Call::Send(_) => self.collective.is_none(),
            Call::Collective(collective) => self.collective == Some(collective),
            Call::Receive | Call::Wait | Call::Barrier => false,
        }
    }
}

/// The pattern with the largest share of the communication.
fn candidate(trace: &Trace, cycles: &Cycles) -> Option<Candidate> {
    let (single, mut collectives) = times(trace);
    let sends = trace.calls().iter().filter(|row| mode_of(row.call).is_some());
    let matrix = Matrix::of(trace.n_ranks(), sends);
    if collectives.is_empty() && matrix.is_empty() {
        return None;
    }
    let mut single = single as f64;
    if matrix.is_empty() {
        // Waits without any send are for collectives.
        if let Some(longest) = collectives.values_mut().max_by_key(|time| **time) {
            *longest += single as u64;
        }
        single = 0.0;
    }
    let whole = (single + collectives.values().map(|time| *time as f64).sum::<f64>()).max(1.0);
    let mut found: Vec<(f64, Likeness, Option<Collective>)> = Vec::new();
    for (collective, time) in collectives {
        let likeness = likeness_of(collective);
        found.push((time as f64 / whole * likeness.ratio, likeness, Some(collective)));
    }
    if !matrix.is_empty() {
        // Where calls take no time that the trace shows, all of it is the messages'.
        let share = if found.is_empty() { 1.0 } else { single / whole };
        found.extend(
            matrix
                .likenesses(&receivers(trace, cycles))
                .into_iter()
                .map(|likeness| (share * likeness.ratio, likeness, None)),
        );
    }
    // A stable sort leaves the plainer one of two alike in front.
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let next = found.get(1).map(|(share, likeness, _)| (likeness.pattern, *share));
    let (share_ratio, likeness, collective) = found.into_iter().next()?;
    let evidence = PatternEvidence { share_ratio, difference: likeness.difference, next };
    Some(Candidate { pattern: likeness.pattern, evidence, collective })
}

/// Nanoseconds in calls for single messages, and in each collective; all ranks together.
fn times(trace: &Trace) -> (u64, BTreeMap<Collective, u64>) {
    let mut single: u64 = 0;
    let mut collectives = BTreeMap::new();
    for row in trace.calls() {
        let span = row.end_ns - row.start_ns;
        match row.call {
            Call::Send(_) | Call::Receive | Call::Wait => single = single.saturating_add(span),
            Call::Collective(collective) => {
                let time: &mut u64 = collectives.entry(collective).or_insert(0);
                *time = time.saturating_add(span);
            }
            Call::Barrier => {}
        }
    }
    (single, collectives)
}

/// The pattern that a collective is, or is like. Half of a collective that has no pattern of its own counts as its
/// likest one's.
fn likeness_of(collective: Collective) -> Likeness {
    let exact = |pattern| Likeness { pattern, difference: String::new(), ratio: 1.0 };
    let near = |pattern| Likeness {
        pattern,
        difference: format!("recorded was {}, which has no pattern of its own", collective.name()),
        ratio: 0.5,
    };
    match collective {
        Collective::Scatter => exact(Pattern::Scatter),
        Collective::Gather => exact(Pattern::Gather),
        Collective::Allgather => exact(Pattern::Allgather),
        Collective::Alltoall => exact(Pattern::Alltoall),
        Collective::Allreduce => exact(Pattern::Allreduce),
        Collective::Broadcast => near(Pattern::Scatter),
        Collective::Reduce => near(Pattern::Gather),
        Collective::ReduceScatter | Collective::Scan => near(Pattern::Allreduce),
    }
}

/// Returns the ranks that each rank sends to in each cycle.
fn receivers(trace: &Trace, cycles: &Cycles) -> Vec<Vec<Vec<Rank>>> {
    let sent_to = |row: &Row| mode_of(row.call).and(row.peer).filter(|peer| *peer != row.rank);
    let of_rank = |rank: &cycles::RankCycles| {
        rank.cycles
            .iter()
            .map(|cycle| trace.calls()[cycle.calls.clone()].iter().filter_map(sent_to).collect())
            .collect()
    };
    cycles.ranks.iter().map(of_rank).collect()
}

fn n_cycles(cycles: &Cycles) -> Option<NonZeroU64> {
    let counts: Vec<f64> = cycles.ranks.iter().map(|rank| rank.cycles.len() as f64).collect();
    NonZeroU64::new(median(&counts)?.round() as u64)
}

/// Returns the number of cycles after which ranks wait for each other; 0 for never.
fn synchronize_every(cycles: &Cycles) -> u32 {
    let n_cycles: usize = cycles.ranks.iter().map(|rank| rank.cycles.len()).sum();
    let n_barriers: usize = cycles.ranks.iter().flat_map(|rank| &rank.cycles).map(|cycle| cycle.n_barriers).sum();
    if n_barriers == 0 {
        return 0;
    }
    u32::try_from((n_cycles as f64 / n_barriers as f64).round().max(1.0) as u64).unwrap_or(u32::MAX)
}

/// Returns the load, rounded to a tenth of a percent and brought into the range of the emulation.
fn load(ratio: f64) -> Load {
    let percent = (1_000.0 * ratio).round() / 10.0;
    Load::new(percent.clamp(LOAD_MIN, LOAD_MAX)).expect("the bounds are those of a load")
}
