//! Hours and days ahead.

use std::sync::Mutex;

use numpy::{PyArray1, PyArray2, PyArrayMethods, ToPyArray};
use predict::{Periods, Resolution};
use pyo3::prelude::*;

use crate::bounds::{Bounds, Pair};
use crate::error::{InputError, raise};
use crate::motion::UNBROKEN;
use crate::samples::{Samples, n_leads, read_row};

/// The longest horizon, in steps.
const HORIZON_MAX: usize = 1 << 16;

/// The most values of all paths together: 800 MB.
const VALUES_MAX: usize = 100_000_000;

/// Forecasts of one series hours and days ahead, with the distribution of their errors.
///
/// It learns by itself what the series' level, its time of day and of week, and yesterday are worth at each lead, and
/// counts how wrong it was. Beside the seasons that it is given it looks for up to two shorter ones. It needs no fit:
/// give it the past by :meth:`step`, and go on with new samples.
///
/// Parameters
/// ----------
/// periods : sequence of float
///     The lengths of its seasons in steps, at most two, ascending: ``(288, 2016)`` for a day and a week of samples at
///     five minutes.
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

impl From<predict::Outlook> for Outlook {
    fn from(outlook: predict::Outlook) -> Self {
        Self(Mutex::new(outlook))
    }
}

/// One that has no sample yet.
fn blank(py: Python<'_>, periods: Periods, horizon: isize, bounds: Bounds) -> PyResult<predict::Outlook> {
    let n_leads = usize::try_from(horizon).ok().filter(|n_leads| (1..=HORIZON_MAX).contains(n_leads));
    let max = HORIZON_MAX as isize;
    let n_leads = n_leads.ok_or_else(|| raise(py, &InputError::Horizon { given: horizon, max }))?;
    let (min, max) = bounds.ends();
    Ok(predict::Outlook::new(periods, n_leads).within(min, max))
}

fn read_periods(py: Python<'_>, steps: &[f64]) -> PyResult<Periods> {
    Periods::new(steps).map_err(|error| raise(py, &InputError::Periods(error)))
}

/// NaN where none is known.
fn mean_of_known(samples: &[f64]) -> f64 {
    statistics::summary(samples).map_or(f64::NAN, |summary| summary.mean)
}

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
        Ok(Self::from(blank(py, read_periods(py, &periods)?, horizon, Bounds::read(py, bounds, non_negative)?)?))
    }

    /// Outlooks of the same samples in steps of several lengths that agree: the means of the shorter steps' forecasts
    /// are those of the longer steps'.
    ///
    /// Short steps know best what comes soon, and long ones what comes tomorrow. Each hears what the next shorter ones
    /// say of the means over its own steps, and learns at each lead what that is worth; the shorter ones then follow
    /// the longer ones. Where the median of a mean is proven to differ from the mean of medians, as of spikes, so do
    /// their forecasts.
    ///
    /// Parameters
    /// ----------
    /// samples : array_like
    ///     Oldest first, NaN for a gap. A step of each length begins with the first one; those at the end that make no
    ///     whole step are known to the shorter steps alone.
    /// lengths : sequence of int
    ///     How many samples make a step, ascending, each a multiple of the one before: ``[1, 12]`` for samples at five
    ///     minutes and hours.
    /// periods : sequence of float
    ///     The lengths of its seasons in samples. Those that are shorter than four steps are left out.
    /// horizon : int
    ///     How far each will be asked, in its own steps, from 1 to 65,536.
    /// bounds : tuple of float or None, optional
    ///     The least and the greatest value that the series can have; None where there is none.
    /// non_negative : bool
    ///     The same as a lower bound of 0.
    ///
    /// Returns
    /// -------
    /// list of Outlook
    ///     One for each length. Those that are stepped further agree no more.
    ///
    /// Raises
    /// ------
    /// InputError
    ///     If a length is no multiple of the one before, and as for a single outlook.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np
    /// >>> import foretop
    /// >>> quarters = 10 + 5 * np.sin(2 * np.pi * np.arange(96 * 14) / 96)
    /// >>> short, hours = foretop.Outlook.agreeing(quarters, [1, 4], (96, 672), 96)
    /// >>> bool(abs(short.quantiles(4, [0.5]).mean() - hours.quantiles(1, [0.5])[0, 0]) < 0.1)
    /// True
    #[staticmethod]
    #[pyo3(signature = (samples, lengths, periods, horizon, *, bounds = None, non_negative = false))]
    fn agreeing(
        py: Python<'_>,
        samples: &Bound<'_, PyAny>,
        lengths: Vec<usize>,
        periods: Vec<f64>,
        horizon: isize,
        bounds: Option<Pair>,
        non_negative: bool,
    ) -> PyResult<Vec<Self>> {
        let samples = read_row(samples)?;
        let samples = samples.as_slice()?;
        let (periods, bounds) = (read_periods(py, &periods)?, Bounds::read(py, bounds, non_negative)?);
        let mut before = None;
        let mut resolutions = Vec::with_capacity(lengths.len());
        for length in lengths {
            let shorter = before.replace(length).unwrap_or(length);
            if length == 0 || !length.is_multiple_of(shorter) || (length == shorter && !resolutions.is_empty()) {
                return Err(raise(py, &InputError::StepLength { given: length }));
            }
            resolutions.push(Resolution {
                outlook: blank(py, periods.in_steps_of(length), horizon, bounds)?,
                samples: samples.chunks_exact(length).map(mean_of_known).collect(),
                n_before: 0,
                ratio: length / shorter,
            });
        }
        Ok(py.detach(|| predict::agreeing(resolutions)).into_iter().map(Self::from).collect())
    }

    /// Take the next sample, or several in a row, NaN for a gap.
    ///
    /// Parameters
    /// ----------
    /// samples : float or array_like
    ///     Oldest first.
    #[pyo3(signature = (samples, /))]
    fn step(&self, py: Python<'_>, samples: &Bound<'_, PyAny>) -> PyResult<()> {
        match Samples::read(samples, None, 0)? {
            Samples::One(sample) => self.with(py, |outlook| outlook.step(sample)),
            Samples::Row(row) => {
                let row = row.as_slice()?;
                self.with(py, |outlook| row.iter().for_each(|sample| outlook.step(*sample)));
            }
        }
        Ok(())
    }

    /// The scale on which it is forecast: "log" or "logit" for a bounded quantity that varies the less the nearer it is
    /// to a bound, else "linear".
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

    /// The weight of the shortest season in the forecast of a whole one ahead, 0 to 1; None without one, and until one
    /// has been forecast.
    #[getter]
    fn season(&self, py: Python<'_>) -> Option<f64> {
        self.with(py, |outlook| outlook.season_weight())
    }

    /// The longest lead at which forecasts have been compared with samples, in steps.
    #[getter]
    fn seen(&self, py: Python<'_>) -> usize {
        self.with(py, |outlook| outlook.n_leads_seen())
    }
}
