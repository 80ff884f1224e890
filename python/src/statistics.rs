//! Statistics of samples without a model.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use statistics::{Hurst, StatisticError};

use crate::error::{InputError, raise};

type Row<'py> = PyReadonlyArray1<'py, f64>;
type Array<'py> = Bound<'py, PyArray1<f64>>;

/// Autocorrelations at lags 0 to `n_lags`.
#[pyfunction]
pub(crate) fn acf<'py>(py: Python<'py>, samples: Row<'py>, n_lags: usize) -> PyResult<Array<'py>> {
    let samples = samples.as_slice()?;
    Ok(PyArray1::from_vec(py, py.detach(|| statistics::autocorrelations(samples, n_lags))))
}

/// Partial autocorrelations at lags 0 to `n_lags`; that at lag 0 is 1.
#[pyfunction]
pub(crate) fn pacf<'py>(py: Python<'py>, samples: Row<'py>, n_lags: usize) -> PyResult<Array<'py>> {
    let samples = samples.as_slice()?;
    let mut partials = vec![1.0];
    partials.extend(py.detach(|| statistics::partial_autocorrelations(samples, n_lags)));
    Ok(PyArray1::from_vec(py, partials))
}

/// Angular frequencies in radians a step, and the power at each.
#[pyfunction]
pub(crate) fn periodogram<'py>(py: Python<'py>, samples: Row<'py>) -> PyResult<(Array<'py>, Array<'py>)> {
    let samples = samples.as_slice()?;
    let spectrum = refusing(py, || statistics::periodogram(samples))?;
    Ok((PyArray1::from_vec(py, spectrum.frequencies), PyArray1::from_vec(py, spectrum.powers)))
}

/// Lengths of stretches, and the rescaled adjusted range of each.
#[pyfunction]
pub(crate) fn pox_plot<'py>(py: Python<'py>, samples: Row<'py>) -> PyResult<(Bound<'py, PyArray1<i64>>, Array<'py>)> {
    let samples = samples.as_slice()?;
    let points = refusing(py, || statistics::pox_plot(samples))?;
    let lengths = PyArray1::from_iter(py, points.iter().map(|point| point.length as i64));
    Ok((lengths, PyArray1::from_iter(py, points.iter().map(|point| point.rescaled_range))))
}

/// The Hurst exponent and its standard error (NaN where the method gives none) by the method of the given name.
#[pyfunction]
pub(crate) fn hurst(py: Python<'_>, samples: Row<'_>, method: &str) -> PyResult<(f64, f64)> {
    let samples = samples.as_slice()?;
    let estimate: fn(&[f64]) -> Result<Hurst, StatisticError> = match method {
        "rescaled_range" => statistics::rescaled_range,
        "aggregated_variance" => statistics::aggregated_variance,
        "whittle" => statistics::whittle,
        "gph" => statistics::geweke_porter_hudak,
        given => return Err(raise(py, &InputError::HurstMethod { given: given.to_owned() })),
    };
    let Hurst { exponent, standard_error } = refusing(py, || estimate(samples))?;
    Ok((exponent, standard_error))
}

/// The statistic of the KPSS test for stationarity about a level, its number of lags and its p-value.
#[pyfunction]
pub(crate) fn kpss(py: Python<'_>, samples: Row<'_>) -> PyResult<(f64, usize, f64)> {
    let samples = samples.as_slice()?;
    let test = refusing(py, || statistics::kpss(samples))?;
    Ok((test.statistic, test.n_lags, test.p_value))
}

fn refusing<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, StatisticError> + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| raise(py, &error))
}
