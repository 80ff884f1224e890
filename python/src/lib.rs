//! `foretop._native`: the Rust half of the Python package `foretop`.
//!
//! Classes that hold a Rust value, and functions over rows of samples. What is easier in Python (reading pandas
//! objects, the docstrings of functions, tables) is in `lib/foretop`, which calls this module with rows that are
//! already arrays.

mod bounds;
mod confidences;
mod crossval;
mod dedup;
mod error;
mod evaluation;
mod fit;
mod fleet;
mod fleet_forecast;
mod forecast;
mod inference;
mod intervals;
mod model;
mod motion;
mod mpi_follower;
mod mpi_trace;
mod names;
mod outlook;
mod playback;
mod predictor;
mod record;
mod said;
mod samples;
mod statistics;

/// The native half of foretop; import `foretop` instead.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::crossval::{Campaign, Run, compare_results, read_results, read_traces, report, version};
    #[pymodule_export]
    use crate::dedup::{DedupDecoder, DedupEncoder, dedup_estimate};
    #[pymodule_export]
    use crate::evaluation::{compare, evaluate, residuals};
    #[pymodule_export]
    use crate::fit::{auto_with_seasons, fit, models, select};
    #[pymodule_export]
    use crate::fleet::Fleet;
    #[pymodule_export]
    use crate::fleet_forecast::FleetForecast;
    #[pymodule_export]
    use crate::forecast::Forecast;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::mpi_follower::MpiFollower;
    #[pymodule_export]
    use crate::mpi_trace::read_mpi_trace;
    #[pymodule_export]
    use crate::outlook::Outlook;
    #[pymodule_export]
    use crate::playback::{made_trace, playback_laws, simulate_playback};
    #[pymodule_export]
    use crate::predictor::Predictor;
    #[pymodule_export]
    use crate::record::Record;
    #[pymodule_export]
    use crate::statistics::{acf, hurst, kpss, pacf, periodogram, pox_plot};
}
