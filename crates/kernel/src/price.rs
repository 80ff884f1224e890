//! What probes cost: calibrated prices times how often they are paid, corrected by how long programs take on the host's own work.
//!
//! The kernel's account of run times (`BPF_ENABLE_STATS`) does not see what it takes to call a program, and costs time itself, so that it
//! does not replace prices. But it tells by what factor programs run longer on this host's own work than on the work that prices
//! were measured with: caches are colder, and processors shared.

use crate::Summary;

/// The calibrated prices of a subsystem's probes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Price {
    /// All of it, the way into programs included.
    pub paid: Toll,
    /// What of that the kernel's account of run times saw.
    pub seen: Toll,
}

/// What is paid, by run and by event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Toll {
    /// For each run of each program that finds nothing to count.
    pub pass_ns: Vec<f64>,
    /// For each event that is looked at and counted, on top.
    pub event_ns: f64,
}

/// What a subsystem's programs did while the kernel kept account of their run times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ran {
    /// Of each program, how often it ran, and for how many nanoseconds in all, counting included.
    pub programs: Vec<(u64, u64)>,
    /// Events that were looked at and counted.
    pub n_sampled: u64,
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

impl Toll {
    /// Nanoseconds of passing, and of counting.
    fn of(&self, hits: impl Iterator<Item = u64>, n_sampled: u64) -> [f64; 2] {
        let passing = self.pass_ns.iter().zip(hits).map(|(price, hits)| price * hits as f64).sum();
        [passing, self.event_ns * n_sampled as f64]
    }
}

impl Ran {
    /// The mean run of each program that ran.
    #[must_use]
    pub fn mean_ns(&self, program: usize) -> Option<f64> {
        let (n, ns) = self.programs.get(program)?;
        (*n > 0).then(|| *ns as f64 / *n as f64)
    }

    /// Runs of all programs.
    #[must_use]
    pub fn n_runs(&self) -> u64 {
        self.programs.iter().map(|(n, _)| n).sum()
    }
}

/// Fewer runs say nothing.
const RUNS_MIN: u64 = 100;

impl Price {
    /// What the probes took of a core in this interval, where programs run longer by this factor than when the price was measured.
    #[must_use]
    pub fn of(&self, summary: &Summary, factor: f64) -> SubsystemCost {
        let span = summary.span_ns().max(1) as f64;
        let of = |paid: &Toll| paid.of(summary.hits.iter().copied(), summary.n_sampled);
        let ([passing, counting], seen) = (of(&self.paid), of(&self.seen));
        let longer = factor - 1.0;
        SubsystemCost {
            passing_cores: (passing + longer * seen[0]).max(0.0) / span,
            counting_cores: (counting + longer * seen[1]).max(0.0) / span,
        }
    }

    /// By what factor programs run longer now than when the price was measured. Nothing where too few of them ran.
    #[must_use]
    pub fn factor(&self, ran: &Ran) -> Option<f64> {
        let expected: f64 = self.seen.of(ran.programs.iter().map(|(n, _)| *n), ran.n_sampled).iter().sum();
        let ran_ns: u64 = ran.programs.iter().map(|(_, ns)| ns).sum();
        (ran.n_runs() >= RUNS_MIN && expected > 0.0).then(|| ran_ns as f64 / expected)
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
        let paid = Toll { pass_ns: vec![80.0, 90.0], event_ns: 250.0 };
        let price = Price { paid, seen: Toll { pass_ns: vec![10.0, 20.0], event_ns: 250.0 } };
        let summary = account.advance(reading).unwrap();
        let check = |factor, passing: f64, counting: f64| {
            let cost = price.of(&summary, factor);
            let is_near = |a: f64, b: f64| (a - b).abs() < 1e-12;
            assert!(is_near(cost.passing_cores, passing) && is_near(cost.counting_cores, counting), "{cost:?}");
        };
        check(1.0, 0.017, 0.005);
        // Programs that run twice as long add what the kernel saw of them once more; calling them costs what it did.
        let ran = Ran { programs: vec![(1_000, 25_000), (1_000, 95_000)], n_sampled: 120 };
        assert_eq!(price.factor(&ran), Some(2.0));
        check(2.0, 0.020, 0.010);
        assert_eq!(price.factor(&Ran { programs: vec![(40, 900), (59, 900)], n_sampled: 0 }), None, "too few runs");
    }
}
