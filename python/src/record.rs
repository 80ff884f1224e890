//! Recalibration of a probability by the outcomes of earlier answers to the same question.

use std::sync::Mutex;

use pyo3::prelude::*;

use crate::error::{InputError, raise};
use crate::motion::UNBROKEN;

/// Recalibration of answers to one question, such as "will it be above 90 within six hours", by the outcomes of earlier
/// ones.
///
/// Shares of futures (:meth:`Outlook.paths`) are overstated for some questions again and again. :meth:`told` corrects
/// one by a logistic regression of what came on the log odds of earlier ones, held to the identity; ``foretop ask`` and
/// the node's rules do the same.
///
/// Parameters
/// ----------
/// horizon : int
///     Steps that an answer is about.
///
/// Examples
/// --------
/// >>> import foretop
/// >>> record = foretop.Record(6)
/// >>> for at in range(0, 600, 6):
/// ...     record.add(at, 0.99, at % 60 == 0)
/// >>> record.told(606, 0.99) < 0.2
/// True
#[pyclass(frozen, module = "foretop")]
pub(crate) struct Record(Mutex<predict::Record>);

#[pymethods]
impl Record {
    #[new]
    #[pyo3(text_signature = "(horizon)")]
    fn new(py: Python<'_>, horizon: isize) -> PyResult<Self> {
        match usize::try_from(horizon) {
            Ok(n_leads @ 1..) => Ok(Self(Mutex::new(predict::Record::new(n_leads)))),
            _ => Err(raise(py, &InputError::Horizon { given: horizon, max: isize::MAX })),
        }
    }

    /// Return a share of futures, recalibrated after step `at` by answers whose time was over by then.
    ///
    /// Parameters
    /// ----------
    /// at : int
    ///     The number of the step, from 0.
    /// drawn : float
    ///     The share of futures in which it came true.
    ///
    /// Returns
    /// -------
    /// float
    ///     A probability; `drawn` itself until an answer is over.
    ///
    /// Raises
    /// ------
    /// InputError
    ///     If `drawn` is not from 0 to 1.
    fn told(&self, py: Python<'_>, at: usize, drawn: f64) -> PyResult<f64> {
        check_share(py, drawn)?;
        Ok(self.0.lock().expect(UNBROKEN).worth(at).told(drawn))
    }

    /// Takes an answer, in the order of time, and whether it came true.
    ///
    /// Parameters
    /// ----------
    /// at : int
    ///     The number of the step after which it was given, from 0.
    /// drawn : float
    ///     The share of futures in which it came true.
    /// came : bool
    ///     Whether it did within the horizon.
    ///
    /// Raises
    /// ------
    /// InputError
    ///     If `drawn` is not from 0 to 1, or `at` is before that of the last answer.
    fn add(&self, py: Python<'_>, at: usize, drawn: f64, came: bool) -> PyResult<()> {
        check_share(py, drawn)?;
        let mut record = self.0.lock().expect(UNBROKEN);
        if let Some(last) = record.last_at().filter(|last| *last > at) {
            return Err(raise(py, &InputError::Order { given: at, last }));
        }
        let worth = record.worth(at);
        record.add(at, drawn, worth, came);
        Ok(())
    }

    /// The mean squared difference between what was told and what came (Brier 1950): 0 is perfect; NaN without an
    /// answer.
    #[getter]
    fn brier(&self) -> f64 {
        self.0.lock().expect(UNBROKEN).brier()
    }

    fn __len__(&self) -> usize {
        self.0.lock().expect(UNBROKEN).n()
    }
}

fn check_share(py: Python<'_>, drawn: f64) -> PyResult<()> {
    match (0.0..=1.0).contains(&drawn) {
        true => Ok(()),
        false => Err(raise(py, &InputError::Share { given: drawn })),
    }
}
