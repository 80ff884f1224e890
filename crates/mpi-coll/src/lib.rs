//! Collective operations by trees that users write, under MPI programs that know nothing of them.
//!
//! Preloaded, this library takes barrier, bcast, reduce, allreduce, gather and scatter where a rule of the tree file says so, and
//! hands all other calls on.
#![warn(unreachable_pub)]

mod combine;
mod engine;
mod gate;
mod memory;
mod pause;
mod plan;
mod port;
mod record;
