//! Collective operations by trees that users write, under MPI programs that know nothing of them.
//!
//! Preloaded, this library takes barrier, bcast, reduce, allreduce, gather and scatter where a rule of the tree file
//! says so, and hands all other calls on to the next function of the same name. `docs/decisions/who-receives.md`
//! says how ranks divide the work.
#![warn(unreachable_pub)]

mod agreement;
mod arguments;
mod combine;
mod communicator;
mod conditional;
mod crossing;
mod engine;
mod entry;
mod gate;
mod job;
mod memory;
mod network;
mod pause;
mod plan;
mod port;
mod record;
mod report;
mod shim;
mod site;
mod taking;
mod tracer;
mod waits;
