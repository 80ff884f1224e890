//! A run on its way to a file: its parts are made by threads here, or handed in from elsewhere.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use ::crossval::{End, Part, Progress, RunError, Tally};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::campaign::{Campaign, TallyParts};
use super::threads;
use crate::error::raise;

/// Largest time between two checks for Ctrl-C.
const SIGNAL_PERIOD: Duration = Duration::from_millis(100);

/// A campaign of so many cases, on its way to a file that nobody else writes to.
#[pyclass(frozen, module = "foretop._native")]
pub(crate) struct Run {
    /// `None` when it is over.
    run: Mutex<Option<::crossval::Run>>,
    campaign: ::crossval::Campaign,
    progress: Progress,
}

impl Run {
    fn lock(&self) -> MutexGuard<'_, Option<::crossval::Run>> {
        self.run.lock().expect("nobody panics with the lock held")
    }

    fn take(&self) -> PyResult<::crossval::Run> {
        self.lock().take().ok_or_else(is_over)
    }

    fn with<T>(&self, work: impl FnOnce(&mut ::crossval::Run) -> T) -> PyResult<T> {
        self.lock().as_mut().map(work).ok_or_else(is_over)
    }
}

fn is_over() -> PyErr {
    PyValueError::new_err("the run is over")
}

#[pymethods]
impl Run {
    #[new]
    fn new(py: Python<'_>, campaign: &Campaign, n_cases: u64, out: PathBuf) -> PyResult<Self> {
        let campaign = campaign.campaign.clone();
        let progress = Progress::new(&campaign);
        let run = py.detach(|| ::crossval::Run::open(campaign.clone(), n_cases, &out));
        Ok(Self { run: Mutex::new(Some(run.map_err(|error| raise(py, &error))?)), campaign, progress })
    }

    /// The ranges of cases that are still to be evaluated.
    #[getter]
    fn missing(&self) -> PyResult<Vec<(u64, u64)>> {
        self.with(|run| run.missing().iter().map(|cases| (cases.start, cases.end)).collect())
    }

    /// Cases that an earlier run has done.
    #[getter]
    fn n_cases_found(&self) -> PyResult<u64> {
        self.with(|run| run.n_cases_found())
    }

    /// Files of an earlier run that were damaged, and are removed.
    #[getter]
    fn broken(&self) -> PyResult<Vec<PathBuf>> {
        self.with(|run| run.broken().to_vec())
    }

    /// Cases done, cases failed, and for each model with a case that counts its text, such cases and its relative
    /// error, the best first.
    fn progress(&self) -> (u64, u64, Vec<(String, u64, f64)>) {
        let standings = self.progress.standings(&self.campaign).into_iter();
        let standings = standings.map(|standing| (standing.family, standing.n, standing.relative_error));
        (self.progress.n_done(), self.progress.n_failed(), standings.collect())
    }

    /// Take a part that was evaluated elsewhere.
    fn add(
        &self,
        py: Python<'_>,
        cases: (u64, u64),
        results: &[u8],
        timings: &[u8],
        tally: TallyParts,
    ) -> PyResult<()> {
        let part = Part { results: results.to_vec(), timings: timings.to_vec() };
        let cases = cases.0..cases.1;
        let added = py.detach(|| self.with(|run| run.missing().contains(&cases).then(|| run.add(&cases, &part))));
        let unknown = || PyValueError::new_err(format!("the cases {cases:?} are not missing"));
        added?.ok_or_else(unknown)?.map_err(|error| raise(py, &error))?;
        let (n_done, n_failed, sums) = tally;
        self.progress.add(&Tally { n_done, n_failed, sums });
        Ok(())
    }

    /// Evaluate what is missing by `n_threads` threads (0: one for each processor), and write the file. `show` is
    /// called now and then; what it raises, and Ctrl-C, stops the run, and what is done stays.
    fn evaluate(&self, py: Python<'_>, n_threads: usize, show: Py<PyAny>) -> PyResult<()> {
        let (pool, run) = (threads(n_threads)?, self.take()?);
        let stop = AtomicBool::new(false);
        let look = || Python::attach(|py| py.check_signals().and_then(|()| show.call0(py)).map(drop));
        let (ended, raised) = py.detach(|| watched(|| pool.install(|| run.run(&stop, &self.progress)), &stop, look));
        raised.map_or(Ok(()), Err)?;
        match ended.map_err(|error| raise(py, &error))? {
            End::Finished => Ok(()),
            End::Stopped => unreachable!("only what is raised stops it"),
        }
    }

    /// Put the parts together, of which none is missing.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let run = self.take()?;
        if !run.missing().is_empty() {
            return Err(PyValueError::new_err(format!("{} parts are missing", run.missing().len())));
        }
        py.detach(|| run.finish()).map_err(|error| raise(py, &error))
    }

    /// Leave the file to others; what is done stays.
    fn close(&self) {
        *self.lock() = None;
    }
}

/// Does `work` on a thread, and looks after it from this one; what `look` raises stops the work.
fn watched(
    work: impl FnOnce() -> Result<End, RunError> + Send,
    stop: &AtomicBool,
    look: impl Fn() -> PyResult<()>,
) -> (Result<End, RunError>, Option<PyErr>) {
    let (is_over, over) = channel::<()>();
    let mut raised = None;
    let ended = thread::scope(|scope| {
        let work = scope.spawn(move || {
            // Dropped at the end, whatever that is.
            let _is_over = is_over;
            work()
        });
        while over.recv_timeout(SIGNAL_PERIOD) == Err(RecvTimeoutError::Timeout) {
            if raised.is_none() {
                raised = look().err();
                stop.store(raised.is_some(), Ordering::Relaxed);
            }
        }
        work.join()
    });
    (ended.unwrap_or_else(|panic| resume_unwind(panic)), raised)
}
