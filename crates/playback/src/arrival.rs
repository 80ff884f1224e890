//! Forecast of arrival: rates over some seconds, with their errors.

use predict::{Live, Means, Policy, WindowErrors};

/// Seconds of a sample. Segments of streams come every 2 to 6 s: shorter samples would be of lumps.
const SAMPLE_SECONDS: usize = 4;

/// Lead times of the forecasts, in samples. The last is the look-ahead of the controller: the way from 1.0 to 0.8 takes
/// 10 s at its slew.
const LEADS: [usize; N_LEADS] = [1, 2, 3, 5, 8];

const N_LEADS: usize = 5;

/// Rates above this are not told apart: nobody listens so fast.
const RATE_MAX: f64 = 4.0;

/// The unlucky and the lucky course: one of five is worse, or better. One of ten would stall less still, and slow down
/// more often than it is worth.
const TAIL: f64 = 0.2;

/// The number of checked forecasts before which the error is the model's own, which slows nobody down.
const N_CHECKED_MIN: usize = 4;

/// The mean rate of arrival over the next seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// So many.
    pub seconds: f64,
    /// If it goes badly: the 20 % quantile.
    pub least_rate: f64,
    /// The expected rate.
    pub expected_rate: f64,
    /// If it goes well: the 80 % quantile.
    pub greatest_rate: f64,
}

/// A forecast of arrival, or of decoding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Near to far.
    pub reaches: [Reach; N_LEADS],
}

impl Arrival {
    /// The same rate for ever, known exactly.
    #[must_use]
    pub fn steady(rate: f64) -> Self {
        Self::of(|_| [rate; 3])
    }

    /// Returns the expected rate over the whole look-ahead.
    #[must_use]
    pub fn expected_rate(&self) -> f64 {
        self.reaches[N_LEADS - 1].expected_rate
    }

    /// All rates so many times as high.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        let reach = |reach: Reach| Reach {
            seconds: reach.seconds,
            least_rate: factor * reach.least_rate,
            expected_rate: factor * reach.expected_rate,
            greatest_rate: factor * reach.greatest_rate,
        };
        Self { reaches: self.reaches.map(reach) }
    }

    /// The lower of both, rate by rate.
    #[must_use]
    pub fn at_most(self, other: &Self) -> Self {
        let lower = |idx: usize| {
            let (own, other) = (self.reaches[idx], other.reaches[idx]);
            Reach {
                seconds: own.seconds,
                least_rate: own.least_rate.min(other.least_rate),
                expected_rate: own.expected_rate.min(other.expected_rate),
                greatest_rate: own.greatest_rate.min(other.greatest_rate),
            }
        };
        Self { reaches: std::array::from_fn(lower) }
    }

    /// Builds a forecast from `rate_over`, which returns the unlucky, the expected and the lucky rate over the next so
    /// many seconds.
    #[must_use]
    pub fn of(mut rate_over: impl FnMut(f64) -> [f64; 3]) -> Self {
        let reach = |lead: usize| {
            let seconds = (lead * SAMPLE_SECONDS) as f64;
            let [least_rate, expected_rate, greatest_rate] = rate_over(seconds);
            Reach { seconds, least_rate, expected_rate, greatest_rate }
        };
        Self { reaches: LEADS.map(reach) }
    }
}

/// Measures arrival and forecasts it.
#[derive(Clone, Debug)]
pub struct Arrivals {
    live: Live,
    errors: WindowErrors,
    forecast: Option<Arrival>,
    arrived_seconds: f64,
    elapsed_seconds: f64,
    was_held_back: bool,
}

