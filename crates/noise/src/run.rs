//! The two ways of a run: ranks together, or each core of this host for itself.

mod group;
mod local;
#[cfg(feature = "mpi")]
mod processes;
mod threads;
mod together;

use std::io;
use std::sync::mpsc;
use std::thread;

use clock::Stopwatch;
#[cfg(feature = "mpi")]
use mpi_run::{Ending, Session};
use mpi_run::{Header, Placement, Writer};
use program::Failure;
use units::Rank;

use crate::plan::JointPlan;
#[cfg(feature = "mpi")]
use processes::Process;
use threads::Team;
use together::together;

pub use local::{LocalError, run_alone};

/// Measures ranks under MPI together, and records what was found. Collective. `tell` hears what is done, how many
/// milliseconds of it, and of how many.
///
/// # Errors
/// On all ranks, when the result cannot be written or a rank cannot be bound to the core that noise is made on.
#[cfg(feature = "mpi")]
pub fn run(
    session: &Session,
    plan: &JointPlan,
    clock: Stopwatch,
    header: &Header,
    writer: &mut Writer,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<(), Ending> {
    together(&Process::new(session), plan, clock, header, writer, tell)
}

/// Returns the placement of each of so many threads of this process, with the length of its calibrated work.
/// The threads calibrate at the same time, as they will work.
///
/// # Errors
/// When there can be no further thread.
pub fn threads(n_threads: u32, clock: &Stopwatch) -> io::Result<Vec<Placement>> {
    thread::scope(|scope| {
        let start = |rank| named(rank).spawn_scoped(scope, move || Placement { rank, ..Placement::alone(clock) });
        let threads = (0..n_threads).map(start).collect::<io::Result<Vec<_>>>()?;
        Ok(threads.into_iter().map(|thread| thread.join().expect("calibrating does not panic")).collect())
    })
}

/// Measures threads of this process together, one for each rank of `header`, as they are measured under MPI. `tell`
/// hears what is done, how many milliseconds of it, and of how many.
///
/// # Errors
/// When there can be no further thread, the result cannot be written, or a thread not be bound to the core that noise
/// is made on.
pub fn run_threads(
    plan: &JointPlan,
    clock: Stopwatch,
    header: &Header,
    writer: &mut Writer,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<(), Failure> {
    let team = &Team::new(header.ranks.len() as u32);
    thread::scope(|scope| {
        let mut gates = Vec::new();
        for place in &header.ranks[1..] {
            let (open, gate) = mpsc::channel();
            let measure = move || {
                let mut unused = Writer::create(None, header).expect("what is written nowhere can be written");
                // Without all of the others, none begins.
                let is_complete = gate.recv().is_ok();
                // How it ends is the same on all ranks, and the first says it.
                let _ = is_complete
                    .then(|| together(&team.member(place.rank), plan, clock, header, &mut unused, &mut |_, _, _| ()));
            };
            let started = named(place.rank).spawn_scoped(scope, measure);
            started
                .map_err(|error| Failure::work(format!("cannot start a thread for rank {}: {error}", place.rank)))?;
            gates.push(open);
        }
        gates.iter().for_each(|gate| gate.send(()).expect("a thread waits at its gate"));
        together(&team.member(0), plan, clock, header, writer, tell).map_err(|ending| ending.failure)
    })
}

fn named(rank: Rank) -> thread::Builder {
    thread::Builder::new().name(format!("rank {rank}"))
}
