//! Cost of probes: calibrated prices times how often they are paid, corrected by the run times of programs on the
//! host's own work.
//!
//! The kernel's account of run times (`BPF_ENABLE_STATS`) does not see what it takes to call a program, and costs time
//! itself, so that it does not replace prices. But it tells by what factor programs run longer on this host's own work
//! than on the work that prices were measured with: caches are colder, and processors shared.

use crate::Summary;

/// The calibrated prices of a subsystem's probes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Price {
    /// All of it, the way into programs included.
    pub paid: Toll,
    /// The part that the kernel's account of run times saw.
    pub seen: Toll,
}

/// Times that probes take, by run and by event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Toll {
    /// Time for each run of each program that finds nothing to count.
    pub pass_ns: Vec<f64>,
    /// Time for each event that is looked at and counted, on top.
    pub event_ns: f64,
}

/// Runs of a subsystem's programs while the kernel kept account of their run times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ran {
    /// Number of runs of each program, and nanoseconds in all, counting included.
    pub programs: Vec<(u64, u64)>,
    /// Events that were looked at and counted.
    pub n_sampled: u64,
}

/// Cost of a subsystem's probes in an interval, by their prices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SubsystemCost {
    /// Cores for being attached at all.
    pub passing_cores: f64,
    /// Cores for counting.
    pub counting_cores: f64,
}

impl SubsystemCost {
    /// Returns the sum of both, in cores.
    #[must_use]
    pub fn cores(self) -> f64 {
        self.passing_cores + self.counting_cores
    }
}

impl Toll {
    /// Returns the nanoseconds of passing, and of counting.
    fn of(&self, hits: impl Iterator<Item = u64>, n_sampled: u64) -> [f64; 2] {
        let passing = self.pass_ns.iter().zip(hits).map(|(price, hits)| price * hits as f64).sum();
        [passing, self.event_ns * n_sampled as f64]
    }
}

impl Ran {
    /// Returns the mean run of this program, if it ran.
    #[must_use]
    pub fn mean_ns(&self, program: usize) -> Option<f64> {
        let (n, ns) = self.programs.get(program)?;
        (*n > 0).then(|| *ns as f64 / *n as f64)
    }

    /// Returns the sum of these accounts, which are of the same programs.
    #[must_use]
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        all.into_iter().fold(Self::default(), |mut sum, ran| {
            sum.programs.resize(sum.programs.len().max(ran.programs.len()), (0, 0));
            for (sum, (n, ns)) in sum.programs.iter_mut().zip(&ran.programs) {
                *sum = (sum.0 + n, sum.1 + ns);
            }
            sum.n_sampled += ran.n_sampled;
            sum
        })
    }

    /// Returns the number of runs of all programs.
    #[must_use]
    pub fn n_runs(&self) -> u64 {
        self.programs.iter().map(|(n, _)| n).sum()
    }
}

/// Number of runs in a window that lasts [`crate::WINDOW`] that weigh as much as the prior assumption: that programs
/// run for as long as when the price was measured. They are 10,000 runs a second, of which a program of 200 ns takes
/// 0.2 % of a core: below, being wrong by half is little; where a program takes 10 % of a core, 10,000 runs in a window
/// leave the assumption 2 %.
const BELIEVED_RUNS: f64 = 200.0;

impl Price {
    /// Returns the cores that the probes took in this interval, if programs run longer by this factor than when the
    /// price was measured.
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

    /// Returns the factor by which programs run longer in these windows than when the price was measured. `None` if
    /// none ran.
    ///
    /// What lasts for milliseconds and has nothing to do with a program, such as the host taking the processor away in
    /// the middle of a run, multiplies the time of a window with few runs. So each window counts for as much as it has
    /// runs, against the belief that nothing has changed, and the median over windows leaves out those that were hit
    /// nevertheless.
    #[must_use]
    pub fn factor<'a>(&self, windows: impl IntoIterator<Item = &'a Ran>) -> Option<f64> {
        let logs: Vec<f64> = windows.into_iter().filter_map(|ran| self.log_factor(ran)).collect();
        statistics::median(&logs).map(f64::exp)
    }

    /// Returns the factor's logarithm, so that half as long and twice as long are equally far from what is believed.
    fn log_factor(&self, ran: &Ran) -> Option<f64> {
        let expected: f64 = self.seen.of(ran.programs.iter().map(|(n, _)| *n), ran.n_sampled).iter().sum();
        let ran_ns: u64 = ran.programs.iter().map(|(_, ns)| ns).sum();
        let n_runs = ran.n_runs() as f64;
        (ran_ns > 0 && expected > 0.0).then(|| (ran_ns as f64 / expected).ln() * n_runs / (n_runs + BELIEVED_RUNS))
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

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
        check(2.0, 0.020, 0.010);
        let ran = Ran { programs: vec![(10_000, 250_000), (10_000, 950_000)], n_sampled: 1_200 };
        let factor = price.factor([&ran]).unwrap();
        assert!((1.97..2.0).contains(&factor), "{factor}");
        assert_eq!(price.factor([&Ran { programs: vec![(0, 0), (0, 0)], n_sampled: 0 }]), None, "none ran");
    }

    /// Runs of 200 ns that now take `longer` times as long, in each of which the processor is taken away for 2 ms with
    /// this probability.
    fn window(n: u64, longer: f64, taken_away: f64, chance: &mut ChaCha8Rng) -> Ran {
        let run = |_| 200.0 * longer + if chance.random_bool(taken_away) { 2e6 } else { 0.0 };
        let ran_ns: f64 = (0..n).map(run).sum();
        Ran { programs: vec![(n, ran_ns as u64)], n_sampled: 0 }
    }

    /// The factors of 200 hosts, the lowest first.
    fn factors(n: u64, longer: f64, taken_away: f64) -> Vec<f64> {
        let toll = Toll { pass_ns: vec![200.0], event_ns: 0.0 };
        let price = Price { paid: toll.clone(), seen: toll };
        let mut chance = ChaCha8Rng::seed_from_u64(20);
        let mut host = || {
            let windows: Vec<Ran> =
                (0..crate::watch::N_WINDOWS).map(|_| window(n, longer, taken_away, &mut chance)).collect();
            price.factor(&windows).unwrap()
        };
        let mut found: Vec<f64> = (0..200).map(|_| host()).collect();
        found.sort_by(f64::total_cmp);
        found
    }

    #[test]
    fn a_processor_that_is_taken_away_is_no_slower_program() {
        // A fifth of windows with 300 runs are hit once, and are then 34 times as long.
        let few = factors(300, 1.0, 1.0 / 1500.0);
        assert!((few[100] - 1.0).abs() < 1e-9 && few[180] < 1.1, "{few:?}");
        // The one window of 61 runs that made 4.7 of its time.
        let price = Toll { pass_ns: vec![200.0], event_ns: 0.0 };
        let price = Price { paid: price.clone(), seen: price };
        let alone = price.factor([&Ran { programs: vec![(61, 57_340)], n_sampled: 0 }]).unwrap();
        assert!((1.3..1.5).contains(&alone), "{alone}");
    }

    #[test]
    fn programs_that_run_longer_are_found_where_they_cost_something() {
        let many = factors(10_000, 1.5, 1.0 / 50_000.0);
        assert!(many[0] > 1.45 && many[190] < 1.55, "{many:?}");
        let shorter = factors(10_000, 0.7, 0.0);
        assert!((0.69..0.72).contains(&shorter[100]), "{shorter:?}");
    }
}
