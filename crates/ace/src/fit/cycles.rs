//! Cycles of a trace: what was computed, then what was exchanged, over and over.
//!
//! Between two calls of one exchange next to nothing passes, between two exchanges the computation. Where the one ends
//! and the other begins is found from the gaps of all ranks (Otsu 1979, on their logarithms). Computation may also lie
//! within a cycle, between a send and the wait for it: cycles are then several exchanges long, as many as it takes for
//! calls to repeat themselves.

use std::collections::BTreeMap;
use std::ops::Range;

use mpi_trace::{Call, Row, Trace};

/// Gaps of computation are at the median so many times as long as those within an exchange, or all gaps are of one
/// kind.
const GAPS_APART: f64 = 4.0;
/// Gaps of computation take this share of all gaps' time; where they do not, the long ones are computation that was
/// held up.
const GAPS_SHARE: f64 = 0.9;
/// Exchanges that a cycle may have.
const N_EXCHANGES_MAX: usize = 8;
/// A longer repetition must explain so much more than a shorter one.
const REPETITION_GAIN: f64 = 0.1;

/// The cycles of all ranks.
pub(super) struct Cycles {
    pub(super) ranks: Vec<RankCycles>,
    /// Share of the exchanges whose calls are those of the one a cycle before.
    pub(super) regularity_ratio: f64,
    /// Exchanges in a cycle.
    pub(super) n_exchanges: usize,
}

/// One rank's cycles.
pub(super) struct RankCycles {
    pub(super) cycles: Vec<Cycle>,
}

/// One cycle. Times are in nanoseconds.
pub(super) struct Cycle {
    /// Its calls, as positions in the trace.
    pub(super) calls: Range<usize>,
    pub(super) start: u64,
    /// Time from the last cycle's end to this one's, without its exchanges.
    /// Unknown for the first cycle, whose computation began before the trace.
    pub(super) computation: Option<u64>,
    /// Time in calls other than barriers.
    pub(super) communication: u64,
    pub(super) n_barriers: usize,
}

/// Calls without computation between them.
struct Exchange {
    calls: Range<usize>,
    /// Time since the return of the last call before the exchange.
    gap: Option<u64>,
}

impl Cycles {
    pub(super) fn of(trace: &Trace) -> Self {
        let limit = gap_limit(trace);
        let mut first = 0;
        let mut of_ranks = Vec::new();
        for calls in trace.by_rank() {
            of_ranks.push(exchanges(calls, first, limit));
            first += calls.len();
        }
        let kinds: Vec<Vec<usize>> = kinds(trace, of_ranks.iter().map(Vec::as_slice));
        let (n_exchanges, regularity_ratio) = repetition(&kinds);
        let cycles = |exchanges: &[Exchange]| exchanges.chunks(n_exchanges).map(|part| cycle(trace, part)).collect();
        let ranks = of_ranks.iter().map(|exchanges| RankCycles { cycles: cycles(exchanges) }).collect();
        Self { ranks, regularity_ratio, n_exchanges }
    }
}

impl RankCycles {
    /// Share of the time in communication, where there is a cycle with a computation before it.
    pub(super) fn load(&self) -> Option<f64> {
        let known = || self.cycles.iter().filter(|cycle| cycle.computation.is_some());
        let computation: u64 = known().filter_map(|cycle| cycle.computation).sum();
        let communication: u64 = known().map(|cycle| cycle.communication).sum();
        let whole = communication as f64 + computation as f64;
        (whole > 0.0).then(|| communication as f64 / whole)
    }

    /// Mean length of a cycle in nanoseconds, from start to start.
    pub(super) fn length(&self) -> Option<f64> {
        let [first, .., last] = self.cycles.as_slice() else { return None };
        Some((last.start - first.start) as f64 / (self.cycles.len() - 1) as f64)
    }
}

