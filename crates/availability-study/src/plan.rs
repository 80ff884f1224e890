//! Plan of the visits: which scenario is visited when, and with which tests.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    Settings, SettingsError,
    draw::Draw,
    gate::{Fit, Gate},
};

/// Number of short tests among which one has several threads.
const MANY_THREADS_EVERY: usize = 4;

/// All visits, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The visits.
    pub visits: Vec<Visit>,
    /// Number of rounds that the visits make; in each one every scenario is visited once.
    pub n_rounds: usize,
    /// Time that all of it takes.
    pub length: Duration,
}

/// One visit to a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// Number of the visit's round, from 1.
    pub round: usize,
    /// The scenario's name.
    pub scenario: String,
    /// Its tests, in their order.
    pub tests: Vec<Test>,
}

/// One test process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// Length of time that the test spins.
    pub length: Length,
    /// Number of threads.
    pub n_threads: u32,
}

/// Length of time that a test process spins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Length {
    /// 10 seconds, unless set otherwise.
    Short,
    /// 5 minutes, unless set otherwise.
    Long,
}

impl Plan {
    /// Plans a study on a host with this many cores: as many short tests as the time allows, spread evenly, once the
    /// share of long tests is given away. Long tests are the last of their visits, and go round the scenarios in an
    /// order drawn from the seed.
    ///
    /// # Errors
    /// [`SettingsError`] for settings that make no study, and for too little time.
    pub fn new(settings: &Settings, n_cores: u32) -> Result<Plan, SettingsError> {
        settings.check()?;
        let n_rounds = n_rounds(settings);
        let n_visits = n_rounds * settings.scenarios.len();
        let with = |n_short| Plan::with(settings, n_cores, n_rounds, n_short);
        let least = with(n_visits);
        if least.length > settings.total {
            return Err(SettingsError::TooLittleTime { given: settings.total, n_visits, needed: least.length });
        }
        // A short test takes at least as long as itself, so there are never more of them than this.
        let most = (settings.total.as_millis() / settings.short.as_millis()) as usize;
        let (mut fits, mut beyond) = (n_visits, n_visits.max(most) + 1);
        while beyond - fits > 1 {
            let n_short = fits + (beyond - fits) / 2;
            if with(n_short).length <= settings.total {
                fits = n_short;
            } else {
                beyond = n_short;
            }
        }
        Ok(with(fits))
    }

    /// The plan with so many short tests in all, of which the first visits get one more where they do not come out
    /// even.
    fn with(settings: &Settings, n_cores: u32, n_rounds: usize, n_short: usize) -> Plan {
        let n_visits = n_rounds * settings.scenarios.len();
        let long_in = long_tests(settings, n_rounds);
        let counts = thread_counts(n_cores);
        let mut n_many = 0;
        let mut visits = Vec::new();
        for round in 0..n_rounds {
            for (idx, scenario) in settings.scenarios.iter().enumerate() {
                let n_here = n_short / n_visits + usize::from(visits.len() < n_short % n_visits);
                let short = (0..n_here).map(|test_idx| {
                    let is_many = !counts.is_empty() && test_idx % MANY_THREADS_EVERY == 1;
                    n_many += usize::from(is_many);
                    let n_threads = if is_many { counts[(n_many - 1) % counts.len()] } else { 1 };
                    Test { length: Length::Short, n_threads }
                });
                let mut tests: Vec<Test> = short.collect();
                let long = Test { length: Length::Long, n_threads: 1 };
                tests.extend(std::iter::repeat_n(long, long_in[round][idx]));
                visits.push(Visit { round: round + 1, scenario: scenario.clone(), tests });
            }
        }
        let length = visits.iter().map(|visit| settings.length_of(&visit.tests)).sum();
        Plan { visits, n_rounds, length }
    }

    /// Returns the number of tests of this length.
    #[must_use]
    pub fn n_tests(&self, length: Length) -> usize {
        self.visits.iter().flat_map(|visit| &visit.tests).filter(|test| test.length == length).count()
    }
}

impl Settings {
    /// Returns the time that a test of this length spins.
    #[must_use]
    pub fn span_of(&self, length: Length) -> Duration {
        match length {
            Length::Short => self.short,
            Length::Long => self.long,
        }
    }

