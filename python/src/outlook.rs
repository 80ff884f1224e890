//! Hours and days ahead.

use std::sync::Mutex;

use numpy::{PyArray1, PyArray2, PyArrayMethods, ToPyArray};
use predict::Periods;
use pyo3::prelude::*;

use crate::bounds::{Bounds, Pair};
use crate::error::{InputError, raise};
use crate::motion::UNBROKEN;
use crate::samples::{Samples, n_leads};

/// The longest horizon, in steps.
const HORIZON_MAX: usize = 1 << 16;

/// The most values of all paths together: 800 MB.
const VALUES_MAX: usize = 100_000_000;

/// Forecasts of one series hours and days ahead, with the distribution of their errors.
///
/// It learns by itself what the series' level, its time of day and of week, and yesterday are worth at each lead, and counts how wrong
/// it was. Beside the seasons that it is given it looks for up to two shorter ones. It needs no fit: give it the past by :meth:`step`,
/// and go on with new samples.
///
/// Parameters
/// ----------
/// periods : sequence of float
///     The lengths of its seasons in steps, at most two, ascending: ``(288, 2016)`` for a day and a week of samples at five minutes.
/// horizon : int
///     How far it will be asked, in steps, from 1 to 65,536.
/// bounds : tuple of float or None, optional
///     The least and the greatest value that the series can have; None where there is none.
/// non_negative : bool
///     The same as a lower bound of 0.
///
/// Raises
/// ------
/// InputError
///     If there are more than two periods, or they are no lengths; for a horizon out of range.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import foretop
/// >>> hours = np.arange(24 * 14)
/// >>> outlook = foretop.Outlook((24, 168), 24)
/// >>> outlook.step(10 + 5 * np.sin(2 * np.pi * hours / 24))
/// >>> outlook.quantiles(24, [0.1, 0.5, 0.9]).shape
/// (3, 24)
/// >>> outlook.paths(1000, 24, seed=1).shape
/// (1000, 24)
#[pyclass(frozen, module = "foretop")]
pub(crate) struct Outlook(Mutex<predict::Outlook>);

impl Outlook {
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut predict::Outlook) -> T + Send) -> T {
        py.detach(|| work(&mut self.0.lock().expect(UNBROKEN)))
    }
}

#[pymethods]
impl Outlook {
    #[new]
    #[pyo3(signature = (periods, horizon, *, bounds = None, non_negative = false))]
    fn new(
        py: Python<'_>,
        periods: Vec<f64>,
        horizon: isize,
        bounds: Option<Pair>,
        non_negative: bool,
    ) -> PyResult<Self> {
        let periods = Periods::new(&periods).map_err(|error| raise(py, &InputError::Periods(error)))?;
        let n_leads = usize::try_from(horizon).ok().filter(|n_leads| (1..=HORIZON_MAX).contains(n_leads));
        let max = HORIZON_MAX as isize;
        let n_leads = n_leads.ok_or_else(|| raise(py, &InputError::Horizon { given: horizon, max }))?;
        let (min, max) = Bounds::read(py, bounds, non_negative)?.ends();
        Ok(Self(Mutex::new(predict::Outlook::new(periods, n_leads).within(min, max))))
    }

    /// Take the next sample, or several in a row, NaN for a gap.
    ///
    /// Parameters
    /// ----------
    /// samples : float or array_like
    ///     Oldest first.
    #[pyo3(signature = (samples, /))]
    fn step(&self, py: Python<'_>, samples: &Bound<'_, PyAny>) -> PyResult<()> {
        match Samples::read(samples)? {
            Samples::One(sample) => self.with(py, |outlook| outlook.step(sample)),
            Samples::Row(row) => {
                let row = row.as_slice()?;
                self.with(py, |outlook| row.iter().for_each(|sample| outlook.step(*sample)));
            }
        }
        Ok(())
    }

    /// The scale on which it is forecast: "log" or "logit" for a bounded quantity that varies the less the nearer it is to a bound, else "linear".
    #[getter]
    fn scale(&self, py: Python<'_>) -> String {
        self.with(py, |outlook| outlook.scale().to_string())
    }

    /// The values below which the next `horizon` samples stay with these probabilities.
    ///
    /// Parameters
    /// ----------
    /// horizon : int
    ///     How many steps ahead.
    /// probabilities : sequence of float
    ///     Each above 0 and below 1; 0.5 is the median.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     A row for each probability; NaN before there are four known samples.
    fn quantiles<'py>(
        &self,
        py: Python<'py>,
        horizon: isize,
        probabilities: Vec<f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n_leads = n_leads(py, horizon)?;
        if let Some(given) = probabilities.iter().find(|given| !(**given > 0.0 && **given < 1.0)) {
            return Err(raise(py, &InputError::Probability { given: *given }));
        }
        let rows = self.with(py, |outlook| -> Vec<Vec<f64>> {
            let row = |probability: &f64| {
                let row = outlook.quantiles(n_leads, *probability);
                if row.is_empty() { vec![f64::NAN; n_leads] } else { row }
            };
            probabilities.iter().map(row).collect()
        });
        Ok(PyArray2::from_vec2(py, &rows)?)
    }

    /// Futures drawn by chance, whose errors at neighbouring leads go together as those of past forecasts did.
    ///
    /// Parameters
    /// ----------
    /// n : int
    ///     How many.
    /// horizon : int
    ///     How many steps ahead.
    /// seed : int
    ///     The same seed draws the same futures.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     A row for each; none before there are four known samples.
    #[pyo3(signature = (n, horizon, *, seed = 1))]
    fn paths<'py>(&self, py: Python<'py>, n: usize, horizon: isize, seed: u64) -> PyResult<Bound<'py, PyAny>> {
        let n_leads = n_leads(py, horizon)?;
        if n.saturating_mul(n_leads) > VALUES_MAX {
            return Err(raise(py, &InputError::Paths { n_paths: n, horizon: n_leads, max: VALUES_MAX }));
        }
        let paths = self.with(py, |outlook| outlook.paths(n, n_leads, seed));
        let n_told = if paths.n_leads() == n_leads { n } else { 0 };
        let values: Vec<f64> = (1..=paths.n_leads()).flat_map(|lead| paths.at(lead).iter().copied()).collect();
        let by_lead: Bound<'py, PyArray1<f64>> = values.to_pyarray(py);
        by_lead.reshape([n_leads, n_told])?.call_method0("transpose")
    }

    /// The weight of the shortest season in the forecast of a whole one ahead, 0 to 1; None without one, and until one has been
    /// forecast.
    #[getter]
    fn season(&self, py: Python<'_>) -> Option<f64> {
        self.with(py, |outlook| outlook.season_weight())
    }

    /// How far ahead forecasts have been compared with what came, in steps.
    #[getter]
    fn seen(&self, py: Python<'_>) -> usize {
        self.with(py, |outlook| outlook.n_leads_seen())
    }
}
