//! What probes cost: calibrated prices times how often they are paid.

use crate::Summary;

/// The calibrated prices of a subsystem's probes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Price {
    /// Of each run of each program that finds nothing to count, the way into it included.
    pub pass_ns: Vec<f64>,
    /// Of each event that is looked at and counted, on top.
    pub event_ns: f64,
}

/// What a subsystem's probes took in an interval, by their prices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SubsystemCost {
    /// Cores for being there at all.
    pub passing_cores: f64,
    /// Cores for counting.
    pub counting_cores: f64,
}

impl SubsystemCost {
    /// Together, in cores.
    #[must_use]
    pub fn cores(self) -> f64 {
        self.passing_cores + self.counting_cores
    }
}

impl Price {
    /// What the probes took of a core in this interval.
    #[must_use]
    pub fn of(&self, summary: &Summary) -> SubsystemCost {
        let span = summary.span_ns().max(1) as f64;
        let passing: f64 = self.pass_ns.iter().zip(&summary.hits).map(|(price, hits)| price * *hits as f64).sum();
        SubsystemCost { passing_cores: passing / span, counting_cores: self.event_ns * summary.n_sampled as f64 / span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Account, Counters, Reading, find};

    #[test]
    fn cost_is_rate_times_price() {
        let cell = Counters { count: Some(20_000), sampled: 20_000, ..Counters::default() };
        let reading = Reading {
            at_ns: 1_000_000_000,
            cells: [((0, 0), cell)].into(),
            hits: vec![100_000, 100_000],
            ..Reading::default()
        };
        let mut account = Account::begin(find("fs").unwrap(), Reading::default());
        let cost = Price { pass_ns: vec![80.0, 90.0], event_ns: 250.0 }.of(&account.advance(reading).unwrap());
        assert!((cost.passing_cores - 0.017).abs() < 1e-12 && (cost.counting_cores - 0.005).abs() < 1e-12, "{cost:?}");
    }
}
