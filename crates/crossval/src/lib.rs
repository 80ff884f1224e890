//! Model selection for predicting a signal: random test cases, evaluated as an online system would run them, and the
//! conclusions.
//!
//! This is the parallel cross-validation system of RPS (Dinda and O'Hallaron 1999, section 5.4). A [`Template`] gives
//! the possible models, windows and transformations. A [`Campaign`] is a template, traces and a seed. Its case number
//! `k` is a function of these and of `k` alone, so any range of cases is the same whoever evaluates it and when. A
//! [`Run`] evaluates all of them and leaves one Parquet file, identical to the byte for any number of workers and
//! interruptions. A [`Report`] shows what the file says, and a [`Comparison`] how two files differ.
//!
//! # No leakage
//!
//! A model is fitted to a slice that ends at the origin. From there a [`predict::Backtest`] owns the trace: it takes
//! the forecasts for the samples to come before it passes the next one to the predictor. Transformations are made
//! inside a window, each value from samples at or before its place, and no bucket of an aggregation crosses the
//! origin.
#![forbid(unsafe_code)]

mod campaign;
mod comparison;
mod draw;
mod evaluate;
mod host;
mod identity;
mod lengths;
mod naive;
mod parts;
mod peer;
mod progress;
mod report;
mod results;
mod rows;
mod run;
mod table;
mod template;
mod trace;
mod window;

pub use campaign::{Campaign, CampaignError, Case, LeftOut};
pub use comparison::{Compared, ComparedResiduals, Comparison, ComparisonError};
pub use evaluate::{CaseResult, Evaluated, Scored, Timing, Worker};
pub use identity::{Identity, TraceIdentity};
pub use lengths::Lengths;
pub use naive::NaiveErrors;
pub use peer::{Contender, Failure, Peer, PeerError};
pub use progress::{Progress, Standing, Tally};
pub use report::{
    Costs, FailureSummary, Kept, LeadSummary, ModelSummary, Report, ReportSettings, ResidualSummary, Summary,
};
pub use results::{Metric, Results, ResultsError, Rows};
pub use rows::Part;
pub use run::{End, Run, RunError};
pub use table::{Cells, Column, encode};
pub use template::{Template, TemplateError, Transformation};
pub use trace::{Trace, TraceError, TraceFileError};
pub use window::Window;
