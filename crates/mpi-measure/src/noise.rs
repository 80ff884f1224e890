//! How much of a program's time the operating system takes: of parallel programs, and of single cores.
//!
//! - Under MPI (`together`): work of known length and an allreduce, again and again. An iteration in which any rank is late delays all of
//!   them; how many there are, what they cost and on which hosts they begin is Bongo's Table 14 (thesis of 2007, section 8.2).
//! - On one host ([`local`]): quanta of fixed work and of fixed time (Sottile and Minnich, "Analysis of Microbenchmarks for Performance
//!   Tuning of Clusters", Cluster 2004) on each core, whose detours have a length, a moment, often a pace ([`spectrum`], [`train`])
//!   and sometimes a culprit ([`cause`], [`tracing`]).
//! - Noise that is made on purpose ([`injector`]) shows whether what is measured can be believed.
//!
//! No figure is told that the clock cannot tell: a detour is longer than the spread of undisturbed quanta and the clock's steps explain.

pub mod cause;
mod chart;
pub mod counter;
pub mod detour;
pub mod injector;
pub mod lateness;
pub mod local;
pub mod plan;
pub mod quanta;
pub mod record;
pub mod spectrum;
mod text;
#[cfg(feature = "mpi")]
pub mod together;
pub mod tracing;
pub mod train;
pub mod watch;

use std::time::SystemTime;

use units::Timestamp;

pub use self::chart::pictures;
pub use self::text::table;
use crate::clock::Clock;
use crate::header::{Header, Offset, Placement, allowed_cpus, host_name};
use crate::work::Calibration;

/// Head of a result that is measured without MPI: one placement, of the calling thread.
#[must_use]
pub fn local_header(clock: &Clock, arguments: Vec<String>, seed: u64) -> Header {
    Header {
        program: "noise".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: Timestamp::from_system(SystemTime::now()),
        mpi: "none".to_owned(),
        arguments,
        seed,
        ranks: vec![Placement {
            rank: 0,
            host: host_name(),
            cpus: allowed_cpus(),
            clock: clock.survey(),
            calibration: Calibration::measure(),
            offset: Offset::default(),
        }],
        assumptions: assumptions(),
    }
}

/// What the figures take for granted.
#[must_use]
pub fn assumptions() -> Vec<String> {
    [
        "undisturbed work always takes the same time, but for the core's frequency, which moves slowly",
        "a quarter of the quanta of each thousand, at least, are undisturbed",
        "an iteration with a late rank delays all ranks, and what they lose is what they take beyond their medians",
    ]
    .map(str::to_owned)
    .to_vec()
}
