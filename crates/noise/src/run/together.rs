//! The measurement on several ranks: fixed work and an allreduce, again and again (Bongo 2007, section 8.2.2).
//!
//! Ranks are processes under MPI or threads of one process (`group`). They keep their own times and exchange nothing
//! but the allreduce while iterations run; between blocks of about a second rank 0 says how many follow, and each looks
//! at its calibration again. Which iterations were late is found after the run.

use std::hint::black_box;
use std::time::Duration;

use clock::Stopwatch;
use mpi_run::{Calibration, Ending, Header, OutcomeError, Placement, Writer, turn};
use program::Failure;
use rustix::thread::{sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use statistics::digest::{Digest, Summary};

use super::group::Group;
use super::local::envelope;
use crate::counter::run_delay_ns;
use crate::detour::clock_limit_ns;
use crate::injector::{Injected, Injector, bind};
use crate::lateness::{Pooled, Tally, Times};
use crate::plan::{JointPlan, N_KEPT_MAX, Work};
use crate::quanta::{Stretch, saturated, touched};
use crate::record::{Allreduce, InjectedNoise, Late, NodeLate, Part, RankTimes, Row, TrainSeen, kind};
use crate::train::{Train, trains};

/// Allreduces before those that are timed.
const N_WARM: usize = 50;
/// Allreduces between two looks at whether there were enough.
const N_CALLS: u64 = 100;
/// Allreduces that are timed at most, or for so long.
const N_CALLS_MAX: u64 = 20_000;
/// Longest time for which allreduces are timed; a tenth of the run, if that is less.
const CALLS_SPAN_MAX: Duration = Duration::from_millis(500);
/// Iterations of the first block, which tell how many make a second.
const N_FIRST: u64 = 10;
/// Length of a block.
const BLOCK: Duration = Duration::from_secs(1);
/// Iterations whose lateness is put together at once.
const N_CHUNK: usize = 1 << 16;

/// Context that all parts of a run share.
struct Run<'a, G> {
    group: &'a G,
    clock: Stopwatch,
    place: &'a Placement,
    /// The core of its host to which this rank is to be bound if noise is made there.
    cpu: u32,
    thresholds_ns: Vec<f64>,
    allreduce: Allreduce,
    seed: u64,
}

/// Measurements of one rank in a part.
struct Measured {
    times: Times,
    /// Change of the length of its work, at the worst.
    drift_ratio: f64,
    waited_ratio: Option<f64>,
}

/// Report of one rank after a part.
#[derive(Clone, Serialize, Deserialize)]
struct Told {
    summaries: [Summary; 3],
    medians_ns: [f64; 3],
    drift_ratio: f64,
    waited_ratio: Option<f64>,
    lost_ns: Vec<f64>,
    n_saturated: u64,
    trains: Vec<Train>,
    injected: Option<Injected>,
    /// Late iterations of its host by row and threshold, told by the first of its ranks.
    node_late: Option<Vec<Vec<u64>>>,
}

