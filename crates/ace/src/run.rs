//! A run of ACE: phase one of each application by itself, then phase two of all of them at the same time.

use std::time::Duration;

use clock::Stopwatch;
use mpi::collective::CommunicatorCollectives;
use mpi::topology::{Color, Communicator, SimpleCommunicator};
use mpi_run::{
    Calibration, Ending, Neighbour, Neighbours, Offset, OutcomeError, Presence, Session, Writer, available_bytes,
    gather, host_name, n_ranks_of, rank_of,
};
use program::Failure;
use serde::{Deserialize, Serialize};
use units::Rank;

use crate::anomaly::{self, StepSpan};
use crate::application::Application;
use crate::benchmark::{self, OwnExchange, PhaseOne, SIZE_MAX_LEAST, Subject};
use crate::cycle_forecast::CycleForecast;
use crate::emulation::{self, Orders, Overhead, emulate};
use crate::exchange::{Exchange, n_buffer_bytes};
use crate::plan::Plan;
use crate::prediction::{Forecast, predict};
use crate::record::{self, Anomaly, Away, ClockResult, Dispersion, Planned, RankResult, Seen};

/// This rank's part in its application.
struct Member<'a> {
    idx: usize,
    application: &'a Application,
    sizes: Vec<u64>,
    exchange: Exchange<'a>,
    own: OwnExchange,
    /// The share of phase one in which this rank was off its core.
    benchmark_away_ratio: f64,
}

/// Report of a rank after phase two.
#[derive(Serialize, Deserialize)]
struct Report {
    idx: usize,
    result: RankResult,
    anomalies: Vec<Anomaly>,
    steps: Vec<StepSpan>,
}

/// Runs both phases and records what they find. Collective. `tell` hears what is done, how far it is, and of how much.
///
/// # Errors
/// On all ranks: what does not fit, or what failed on one of them.
pub fn run(
    session: &Session,
    plan: &Plan,
    clock: &Stopwatch,
    writer: &mut Writer,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<(), Ending> {
    let world = session.world();
    let allotted = session.agree(plan.check(session.n_ranks()))?;
    let mine = allotted.iter().position(|ranks| ranks.contains(&session.rank()));
    let color = mine.map_or_else(Color::undefined, |idx| Color::with_value(idx as i32));
    let ranks = world.split_by_color(color);
    let host = session.host();
    let mut member = session.agree(prepare(plan, mine.zip(ranks.as_ref()), n_ranks_of(&host)))?;
    // The first rank of each host looks around for all of them.
    let neighbours = gather(&host, &std::process::id().cast_signed()).map(Neighbours::watch);
    let measured = phase_one(session, plan, &allotted, member.as_mut(), clock, tell)?;
    let planned = planned(plan, &allotted, &measured);
    session.agree(record_phase_one(plan, &measured, &planned, writer).map_err(Failure::of))?;
    phase_two(session, plan, &planned, member, clock, writer, tell)?;
    let found = gather(world, &neighbours.map_or_else(Vec::new, |neighbours| neighbours.found()));
    session.agree(record_neighbours(plan, found, writer).map_err(Failure::of))
}

/// Buffers of this rank's application.
fn prepare<'a>(
    plan: &'a Plan,
    mine: Option<(usize, &'a SimpleCommunicator)>,
    n_on_host: u32,
) -> Result<Option<Member<'a>>, Failure> {
    let Some((idx, ranks)) = mine else { return Ok(None) };
    let application = &plan.applications.applications[idx];
    let sizes = application.size.draw(plan.method.seed).map_err(Failure::usage)?;
    let size_max = sizes.iter().copied().max().unwrap_or(0).max(SIZE_MAX_LEAST);
    let needed = n_buffer_bytes(application.pattern, n_ranks_of(ranks), rank_of(ranks), plan.method.seed, size_max);
    // The kernel promises more than it has, and ends a process when it is held to that.
    if let Some(share) = available_bytes().map(|bytes| bytes / u64::from(n_on_host)).filter(|&share| share < needed) {
        return Err(Failure::work(format!(
            "buffers of rank {} in application `{}` need {needed} bytes, and the memory left on {} is {share} bytes for each of its {n_on_host} ranks; send smaller messages, or run fewer ranks there",
            rank_of(ranks),
            application.name,
            host_name()
        )));
    }
    let exchange = Exchange::prepare(ranks, application.pattern, application.mode, plan.method.seed, size_max)?;
    Ok(Some(Member { idx, application, sizes, exchange, own: OwnExchange::default(), benchmark_away_ratio: 0.0 }))
}

