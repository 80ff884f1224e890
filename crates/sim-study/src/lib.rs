//! Number of times that simulated ranks have to wait for each other, by protocol: MPI-SIM's study made again.
//!
//! Source: UCLA's SESAME report of 2000, section 8.1.4 (Figures 8.2 to 8.5, Table 8-2), and Prakash's dissertation for
//! what the protocols are. The report's codes were those of the NAS benchmarks; here ranks compute for drawn spans,
//! whose mean is what Table 8-2 says of each code, and exchange messages as the codes do. So everything comes out the
//! same on every machine.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

mod code;
mod crafted;
mod report;
mod run;

pub use code::Code;
pub use report::report;
pub use run::{Mode, Run, Settings, Study, StudyError, study};
