//! Contents of result files: reports, comparisons, and the rows themselves.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::crossval::{Cells, ComparedResiduals, Comparison, Kept, Metric, Report, ReportSettings, Results, Rows};
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{InputError, raise};

type Share = fn(&Kept) -> f64;
type Campaign = fn(&ComparedResiduals) -> &Kept;

/// Columns with the outcomes of tests of errors one step ahead.
const SHARES: [(&str, Share); 5] = [
    ("ljung_box", |kept| kept.ljung_box),
    ("turning_points", |kept| kept.turning_points),
    ("rises", |kept| kept.rises),
    ("normality", |kept| kept.normality),
    ("r_squared", |kept| kept.r_squared),
];

const CAMPAIGNS: [(&str, Campaign); 2] = [("first", |found| &found.first), ("second", |found| &found.second)];

fn read_metric(py: Python<'_>, name: &str) -> PyResult<Metric> {
    match name {
        "mse" => Ok(Metric::MeanSquared),
        "mae" => Ok(Metric::MeanAbsolute),
        "crps" => Ok(Metric::Crps),
        "interval" => Ok(Metric::IntervalScore),
        given => Err(raise(py, &InputError::Metric { given: given.to_owned() })),
    }
}

fn read(py: Python<'_>, path: &Path, metric: Metric) -> PyResult<Results> {
    py.detach(|| Results::read(path, metric)).map_err(|error| raise(py, &error))
}

/// The report on a result file as HTML and as Markdown, and the model it recommends.
#[pyfunction]
pub(crate) fn report(py: Python<'_>, path: PathBuf, metric: &str) -> PyResult<(String, String, Option<String>)> {
    let results = read(py, &path, read_metric(py, metric)?)?;
    Ok(py.detach(|| {
        let report = Report::new(&results, &ReportSettings::default());
        (report.to_html(), report.to_markdown(), report.recommended().map(ToOwned::to_owned))
    }))
}

/// Cases that two files have in common, those of them that are identical, and columns by model and lead.
#[pyfunction]
pub(crate) fn compare_results<'py>(
    py: Python<'py>,
    first: PathBuf,
    second: PathBuf,
    metric: &str,
) -> PyResult<(usize, usize, Bound<'py, PyDict>)> {
    let metric = read_metric(py, metric)?;
    let (first, second) = (read(py, &first, metric)?, read(py, &second, metric)?);
    let comparison = py.detach(|| Comparison::new(&first, &second)).map_err(|error| raise(py, &error))?;
    let Comparison { n_common, n_identical, rows, residuals } = comparison;
    let columns = PyDict::new(py);
    columns.set_item("model", rows.iter().map(|row| row.family.as_str()).collect::<Vec<_>>())?;
    columns.set_item("lead", PyArray1::from_iter(py, rows.iter().map(|row| row.lead as i64)))?;
    columns.set_item("n", PyArray1::from_iter(py, rows.iter().map(|row| row.n as i64)))?;
    columns.set_item("ratio", PyArray1::from_iter(py, rows.iter().map(|row| row.ratio)))?;
    columns.set_item("n_tested", PyArray1::from_iter(py, rows.iter().map(|row| row.n_tested as i64)))?;
    columns.set_item("p_value", PyArray1::from_iter(py, rows.iter().map(|row| row.p_value)))?;
    // One for each model, that is for each of its rows.
    let of_row = |family: &str| residuals.iter().find(|of_model| of_model.family == family);
    for (name, share) in SHARES {
        for (campaign, of_campaign) in CAMPAIGNS {
            let cells = rows.iter().map(|row| of_row(&row.family).map_or(f64::NAN, |found| share(of_campaign(found))));
            columns.set_item(format!("{name}_{campaign}"), PyArray1::from_iter(py, cells))?;
        }
    }
    Ok((n_common, n_identical, columns))
}

/// The columns of a result file by name: whole numbers with a mask of what is missing, real numbers with NaN for that,
/// and words as places in a list of them, -1 for none.
#[pyfunction]
pub(crate) fn read_results<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let rows = py.detach(|| Rows::open(&path)).map_err(|error| raise(py, &error))?;
    let columns = PyDict::new(py);
    for name in rows.names() {
        let cells = rows.column(name).map_err(|error| raise(py, &error))?;
        columns.set_item(name, as_arrays(py, &cells)?)?;
    }
    Ok(columns)
}

fn as_arrays<'py>(py: Python<'py>, cells: &Cells) -> PyResult<Bound<'py, PyAny>> {
    match cells {
        Cells::Whole(cells) => {
            let is_missing = PyArray1::from_iter(py, cells.iter().map(Option::is_none));
            (PyArray1::from_iter(py, cells.iter().map(|cell| cell.unwrap_or(0))), is_missing).into_bound_py_any(py)
        }
        Cells::Real(cells) => {
            PyArray1::from_iter(py, cells.iter().map(|cell| cell.unwrap_or(f64::NAN))).into_bound_py_any(py)
        }
        Cells::Words(cells) => {
            let mut names: Vec<Arc<str>> = cells.iter().flatten().cloned().collect();
            names.sort();
            names.dedup();
            let place = |cell: &Option<Arc<str>>| {
                cell.as_ref().and_then(|word| names.binary_search(word).ok()).map_or(-1, |place| place as i64)
            };
            let places = PyArray1::from_iter(py, cells.iter().map(place));
            (places, names.iter().map(|name| &**name).collect::<Vec<_>>()).into_bound_py_any(py)
        }
    }
}
