//! The rings of an MPI job that runs on this host, read as they are written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mpi_job::{Folder, ReadError, RingFile, find};
use mpi_trace::{Cursor, Drain, Event, Line, Operation, Subject};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;

/// Records of a ring that are taken at once: all that one of the usual size holds.
const N_AT_ONCE: usize = 1 << 15;

/// Takes what came since the last time.
#[pyclass(module = "foretop._native")]
pub(crate) struct MpiFollower {
    folder: Folder,
    rings: BTreeMap<PathBuf, (RingFile, Cursor)>,
}

/// An event, of which rank and thread.
type Taken = (u32, u32, Line, Event);

#[pymethods]
impl MpiFollower {
    #[new]
    fn new(py: Python<'_>, job: PathBuf) -> PyResult<Self> {
        let folder = Folder::open(&find(&job)).map_err(|error| raise(py, &ReadError::from(error)))?;
        Ok(Self { folder, rings: BTreeMap::new() })
    }

    /// Names of operations by their codes.
    #[staticmethod]
    fn operations() -> Vec<&'static str> {
        Operation::ALL.iter().map(|operation| operation.name()).collect()
    }

    fn is_alive(&self, py: Python<'_>) -> PyResult<bool> {
        self.folder.is_alive().map_err(|error| raise(py, &ReadError::from(error)))
    }

    /// Columns of calls and of stages, and how many records were lost.
    fn pull<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>, u64)> {
        let taken = py.detach(|| self.take()).map_err(|error| raise(py, &error))?;
        let (calls, stages): (Vec<Taken>, Vec<Taken>) =
            taken.0.into_iter().partition(|(.., event)| !matches!(event.subject, Subject::Stage { .. }));
        let (of_calls, of_stages) = (columns(py, &calls)?, columns(py, &stages)?);
        let number = |of: fn(Subject) -> (i64, i64)| stages.iter().map(move |(.., event)| of(event.subject));
        let place = |subject| match subject {
            Subject::Stage { collector, sequence } => (collector.into(), sequence.into()),
            Subject::Call { .. } | Subject::Part { .. } => (-1, -1),
        };
        of_stages.set_item("collector", PyArray1::from_iter(py, number(place).map(|(collector, _)| collector)))?;
        of_stages.set_item("sequence", PyArray1::from_iter(py, number(place).map(|(_, sequence)| sequence)))?;
        Ok((of_calls, of_stages, taken.1))
    }
}

impl MpiFollower {
    fn take(&mut self) -> Result<(Vec<Taken>, u64), ReadError> {
        // A ring that cannot be opened yet is looked at again.
        for ring in self.folder.rings_but(|path| self.rings.contains_key(path))?.into_iter().flatten() {
            self.rings.insert(ring.path.clone(), (ring, Cursor::default()));
        }
        let (mut taken, mut n_lost, mut events) = (Vec::new(), 0, Vec::new());
        for (ring, cursor) in self.rings.values_mut() {
            let mut drain = Drain::from(ring.ring(), *cursor);
            n_lost += drain.take(N_AT_ONCE, &mut events);
            *cursor = drain.cursor();
            let line = ring.line();
            taken.extend(events.drain(..).map(|event| (ring.header.rank, ring.header.thread, line, event)));
        }
        Ok((taken, n_lost))
    }
}

/// Those that calls and stages have.
fn columns<'py>(py: Python<'py>, taken: &[Taken]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let number = |of: &dyn Fn(&Taken) -> i64| PyArray1::from_iter(py, taken.iter().map(of));
    columns.set_item("rank", number(&|(rank, ..)| (*rank).into()))?;
    columns.set_item("thread", number(&|(_, thread, ..)| (*thread).into()))?;
    columns.set_item("start_ns", number(&|(.., line, event)| line.ns(event.start) as i64))?;
    columns.set_item("end_ns", number(&|(.., line, event)| line.ns(event.end) as i64))?;
    columns.set_item("call", number(&|(.., event)| event.operation.code().into()))?;
    columns.set_item("size_bytes", number(&|(.., event)| event.bytes as i64))?;
    Ok(columns)
}
