//! Anomalies of a run, found by rules that the anomalies themselves do not move.

use serde::{Deserialize, Serialize};
use statistics::digest::Summary;
use statistics::{mad, median};
use units::Rank;

use crate::meter::{Meter, Tracked};
use crate::record::{Anomaly, Part};

/// Robust deviations above the ordinary: of a normal distribution none in 10^23 is.
const N_DEVIATIONS: f64 = 10.0;
/// Share of a cycle; an excess over the ordinary below this share hardly changes a run.
const CYCLE_SHARE: f64 = 0.05;
/// The quartiles of a normal distribution are so many standard deviations apart.
const QUARTILE_DEVIATIONS: f64 = 1.349;
/// A median absolute deviation of a normal distribution is its standard deviation by this.
const MAD_DEVIATIONS: f64 = 1.4826;
/// Least number of pairs among which a span counts as ordinary.
const N_PAIRS_MIN: usize = 4;

/// Length of one rank's step of the exchange, as the other ranks need it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepSpan {
    /// The other rank; none for a collective.
    pub peer: Option<Rank>,
    /// Its median in phase two.
    pub median_ns: f64,
    /// Its median in phase one, and the deviation there; none where sizes were others.
    pub benchmark: Option<(f64, f64)>,
}

/// The anomalous cycles of one rank, by the part of the cycle.
#[must_use]
pub(crate) fn of_cycles(application: &str, rank: Rank, meter: &Meter, run_ns: f64) -> Vec<Anomaly> {
    let cycle = meter.cycle.summary();
    let parts = [
        (Part::Compute, &meter.compute),
        (Part::Synchronization, &meter.synchronization),
        (Part::Communication, &meter.communication),
    ];
    let found = parts.into_iter().filter_map(|(part, tracked)| {
        let summary = tracked.digest.summary();
        let limit_ns = limit_ns(summary.median_ns, robust_deviation_ns(&summary), cycle.median_ns);
        let worst: Vec<_> = tracked.worst().iter().copied().filter(|cycle| cycle.span_ns as f64 > limit_ns).collect();
        let excess_ns: f64 = worst.iter().map(|cycle| cycle.span_ns as f64 - summary.median_ns).sum();
        (!worst.is_empty()).then(|| Anomaly {
            cell: None,
            application: application.to_owned(),
            rank,
            part,
            peer: None,
            n_cycles: n_beyond(tracked, limit_ns, worst.len()),
            ordinary_ns: summary.median_ns,
            limit_ns,
            rule: format!(
                "above the median of the rank's cycles by {N_DEVIATIONS} deviations (quartiles' distance / {QUARTILE_DEVIATIONS}) and by {CYCLE_SHARE} of the median cycle"
            ),
            share_of_run_percent: percent(excess_ns, run_ns),
            worst,
        })
    });
    found.collect()
}

/// The pairs of ranks whose messages are slower than they were in phase one, or than those of the other pairs at the
/// same step.
///
/// `ranks` has the steps of each rank of the application, in the order of the exchange.
#[must_use]
pub(crate) fn of_pairs(application: &str, ranks: &[Vec<StepSpan>], cycle_ns: f64, n_cycles: u64) -> Vec<Anomaly> {
    let mut found = Vec::new();
    for (rank, steps) in (0..).zip(ranks) {
        for (idx, step) in steps.iter().enumerate() {
            let Some(peer) = step.peer else { continue };
            let before = step.benchmark.map(|(ordinary, deviation)| {
                (ordinary, limit_ns(ordinary, deviation, cycle_ns), "above the median of the same step in phase one")
            });
            let among = among_pairs(ranks, idx, cycle_ns);
            let Some((ordinary_ns, limit_ns, above)) =
                [before, among].into_iter().flatten().find(|(_, limit, _)| step.median_ns > *limit)
            else {
                continue;
            };
            found.push(Anomaly {
                cell: None,
                application: application.to_owned(),
                rank,
                part: Part::Pair,
                peer: Some(peer),
                n_cycles,
                ordinary_ns,
                limit_ns,
                rule: format!(
                    "the median {above}, by {N_DEVIATIONS} deviations and by {CYCLE_SHARE} of the median cycle"
                ),
                share_of_run_percent: percent(step.median_ns - ordinary_ns, cycle_ns),
                worst: Vec::new(),
            });
        }
    }
    found
}

/// Returns the anomalies that are meaningful. If a rank was off its core, all ranks wait for it, and exchanges last as
/// long as the kernel's time slices: only compute phases still tell whose core was used by others.
pub(crate) fn tellable<'a>(
    anomalies: impl Iterator<Item = &'a Anomaly>,
    is_any_rank_away: bool,
) -> impl Iterator<Item = &'a Anomaly> {
    anomalies.filter(move |anomaly| !is_any_rank_away || anomaly.part == Part::Compute)
}

