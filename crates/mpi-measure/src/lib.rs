//! What MPI programs get of a machine: three published measurements, and what they share.
//!
//! - [`ace`]: application communication emulation. What messages cost, how long an application with such messages should
//!   take by that, and how long it does take (Evans, Hood: "Application Communication Emulation for Performance Management of
//!   NOW Clusters").
//! - [`comb`]: how much of the CPU is left while messages fly, and who makes them fly (Brightwell, Lawry, Maccabe, Wilson:
//!   "Improving Processor Availability in the MPI Implementation for the ASCI/Red Supercomputer", LCN 2002).
//! - [`noise`]: how much of a program's time the operating system takes (Bongo: thesis of 2007, Table 14), and when
//!   and by whom it is taken from a single host.
//!
//! What needs MPI is behind the feature `mpi`; results, their tables and plots, cost models and statistics are not.
//!
//! Floor 3: reads the clock and the host. No printing: what people see is text or a picture that is handed back.

pub mod ace;
pub mod clock;
pub mod comb;
pub mod failure;
pub mod header;
pub mod launcher;
pub mod noise;
pub mod outcome;
pub mod presentation;
pub mod progress;
pub mod work;

#[cfg(feature = "mpi")]
pub mod offset;
#[cfg(feature = "mpi")]
pub mod session;

/// Position of a process in a communicator, from 0.
pub type Rank = u32;