/// Time between calls of each rank; calls of several threads, or within another, leave none.
fn gaps(calls: &[Row]) -> impl Iterator<Item = u64> {
    let mut end = calls.first().map_or(0, |row| row.end_ns);
    calls.iter().skip(1).map(move |row| {
        let gap = row.start_ns.saturating_sub(end);
        end = end.max(row.end_ns);
        gap
    })
}

/// The shortest gap that is computation; 0 where all are.
fn gap_limit(trace: &Trace) -> u64 {
    let mut sorted: Vec<u64> = trace.by_rank().flat_map(gaps).collect();
    sorted.sort_unstable();
    let at = otsu(&sorted);
    let (short, long) = sorted.split_at(at);
    if short.is_empty() || long.is_empty() {
        return 0;
    }
    let middle = |part: &[u64]| part[part.len() / 2].max(1) as f64;
    let time = |part: &[u64]| part.iter().map(|gap| *gap as f64).sum::<f64>();
    let is_apart = middle(long) >= GAPS_APART * middle(short) && time(long) >= GAPS_SHARE * time(&sorted);
    if is_apart { long[0] } else { 0 }
}

/// Returns the place at which the sorted gaps' logarithms are best cut in two: with the greatest variance between the
/// parts.
fn otsu(sorted: &[u64]) -> usize {
    let logarithm = |gap: &u64| (gap.max(&1).to_owned() as f64).ln();
    let total: f64 = sorted.iter().map(logarithm).sum();
    let n = sorted.len() as f64;
    let mut below = 0.0;
    let mut best = (0.0, 0);
    for (idx, gap) in sorted.iter().enumerate() {
        if idx > 0 && sorted[idx - 1] != *gap {
            let n_below = idx as f64;
            let between = n_below * (n - n_below) * (below / n_below - (total - below) / (n - n_below)).powi(2);
            if between > best.0 {
                best = (between, idx);
            }
        }
        below += logarithm(gap);
    }
    best.1
}

/// One rank's calls, cut at each gap of `limit` or more; `first` is the position of the first of them in the trace.
fn exchanges(calls: &[Row], first: usize, limit: u64) -> Vec<Exchange> {
    let mut exchanges = vec![Exchange { calls: first..first + 1, gap: None }];
    for (idx, gap) in (first + 1..).zip(gaps(calls)) {
        match exchanges.last_mut() {
            Some(last) if gap < limit => last.calls.end = idx + 1,
            _ => exchanges.push(Exchange { calls: idx..idx + 1, gap: Some(gap) }),
        }
    }
    exchanges
}

/// Returns for each rank a number for each exchange, the same if the same calls are made as often.
/// Waits do not count, because the number of waits is chance.
fn kinds<'a>(trace: &Trace, of_ranks: impl Iterator<Item = &'a [Exchange]>) -> Vec<Vec<usize>> {
    let mut known: BTreeMap<Vec<Call>, usize> = BTreeMap::new();
    let mut kind = |exchange: &Exchange| {
        let calls = trace.calls()[exchange.calls.clone()].iter().map(|row| row.call);
        let mut calls: Vec<Call> = calls.filter(|call| *call != Call::Wait).collect();
        calls.sort_unstable();
        let next = known.len();
        *known.entry(calls).or_insert(next)
    };
    of_ranks.map(|exchanges| exchanges.iter().map(&mut kind).collect()).collect()
}

/// Returns the number of exchanges after which kinds repeat themselves, and the share of exchanges that do.
fn repetition(of_ranks: &[Vec<usize>]) -> (usize, f64) {
    let share = |after: usize| {
        let pairs = || of_ranks.iter().flat_map(|kinds| kinds.iter().zip(kinds.iter().skip(after)));
        let n_same = pairs().filter(|(kind, later)| kind == later).count();
        let n = pairs().count();
        if n == 0 { 0.0 } else { n_same as f64 / n as f64 }
    };
    let mut best = (1, share(1));
    for after in 2..=N_EXCHANGES_MAX {
        let share = share(after);
        if share > best.1 + REPETITION_GAIN {
            best = (after, share);
        }
    }
    best
}

