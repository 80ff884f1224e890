//! One module for each command: its arguments, and what it does with them.

pub mod analyze;
pub mod ask;
pub mod availability_study;
pub mod completions;
pub mod compose;
pub mod crossval;
pub mod drawing;
pub mod export;
pub mod fit;
pub mod forget;
pub mod load;
pub mod load_worker;
pub mod man;
pub mod models;
pub mod mpi;
mod noise;
pub mod predict;
pub mod replay;
pub mod runtime;
pub mod signals;
pub mod spin;
pub mod stream;
pub mod study_test;
pub mod top;
pub mod up;