/// Returns the ordinary span of a step among all ranks, its limit, and the rule; `None` if there are too few ranks.
fn among_pairs(ranks: &[Vec<StepSpan>], idx: usize, cycle_ns: f64) -> Option<(f64, f64, &'static str)> {
    let medians: Vec<f64> = ranks.iter().filter_map(|steps| steps.get(idx)).map(|step| step.median_ns).collect();
    if medians.len() < N_PAIRS_MIN {
        return None;
    }
    let ordinary = median(&medians)?;
    let limit = limit_ns(ordinary, MAD_DEVIATIONS * mad(&medians)?, cycle_ns);
    Some((ordinary, limit, "above the median of all ranks at that step"))
}

fn limit_ns(ordinary_ns: f64, deviation_ns: f64, cycle_ns: f64) -> f64 {
    ordinary_ns + (N_DEVIATIONS * deviation_ns).max(CYCLE_SHARE * cycle_ns)
}

/// Standard deviation by the quartiles, which a quarter of wild values does not move.
#[must_use]
pub(crate) fn robust_deviation_ns(summary: &Summary) -> f64 {
    (summary.p75_ns - summary.p25_ns) / QUARTILE_DEVIATIONS
}

/// The histogram knows how many, to within a thousandth of the limit; those known by name are that many at least.
fn n_beyond(tracked: &Tracked, limit_ns: f64, n_known: usize) -> u64 {
    tracked.digest.count_above(limit_ns as u64).max(n_known as u64)
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Looks;

    fn metered(exchange_ns: impl Fn(u64) -> u64) -> Meter {
        let mut meter = Meter::new(&[None], 1);
        let mut now = 0;
        for cycle in 0..1_000 {
            let (computed_ns, end) = (now + 1_000 + cycle % 10, now + 1_020 + exchange_ns(cycle));
            let looks = Looks { cycle, at_ns: now, start_ns: now, computed_ns, ready_ns: computed_ns, ends_ns: &[end] };
            meter.record(looks);
            now = end;
        }
        meter
    }

    #[test]
    fn an_even_run_has_no_anomaly() {
        assert_eq!(of_cycles("a", 0, &metered(|cycle| 500 + cycle % 20), 1.5e6), []);
    }

    #[test]
    fn late_exchanges_are_found_and_counted_beyond_those_kept() {
        let found = of_cycles("a", 3, &metered(|cycle| if cycle % 20 == 7 { 2_000 + cycle } else { 500 }), 1.5e6);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].rank, found[0].part, found[0].n_cycles), (3, Part::Communication, 50));
        assert_eq!(found[0].worst[0].cycle, 987);
        assert_eq!(found[0].worst.len(), 16);
    }

    fn steps(median_ns: f64, benchmark: Option<(f64, f64)>) -> Vec<StepSpan> {
        vec![StepSpan { peer: Some(1), median_ns, benchmark }]
    }

    #[test]
    fn a_pair_that_slowed_down_since_phase_one_is_found() {
        let ranks = [steps(900.0, Some((500.0, 10.0))), steps(510.0, Some((500.0, 10.0)))];
        let found = of_pairs("a", &ranks, 2_000.0, 10);
        assert_eq!(found.iter().map(|anomaly| (anomaly.rank, anomaly.ordinary_ns)).collect::<Vec<_>>(), [(0, 500.0)]);
    }

    #[test]
    fn no_pair_is_blamed_for_a_rank_without_a_core() {
        let pairs = of_pairs("a", &[steps(76_000.0, Some((500.0, 10.0)))], 2_000.0, 10);
        let computing = Anomaly { part: Part::Compute, peer: None, ..pairs[0].clone() };
        let told =
            |is_away| tellable(pairs.iter().chain([&computing]), is_away).map(|one| one.part).collect::<Vec<_>>();
        assert_eq!(told(false), [Part::Pair, Part::Compute]);
        assert_eq!(told(true), [Part::Compute]);
    }

    #[test]
    fn a_pair_slower_than_the_others_is_found_where_there_are_enough() {
        let slow =
            |n: usize| (0..n).map(|rank| steps(if rank == 2 { 4_000.0 } else { 500.0 }, None)).collect::<Vec<_>>();
        assert_eq!(of_pairs("a", &slow(8), 2_000.0, 10).len(), 1);
        assert_eq!(of_pairs("a", &slow(3), 2_000.0, 10), []);
    }
}
