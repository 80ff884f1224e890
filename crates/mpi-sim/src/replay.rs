//! Recorded calls on another machine: what the ranks of a program did, without the program.
//!
//! A [`Script`] is made of traces of the tracer. Time between two calls is computation, which the machine's speed
//! scales; time in calls is left out, as it is what the simulation says anew.
//!
//! Records hold no requests, so some things are concluded, as [`ASSUMPTIONS`] says.

mod collective;
mod play;
mod script;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use mpi_trace::file::{Clock, RingNote};
use mpi_trace::{Event, Recording, RingKind};
use units::SimTime;

use crate::machine::Machine;
use crate::user::{self, UserError};
use crate::world::{Lock, Settings, Stopped, World};

use play::Part;
pub use script::{Script, ScriptError};

/// Assumptions of a replay, a sentence each.
pub const ASSUMPTIONS: &[&str] = &[
    "the program does the same calls on the other machine, in the same order, with the same partners",
    "time between calls is computation; time in calls that are not simulated (one-sided, files) is as well",
    "MPI_Wait is for the oldest request that is not complete, MPI_Waitall and MPI_Waitsome for all",
    "of several MPI_Test or MPI_Iprobe in a row the last was successful",
    "collectives that return at once are over when they return",
    "operations of collectives are commutative; neighbourhood collectives are among all ranks; all parts of a call are as long as the rank's own",
];

/// A call as it went in the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Played {
    /// Time at which the call began.
    pub start: SimTime,
    /// Time at which the call ended.
    pub end: SimTime,
    /// The recorded event; its own times are those of the recording.
    pub event: Event,
}

/// A replay at its end.
pub struct Replayed {
    /// Clocks and counts of all ranks.
    pub world: Lock<World>,
    /// Each rank's calls.
    pub calls: Vec<Vec<Played>>,
    /// Algorithms by which collective calls ran.
    pub algorithms: BTreeSet<(&'static str, &'static str)>,
    /// The reason why the replay ended before its time.
    pub stopped: Option<Stopped>,
}

impl Replayed {
    /// The simulated calls as the tracer would have recorded them, each rank's head and communicators as in the
    /// `recorded` ones.
    ///
    /// # Panics
    /// Never: a ring is noted before its events.
    #[must_use]
    pub fn recordings(&self, recorded: &[Recording]) -> Vec<Recording> {
        let timed = recorded.iter().map(|recording| {
            let (kind, clock) = (RingKind::Calls, Clock::Monotonic);
            let note = RingNote { ring: 0, kind, thread: 0, clock, ticks: 0, monotonic_ns: 0, tree: None };
            let mut simulated = recording.without_events();
            simulated.note(note.into());
            let calls = self.calls.get(recording.head.rank as usize).into_iter().flatten();
            simulated.events(0, 0, calls.map(Played::placed).collect()).expect("the ring is noted");
            simulated
        });
        timed.collect()
    }
}

/// Plays a script on a machine.
///
/// # Errors
/// [`UserError`] where there is no room for so many ranks.
///
/// # Panics
/// Where the machine is for another number of ranks.
pub fn replay(script: &Script, machine: Machine, settings: Settings) -> Result<Replayed, UserError> {
    let n_ranks = machine.n_ranks();
    assert_eq!(n_ranks, script.n_ranks(), "the machine is for {n_ranks} ranks, the script has {}", script.n_ranks());
    let world = World::new(machine, settings);
    let parts: Vec<OnceLock<Part>> = (0..n_ranks).map(|_| OnceLock::new()).collect();
    user::run(&world, user::STACK_BYTES, |rank| {
        let (played, result) = play::play(rank, script);
        // Each rank runs once.
        parts[rank.me() as usize].get_or_init(|| played);
        result
    })?;
    let stopped = world.hold().stopped().cloned();
    let (mut calls, mut algorithms) = (Vec::with_capacity(parts.len()), BTreeSet::new());
    for part in parts.into_iter().map(|part| part.into_inner().unwrap_or_default()) {
        calls.push(part.calls);
        algorithms.extend(part.algorithms);
    }
    Ok(Replayed { world, calls, algorithms, stopped })
}
