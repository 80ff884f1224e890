//! Forecasts: a mean and a standard error for each lead time.

use serde::{Deserialize, Serialize};
use statistics::Interval;
use statrs::distribution::{ContinuousCDF, Normal};
use units::Confidence;

use crate::intervals::{Reach, at_lead};
use crate::ladder::DENSE;

/// Means, standard errors and intervals for leads 1, 2, …, m, in the unit of the series.
///
/// The standard error of lead `h` is the square root of the expected squared error of the mean, as the model that made
/// the forecast sees it. How far intervals reach is said by the [`Intervals`](crate::Intervals) of the predictor.
///
/// What was serialized comes back with the same intervals. Parts that contradict each other are refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct Forecast {
    pub(crate) means: Vec<f64>,
    pub(crate) standard_errors: Vec<f64>,
    /// One for each lead of `ladder`; none where errors are normal.
    pub(crate) reaches: Vec<Reach>,
    /// Range of values that the quantity can have.
    pub(crate) range: Option<Interval>,
}

impl Forecast {
    /// A forecast of another make, with normal intervals: for each lead its mean and standard error, NaN where there is
    /// none.
    ///
    /// # Panics
    /// When there are not as many of the one as of the other.
    #[must_use]
    pub fn new(means: Vec<f64>, standard_errors: Vec<f64>) -> Self {
        assert_eq!(means.len(), standard_errors.len(), "a mean and a standard error for each lead");
        Self { means, standard_errors, ..Self::default() }
    }

    /// Returns the number of steps ahead that the forecast covers.
    #[must_use]
    pub fn n_leads(&self) -> usize {
        self.means.len()
    }

    /// The expected values; element `i` is for lead `i + 1`.
    #[must_use]
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// The standard errors of the means; element `i` is for lead `i + 1`.
    #[must_use]
    pub fn standard_errors(&self) -> &[f64] {
        &self.standard_errors
    }

    /// Moves every mean and every end of an interval that lies outside of `[min, max]` to the nearer of the two, for
    /// quantities that cannot be there, such as a share above 1. Standard errors stay: they tell how unsure the model
    /// is.
    ///
    /// # Panics
    /// When `min` is above `max`, or either is NaN.
    pub fn cut(&mut self, min: f64, max: f64) {
        self.means.iter_mut().for_each(|mean| *mean = mean.clamp(min, max));
        self.range = (min > f64::NEG_INFINITY || max < f64::INFINITY).then_some(Interval { lower: min, upper: max });
    }

    /// The central interval for `lead` (1 is the next sample): as many samples are meant to lie below as above.
    ///
    /// # Panics
    /// When `lead` is 0 or beyond [`Forecast::n_leads`].
    #[must_use]
    pub fn interval(&self, lead: usize, confidence: Confidence) -> Interval {
        self.interval_of(lead, half_width(confidence))
    }

    /// The interval for `lead` beside a mean that was [reconciled](crate::reconcile): as far as this mean if the
    /// forecast's own is within.
    ///
    /// # Panics
    /// When `lead` is 0 or beyond [`Forecast::n_leads`].
    #[must_use]
    pub fn interval_beside(&self, mean: f64, lead: usize, confidence: Confidence) -> Interval {
        let interval = self.interval(lead, confidence);
        let is_held = interval.contains(self.means[lead - 1]);
        let (below, above) = if is_held { (mean, mean) } else { (f64::INFINITY, f64::NEG_INFINITY) };
        Interval { lower: interval.lower.min(below), upper: interval.upper.max(above) }
    }

    /// The intervals of all leads, lead 1 first.
    pub fn intervals(&self, confidence: Confidence) -> impl Iterator<Item = Interval> {
        let half_width = half_width(confidence);
        (1..=self.n_leads()).map(move |lead| self.interval_of(lead, half_width))
    }

    /// `half_width` is that of the normal interval of the confidence that is meant, in standard errors.
    pub(crate) fn interval_of(&self, lead: usize, half_width: f64) -> Interval {
        let (mean, standard_error) = (self.means[lead - 1], self.standard_errors[lead - 1]);
        let Interval { lower: min, upper: max } =
            self.range.unwrap_or(Interval { lower: f64::NEG_INFINITY, upper: f64::INFINITY });
        if standard_error.is_infinite() {
            return Interval { lower: min, upper: max };
        }
        let (below, above) = at_lead(&self.reaches, lead, half_width);
        let lower = (mean - below * standard_error).clamp(min, max);
        Interval { lower, upper: (mean + above * standard_error).clamp(min, max).max(lower) }
    }
}