/// Measures one application after the other, so that none is in another's way; each one's findings are known to all in
/// the end.
fn phase_one(
    session: &Session,
    plan: &Plan,
    allotted: &[Vec<Rank>],
    mut member: Option<&mut Member<'_>>,
    clock: &Stopwatch,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<Vec<PhaseOne>, Ending> {
    let mut found = Vec::new();
    for idx in 0..allotted.len() {
        tell("phase one, applications", idx as u64, allotted.len() as u64);
        let measured = match member.as_deref_mut().filter(|member| member.idx == idx) {
            Some(member) => benchmark_member(member, plan, clock).map(Some),
            None => Ok(None),
        };
        let measured = session.agree(measured)?;
        let all = gather(session.world(), &measured);
        let of_first = session.first_finds(|| Ok(all.and_then(|all| all.into_iter().flatten().next())))?;
        let nobody = || Failure::work(format!("nobody measured application {idx}"));
        found.push(session.agree(of_first.ok_or_else(nobody))?);
    }
    Ok(found)
}

fn benchmark_member(member: &mut Member<'_>, plan: &Plan, clock: &Stopwatch) -> Result<PhaseOne, Failure> {
    let Member { application, sizes, exchange, .. } = member;
    let subject = Subject { application, sizes, seed: plan.method.seed, exchange, effort: plan.method.effort };
    let mut presence = Presence::new(clock);
    let (found, own) = presence.watch(|| benchmark::measure(subject, clock))?;
    (member.own, member.benchmark_away_ratio) = (own, presence.take_away_ratio());
    Ok(found)
}

/// Returns the plan of each application, the same on all ranks.
fn planned(plan: &Plan, allotted: &[Vec<Rank>], measured: &[PhaseOne]) -> Vec<Planned> {
    let one = |((application, ranks), found): ((&Application, &Vec<Rank>), &PhaseOne)| {
        let sizes = application.size.draw(plan.method.seed).expect("sizes were checked");
        let Forecast { n_cycles, size_mean_bytes, predicted } =
            predict(application, &sizes, &found.benchmark, plan.method.basis);
        Planned {
            cell: plan.cell,
            application: Application { ranks: Some(ranks.len() as u32), ..application.clone() },
            world_ranks: ranks.clone(),
            n_cycles,
            size_mean_bytes,
            size_max_bytes: sizes.iter().copied().max().unwrap_or(0),
            predicted,
        }
    };
    plan.applications.applications.iter().zip(allotted).zip(measured).map(one).collect()
}

fn record_phase_one(
    plan: &Plan,
    measured: &[PhaseOne],
    planned: &[Planned],
    writer: &mut Writer,
) -> Result<(), OutcomeError> {
    for found in measured {
        for point in &found.points {
            writer.record(record::POINT, &record::Point { cell: plan.cell, ..point.clone() })?;
        }
        for model in &found.models {
            writer.record(record::MODEL, &record::Model { cell: plan.cell, ..model.clone() })?;
        }
    }
    planned.iter().try_for_each(|one| writer.record(record::APPLICATION, one))
}

/// All applications at the same time, each rank's clock and core looked at again in the end.
fn phase_two(
    session: &Session,
    plan: &Plan,
    planned: &[Planned],
    mut member: Option<Member<'_>>,
    clock: &Stopwatch,
    writer: &mut Writer,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<(), Ending> {
    let world = session.world();
    let overhead = member
        .as_ref()
        .map(|member| emulation::overhead(clock, &member.exchange.peers(), member.application.synchronize_every > 0));
    // Ranks calibrate at the same time, as they will work.
    world.barrier();
    let calibration = Calibration::measure();
    world.barrier();
    let report = member.as_mut().zip(overhead).map(|(member, overhead)| {
        let station =
            Station { plan, planned: &planned[member.idx], calibration, overhead, clock, world_rank: session.rank() };
        station.emulate(member, tell)
    });
    world.barrier();
    let clock_result = ClockResult {
        cell: plan.cell,
        world_rank: session.rank(),
        calibration_drift_ratio: calibration.drift_ratio(),
        offset: Offset::to_first(world, clock),
        cycle_overhead_ns: overhead.map(|overhead| overhead.cycle_ns),
    };
    let (reports, clocks) = (gather(world, &report), gather(world, &clock_result));
    let recorded = match reports.zip(clocks) {
        Some((reports, clocks)) => {
            record_phase_two(plan, planned, reports.into_iter().flatten().collect(), &clocks, writer)
        }
        None => Ok(()),
    };
    session.agree(recorded.map_err(Failure::of))
}

/// All that a rank knows when phase two begins.
struct Station<'a> {
    plan: &'a Plan,
    planned: &'a Planned,
    calibration: Calibration,
    overhead: Overhead,
    clock: &'a Stopwatch,
    world_rank: Rank,
}

impl Station<'_> {
    fn emulate(&self, member: &mut Member<'_>, tell: &mut dyn FnMut(&str, u64, u64)) -> Report {
        let predicted = &self.planned.predicted;
        let work_ns = (predicted.compute_ns - self.overhead.compute_ns).max(0.0);
        let orders = Orders {
            n_turns: self.calibration.turns(Duration::from_nanos(work_ns.round() as u64)),
            sizes: member.sizes.iter().map(|&size| size as usize).collect(),
            n_cycles: self.planned.n_cycles,
            synchronize_every: member.application.synchronize_every,
            cycle_ns: predicted.run_ns / self.planned.n_cycles as f64,
            compute_ns: predicted.compute_ns,
        };
        let messaging_ns = predicted.communication_ns + predicted.synchronization_ns;
        let mut forecaster = CycleForecast::new(&self.plan.method.forecast_model, messaging_ns);
        clock::sleep(member.application.start_offset.0);
        let run = emulate(&mut member.exchange, self.clock, &orders, &mut forecaster, &mut |done| {
            tell("phase two, cycles", done, orders.n_cycles);
        });
        self.report(member, &run)
    }

    fn report(&self, member: &Member<'_>, run: &emulation::Run) -> Report {
        let rank = rank_of(member.exchange.ranks());
        let name = &member.application.name;
        let meter = &run.meter;
        let compute_ns = self.planned.predicted.compute_ns;
        let (cycle, compute) = (meter.cycle.summary(), meter.compute.digest.summary());
        let communication = meter.communication.digest.summary();
        let result = RankResult {
            cell: self.plan.cell,
            application: name.clone(),
            rank,
            world_rank: self.world_rank,
            n_cycles: self.planned.n_cycles,
            run_ns: run.run_ns,
            benchmarked_once: run.benchmarked_once,
            forecast_as_we_go: run.forecast_as_we_go,
            forecast_model: self.plan.method.forecast_model.to_string(),
            compute_calculated_ns: compute_ns,
            compute_error_percent: emulation::error_percent(compute_ns, compute.median_ns),
            dispersion: Dispersion {
                cycle_ratio: cycle.dispersion_ratio(),
                compute_ratio: compute.dispersion_ratio(),
                communication_ratio: communication.dispersion_ratio(),
                benchmark_ratio: member.own.spans.as_ref().map(statistics::digest::Summary::dispersion_ratio),
                communication_to_benchmark: member
                    .own
                    .spans
                    .as_ref()
                    .filter(|spans| spans.deviation_ns > 0.0)
                    .map(|spans| communication.deviation_ns / spans.deviation_ns),
            },
            cycle,
            compute,
            synchronization: meter.synchronization.digest.summary(),
            communication,
            between_blocks_ns: run.between_blocks_ns,
            away: Some(Away { benchmark_ratio: member.benchmark_away_ratio, run_ratio: run.away_ratio }),
        };
        let steps = meter.steps.iter().enumerate().map(|(idx, (peer, digest))| StepSpan {
            peer: *peer,
            median_ns: digest.quantile_ns(0.5),
            benchmark: member.own.steps.get(idx).copied(),
        });
        let anomalies = anomaly::of_cycles(name, rank, meter, run.run_ns);
        Report { idx: member.idx, anomalies, steps: steps.collect(), result }
    }
}

