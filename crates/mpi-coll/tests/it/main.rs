//! Trees under real programs.
mod mpi;
mod program;
mod root;
