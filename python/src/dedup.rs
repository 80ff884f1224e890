//! Redundancy elimination: both ends of a direction with histories in memory, and estimates.

use ::dedup::estimate::{Estimator, MEMORY_BYTES, Method, NoShape, Shape, UnknownMethod};
use ::dedup::{Decoded, Flow, GroupError, Lacking, MemoryHistory, Packing, RepairError, RunId, Settings};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{Refusal, fields, raise};

impl Refusal for GroupError {
    const CLASS: &'static str = "DedupError";

    fn fields<'py>(&self, _: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        Ok(Vec::new())
    }
}

impl Refusal for RepairError {
    const CLASS: &'static str = "DedupError";

    fn fields<'py>(&self, _: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        Ok(Vec::new())
    }
}

impl Refusal for UnknownMethod {
    const CLASS: &'static str = "SegmenterError";

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        fields!(py, segmenter = self.text.as_str())
    }
}

impl Refusal for NoShape {
    const CLASS: &'static str = "SegmenterError";

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        fields!(py, segmenter = self.method.to_string())
    }
}

/// Builds the settings that a caller may choose, and checks their limits.
fn settings(level: Option<i32>, anchor_bits: u32) -> PyResult<Settings> {
    if !(4..=16).contains(&anchor_bits) {
        return Err(PyValueError::new_err(format!("anchor_bits is {anchor_bits}; it goes from 4 to 16")));
    }
    Ok(Settings { anchor_bits, packing: packing(level)?, ..Settings::default() })
}

fn packing(level: Option<i32>) -> PyResult<Packing> {
    match level {
        None => Ok(Packing::Paced),
        Some(0) => Ok(Packing::Plain),
        Some(level @ 1..=19) => Ok(Packing::Zstd(level)),
        Some(level) => {
            Err(PyValueError::new_err(format!("level is {level}; it goes from 0, which packs nothing, to 19")))
        }
    }
}

/// The sender of one direction.
#[pyclass(module = "foretop._native")]
pub(crate) struct DedupEncoder {
    encoder: ::dedup::Encoder,
    history: MemoryHistory,
    flow: Flow,
    n_max: usize,
}

#[pymethods]
impl DedupEncoder {
    #[new]
    fn new(run: [u8; 16], level: Option<i32>, anchor_bits: u32) -> PyResult<Self> {
        let settings = settings(level, anchor_bits)?;
        let mut history = MemoryHistory::new(settings.gear());
        let encoder = ::dedup::Encoder::new(settings, &mut history, RunId(run));
        Ok(Self { encoder, history, flow: Flow::default(), n_max: settings.n_group_max })
    }

    fn encode<'py>(&mut self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        if data.len() > self.n_max {
            let message = format!("a group of {} bytes is too great; {} are taken", data.len(), self.n_max);
            return Err(PyValueError::new_err(message));
        }
        let mut group = Vec::new();
        py.detach(|| self.encoder.encode(&mut self.history, &mut self.flow, data, &mut group));
        Ok(PyBytes::new(py, &group))
    }
}

/// The receiver of one direction.
#[pyclass(module = "foretop._native")]
pub(crate) struct DedupDecoder {
    decoder: ::dedup::Decoder,
    history: MemoryHistory,
    flow: Flow,
    lacking: Option<Lacking>,
}

/// All bytes of a group, or the ranges that lack.
type Taken<'py> = Bound<'py, PyAny>;

#[pymethods]
impl DedupDecoder {
    #[new]
    fn new(run: [u8; 16], anchor_bits: u32) -> PyResult<Self> {
        let settings = settings(Some(0), anchor_bits)?;
        let mut history = MemoryHistory::new(settings.gear());
        let decoder = ::dedup::Decoder::new(settings, &mut history, RunId(run));
        Ok(Self { decoder, history, flow: Flow::default(), lacking: None })
    }

    fn decode<'py>(&mut self, py: Python<'py>, group: &[u8]) -> PyResult<Taken<'py>> {
        if self.lacking.is_some() {
            return Err(PyValueError::new_err("the last group lacks bytes: repair it before the next one"));
        }
        let decoded = py.detach(|| self.decoder.decode(&mut self.history, &mut self.flow, group));
        self.taken(py, decoded.map_err(|error| raise(py, &error))?)
    }

    fn repair<'py>(&mut self, py: Python<'py>, data: &[u8]) -> PyResult<Taken<'py>> {
        let none = || PyValueError::new_err("no group lacks bytes");
        let lacking = self.lacking.take().ok_or_else(none)?;
        let decoded = py.detach(|| self.decoder.repair(&mut self.history, &mut self.flow, lacking, data));
        self.taken(py, decoded.map_err(|error| raise(py, &error))?)
    }
}

impl DedupDecoder {
    fn taken<'py>(&mut self, py: Python<'py>, decoded: Decoded) -> PyResult<Taken<'py>> {
        match decoded {
            Decoded::Whole(data) => Ok(PyBytes::new(py, &data).into_any()),
            Decoded::Lacking(lacking) => {
                let ranges: Vec<(usize, usize)> =
                    lacking.ranges().iter().map(|range| (range.start, range.end)).collect();
                self.lacking = Some(lacking);
                ranges.into_bound_py_any(py)
            }
        }
    }
}

/// Estimate the bytes that a method would send for `parts`, flushed every `n_flush` bytes.
#[pyfunction]
pub(crate) fn dedup_estimate<'py>(
    py: Python<'py>,
    parts: Vec<Vec<u8>>,
    segmenter: &str,
    level: Option<i32>,
    n_flush: usize,
    shape: Option<(u32, u32, u32)>,
) -> PyResult<Bound<'py, PyDict>> {
    if !(1..=1 << 20).contains(&n_flush) {
        return Err(PyValueError::new_err(format!("flush is {n_flush}; it goes from 1 to 1048576 bytes")));
    }
    let shape = match shape {
        None => None,
        Some((width, height, pixel)) => {
            let given = || format!("{width} by {height} pixels of {pixel} bytes are no picture below 1 GiB");
            Some(Shape::new(width, height, pixel).ok_or_else(|| PyValueError::new_err(given()))?)
        }
    };
    let method: Method = segmenter.parse().map_err(|error: UnknownMethod| raise(py, &error))?;
    let mut estimator =
        Estimator::new(method, packing(level)?, shape, MEMORY_BYTES).map_err(|error| raise(py, &error))?;
    let found = py.detach(|| {
        parts.iter().flat_map(|part| part.chunks(n_flush)).for_each(|part| estimator.add(part));
        estimator.finish()
    });
    let numbers = PyDict::new(py);
    for (name, number) in [
        ("given_bytes", found.tally.n_given),
        ("wire_bytes", found.tally.n_wire),
        ("matched_bytes", found.tally.n_matched),
        ("n_matches", found.tally.n_matches),
        ("n_entries", found.n_entries),
    ] {
        numbers.set_item(name, number)?;
    }
    Ok(numbers)
}