fn record_phase_two(
    plan: &Plan,
    planned: &[Planned],
    reports: Vec<Report>,
    clocks: &[ClockResult],
    writer: &mut Writer,
) -> Result<(), OutcomeError> {
    for (idx, one) in planned.iter().enumerate() {
        let mut own: Vec<&Report> = reports.iter().filter(|report| report.idx == idx).collect();
        own.sort_by_key(|report| report.result.rank);
        for report in &own {
            writer.record(record::RANK, &report.result)?;
        }
        let steps: Vec<Vec<StepSpan>> = own.iter().map(|report| report.steps.clone()).collect();
        let cycle_ns = own.first().map_or(0.0, |report| report.result.cycle.median_ns);
        let of_pairs = anomaly::of_pairs(&one.application.name, &steps, cycle_ns, one.n_cycles);
        let of_cycles = own.iter().flat_map(|report| &report.anomalies);
        let is_away = own.iter().any(|report| report.result.is_away().is_some());
        for anomaly in anomaly::tellable(of_cycles.chain(&of_pairs), is_away) {
            writer.record(record::ANOMALY, &Anomaly { cell: plan.cell, ..anomaly.clone() })?;
        }
    }
    clocks.iter().try_for_each(|clock| writer.record(record::CLOCK, clock))
}

fn record_neighbours(plan: &Plan, found: Option<Vec<Vec<Neighbour>>>, writer: &mut Writer) -> Result<(), OutcomeError> {
    let mut found = found.into_iter().flatten().flatten();
    found.try_for_each(|neighbour| writer.record(record::NEIGHBOUR, &Seen { cell: plan.cell, neighbour }))
}
