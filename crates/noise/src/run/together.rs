//! The measurement under MPI: fixed work and an allreduce, again and again (Bongo 2007, section 8.2.2).
//!
//! Ranks keep their own times and exchange nothing but the allreduce while iterations run; between blocks of about a second rank 0
//! says how many follow, and each looks at its calibration again. Which iterations were late is found after the run.

use std::hint::black_box;
use std::time::Duration;

use clock::Stopwatch;
use mpi::collective::{CommunicatorCollectives, Root, SystemOperation};
use mpi::topology::{Color, Communicator, SimpleCommunicator};
use mpi_run::{
    Calibration, Ending, Failure, Header, OutcomeError, Placement, Session, Writer, broadcast, gather, turn,
};
use rustix::thread::{sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use statistics::digest::{Digest, Summary};

use super::local::envelope;
use crate::counter::run_delay_ns;
use crate::detour::clock_limit_ns;
use crate::injector::{Injected, Injector, bind};
use crate::lateness::{Pooled, Tally, Times};
use crate::plan::{N_KEPT_MAX, TogetherPlan, Work};
use crate::quanta::{Stretch, saturated, touched};
use crate::record::{Allreduce, InjectedNoise, Late, NodeLate, Part, RankTimes, Row, TrainSeen, kind};
use crate::train::{Train, trains};

/// Allreduces before those that are timed.
const N_WARM: usize = 50;
/// Allreduces between two looks at whether there were enough.
const N_CALLS: u64 = 100;
/// Allreduces that are timed at most, or for so long.
const N_CALLS_MAX: u64 = 20_000;
/// How long allreduces are timed at most; a tenth of the run, if that is less.
const CALLS_SPAN_MAX: Duration = Duration::from_millis(500);
/// Iterations of the first block, which tell how many make a second.
const N_FIRST: u64 = 10;
/// Length of a block.
const BLOCK: Duration = Duration::from_secs(1);
/// Iterations whose lateness is put together at once.
const N_CHUNK: usize = 1 << 16;

/// What all parts of a run share.
struct Run<'a> {
    session: &'a Session,
    clock: Stopwatch,
    place: &'a Placement,
    /// The ranks of this host.
    node: SimpleCommunicator,
    /// Where on its host this rank is to be bound if noise is made there.
    cpu: u32,
    thresholds_ns: Vec<f64>,
    allreduce: Allreduce,
    seed: u64,
}

/// What one rank measured in a part.
struct Measured {
    times: Times,
    /// By how much the length of its work moved, at the worst.
    drift_ratio: f64,
    waited_ratio: Option<f64>,
}

/// What one rank says of itself after a part.
#[derive(Serialize, Deserialize)]
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

