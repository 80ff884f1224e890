//! Expected times of stages: forecasts of their means, so that one that is slower than it should be stands out.

use std::collections::BTreeMap;

use mpi_trace::Flow;
use predict::{Forecast, Live, Policy, Spec};
use serde::Serialize;
use units::Confidence;

use crate::{IntervalMean, Part};

/// Confidence of the forecasts: stages are reported that were slower than all but one in a thousand forecasts allow.
const CONFIDENCE: f64 = 0.999;
/// Number of means of a stage below which their variance is unknown.
const N_MEANS_MIN: usize = 10;

/// Forecasts of the stages of one tree: each is a series with the mean of one interval after the other.
#[derive(Clone, Debug)]
pub struct Expectations {
    policy: Policy,
    confidence: Confidence,
    series: BTreeMap<(Flow, usize, Part, Option<usize>), Live>,
    forecast: Forecast,
}

/// A stage that took longer than its forecast allows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slow {
    /// Direction in which the data of its calls went.
    pub flow: Flow,
    /// Part of the path.
    pub part: Part,
    /// Position of the node.
    pub node: usize,
    /// Position of the contributor, if the part is one that each contributor has.
    pub contributor: Option<usize>,
    /// Mean time of the stage.
    pub mean_ns: f64,
    /// Expected time.
    pub expected_ns: f64,
    /// The upper end of the forecast's interval.
    pub upper_ns: f64,
}

impl Slow {
    /// Returns the key that distinguishes the stage from others of its tree.
    #[must_use]
    pub fn stage(&self) -> (Flow, usize, Part, Option<usize>) {
        (self.flow, self.node, self.part, self.contributor)
    }
}

impl Default for Expectations {
    /// Returns expectations without any means yet.
    fn default() -> Self {
        let confidence = Confidence::new(CONFIDENCE).expect("a share between 0 and 1");
        Self { policy: Policy::of(&Spec::ar(2)), confidence, series: BTreeMap::new(), forecast: Forecast::default() }
    }
}

impl Expectations {
    /// Takes the means of the interval that ended. What took longer than was forecast comes back, the furthest above
    /// first, and waits after all else, as they are what somebody else's slowness leads to.
    pub fn step(&mut self, means: &[IntervalMean]) -> Vec<Slow> {
        let mut slow = Vec::new();
        for &IntervalMean { flow, part, node, contributor, mean_ns } in means {
            let fresh = || Live::new(self.policy.clone()).within(0.0, f64::INFINITY);
            let live = self.series.entry((flow, node, part, contributor)).or_insert_with(fresh);
            let is_known = live.n_known() >= N_MEANS_MIN;
            if is_known && mean_ns.is_finite() && live.forecast_into(1, &mut self.forecast) {
                let upper_ns = self.forecast.interval(1, self.confidence).upper;
                if mean_ns > upper_ns {
                    slow.push(Slow {
                        flow,
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
        let excess = |slow: &Slow| slow.mean_ns / slow.upper_ns;
        slow.sort_by(|a, b| a.part.is_wait().cmp(&b.part.is_wait()).then(excess(b).total_cmp(&excess(a))));
        slow
    }
}
