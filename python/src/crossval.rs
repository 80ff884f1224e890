//! Random test cases from Python: campaigns, runs, and what result files say.

mod campaign;
mod peer;
mod refusal;
mod results;
mod run;

pub(crate) use campaign::{Campaign, read_traces, version};
pub(crate) use results::{compare_results, read_results, report};
pub(crate) use run::Run;

use pyo3::PyResult;
use pyo3::exceptions::PyRuntimeError;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Threads of their own for one piece of work, so that none outlives it; 0 is one for each processor.
fn threads(n: usize) -> PyResult<ThreadPool> {
    let refused = |error| PyRuntimeError::new_err(format!("cannot start {n} threads: {error}"));
    ThreadPoolBuilder::new().num_threads(n).build().map_err(refused)
}