    /// Returns the time that a visit with these tests takes.
    #[must_use]
    pub fn length_of(&self, tests: &[Test]) -> Duration {
        let mut gate = Gate::new(self);
        let mut at = Duration::ZERO;
        let mut running: Option<Duration> = None;
        let mut tests = tests.iter().peekable();
        while running.is_some() || tests.peek().is_some() {
            // The formulas have a value from the second reading on.
            gate.read(at, !at.is_zero());
            if running.is_some_and(|end| at >= end) {
                running = None;
                gate.ended(at);
            }
            if running.is_none()
                && let Some(test) = tests.next_if(|test| gate.may_start(at, self.fit_of(test.length)))
            {
                // The process takes a moment to start, and so ends just after a reading.
                running = Some(at + self.span_of(test.length) + self.step);
            }
            at += self.step;
        }
        at
    }

    pub(crate) fn fit_of(&self, length: Length) -> Fit {
        match length {
            Length::Short => Fit::BetweenProbes(self.short),
            Length::Long => Fit::AcrossProbes,
        }
    }
}

/// The thread counts that there is a signal for: powers of two, and the number of cores.
fn thread_counts(n_cores: u32) -> Vec<u32> {
    let powers = (1..32).map(|power| 1 << power).take_while(|n_threads| *n_threads < n_cores);
    powers.chain((n_cores > 1).then_some(n_cores)).collect()
}

/// Rounds given, or as many visits of the wished length as fit best.
fn n_rounds(settings: &Settings) -> usize {
    let one_round = settings.visit.as_secs_f64() * settings.scenarios.len() as f64;
    let fitting = (settings.total.as_secs_f64() / one_round.max(1.0)).round().clamp(1.0, 10_000.0) as usize;
    settings.rounds.map_or(fitting, |n_rounds| n_rounds.max(1) as usize)
}

/// Returns the number of long tests in each round, for each scenario.
fn long_tests(settings: &Settings, n_rounds: usize) -> Vec<Vec<usize>> {
    let n_scenarios = settings.scenarios.len();
    let cost = settings.long + settings.rest;
    let n_long = (settings.total.as_secs_f64() * settings.long_share / cost.as_secs_f64()) as usize;
    let order = Draw::new(settings.seed, "the order of long tests").permutation(n_scenarios);
    let mut long = vec![vec![0; n_scenarios]; n_rounds];
    for idx in 0..n_long {
        // Spread over the rounds, and each scenario once before any gets its second.
        long[idx * n_rounds / n_long][order[idx % n_scenarios]] += 1;
    }
    long
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(scenarios: &[&str], minutes: u64) -> Settings {
        let scenarios = scenarios.iter().map(|&name| name.to_owned()).collect();
        Settings { scenarios, total: Duration::from_secs(60 * minutes), ..Settings::full() }
    }

    #[test]
    fn a_visit_takes_its_warm_up_its_tests_and_its_rests() {
        let short = Test { length: Length::Short, n_threads: 1 };
        let long = Test { length: Length::Long, n_threads: 1 };
        // Starts at 75 and ends at 86; the rest ends at 106; the long test may start at once.
        assert_eq!(Settings::full().length_of(&[short, long]), Duration::from_secs(106 + 301 + 1));
    }

    #[test]
    fn a_plan_fills_its_time_and_does_not_exceed_it() {
        for minutes in [20, 75, 1440] {
            let settings = settings(&["idle"], minutes);
            let plan = Plan::new(&settings, 2).unwrap();
            let left = settings.total.checked_sub(plan.length);
            // One more short test takes 31 s at most, and up to a minute until it fits between two probes.
            assert!(left.is_some_and(|left| left <= Duration::from_secs(91)), "{left:?} of {minutes} min");
        }
    }

    #[test]
    fn every_scenario_gets_a_long_test_before_any_gets_two() {
        let plan = Plan::new(&settings(&["idle"], 1440), 2).unwrap();
        assert!(plan.n_rounds > 10 && plan.n_tests(Length::Long) > 20, "{plan:?}");
        let no_long = Settings { long_share: 0.0, ..settings(&["idle"], 60) };
        assert_eq!(Plan::new(&no_long, 2).unwrap().n_tests(Length::Long), 0);
    }

    #[test]
    fn one_core_has_no_tests_with_threads() {
        let n_threads = |n_cores| {
            let plan = Plan::new(&settings(&["idle"], 30), n_cores).unwrap();
            plan.visits[0].tests.iter().map(|test| test.n_threads).max().unwrap()
        };
        assert_eq!((n_threads(1), n_threads(2)), (1, 2));
        assert_eq!(thread_counts(6), [2, 4, 6]);
    }

    #[test]
    fn too_little_time_says_how_much_it_takes() {
        let settings = Settings { total: Duration::from_secs(60), long_share: 0.0, ..settings(&["idle"], 1) };
        let error = Plan::new(&settings, 2).unwrap_err().to_string();
        assert_eq!(error, "1m is not enough for 1 visits with a test in each: they take 1m 27s");
    }
}
