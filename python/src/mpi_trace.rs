//! Traces of MPI programs as columns.

use std::path::PathBuf;

use mpi_job::ReadError;
use mpi_trace::{Matching, Operation, Placed, Recording, Subject, Timeline};
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Refusal, fields, raise};

/// Code for no peer and no tag, and for any peer or tag.
const NONE: i64 = -1;

/// Columns by name: of ranks, calls, stages and waits.
type Tables<'py> = [Bound<'py, PyDict>; 4];

impl Refusal for ReadError {
    const CLASS: &'static str = "MpiTraceError";

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        match self {
            Self::File { path, .. } | Self::Nothing { path } => fields!(py, path = path.as_path()),
            _ => Ok(Vec::new()),
        }
    }
}

/// The columns of a trace, how far times of several hosts may be off, and names of operations by their codes.
#[pyfunction]
pub(crate) fn read_mpi_trace(py: Python<'_>, path: PathBuf) -> PyResult<(Tables<'_>, u64, Vec<&'static str>)> {
    let recordings = py.detach(|| mpi_job::read(&path)).map_err(|error| raise(py, &error))?;
    let timeline = py.detach(|| Timeline::of(&recordings));
    let waits = py.detach(|| Matching::of(&timeline).waits(&timeline));
    let waited = PyDict::new(py);
    waited.set_item("rank", PyArray1::from_iter(py, waits.span_ns.keys().map(|(rank, _)| i64::from(*rank))))?;
    waited.set_item("waited_for", PyArray1::from_iter(py, waits.span_ns.keys().map(|(_, whom)| i64::from(*whom))))?;
    waited.set_item("span_ns", PyArray1::from_iter(py, waits.span_ns.values().map(|span_ns| *span_ns as i64)))?;
    let tables = [ranks(py, &recordings)?, calls(py, &timeline)?, stages(py, &timeline)?, waited];
    Ok((tables, timeline.error_ns(), Operation::ALL.iter().map(|operation| operation.name()).collect()))
}

fn ranks<'py>(py: Python<'py>, recordings: &[Recording]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let n_lost = |recording: &Recording| recording.rings.iter().map(|recorded| recorded.n_lost as i64).sum::<i64>();
    let words = |of: fn(&Recording) -> &str| recordings.iter().map(of).collect::<Vec<_>>();
    columns
        .set_item("rank", PyArray1::from_iter(py, recordings.iter().map(|recording| i64::from(recording.head.rank))))?;
    columns.set_item("host", words(|recording| &recording.head.host))?;
    columns
        .set_item("pid", PyArray1::from_iter(py, recordings.iter().map(|recording| i64::from(recording.head.pid))))?;
    columns.set_item("program", words(|recording| &recording.head.program))?;
    columns.set_item("library", words(|recording| &recording.head.library))?;
    columns.set_item("n_lost", PyArray1::from_iter(py, recordings.iter().map(n_lost)))?;
    columns
        .set_item("is_whole", PyArray1::from_iter(py, recordings.iter().map(|recording| recording.fault.is_none())))?;
    Ok(columns)
}

fn calls<'py>(py: Python<'py>, timeline: &Timeline) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let number = |of: &dyn Fn(&Placed) -> i64| PyArray1::from_iter(py, timeline.calls().iter().map(of));
    let tag = |call: &Placed| match call.event.subject {
        Subject::Call { tag, .. } | Subject::Part { tag, .. } => tag.map_or(NONE, i64::from),
        Subject::Stage { .. } => NONE,
    };
    columns.set_item("rank", number(&|call| call.rank.into()))?;
    columns.set_item("thread", number(&|call| call.thread.into()))?;
    columns.set_item("start_ns", number(&|call| call.start_ns as i64))?;
    columns.set_item("end_ns", number(&|call| call.end_ns as i64))?;
    columns.set_item("call", number(&|call| call.event.operation.code().into()))?;
    columns.set_item("communicator", number(&|call| call.communicator_and_peer().map_or(NONE, |(of, _)| of.into())))?;
    columns.set_item("peer", number(&|call| timeline.peer(call).map_or(NONE, i64::from)))?;
    columns.set_item("tag", number(&tag))?;
    columns.set_item("size_bytes", number(&|call| call.event.bytes as i64))?;
    let is_failed = timeline.calls().iter().map(|call| call.event.is_failed);
    columns.set_item("is_failed", PyArray1::from_iter(py, is_failed))?;
    columns.set_item("is_part", PyArray1::from_iter(py, timeline.calls().iter().map(|call| call.event.is_part())))?;
    Ok(columns)
}

fn stages<'py>(py: Python<'py>, timeline: &Timeline) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let stages: Vec<(Placed, u16, u32)> = timeline
        .stages()
        .filter_map(|stage| match stage.event.subject {
            Subject::Stage { collector, sequence } => Some((stage, collector, sequence)),
            Subject::Call { .. } | Subject::Part { .. } => None,
        })
        .collect();
    let number = |of: &dyn Fn(&(Placed, u16, u32)) -> i64| PyArray1::from_iter(py, stages.iter().map(of));
    columns.set_item("rank", number(&|(stage, ..)| stage.rank.into()))?;
    columns.set_item("start_ns", number(&|(stage, ..)| stage.start_ns as i64))?;
    columns.set_item("end_ns", number(&|(stage, ..)| stage.end_ns as i64))?;
    columns.set_item("call", number(&|(stage, ..)| stage.event.operation.code().into()))?;
    columns.set_item("collector", number(&|(_, collector, _)| (*collector).into()))?;
    columns.set_item("sequence", number(&|(.., sequence)| (*sequence).into()))?;
    columns.set_item("size_bytes", number(&|(stage, ..)| stage.event.bytes as i64))?;
    Ok(columns)
}
