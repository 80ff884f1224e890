//! Waits under real programs.
mod mpi;
mod program;
