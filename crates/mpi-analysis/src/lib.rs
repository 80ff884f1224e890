//! Analysis of time inside a collective operation: stages, paths, last arrivals, groups of paths that behave alike,
//! hints.
//!
//! An [`Analyzer`] takes stage records of any ranks in any order and joins them into calls; its [`Analysis`] is a value
//! with all figures, for the last-arrival graph, groups, hints, comparisons and pictures. Source: L. A. Bongo,
//! "Collective communication performance analysis within the communication system" (Euro-Par 2004) and "Low overhead
//! high performance runtime monitoring of collective communication" (ICPP 2005). *Down* is towards the root, *up* away
//! from it.
//!
//! Floor 3: no I/O, no clock.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

pub mod account;
mod analysis;
mod analyzer;
mod arrival;
mod compare;
pub mod draw;
mod expectation;
mod figures;
mod group;
mod hint;
mod host_clock;
mod join;
mod kernel;
mod last_arrival;
mod layout;
mod node_call;
mod outlier;
mod recorded;
mod report;
mod search;
mod table;
mod totals;

pub use analysis::{
    Analysis, ContributorFigures, From, HopFigures, Level, NodeFigures, Part, PathFigures, Split, Stage, SubtreeFigures,
};
pub use analyzer::{Analyzer, IntervalMean};
pub use arrival::{Arrivals, arrivals, arrivals_table};
pub use compare::{Comparison, RankComparison, Verdict};
pub use expectation::{Expectations, Slow};
pub use figures::{Figures, Running};
pub use group::Group;
pub use hint::{Hint, Remedy};
pub use host_clock::HostClock;
pub use kernel::{Kernel, KernelLog};
pub use last_arrival::LastArrival;
pub use node_call::{NodeCall, two_way};
pub use outlier::{Against, Outlier};
pub use recorded::{RecordedError, analyzers, calls_without_stages};
pub use report::{Costs, Report};
pub use search::{Candidate, Search, Step};
pub use table::to_csv;
