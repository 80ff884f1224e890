//! Forecasts of what the coming cycles will spend in MPI, made as a run goes.
//!
//! Between blocks of cycles, the times of the last block are learned and those of the next are forecast: what an
//! application could do that wants to know how its run time will turn out. Until two cycles were measured, the
//! benchmark is believed.

use predict::{Live, Policy, Spec};

/// Learns the times of one rank's cycles.
#[derive(Debug)]
pub struct CycleForecast {
    benchmark_ns: f64,
    live: Live,
}

impl CycleForecast {
    /// One that believes the benchmark until it knows better.
    #[must_use]
    pub fn new(spec: &Spec, benchmark_ns: f64) -> Self {
        // No exchange takes less than no time, whatever a line through the last ones says.
        Self { benchmark_ns, live: Live::new(Policy::of(spec)).within(0.0, f64::INFINITY) }
    }

    /// Takes what the cycles of a block took, in their order.
    pub fn learn(&mut self, spans_ns: &[f64]) {
        self.live.replay(spans_ns);
    }

    /// Returns the forecast of the total time of the next cycles.
    #[must_use]
    pub fn total_ns(&self, n_cycles: usize) -> f64 {
        match self.live.forecast(n_cycles) {
            Some(forecast) => forecast.means().iter().sum(),
            None => n_cycles as f64 * self.benchmark_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmark_is_believed_until_there_is_something_to_learn_from() {
        let mut forecaster = CycleForecast::new(&"BM(8)".parse().unwrap(), 100.0);
        assert_eq!(forecaster.total_ns(3), 300.0);
        forecaster.learn(&[900.0]);
        assert_eq!(forecaster.total_ns(3), 300.0);
        forecaster.learn(&[900.0; 10]);
        assert_eq!(forecaster.total_ns(3), 2_700.0);
    }

    #[test]
    fn what_changes_is_followed() {
        let mut forecaster = CycleForecast::new(&"NWS".parse().unwrap(), 100.0);
        let spans = |level: f64| (0..64).map(|idx| level + f64::from(idx * 7919 % 13)).collect::<Vec<_>>();
        forecaster.learn(&spans(100.0));
        forecaster.learn(&spans(500.0));
        let mean = forecaster.total_ns(10) / 10.0;
        assert!((500.0..513.0).contains(&mean), "{mean}");
    }

    #[test]
    fn nothing_is_forecast_to_take_less_than_no_time() {
        let mut forecaster = CycleForecast::new(&"HOLT".parse().unwrap(), 100.0);
        forecaster.learn(&(0..64).map(|idx| 1_000.0 - 15.0 * f64::from(idx) + f64::from(idx % 3)).collect::<Vec<_>>());
        assert!(forecaster.total_ns(1_000) >= 0.0);
    }
}
