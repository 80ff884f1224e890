//! Application communication emulation: cost models, emulated applications, predictions and what became of them.
//!
//! After Evans and Hood, "Application Communication Emulation for Performance Management of NOW Clusters". Phase one measures
//! what messages cost. Phase two runs emulated applications that compute and exchange messages in cycles; how long they should
//! take is known from phase one, so that what they take beyond it is the network's doing, or the machine's.

pub mod allotment;
pub mod anomaly;
pub mod application;
pub mod comparison;
pub mod cost;
pub mod forecaster;
pub mod meter;
pub mod pattern;
pub mod plot;
pub mod prediction;
pub mod record;
pub mod sizes;
pub mod sweep;
pub mod table;
pub mod trace;

#[cfg(feature = "mpi")]
pub mod benchmark;
#[cfg(feature = "mpi")]
pub mod emulation;
#[cfg(feature = "mpi")]
pub mod exchange;
#[cfg(feature = "mpi")]
pub mod run;