fn cycle(trace: &Trace, exchanges: &[Exchange]) -> Cycle {
    let calls = exchanges[0].calls.start..exchanges[exchanges.len() - 1].calls.end;
    let rows = &trace.calls()[calls.clone()];
    let is_barrier = |row: &&Row| row.call == Call::Barrier;
    Cycle {
        start: rows[0].start_ns,
        computation: exchanges.iter().map(|exchange| exchange.gap).sum(),
        communication: covered(rows.iter().filter(|row| !is_barrier(row))),
        n_barriers: rows.iter().filter(is_barrier).count(),
        calls,
    }
}

/// Time in at least one of these calls, which are in the order of their starts.
fn covered<'a>(rows: impl Iterator<Item = &'a Row>) -> u64 {
    let mut end = 0;
    let mut covered = 0;
    for row in rows {
        covered += row.end_ns.saturating_sub(row.start_ns.max(end));
        end = end.max(row.end_ns);
    }
    covered
}

#[cfg(test)]
mod tests {
    use mpi_trace::Mode;

    use super::*;

    fn trace(calls: &[(u64, u64, Call)]) -> Trace {
        let row = |&(start_ns, end_ns, call)| Row { rank: 0, start_ns, end_ns, call, peer: Some(1), size_bytes: 1 };
        Trace::of(calls.iter().map(row).collect())
    }

    const SEND: Call = Call::Send(Mode::NonBlocking);

    #[test]
    fn calls_that_follow_each_other_closely_are_one_exchange() {
        let calls: Vec<_> = (0..10)
            .flat_map(|n| [(n * 1_000, n * 1_000 + 50, SEND), (n * 1_000 + 51, n * 1_000 + 100, Call::Wait)])
            .collect();
        let cycles = Cycles::of(&trace(&calls));
        let rank = &cycles.ranks[0];
        assert_eq!((rank.cycles.len(), cycles.n_exchanges, cycles.regularity_ratio), (10, 1, 1.0));
        assert_eq!((rank.cycles[3].computation, rank.cycles[3].communication), (Some(900), 99));
        assert_eq!((rank.cycles[0].computation, rank.length()), (None, Some(1_000.0)));
        assert!((rank.load().unwrap() - 99.0 / 999.0).abs() < 1e-12);
    }

    #[test]
    fn single_calls_with_uneven_computation_between_are_a_cycle_each() {
        let mut start = 0;
        let calls: Vec<_> = (0..200)
            .map(|n| {
                // One in twenty is held up twelvefold, the others differ by a factor of two.
                start += if n % 20 == 7 { 6_000 } else { 500 + 37 * (n % 14) };
                (start - 100, start, Call::Receive)
            })
            .collect();
        assert_eq!(Cycles::of(&trace(&calls)).ranks[0].cycles.len(), 200);
    }

    #[test]
    fn computation_between_a_send_and_its_wait_is_within_the_cycle() {
        let calls: Vec<_> = (0..20)
            .flat_map(|n| [(n * 1_000, n * 1_000 + 50, SEND), (n * 1_000 + 600, n * 1_000 + 650, Call::Wait)])
            .collect();
        let cycles = Cycles::of(&trace(&calls));
        assert_eq!((cycles.n_exchanges, cycles.ranks[0].cycles.len()), (2, 20));
        assert_eq!((cycles.ranks[0].cycles[5].computation, cycles.ranks[0].cycles[5].communication), (Some(900), 100));
    }

    #[test]
    fn calls_within_others_are_counted_once() {
        let rows = trace(&[(0, 100, SEND), (20, 40, Call::Wait), (90, 150, Call::Wait)]);
        assert_eq!(covered(rows.calls().iter()), 150);
    }

    #[test]
    fn one_call_is_one_cycle_of_unknown_load() {
        let cycles = Cycles::of(&trace(&[(0, 100, SEND)]));
        assert_eq!((cycles.ranks[0].load(), cycles.ranks[0].length()), (None, None));
    }
}
