//! A campaign, on the host that began it and on those that help.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use ::crossval::{LeftOut, Progress, Tally, Template, Trace};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::peer::read_peers;
use super::threads;
use crate::error::raise;

/// Everything that the results of a case depend on.
#[pyclass(frozen, module = "foretop._native")]
pub(crate) struct Campaign {
    pub(super) campaign: ::crossval::Campaign,
}

/// Cases done, cases failed, and for each model of the template the cases that count, the sum of their logarithms,
/// comparisons with others and those that it won.
pub(super) type TallyParts = (u64, u64, Vec<(u64, f64, u64, f64)>);

/// Results, timings, tally.
type Part<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, TallyParts);

#[pymethods]
impl Campaign {
    #[new]
    fn new(
        py: Python<'_>,
        template: &str,
        traces: Vec<(String, PyReadonlyArray1<'_, f64>)>,
        seed: u64,
        peers: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let peers = read_peers(peers)?;
        let template = Template::read(template).map_err(|error| raise(py, &error))?;
        let trace = |(name, samples): &(String, PyReadonlyArray1<'_, f64>)| {
            Trace::new(name.as_str(), samples.as_slice()?.to_vec()).map_err(|error| raise(py, &error))
        };
        let traces = traces.iter().map(trace).collect::<PyResult<Vec<_>>>()?;
        let campaign = ::crossval::Campaign::new(template, traces, seed);
        let campaign = campaign.and_then(|campaign| campaign.with_peers(peers)).map_err(|error| raise(py, &error))?;
        Ok(Self { campaign })
    }

    #[getter]
    fn left_out(&self) -> Vec<(String, usize, usize)> {
        let parts = |left_out: &LeftOut| (left_out.name.clone(), left_out.n_samples, left_out.need);
        self.campaign.left_out().iter().map(parts).collect()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.campaign.to_bytes()))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8], peers: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let peers = read_peers(peers)?;
        let campaign = py
            .detach(|| ::crossval::Campaign::from_bytes(bytes)?.with_peers(peers))
            .map_err(|error| raise(py, &error))?;
        Ok(Self { campaign })
    }

    /// Evaluate the cases from `start` up to `stop` on this thread alone.
    fn part<'py>(&self, py: Python<'py>, start: u64, stop: u64) -> PyResult<Part<'py>> {
        let (alone, progress) = (threads(1)?, Progress::new(&self.campaign));
        let never = AtomicBool::new(false);
        let evaluate = || self.campaign.part(start..stop, &never, |result| progress.note(result));
        let part =
            py.detach(|| alone.install(evaluate)).map_err(|error| raise(py, &::crossval::RunError::from(error)))?;
        let part = part.expect("nobody stops it");
        let Tally { n_done, n_failed, sums } = progress.tally();
        Ok((PyBytes::new(py, &part.results), PyBytes::new(py, &part.timings), (n_done, n_failed, sums)))
    }
}

/// The traces in a file, or in all files of a folder, with their names.
#[pyfunction]
pub(crate) fn read_traces<'py>(
    py: Python<'py>,
    path: PathBuf,
    column: Option<&str>,
) -> PyResult<Vec<(String, Bound<'py, PyArray1<f64>>)>> {
    let traces = py.detach(|| Trace::read(&path, column)).map_err(|error| raise(py, &error))?;
    let parts = |trace: &Trace| (trace.name().to_owned(), PyArray1::from_slice(py, trace.samples()));
    Ok(traces.iter().map(parts).collect())
}

/// The version of this program: another one may come to other results.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