/// Does it, and records what was found. Collective. `tell` hears what is done, how many milliseconds of it, and of how many.
///
/// # Errors
/// On all ranks, when the result cannot be written or a rank cannot be bound to the core that noise is made on.
pub fn run(
    session: &Session,
    plan: &TogetherPlan,
    clock: Stopwatch,
    header: &Header,
    writer: &mut Writer,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<(), Ending> {
    let place = &header.ranks[session.rank() as usize];
    let position = header.ranks[..session.rank() as usize].iter().filter(|other| other.host == place.host).count();
    let allreduce = time_allreduce(session.world(), &clock, plan.time);
    record(session, writer, |writer| writer.record(kind::ALLREDUCE, &allreduce))?;
    let run = Run {
        session,
        clock,
        place,
        node: node(session, header),
        cpu: place.cpus.get(position % place.cpus.len().max(1)).copied().unwrap_or(0),
        thresholds_ns: thresholds_ns(&plan.thresholds, allreduce.mean_ns),
        allreduce,
        seed: header.seed,
    };
    plan.works.iter().try_for_each(|work| part(&run, plan, *work, header, writer, tell))
}

/// Those given, and the mean latency in its place among them.
fn thresholds_ns(given: &[Duration], mean_ns: f64) -> Vec<f64> {
    let mut all: Vec<f64> = given.iter().map(|threshold| threshold.as_nanos() as f64).chain([mean_ns]).collect();
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    all
}

/// The ranks of this rank's host.
fn node(session: &Session, header: &Header) -> SimpleCommunicator {
    let mine = &header.ranks[session.rank() as usize].host;
    let first = header.ranks.iter().position(|place| place.host == *mine).unwrap_or(0);
    let colour = Color::with_value(i32::try_from(first).expect("MPI counts ranks in an int"));
    session.world().split_by_color(colour).expect("a colour that is not undefined has a communicator")
}

/// How long an allreduce takes with nothing computed in between. Collective.
fn time_allreduce(world: &SimpleCommunicator, clock: &Stopwatch, time: Duration) -> Allreduce {
    let call = || {
        let before_ns = clock.elapsed_ns();
        allreduce(world);
        clock.elapsed_ns() - before_ns
    };
    (0..N_WARM).for_each(|_| allreduce(world));
    world.barrier();
    let mut digest = Digest::default();
    let until_ns = clock.elapsed_ns() + CALLS_SPAN_MAX.min(time / 10).as_nanos() as u64;
    loop {
        (0..N_CALLS).for_each(|_| digest.record(call()));
        let mut is_enough = digest.count() >= N_CALLS_MAX || clock.elapsed_ns() >= until_ns;
        world.process_at_rank(0).broadcast_into(&mut is_enough);
        if is_enough {
            break;
        }
    }
    let told = gather(world, &digest.summary()).map(|all| {
        let mut medians: Vec<f64> = all.iter().map(|summary| summary.median_ns).collect();
        medians.sort_unstable_by(f64::total_cmp);
        Allreduce {
            mean_ns: Pooled::of(&all.iter().collect::<Vec<_>>()).mean_ns.max(1.0),
            median_ns: medians[medians.len() / 2],
            n_calls: all.iter().map(|summary| summary.count).sum(),
        }
    });
    broadcast(world, told.as_ref())
}

fn allreduce(world: &SimpleCommunicator) {
    let mut sum = 0.0;
    world.all_reduce_into(&1.0_f64, &mut sum, SystemOperation::sum());
    black_box(sum);
}

fn part(
    run: &Run,
    plan: &TogetherPlan,
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
    let injector = run.session.agree(injector.transpose())?;
    let measured = iterations(run, span, plan.time, &mut |done, total| tell(&format!("work {work}"), done, total));
    let injected = injector.map(Injector::stop);
    let restored = match (&injected, before) {
        (Some(_), Ok(before)) => sched_setaffinity(None, &before),
        _ => Ok(()),
    };
    let let_go =
        |error| Failure::work(format!("rank {} cannot be let go of core {}: {error}", run.place.rank, run.cpu));
    run.session.agree(restored.map_err(let_go))?;
    combine(run, plan, work, span, &measured, injected, header, writer)
}

/// Makes iterations for about `time`.
fn iterations(run: &Run, span: Duration, time: Duration, tell: &mut dyn FnMut(u64, u64)) -> Measured {
    let (world, target_ns) = (run.session.world(), time.as_nanos() as u64);
    // The core that this rank is on now need not be the one that it was first calibrated on.
    let calibration = Calibration::measure();
    let turns = calibration.turns(span).max(1);
    let n_room = (target_ns / (span.as_nanos() as u64).max(1) + N_FIRST).min(N_KEPT_MAX);
    let mut times = Times { computation_ns: touched(n_room), communication_ns: touched(n_room), stretches: Vec::new() };
    let mut drift_ratio = 0.0_f64;
    world.barrier();
    let (begun_ns, waited_before_ns) = (run.clock.elapsed_ns(), run_delay_ns());
    loop {
        let elapsed_ns = run.clock.elapsed_ns() - begun_ns;
        let mut n_next = next_block(elapsed_ns, target_ns, times.len() as u64, n_room);
        world.process_at_rank(0).broadcast_into(&mut n_next);
        if n_next == 0 {
            let waited_ns = waited_before_ns.zip(run_delay_ns()).map(|(before, after)| after.saturating_sub(before));
            let waited_ratio = waited_ns.map(|waited| waited as f64 / elapsed_ns as f64);
            return Measured { times, drift_ratio, waited_ratio };
        }
        world.barrier();
        block(run, turns, n_next, &mut times);
        let drift = calibration.drift_ratio();
        if drift.abs() > drift_ratio.abs() {
            drift_ratio = drift;
        }
        tell(elapsed_ns / 1_000_000, target_ns / 1_000_000);
    }
}

/// How many iterations follow after `done` that took `elapsed_ns`; none when the time is over or the room full.
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

fn block(run: &Run, turns: u64, n: u64, times: &mut Times) {
    let mut start_ns = run.clock.elapsed_ns();
    times.stretches.push(Stretch { first: times.len(), start_ns });
    for _ in 0..n {
        turn(turns);
        let computed_ns = run.clock.elapsed_ns();
        allreduce(run.session.world());
        let end_ns = run.clock.elapsed_ns();
        times.computation_ns.push(saturated(computed_ns - start_ns));
        times.communication_ns.push(saturated(end_ns - computed_ns));
        start_ns = end_ns;
    }
}

#[allow(clippy::too_many_arguments, reason = "all that a part came to")]
fn combine(
    run: &Run,
    plan: &TogetherPlan,
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
    let worst_ns = tally(run, times, medians, &mut all, &mut node);
    let told = Told {
        summaries: Row::ALL.map(|row| times.summary(row)),
        medians_ns: medians.map(f64::from),
        drift_ratio: measured.drift_ratio,
        waited_ratio: measured.waited_ratio,
        lost_ns: all.lost_ns().to_vec(),
        n_saturated: times.n_saturated(),
        trains: trains(&times.detours(clock_limit_ns(&run.place.clock)), run.seed),
        injected,
        node_late: (run.node.rank() == 0).then(|| Row::ALL.map(|row| node.late(row).to_vec()).to_vec()),
    };
    let told = gather(run.session.world(), &told);
    record(run.session, writer, |writer| {
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

/// Counts late iterations of all ranks, and of this host on its first rank. Gives how far the latest rank was above its median in each
/// iteration. Collective.
fn tally(run: &Run, times: &Times, medians: [u32; 3], all: &mut Tally, node: &mut Tally) -> Vec<u32> {
    let mut worst_ns = Vec::with_capacity(times.len());
    for first in (0..times.len()).step_by(N_CHUNK) {
        let chunk = first..(first + N_CHUNK).min(times.len());
        for row in Row::ALL {
            let median = medians[row as usize];
            let mine: Vec<u32> = times.excesses_ns(row, median, chunk.clone()).collect();
            node.add(row, &highest(&run.node, &mine));
            let worst = highest(run.session.world(), &mine);
            all.add(row, &worst);
            if row == Row::Iteration {
                all.lose(&worst, chunk.clone().map(|idx| f64::from(times.of(row, idx)) - f64::from(median)));
                worst_ns.extend(worst);
            }
        }
    }
    worst_ns
}

/// The highest of each over `ranks`. Collective.
fn highest(ranks: &SimpleCommunicator, mine: &[u32]) -> Vec<u32> {
    let mut highest = vec![0; mine.len()];
    ranks.all_reduce_into(mine, &mut highest[..], SystemOperation::max());
    highest
}

fn record_rows(run: &Run, part: &Part, all: &Tally, told: &[Told], writer: &mut Writer) -> Result<(), OutcomeError> {
    for row in Row::ALL {
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

fn record_ranks(
    run: &Run,
    plan: &TogetherPlan,
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
        for row in Row::ALL {
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
    session: &Session,
    writer: &mut Writer,
    write: impl FnOnce(&mut Writer) -> Result<(), OutcomeError>,
) -> Result<(), Ending> {
    let written = if session.is_first() { write(writer) } else { Ok(()) };
    session.agree(written.map_err(Failure::of))
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
