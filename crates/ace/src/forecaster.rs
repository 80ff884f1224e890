//! Forecasts of what the coming cycles will spend in MPI, made as a run goes.
//!
//! Between blocks of cycles, the times of the last block are learned and those of the next are forecast: what an application
//! could do that wants to know how its run time will turn out. Until there is enough to learn from, the benchmark is believed.

use std::collections::VecDeque;

use predict::{Predictor, Spec, fit};

/// Times that a model is fitted to at most; more make it no better, and the pause between blocks longer.
const N_HISTORY_MAX: usize = 1_024;
/// Models are fitted no earlier: of fewer times, hardly any tells more than their mean.
const N_HISTORY_MIN: usize = 16;

/// Learns the times of one rank's cycles.
#[derive(Debug)]
pub(crate) struct Forecaster {
    spec: Spec,
    benchmark_ns: f64,
    history_ns: VecDeque<f64>,
    predictor: Option<Predictor>,
}

impl Forecaster {
    /// One that believes the benchmark until it knows better.
    #[must_use]
    pub(crate) fn new(spec: Spec, benchmark_ns: f64) -> Self {
        Self { spec, benchmark_ns, history_ns: VecDeque::new(), predictor: None }
    }

    /// Takes what the cycles of a block took, in their order.
    pub(crate) fn learn(&mut self, spans_ns: &[f64]) {
        if let Some(predictor) = &mut self.predictor {
            spans_ns.iter().for_each(|&span| predictor.step(span));
            return;
        }
        self.history_ns.extend(spans_ns);
        let n_old = self.history_ns.len().saturating_sub(N_HISTORY_MAX);
        self.history_ns.drain(..n_old);
        if self.history_ns.len() >= N_HISTORY_MIN {
            // Too few samples, or all the same: both pass as the run goes on.
            self.predictor = fit(&self.spec, self.history_ns.make_contiguous()).ok().map(|model| model.predictor());
        }
    }

    /// What the next cycles will take in total.
    #[must_use]
    pub(crate) fn total_ns(&self, n_cycles: usize) -> f64 {
        let Some(predictor) = &self.predictor else { return n_cycles as f64 * self.benchmark_ns };
        // No exchange takes less than no time, whatever a line through the last ones says.
        predictor.forecast(n_cycles).means().iter().map(|mean| mean.max(0.0)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmark_is_believed_until_there_is_enough_to_learn_from() {
        let mut forecaster = Forecaster::new("BM(8)".parse().unwrap(), 100.0);
        assert_eq!(forecaster.total_ns(3), 300.0);
        forecaster.learn(&[900.0; 10]);
        assert_eq!(forecaster.total_ns(3), 300.0);
        forecaster.learn(&[900.0; 10]);
        assert_eq!(forecaster.total_ns(3), 2_700.0);
    }

    #[test]
    fn what_changes_is_followed() {
        let mut forecaster = Forecaster::new("NWS".parse().unwrap(), 100.0);
        let spans = |level: f64| (0..64).map(|idx| level + f64::from(idx * 7919 % 13)).collect::<Vec<_>>();
        forecaster.learn(&spans(100.0));
        forecaster.learn(&spans(500.0));
        let mean = forecaster.total_ns(10) / 10.0;
        assert!((500.0..513.0).contains(&mean), "{mean}");
    }

    #[test]
    fn nothing_is_forecast_to_take_less_than_no_time() {
        let mut forecaster = Forecaster::new("HOLT".parse().unwrap(), 100.0);
        forecaster.learn(&(0..64).map(|idx| 1_000.0 - 15.0 * f64::from(idx) + f64::from(idx % 3)).collect::<Vec<_>>());
        assert!(forecaster.total_ns(1_000) >= 0.0);
    }
}
