//! The programs under MPI.

mod noise;
mod relaxation;
mod sums;

use std::time::Duration;

use clock::Stopwatch;
use mpi::collective::{CommunicatorCollectives, Root, SystemOperation};
use mpi::topology::Communicator;
use mpi_run::{Ending, Header, Session, Writer, broadcast, gather, turn};
use program::Failure;
use serde::{Deserialize, Serialize};

use crate::plan::{App, Plan};
use crate::record::{Noised, RankTimes, Relaxed, RunSeen, kind};
use crate::times::Times;

/// Longest time of the runs by which a program tunes itself, as far as can be told beforehand.
const PILOT: Duration = Duration::from_millis(500);

/// State that all programs need.
struct Run<'a> {
    session: &'a Session,
    clock: &'a Stopwatch,
    seed: u64,
    /// Work of this rank beyond that of others before each allreduce.
    additional_turns: u64,
    /// Whether there are more ranks than cores.
    is_oversubscribed: bool,
}

/// Measurements of one rank.
#[derive(Default)]
struct Measured {
    call: Times,
    work: Times,
    exchange: Times,
    n_wrong: u64,
    n_calls: u64,
    run_ns: u64,
    size_bytes: u64,
    n_sorted: u64,
    relaxed: Option<Relaxed>,
    noised: Option<Noised>,
}

/// Report of one rank on itself in the end.
#[derive(Serialize, Deserialize)]
struct Told {
    times: RankTimes,
    communication_ratio: f64,
}

/// Does it, and records what was found; gives the number of wrong sums on all ranks. Collective. `tell` hears what is
/// done, how much of it, and of how much.
///
/// # Errors
/// On all ranks, when the result cannot be written.
pub fn run(
    session: &Session,
    plan: &Plan,
    clock: &Stopwatch,
    header: &Header,
    writer: &mut Writer,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<u64, Ending> {
    let calibration = &header.ranks[session.rank() as usize].calibration;
    let straggler = plan.straggler.filter(|straggler| straggler.rank == session.rank());
    let additional_turns = straggler.map_or(0, |straggler| calibration.turns(straggler.span));
    let is_oversubscribed = header.is_oversubscribed();
    let run = Run { session, clock, seed: header.seed, additional_turns, is_oversubscribed };
    let (measured, asked) = match &plan.app {
        App::Sum(sums) => (Ok(run.sums(sums, tell)), sums.communication_ratio),
        App::Sor(sor) => (run.relaxation(sor, tell), sor.blocked_ratio()),
        App::Noise(noise) => (run.noise(noise, calibration, tell), None),
    };
    let measured = session.agree(measured.map_err(Failure::of))?;
    let told = gather(session.world(), &measured.told(session));
    let n_wrong = broadcast(
        session.world(),
        told.as_ref().map(|told| told.iter().map(|rank| rank.times.n_wrong).sum::<u64>()).as_ref(),
    );
    let mut write = || {
        for rank in told.iter().flatten() {
            writer.record(kind::RANK, &rank.times)?;
        }
        let ratios = told.iter().flatten().map(|rank| rank.communication_ratio);
        let seen = RunSeen {
            app: plan.app.name().to_owned(),
            size_bytes: measured.size_bytes,
            n_sizes: if let App::Sum(sums) = &plan.app { sums.n_sizes } else { 1 },
            n_calls: measured.n_calls,
            run_ns: measured.run_ns,
            call_ns: measured.run_ns as f64 / measured.n_calls as f64,
            communication_ratio_asked: asked,
            communication_ratio: ratios.sum::<f64>() / f64::from(session.n_ranks()),
            n_sorted: measured.n_sorted,
            straggler: plan.straggler.map(|straggler| straggler.to_string()),
            n_wrong,
        };
        writer.record(kind::RUN, &seen)?;
        measured.noised.iter().try_for_each(|noised| writer.record(kind::NOISE, noised))?;
        measured.relaxed.iter().try_for_each(|relaxed| writer.record(kind::SOR, relaxed))
    };
    session.agree(if session.is_first() { write().map_err(Failure::of) } else { Ok(()) })?;
    Ok(n_wrong)
}

impl Run<'_> {
    /// Works for the time by which this rank is to be late, if it is to be late.
    fn straggle(&self) {
        if self.additional_turns > 0 {
            turn(self.additional_turns);
        }
    }

    /// Returns the times of a call and of the work before it in the mean over ranks. Collective.
    fn means_ns(&self, measured: &Measured) -> (f64, f64) {
        let mine = [measured.call.mean_ns() + measured.exchange.mean_ns(), measured.work.mean_ns()];
        let mut sums = [0.0; 2];
        self.session.world().all_reduce_into(&mine[..], &mut sums[..], SystemOperation::sum());
        let n_ranks = f64::from(self.session.n_ranks());
        (sums[0] / n_ranks, sums[1] / n_ranks)
    }

    /// Returns the value of rank 0. Collective.
    fn of_first(&self, mut value: u64) -> u64 {
        self.session.world().process_at_rank(0).broadcast_into(&mut value);
        value
    }
}

impl Measured {
    fn told(&self, session: &Session) -> Told {
        let communication_ns = (self.call.total_ns() + self.exchange.total_ns()) as f64;
        let times = RankTimes {
            rank: session.rank(),
            call: self.call.summary(),
            call_last_median_ns: self.call.last_median_ns(),
            work: self.work.summary(),
            exchange: self.exchange.summary(),
            n_wrong: self.n_wrong,
        };
        let total_ns = (communication_ns + self.work.total_ns() as f64).max(1.0);
        Told { times, communication_ratio: communication_ns / total_ns }
    }
}

/// Returns the time that work has to take beside so much communication, for communication to have this share of the
/// time.
fn work_ns(communication_ns: f64, communication_ratio: f64) -> f64 {
    communication_ns * (1.0 - communication_ratio) / communication_ratio
}
