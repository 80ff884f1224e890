//! What stages are expected to take: forecasts of their means, so that one that is slower than it should be stands out.

use std::collections::BTreeMap;

use predict::{Forecast, Live, Policy};
use serde::Serialize;
use units::Confidence;

use crate::{IntervalMean, Part};

/// Forecasts of the stages of one tree: each is a series with the mean of one interval after the other.
#[derive(Clone, Debug)]
pub struct Expectations {
    policy: Policy,
    confidence: Confidence,
    series: BTreeMap<(usize, Part, Option<usize>), Live>,
    forecast: Forecast,
}

/// A stage that took longer than its forecast allows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slow {
    /// What.
    pub part: Part,
    /// Position of the node.
    pub node: usize,
    /// Position of the contributor, of a part that each contributor has.
    pub contributor: Option<usize>,
    /// What it took.
    pub mean_ns: f64,
    /// What was expected.
    pub expected_ns: f64,
    /// The upper end of the forecast's interval.
    pub upper_ns: f64,
}

impl Expectations {
    /// Of stages whose series follow this policy; `confidence` is that of the intervals.
    #[must_use]
    pub fn new(policy: Policy, confidence: Confidence) -> Self {
        Self { policy, confidence, series: BTreeMap::new(), forecast: Forecast::default() }
    }

    /// Takes the means of the interval that ended. What took longer than was forecast comes back, the furthest above first,
    /// and waits after all else, as they are what somebody else's slowness leads to.
    pub fn step(&mut self, means: &[IntervalMean]) -> Vec<Slow> {
        let mut slow = Vec::new();
        for &IntervalMean { part, node, contributor, mean_ns } in means {
            let fresh = || Live::new(self.policy.clone()).within(0.0, f64::INFINITY);
            let live = self.series.entry((node, part, contributor)).or_insert_with(fresh);
            if mean_ns.is_finite() && live.forecast_into(1, &mut self.forecast) {
                let upper_ns = self.forecast.interval(1, self.confidence).upper;
                if mean_ns > upper_ns {
                    slow.push(Slow {
                        part,
                        node,
                        contributor,
                        mean_ns,
                        expected_ns: self.forecast.means()[0],
                        upper_ns,
                    });
                }
            }
            live.step(mean_ns);
        }
        let is_wait = |slow: &Slow| matches!(slow.part, Part::ArrivalWait | Part::DepartureWait);
        let excess = |slow: &Slow| slow.mean_ns / slow.upper_ns;
        slow.sort_by(|a, b| is_wait(a).cmp(&is_wait(b)).then(excess(b).total_cmp(&excess(a))));
        slow
    }

    /// The series of a stage, with its forecaster.
    #[must_use]
    pub fn series(&self, node: usize, part: Part, contributor: Option<usize>) -> Option<&Live> {
        self.series.get(&(node, part, contributor))
    }
}
