//! Calls of a program's ranks: how many of what, how long, and how often of late.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use mpi_trace::{Event, Line, Operation};
use units::Rank;

use crate::api;

/// Looks that rates are taken over: two seconds.
const N_MARKS: usize = 9;

/// All calls that were read.
#[derive(Debug, Default)]
pub(super) struct Calls {
    operations: BTreeMap<Operation, Tally>,
    ranks: BTreeMap<Rank, Share>,
    marks: VecDeque<Mark>,
}

/// Counts and times of one operation.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    n_calls: u64,
    n_failed: u64,
    bytes: u64,
    in_ns: u64,
    max_ns: u64,
}

/// Calls and time of one rank.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    n_calls: u64,
    in_ns: u64,
    /// Time in calls and between those that follow one another without a loss.
    all_ns: u64,
}

/// Counts at one look.
#[derive(Debug)]
struct Mark {
    at: Duration,
    written: Written,
    n_calls: BTreeMap<Operation, u64>,
}

/// Records of all rings, and of those with calls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Written {
    pub(super) n_records: u64,
    pub(super) n_of_calls: u64,
    pub(super) n_of_calls_read: u64,
}

impl Calls {
    /// Takes calls of one thread, the oldest first. `until` is when the call before them ended, unless records were
    /// lost since.
    pub(super) fn take(&mut self, rank: Rank, line: Line, until: &mut Option<u64>, events: &[Event]) {
        let share = self.ranks.entry(rank).or_default();
        for event in events.iter().filter(|event| !event.is_part()) {
            let since = until.unwrap_or(event.start).min(event.start);
            let (in_ns, all_ns) =
                (line.span_ns(event.end - event.start), line.span_ns(event.end.saturating_sub(since)));
            *until = Some(event.end);
            share.n_calls += 1;
            share.in_ns = share.in_ns.saturating_add(in_ns);
            share.all_ns = share.all_ns.saturating_add(all_ns);
            let tally = self.operations.entry(event.operation).or_default();
            tally.n_calls += 1;
            tally.n_failed += u64::from(event.is_failed);
            tally.bytes = tally.bytes.saturating_add(event.bytes);
            tally.in_ns = tally.in_ns.saturating_add(in_ns);
            tally.max_ns = tally.max_ns.max(in_ns);
        }
    }

    /// A look at all rings is over.
    pub(super) fn mark(&mut self, at: Duration, written: Written) {
        if self.marks.back().is_some_and(|last| last.at == at) {
            return;
        }
        let n_calls = self.operations.iter().map(|(&operation, tally)| (operation, tally.n_calls)).collect();
        self.marks.push_back(Mark { at, written, n_calls });
        if self.marks.len() > N_MARKS {
            self.marks.pop_front();
        }
    }

    pub(super) fn records_per_second(&self) -> f64 {
        self.rate(|mark| mark.written.n_records)
    }

    pub(super) fn calls_per_second(&self) -> f64 {
        self.rate(|mark| mark.n_calls.values().sum()) * self.thinned()
    }

    /// Returns the number of records of calls that were written for each one that was read, of late.
    fn thinned(&self) -> f64 {
        let read = self.rate(|mark| mark.written.n_of_calls_read);
        if read > 0.0 { self.rate(|mark| mark.written.n_of_calls) / read } else { 1.0 }
    }

    fn rate(&self, of: impl Fn(&Mark) -> u64) -> f64 {
        let (Some(first), Some(last)) = (self.marks.front(), self.marks.back()) else { return 0.0 };
        let span = last.at.saturating_sub(first.at).as_secs_f64();
        if span > 0.0 { of(last).saturating_sub(of(first)) as f64 / span } else { 0.0 }
    }

    pub(super) fn operations(&self) -> Vec<api::MpiOperation> {
        let all_ns: f64 = self.ranks.values().map(|share| share.all_ns as f64).sum();
        let thinned = self.thinned();
        let one = |(&operation, tally): (&Operation, &Tally)| api::MpiOperation {
            operation: operation.name().to_owned(),
            n_calls: tally.n_calls,
            n_failed: tally.n_failed,
            calls_per_second: self.rate(|mark| mark.n_calls.get(&operation).copied().unwrap_or(0)) * thinned,
            time_ratio: ratio(tally.in_ns as f64, all_ns),
            mean_seconds: tally.in_ns as f64 / tally.n_calls as f64 / 1e9,
            max_seconds: tally.max_ns as f64 / 1e9,
            size_bytes: tally.bytes,
        };
        let mut operations: Vec<_> = self.operations.iter().map(one).collect();
        operations.sort_by(|a, b| b.time_ratio.total_cmp(&a.time_ratio));
        operations
    }

    pub(super) fn by_rank(&self) -> Vec<api::MpiRank> {
        let one = |(&rank, share): (&Rank, &Share)| api::MpiRank {
            rank,
            n_calls: share.n_calls,
            time_ratio: ratio(share.in_ns as f64, share.all_ns as f64),
        };
        self.ranks.iter().map(one).collect()
    }
}

/// Calls of a broken writer may overlap.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 }
}