/// A [`Forecast`] as it was decoded.
#[derive(Deserialize)]
struct Parts {
    means: Vec<f64>,
    standard_errors: Vec<f64>,
    reaches: Vec<Reach>,
    range: Option<Interval>,
}

impl TryFrom<Parts> for Forecast {
    type Error = &'static str;

    fn try_from(Parts { means, standard_errors, reaches, range }: Parts) -> Result<Self, Self::Error> {
        if means.len() != standard_errors.len() {
            return Err("a forecast has a mean and a standard error for each lead");
        }
        if !reaches.is_empty() && reaches.len() != DENSE.leads.len() {
            return Err("the intervals of a forecast have a reach for each watched lead, or none");
        }
        // Of a NaN this is false.
        let is_range = |range: Interval| range.lower <= range.upper;
        if !range.is_none_or(is_range) {
            return Err("the range of a forecast has its lower end first");
        }
        Ok(Self { means, standard_errors, reaches, range })
    }
}

/// Half the width of the central normal interval of this confidence, in standard errors: 1.96 for 0.95.
#[must_use]
pub fn half_width(confidence: Confidence) -> f64 {
    -Normal::standard().inverse_cdf(0.5 * (1.0 - confidence.probability()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_widths_are_those_of_the_normal_distribution() {
        for (confidence, expected) in [
            (Confidence::P50, 0.674_489_750_196_081_7),
            (Confidence::P80, 1.281_551_565_544_600_4),
            (Confidence::P95, 1.959_963_984_540_054),
        ] {
            // Tabulated to 16 digits; the inverse is good to a few units in the last place.
            assert!((half_width(confidence) - expected).abs() < 1e-12, "{confidence}");
        }
    }

    #[test]
    fn a_cut_moves_means_to_the_nearer_end() {
        let mut forecast =
            Forecast { means: vec![-0.5, 0.5, 1.5], standard_errors: vec![0.25; 3], ..Forecast::default() };
        forecast.cut(0.0, f64::INFINITY);
        assert_eq!(forecast.means(), [0.0, 0.5, 1.5]);
        forecast.cut(0.0, 1.0);
        assert_eq!((forecast.means(), forecast.standard_errors()), (&[0.0, 0.5, 1.0][..], &[0.25; 3][..]));
    }

    #[test]
    fn a_cut_leaves_no_end_outside() {
        let mut forecast = Forecast::new(vec![0.9, 1.5], vec![0.25, f64::INFINITY]);
        forecast.cut(0.0, 1.0);
        let ends: Vec<(f64, f64)> =
            forecast.intervals(Confidence::P95).map(|interval| (interval.lower, interval.upper)).collect();
        assert!((ends[0].0 - 0.41).abs() < 1e-3 && ends[0].1 == 1.0, "{ends:?}");
        assert_eq!(ends[1], (0.0, 1.0));
    }

    #[test]
    fn parts_that_contradict_each_other_are_refused() {
        let sound = Forecast::new(vec![1.0, 2.0], vec![0.5, 0.6]);
        let odd = [
            Forecast { standard_errors: vec![0.5], ..sound.clone() },
            Forecast { reaches: vec![Reach::NORMAL], ..sound.clone() },
            Forecast { range: Some(Interval { lower: 1.0, upper: f64::NAN }), ..sound.clone() },
        ];
        let decoded = |forecast| postcard::from_bytes::<Forecast>(&postcard::to_allocvec(forecast).unwrap());
        assert_eq!(decoded(&sound), Ok(sound.clone()));
        assert!(odd.iter().all(|forecast| decoded(forecast).is_err()));
    }

    #[test]
    fn an_interval_is_centred_on_the_mean() {
        let forecast = Forecast { means: vec![3.0], standard_errors: vec![0.5], ..Forecast::default() };
        let interval = forecast.interval(1, Confidence::P95);
        assert!((interval.lower + interval.upper - 6.0).abs() < 1e-12);
        assert!(interval.contains(3.0) && !interval.contains(4.0));
    }
}
