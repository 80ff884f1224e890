//! Standard errors of forecasts that include how unsure the coefficients are.

use super::Inference;
use crate::forecast::Forecast;
use crate::model::{Fitted, Model};

/// The step of difference quotients, in standard errors of the parameter: small where forecasts bend, large beside
/// rounding.
const STEP: f64 = 1e-3;

impl Inference {
    /// Adds to each standard error what the sampling error of the coefficients makes the mean uncertain by: the slope
    /// of the mean by the parameters, times their covariances, times the slope again (the delta method; Brockwell and
    /// Davis 2016, section 3.3, leave it out, as R and statsmodels do). `samples` are those that led up to the
    /// forecast's origin, from any start that `model`'s coefficients have forgotten since.
    ///
    /// At one step it widens the variance by about (p + q + 1) / n of itself. MEAN has it built in and stays as it is;
    /// so does a forecast of a model without covariances.
    pub fn widen(&self, model: &Model, samples: &[f64], forecast: &mut Forecast) {
        let Fitted::Linear(linear) = &model.fitted else {
            return;
        };
        let (n, n_leads) = (self.parameters.len(), forecast.n_leads());
        if self.covariances.len() != n * n {
            return;
        }
        let mut slopes: Vec<Vec<f64>> = Vec::with_capacity(n);
        for (idx, parameter) in self.parameters.iter().enumerate() {
            let step = STEP * self.covariances[idx * (n + 1)].sqrt();
            let moved = |by: f64| linear.moved(&parameter.name, by).map(|moved| moved.means_after(samples, n_leads));
            let (Some(above), Some(below)) = (moved(step), moved(-step)) else {
                return;
            };
            slopes.push(above.iter().zip(&below).map(|(above, below)| (above - below) / (2.0 * step)).collect());
        }
        for (lead_idx, standard_error) in forecast.standard_errors.iter_mut().enumerate() {
            let covariance =
                |(i, j): (usize, usize)| self.covariances[i * n + j] * slopes[i][lead_idx] * slopes[j][lead_idx];
            let added: f64 = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(covariance).sum();
            if added.is_finite() && added > 0.0 {
                *standard_error = standard_error.hypot(added.sqrt());
            }
        }
    }
}