/// Does it, and records what was found; only rank 0's `writer` is written to. Collective. `tell` hears what is done,
/// how many milliseconds of it, and of how many.
///
/// # Errors
/// On all ranks, when the result cannot be written or a rank cannot be bound to the core that noise is made on.
pub(crate) fn together<G: Group>(
    group: &G,
    plan: &JointPlan,
    clock: Stopwatch,
    header: &Header,
    writer: &mut Writer,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<(), Ending> {
    let rank_idx = group.rank() as usize;
    let place = &header.ranks[rank_idx];
    let position = header.ranks[..rank_idx].iter().filter(|other| other.host == place.host).count();
    let allreduce = time_allreduce(group, &clock, plan.time);
    record(group, writer, |writer| writer.record(kind::ALLREDUCE, &allreduce))?;
    let run = Run {
        group,
        clock,
        place,
        cpu: place.cpus.get(position % place.cpus.len().max(1)).copied().unwrap_or(0),
        thresholds_ns: thresholds_ns(&plan.thresholds, allreduce.mean_ns),
        allreduce,
        seed: header.seed,
    };
    plan.works.iter().try_for_each(|work| part(&run, plan, *work, header, writer, tell))
}

/// Returns the thresholds given, and the mean latency in its place among them.
fn thresholds_ns(given: &[Duration], mean_ns: f64) -> Vec<f64> {
    let mut all: Vec<f64> = given.iter().map(|threshold| threshold.as_nanos() as f64).chain([mean_ns]).collect();
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    all
}

/// Measures the length of an allreduce with nothing computed in between. Collective.
fn time_allreduce(group: &impl Group, clock: &Stopwatch, time: Duration) -> Allreduce {
    let call = || {
        let before_ns = clock.elapsed_ns();
        allreduce(group);
        clock.elapsed_ns() - before_ns
    };
    (0..N_WARM).for_each(|_| allreduce(group));
    group.barrier();
    let mut digest = Digest::default();
    let until_ns = clock.elapsed_ns() + CALLS_SPAN_MAX.min(time / 10).as_nanos() as u64;
    loop {
        (0..N_CALLS).for_each(|_| digest.record(call()));
        let is_enough = digest.count() >= N_CALLS_MAX || clock.elapsed_ns() >= until_ns;
        if group.broadcast(Some(&is_enough)) {
            break;
        }
    }
    let told = group.gather(&digest.summary()).map(|all| {
        let mut medians: Vec<f64> = all.iter().map(|summary| summary.median_ns).collect();
        medians.sort_unstable_by(f64::total_cmp);
        Allreduce {
            mean_ns: Pooled::of(&all.iter().collect::<Vec<_>>()).mean_ns.max(1.0),
            median_ns: medians[medians.len() / 2],
            n_calls: all.iter().map(|summary| summary.count).sum(),
        }
    });
    group.broadcast(told.as_ref())
}

fn allreduce(group: &impl Group) {
    black_box(group.allreduce(1.0));
}

fn part<G: Group>(
    run: &Run<'_, G>,
    plan: &JointPlan,
    work: Work,
    header: &Header,
    writer: &mut Writer,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<(), Ending> {
    let span = match work {
        Work::Span(span) => span,
        Work::Allreduce => Duration::from_nanos(run.allreduce.mean_ns as u64),
    };
    let is_chosen = plan.injected_ranks.is_empty() || plan.injected_ranks.contains(&run.place.rank);
    let injection = plan.injection.filter(|_| is_chosen);
    let before = sched_getaffinity(None);
    let injector = injection.map(|injection| {
        bind(run.cpu).map_err(|error| {
            Failure::work(format!("rank {} cannot be bound to core {}: {error}", run.place.rank, run.cpu))
        })?;
        Injector::start(run.cpu, injection)
            .map_err(|error| Failure::work(format!("no thread can be had to make noise: {error}")))
    });
    let injector = run.group.agree(injector.transpose())?;
    let measured = iterations(run, plan, span, &mut |done, total| tell(&format!("work {work}"), done, total));
    let injected = injector.map(Injector::stop);
    let restored = match (&injected, before) {
        (Some(_), Ok(before)) => sched_setaffinity(None, &before),
        _ => Ok(()),
    };
    let let_go =
        |error| Failure::work(format!("rank {} cannot be let go of core {}: {error}", run.place.rank, run.cpu));
    run.group.agree(restored.map_err(let_go))?;
    combine(run, plan, work, span, &measured, injected, header, writer)
}

/// Makes iterations for about as long as planned.
fn iterations<G: Group>(
    run: &Run<'_, G>,
    plan: &JointPlan,
    span: Duration,
    tell: &mut dyn FnMut(u64, u64),
) -> Measured {
    let (group, target_ns) = (run.group, plan.time.as_nanos() as u64);
    // The core that this rank is on now need not be the one that it was first calibrated on.
    let calibration = Calibration::measure();
    let turns = calibration.turns(span).max(1);
    let n_room = (target_ns / (span.as_nanos() as u64).max(1) + N_FIRST).min(N_KEPT_MAX);
    let mut times = Times { computation_ns: touched(n_room), communication_ns: touched(n_room), stretches: Vec::new() };
    let mut drift_ratio = 0.0_f64;
    group.barrier();
    let (begun_ns, waited_before_ns) = (run.clock.elapsed_ns(), run_delay_ns());
    loop {
        let elapsed_ns = run.clock.elapsed_ns() - begun_ns;
        let n_next = group.broadcast(Some(&next_block(elapsed_ns, target_ns, times.len() as u64, n_room)));
        if n_next == 0 {
            let waited_ns = waited_before_ns.zip(run_delay_ns()).map(|(before, after)| after.saturating_sub(before));
            let waited_ratio = waited_ns.map(|waited| waited as f64 / elapsed_ns as f64);
            return Measured { times, drift_ratio, waited_ratio };
        }
        group.barrier();
        block(run, plan.is_apart, turns, n_next, &mut times);
        let drift = calibration.drift_ratio();
        if drift.abs() > drift_ratio.abs() {
            drift_ratio = drift;
        }
        tell(elapsed_ns / 1_000_000, target_ns / 1_000_000);
    }
}

/// Returns the number of iterations that follow after `done` that took `elapsed_ns`; none if the time is over or the
/// room full.
fn next_block(elapsed_ns: u64, target_ns: u64, done: u64, n_room: u64) -> u64 {
    let left = n_room - done.min(n_room);
    if done == 0 {
        return N_FIRST.min(left);
    }
    if elapsed_ns >= target_ns {
        return 0;
    }
    let span_ns = (target_ns - elapsed_ns).min(BLOCK.as_nanos() as u64);
    let n = span_ns as f64 * done as f64 / (elapsed_ns as f64).max(1.0);
    (n as u64).clamp(1, left.max(1)).min(left)
}

fn block<G: Group>(run: &Run<'_, G>, is_apart: bool, turns: u64, n: u64, times: &mut Times) {
    let mut start_ns = run.clock.elapsed_ns();
    times.stretches.push(Stretch { first: times.len(), start_ns });
    for _ in 0..n {
        turn(turns);
        let computed_ns = run.clock.elapsed_ns();
        let end_ns = if is_apart {
            computed_ns
        } else {
            allreduce(run.group);
            run.clock.elapsed_ns()
        };
        times.computation_ns.push(saturated(computed_ns - start_ns));
        times.communication_ns.push(saturated(end_ns - computed_ns));
        start_ns = end_ns;
    }
}

#[allow(clippy::too_many_arguments, reason = "all that a part came to")]
fn combine<G: Group>(
    run: &Run<'_, G>,
    plan: &JointPlan,
    work: Work,
    span: Duration,
    measured: &Measured,
    injected: Option<Injected>,
    header: &Header,
    writer: &mut Writer,
) -> Result<(), Ending> {
    let times = &measured.times;
    let medians = Row::ALL.map(|row| times.median_ns(row));
    let (mut all, mut node) = (Tally::new(&run.thresholds_ns), Tally::new(&run.thresholds_ns));
    let worst_ns = tally(run.group, plan.is_apart, times, medians, &mut all, &mut node);
    let told = Told {
        summaries: Row::ALL.map(|row| times.summary(row)),
        medians_ns: medians.map(f64::from),
        drift_ratio: measured.drift_ratio,
        waited_ratio: measured.waited_ratio,
        lost_ns: all.lost_ns().to_vec(),
        n_saturated: times.n_saturated(),
        trains: trains(&times.detours(clock_limit_ns(&run.place.clock)), run.seed),
        injected,
        node_late: is_first_of_host(run, header).then(|| Row::ALL.map(|row| node.late(row).to_vec()).to_vec()),
    };
    let told = run.group.gather(&told);
    record(run.group, writer, |writer| {
        let Some(told) = &told else { return Ok(()) };
        let of_ranks = told.iter().map(|told| &told.summaries[Row::Iteration as usize]);
        let run_ns =
            of_ranks.map(|iteration| iteration.mean_ns * iteration.count as f64).sum::<f64>() / told.len() as f64;
        let worst_drift = told.iter().map(|told| told.drift_ratio).max_by(|a, b| a.abs().total_cmp(&b.abs()));
        let part = Part {
            work: work.to_string(),
            work_ns: span.as_nanos() as u64,
            n_iterations: times.len() as u64,
            run_ns: run_ns.round() as u64,
            target_ns: plan.time.as_nanos() as u64,
            is_cut: times.len() as u64 >= N_KEPT_MAX,
            drift_ratio: worst_drift.unwrap_or(0.0),
            n_saturated: told.iter().map(|told| told.n_saturated).sum(),
            is_apart: plan.is_apart,
        };
        writer.record(kind::PART, &part)?;
        record_rows(run, &part, &all, told, writer)?;
        record_ranks(run, plan, &part, told, header, writer)?;
        let starts = times.starts_ns();
        let pieces = starts.iter().copied().zip(worst_ns.iter().copied());
        let name = format!("work {work}, latest rank");
        writer.record(kind::ENVELOPE, &envelope(name, "iteration above the rank's median", pieces))
    })
}

fn is_first_of_host<G>(run: &Run<'_, G>, header: &Header) -> bool {
    let first = header.ranks.iter().find(|place| place.host == run.place.host);
    first.is_some_and(|first| first.rank == run.place.rank)
}

/// Counts late iterations of all ranks, and of this host on its first rank. Gives how far the latest rank was above its
/// median in each iteration. Collective.
fn tally(
    group: &impl Group,
    is_apart: bool,
    times: &Times,
    medians: [u32; 3],
    all: &mut Tally,
    node: &mut Tally,
) -> Vec<u32> {
    let mut worst_ns = Vec::with_capacity(times.len());
    for first in (0..times.len()).step_by(N_CHUNK) {
        let chunk = first..(first + N_CHUNK).min(times.len());
        for row in Row::ALL {
            let median = medians[row as usize];
            let mine: Vec<u32> = times.excesses_ns(row, median, chunk.clone()).collect();
            node.add(row, &group.highest_of_host(&mine));
            let worst = group.highest(&mine);
            all.add(row, &worst);
            if row == Row::Iteration {
                // Ranks that never meet lose nothing by another's lateness.
                let costly = if is_apart { &mine } else { &worst };
                all.lose(costly, chunk.clone().map(|idx| f64::from(times.of(row, idx)) - f64::from(median)));
                worst_ns.extend(worst);
            }
        }
    }
    worst_ns
}

fn record_rows<G>(
    run: &Run<'_, G>,
    part: &Part,
    all: &Tally,
    told: &[Told],
    writer: &mut Writer,
) -> Result<(), OutcomeError> {
    for row in part.rows() {
        let pooled = Pooled::of(&told.iter().map(|told| &told.summaries[row as usize]).collect::<Vec<_>>());
        for (idx, &threshold_ns) in run.thresholds_ns.iter().enumerate() {
            let n_late = all.late(row)[idx];
            let of_ranks = told.iter().map(|told| told.lost_ns[idx]).sum::<f64>();
            let lost_ns = (row == Row::Iteration).then(|| of_ranks / told.len() as f64);
            writer.record(
                kind::LATE,
                &Late {
                    work: part.work.clone(),
                    row,
                    mean_ns: pooled.mean_ns,
                    deviation_ns: pooled.deviation_ns,
                    threshold_ns,
                    is_allreduce: threshold_ns == run.allreduce.mean_ns,
                    n_late,
                    late_ratio: n_late as f64 / (part.n_iterations as f64).max(1.0),
                    lost_ns,
                    lost_ratio: lost_ns.map(|lost| lost / (part.run_ns as f64).max(1.0)),
                },
            )?;
        }
    }
    Ok(())
}

fn record_ranks<G>(
    run: &Run<'_, G>,
    plan: &JointPlan,
    part: &Part,
    told: &[Told],
    header: &Header,
    writer: &mut Writer,
) -> Result<(), OutcomeError> {
    for (place, told) in header.ranks.iter().zip(told) {
        let [computation, communication, iteration] = told.summaries.clone();
        let (work, host) = (part.work.clone(), place.host.clone());
        let Told { medians_ns, drift_ratio, waited_ratio, .. } = *told;
        let times = RankTimes {
            work,
            rank: place.rank,
            host,
            computation,
            communication,
            iteration,
            medians_ns,
            drift_ratio,
            waited_ratio,
        };
        writer.record(kind::RANK, &times)?;
        let name = format!("rank {}, work {}", place.rank, part.work);
        for train in &told.trains {
            writer.record(kind::TRAIN, &TrainSeen { place: name.clone(), train: train.clone() })?;
        }
        if let (Some(asked), Some(injected)) = (plan.injection, told.injected.clone()) {
            writer.record(kind::INJECTED, &InjectedNoise::among(&told.trains, name, asked, injected))?;
        }
    }
    for (place, node_late) in
        header.ranks.iter().zip(told).filter_map(|(place, told)| Some((place, told.node_late.as_ref()?)))
    {
        let n_ranks = header.ranks.iter().filter(|other| other.host == place.host).count() as u32;
        for row in part.rows() {
            for (&threshold_ns, &n_late) in run.thresholds_ns.iter().zip(&node_late[row as usize]) {
                let (work, host) = (part.work.clone(), place.host.clone());
                writer.record(kind::NODE, &NodeLate { work, host, n_ranks, row, threshold_ns, n_late })?;
            }
        }
    }
    Ok(())
}

/// Lets rank 0 write, and ends all ranks where it cannot. Collective.
fn record(
    group: &impl Group,
    writer: &mut Writer,
    write: impl FnOnce(&mut Writer) -> Result<(), OutcomeError>,
) -> Result<(), Ending> {
    let written = if group.rank() == 0 { write(writer) } else { Ok(()) };
    group.agree(written.map_err(Failure::of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_of_a_second_until_the_time_or_the_room_is_over() {
        const SEC: u64 = 1_000_000_000;
        assert_eq!(next_block(0, 20 * SEC, 0, 1_000_000), N_FIRST);
        // 10 iterations in 10 ms.
        assert_eq!(next_block(SEC / 100, 20 * SEC, 10, 1_000_000), 1_000);
        assert_eq!(next_block(19 * SEC + SEC / 2, 20 * SEC, 19_500, 1_000_000), 500);
        assert_eq!(next_block(20 * SEC, 20 * SEC, 20_000, 1_000_000), 0);
        assert_eq!(next_block(SEC, 20 * SEC, 990, 1_000), 10);
        assert_eq!(next_block(SEC, 20 * SEC, 1_000, 1_000), 0);
        // An iteration that takes longer than what is left is made all the same, once.
        assert_eq!(next_block(15 * SEC, 20 * SEC, 1, 1_000), 1);
    }

    #[test]
    fn the_mean_latency_is_one_of_the_thresholds() {
        let given = [2, 5].map(Duration::from_millis);
        assert_eq!(thresholds_ns(&given, 1.35e6), [1.35e6, 2e6, 5e6]);
        assert_eq!(thresholds_ns(&given, 3e6), [2e6, 3e6, 5e6]);
        assert_eq!(thresholds_ns(&given, 2e6), [2e6, 5e6]);
    }
}