impl Arrivals {
    /// Forecasts by a model's policy, such as `AUTO`.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            live: Live::new(policy).within(0.0, RATE_MAX),
            errors: WindowErrors::new(&LEADS, 0).on_linear_scale(),
            forecast: None,
            arrived_seconds: 0.0,
            elapsed_seconds: 0.0,
            was_held_back: false,
        }
    }

    /// Takes `arrived_seconds` of media that came in the last `elapsed_seconds`, both finite and at least 0. While a
    /// full buffer `is_held_back`, arrival says nothing of what the sender could do: such seconds are left out.
    pub fn step(&mut self, arrived_seconds: f64, elapsed_seconds: f64, is_held_back: bool) {
        self.arrived_seconds += arrived_seconds;
        self.elapsed_seconds += elapsed_seconds;
        self.was_held_back |= is_held_back;
        // Steps of a tenth do not add up to a second exactly.
        let n_samples = ((self.elapsed_seconds + 1e-6) / SAMPLE_SECONDS as f64).floor();
        if n_samples < 1.0 {
            return;
        }
        let rate = (self.arrived_seconds / self.elapsed_seconds).min(RATE_MAX);
        // After a pause of the whole process, the mean stands for each sample of it, as far back as errors are learned.
        let n_taken = if self.was_held_back { 0 } else { (n_samples as usize).min(LEADS[N_LEADS - 1]) };
        for _ in 0..n_taken {
            self.live.step(rate);
            let forecast = self.live.forecast(LEADS[N_LEADS - 1]);
            self.errors.step(rate, forecast.as_ref());
            let means = forecast.and_then(|forecast| Means::new(&forecast, &self.errors, RATE_MAX).ok());
            self.forecast = means.and_then(|means| self.reaches(&means));
        }
        self.elapsed_seconds = (self.elapsed_seconds - n_samples * SAMPLE_SECONDS as f64).max(0.0);
        self.arrived_seconds = 0.0;
        self.was_held_back = false;
    }

    /// Returns the forecast of arrival; `None` before two seconds are known.
    #[must_use]
    pub fn forecast(&self) -> Option<Arrival> {
        self.forecast
    }

    /// The model that forecasts, with what it chose: for those who ask why.
    #[must_use]
    pub fn model(&self) -> Option<String> {
        self.live.model().and_then(|model| model.speaking())
    }

    fn reaches(&self, means: &Means) -> Option<Arrival> {
        // The model's own mean can be far off where media come in lumps; the median of what its errors were is not.
        let [least, expected, greatest] = [TAIL, 0.5, 1.0 - TAIL].map(|p| means.quantiles(p, &LEADS));
        let n_checked: Vec<usize> = self.errors.counts().map(|(_, n)| n).collect();
        let reaches = std::array::from_fn(|idx| {
            let reach = Reach {
                seconds: (LEADS[idx] * SAMPLE_SECONDS) as f64,
                least_rate: least[idx],
                expected_rate: expected[idx],
                greatest_rate: greatest[idx],
            };
            if n_checked[idx] < N_CHECKED_MIN {
                Reach { least_rate: reach.expected_rate, greatest_rate: reach.expected_rate, ..reach }
            } else {
                reach
            }
        });
        let are_finite = least.iter().chain(&expected).chain(&greatest).all(|rate| rate.is_finite());
        are_finite.then_some(Arrival { reaches })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Policy {
        "AR(4)".parse().unwrap()
    }

    #[test]
    fn a_steady_sender_is_forecast_closely() {
        let mut arrivals = Arrivals::new(policy());
        for second in 0..300 {
            for _ in 0..10 {
                arrivals.step(0.09 + 0.001 * f64::from(second % 3), 0.1, false);
            }
        }
        let forecast = arrivals.forecast().unwrap();
        let far = forecast.reaches[4];
        assert!((far.expected_rate - 0.91).abs() < 0.01, "{far:?}");
        assert!(far.greatest_rate - far.least_rate < 0.05, "{far:?}");
    }

    #[test]
    fn what_a_full_buffer_holds_back_is_left_out() {
        let mut arrivals = Arrivals::new(policy());
        (0..100).for_each(|second| arrivals.step(1.5 + 0.01 * f64::from(second % 2), 1.0, false));
        (0..5).for_each(|_| arrivals.step(1.0, 1.0, true));
        assert!((arrivals.forecast().unwrap().expected_rate() - 1.5).abs() < 0.1);
    }

    #[test]
    fn a_process_that_slept_for_a_day_goes_on_at_once() {
        let mut arrivals = Arrivals::new(policy());
        (0..100).for_each(|_| arrivals.step(1.0, 1.0, false));
        arrivals.step(0.0, 86_400.0, false);
        assert!(arrivals.forecast().unwrap().reaches[0].least_rate < 0.5);
    }
}
