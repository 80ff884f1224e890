//! One module for each command: its arguments, and what it does with them.

pub mod analyze;
pub mod ask;
pub mod availability_study;
pub mod completions;
pub mod compose;
pub mod crossval;
pub mod export;
pub mod external;
pub mod fit;
pub mod forget;
pub mod internal;
pub mod man;
pub mod models;
pub mod mpi;
pub mod predict;
pub mod replay;
pub mod rules;
pub mod runtime;
pub mod signals;
pub mod stream;
pub mod token;
pub mod top;
pub mod up;
pub mod wan;
pub mod workload;
