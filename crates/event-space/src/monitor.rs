//! Monitors: who was last, time in calls by rank, figures of each stage; and the threads that they run on.

mod load_balance;
mod mpi_time;
mod statistics;
mod worker;

pub use load_balance::{Counts, LastOfHost, LoadBalance, Weights, load_balance_host, merge_counts};
pub use mpi_time::{MpiTime, Spent};
pub use statistics::{Hop, Quantity, StageFigures, StageStatistics};
pub use worker::{Gated, Report, Worked, Worker};
