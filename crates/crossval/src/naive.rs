//! Errors of forecasts without a model on the same samples, by which errors are normalized.

/// Errors of two forecasts that need no model, at one lead, over the moments whose samples are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NaiveErrors {
    /// Mean squared error of the mean of the samples that models are fitted to.
    pub mean_squared_of_mean: f64,
    /// Mean absolute error of the same.
    pub mean_absolute_of_mean: f64,
    /// Mean squared error of the last known sample at the origin.
    pub mean_squared_of_last: f64,
    /// Mean absolute error of the same.
    pub mean_absolute_of_last: f64,
}

impl NaiveErrors {
    /// One for each lead. NaN where there is nothing to average: a fit of gaps, or no known sample to forecast.
    ///
    /// `samples` are `n_fit` to fit and then those to test on; the origins are those of a backtest.
    pub(crate) fn of(samples: &[f64], n_fit: usize, leads: &[usize]) -> Vec<Self> {
        let (fit, test) = samples.split_at(n_fit);
        let last_known = last_known(fit, test);
        let of_mean = from_each_on(test, known_mean(fit));
        let of_lead = |lead: &usize| {
            let due = test.get(lead - 1..).unwrap_or_default();
            let [mean_squared_of_mean, mean_absolute_of_mean] = of_mean.get(lead - 1).copied().unwrap_or([f64::NAN; 2]);
            let pairs = due.iter().zip(&last_known);
            let [mean_squared_of_last, mean_absolute_of_last] = means(pairs.map(|(sample, last)| sample - last));
            Self { mean_squared_of_mean, mean_absolute_of_mean, mean_squared_of_last, mean_absolute_of_last }
        };
        leads.iter().map(of_lead).collect()
    }
}

/// Mean square and mean magnitude of what `level` is off by, over each sample and all that follow it.
fn from_each_on(samples: &[f64], level: f64) -> Vec<[f64; 2]> {
    let (mut n, mut squares, mut magnitudes) = (0_u64, 0.0, 0.0);
    let mut means: Vec<[f64; 2]> = samples
        .iter()
        .rev()
        .map(|sample| {
            let error = sample - level;
            if !error.is_nan() {
                n += 1;
                squares += error * error;
                magnitudes += error.abs();
            }
            [squares / n as f64, magnitudes / n as f64]
        })
        .collect();
    means.reverse();
    means
}

/// The last known sample at the origin ahead of each of `test`; NaN while there was none.
fn last_known(fit: &[f64], test: &[f64]) -> Vec<f64> {
    let mut last = fit.iter().rfind(|sample| !sample.is_nan()).copied().unwrap_or(f64::NAN);
    let at_origin = |sample: &f64| {
        let known = last;
        last = if sample.is_nan() { last } else { *sample };
        known
    };
    test.iter().map(at_origin).collect()
}

/// Mean square and mean magnitude of those that are known.
fn means(errors: impl Iterator<Item = f64>) -> [f64; 2] {
    let (mut n, mut squares, mut magnitudes) = (0_u64, 0.0, 0.0);
    for error in errors.filter(|error| !error.is_nan()) {
        n += 1;
        squares += error * error;
        magnitudes += error.abs();
    }
    [squares / n as f64, magnitudes / n as f64]
}

/// NaN of nothing.
pub(crate) fn known_mean(samples: &[f64]) -> f64 {
    let known = samples.iter().filter(|sample| !sample.is_nan());
    let (sum, n) = known.fold((0.0, 0_usize), |(sum, n), sample| (sum + sample, n + 1));
    sum / n as f64
}

/// Mean squared distance of the known samples from their mean; NaN of nothing.
pub(crate) fn variance(samples: &[f64]) -> f64 {
    let mean = known_mean(samples);
    means(samples.iter().map(|sample| sample - mean))[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_ramp_the_last_value_is_off_by_the_lead() {
        let ramp: Vec<f64> = (0..10).map(f64::from).collect();
        let naive = NaiveErrors::of(&ramp, 5, &[1, 3]);
        assert_eq!(naive.iter().map(|naive| naive.mean_absolute_of_last).collect::<Vec<_>>(), [1.0, 3.0]);
        assert_eq!(naive.iter().map(|naive| naive.mean_squared_of_last).collect::<Vec<_>>(), [1.0, 9.0]);
        // The mean of the fit is 2. Lead 1 is due on 5 to 9, lead 3 on 7 to 9.
        assert_eq!(naive.iter().map(|naive| naive.mean_absolute_of_mean).collect::<Vec<_>>(), [5.0, 6.0]);
    }

    #[test]
    fn a_gap_is_neither_scored_nor_known() {
        let naive = NaiveErrors::of(&[1.0, f64::NAN, f64::NAN, 4.0], 2, &[1]);
        assert_eq!((naive[0].mean_absolute_of_last, naive[0].mean_absolute_of_mean), (3.0, 3.0));
    }

    #[test]
    fn nothing_known_has_no_error() {
        assert!(NaiveErrors::of(&[f64::NAN, 1.0], 1, &[1])[0].mean_squared_of_mean.is_nan());
        assert!(NaiveErrors::of(&[1.0, f64::NAN], 1, &[1])[0].mean_squared_of_last.is_nan());
    }
}
