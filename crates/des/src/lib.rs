//! A kernel of discrete-event simulation: logical processes with clocks of their own, and the protocols that let them
//! run side by side.
//!
//! A [`Process`] takes messages one after the other and sends others, which arrive later. Each process takes its
//! messages in one total order: by time, then by source, then in the order of sending. As what a process does depends
//! on nothing but the messages that it has taken, results are the same under every [`Protocol`] and with any number of
//! threads, to the bit.
//!
//! What differs is how a process knows that nothing earlier can still arrive. The bounds that the protocols use,
//! with their proofs, are in `docs/decisions/bounds-of-simulated-time.md`. Sources: Chandy and Misra 1979 (null
//! messages), Chandy and Sherman 1989 (conditional events), Jha and Bagrodia 1993 (both), as SESAME's MPI-SIM combined
//! them.
#![forbid(unsafe_code)]

mod bounds;
mod cell;
mod inbox;
mod parallel;
mod process;
mod protocol;
mod run;
mod sequential;

pub use process::{Arrival, Process, ProcessIdx, Sources, Turn, Wants};
pub use protocol::{Protocol, ProtocolError, Rounds, SyncInfo};
pub use run::{Counts, Ended, Settings, run};
