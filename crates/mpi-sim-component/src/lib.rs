//! Preloaded under an unmodified MPI program: forks the ranks of a simulation before `main`, and answers their calls,
//! clocks and sleeps.
//!
//! The program runs on the system's own Open MPI. Two components in C, which Open MPI loads from `c/`, take the place
//! of its start-up and of its point-to-point layer; they ask this library. `docs/decisions/open-mpi-is-the-front.md`
//! says why.

mod call;
mod collective;
mod early;
mod face;
mod holder;
mod job;
mod keeper;
mod library;
mod memory;
mod rank;
mod script;
mod time;

#[global_allocator]
static MEMORY: memory::Shared = memory::Shared::new();

/// Runs before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    keeper::begin();
}
