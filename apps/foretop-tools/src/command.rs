//! One module for each command: its arguments, and what it does with them.

pub mod availability_study;
pub mod compose;
pub mod crossval;
pub mod internal;
pub mod mpi;
pub mod stream;
pub mod wan;
pub mod workload;
