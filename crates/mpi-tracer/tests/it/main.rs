//! The tracer under real programs.
mod mpi;
mod program;
mod root;
