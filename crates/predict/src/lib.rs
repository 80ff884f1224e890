//! Forecasts from samples: model specifications, fits, predictors and their evaluation.
//!
//! The parts are those of RPS's time series prediction library (Dinda and O'Hallaron 1999, section 5.1).
//! A [`Spec`] is what is asked for, as a value and as text. [`fit`] makes a [`Model`] of it from a slice
//! of samples. The model makes a [`Predictor`], a filter that takes one sample at a time and can be
//! asked at any moment for the means and standard errors of any number of steps ahead. An
//! [`Evaluator`] is independent of any predictor: fed with samples and forecasts it says, per lead
//! time, how well they agreed; [`compare`] says whether one forecaster was better than another.
//!
//! # Gaps and non-finite samples
//!
//! Samples are evenly spaced, so a missing one still takes its place: it is a NaN.
//!
//! - [`fit`] takes NaN as a gap, uses what is there, and counts only known samples against the least
//!   number that it needs. An infinite sample is refused with [`FitError::Infinite`]: it is no
//!   measurement, and no marker either.
//! - [`Predictor::step`] takes every non-finite sample as a gap. While a gap lasts, the forecast for lead
//!   `h` after `g` missing samples is the one for lead `g + h` from the last known sample, its standard error
//!   included. When samples return, the forecasts that stood in for the missing ones remain as history.
//! - The [`Evaluator`] scores nothing against a gap; such forecasts are counted as unscored.
//!
//! Floor 2: no I/O, no clock, and no threads but, with the feature `rayon`, the worker pool that a [`Fleet`] shares its
//! work among.
#![forbid(unsafe_code)]

mod auto;
mod compare;
mod cost;
mod effort;
mod error_growth;
mod evaluator;
mod fit;
mod fleet;
mod forecast;
mod history;
mod inference;
mod intervals;
mod ladder;
mod live;
mod loss;
mod model;
mod optimize;
mod outlook;
mod predictor;
mod random;
mod reconcile;
mod record;
mod refit;
mod run_time;
mod select;
mod spec;
mod state;
mod task;

pub use auto::{LeadStanding, SeasonLead, SeasonStanding, Standing};
pub use compare::{CompareError, Comparison, Variance, compare};
pub use effort::Cancel;
pub use evaluator::{Backtest, Coverage, Errors, Evaluator, Forecaster, IntervalScores, LeadScore};
pub use fit::{FitError, fit, fit_bounded, fit_within};
pub use fleet::Fleet;
pub use forecast::{Forecast, half_width};
pub use inference::{Inference, Parameter};
pub use intervals::Intervals;
pub use live::{Live, LiveFleet, Policy};
pub use loss::Loss;
pub use model::Model;
pub use outlook::{Calendar, FoundSeason, Joint, Outlook, Paths, Periods, PeriodsError, Resolution, Scale, agreeing};
pub use predictor::Predictor;
pub use reconcile::{Constraint, reconcile};
pub use record::{Bin, Record, Worth};
pub use run_time::{Demand, Means, MeasurementError, RunTime, RunTimeError, TimeInterval, WindowErrors};
pub use select::{Criterion, NoScore, Ranked, select};
pub use spec::{ArMethod, Family, Method, Region, Spec, SpecError, Trend};
pub use state::RestoreError;
pub use task::{Done, Task};
