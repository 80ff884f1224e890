//! The budget: decides which subsystem is sampled more thinly, or shed, so that watching stays below a share of a core.

use crate::SubsystemCost;

/// Greatest weight: one event in more than so many says nothing of an interval, so a subsystem is shed rather than
/// sampled further.
const WEIGHT_MAX: u32 = 1024;

/// Least share of a subsystem's cost that sampling must still be able to remove; below it, sampling further is of no
/// use.
const WORTH_SAMPLING: f64 = 0.2;

/// Share of the budget below which the cost of all must stay for a subsystem to be looked at more often again.
const ROOM: f64 = 0.6;

/// Intervals that a shed subsystem stays away before it is tried again: at least so many, because attaching costs as
/// well, and at most so many, so that it is seen now and then whatever it costs.
const REST: std::ops::RangeInclusive<f64> = 8.0..=512.0;

/// The measure that is taken against a subsystem's cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Sampling: one event in so many is looked at.
    Weight(u32),
    /// Shedding: its probes are off.
    Shed,
}

/// A subsystem's cost in the last interval, and the measure that was in force.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Cost of its probes.
    pub cost: SubsystemCost,
    /// The measure that was in force while the cost was measured.
    pub measure: Measure,
}

/// Keeps the probes of some subsystems within a share of a core.
#[derive(Clone, Debug)]
pub struct Budget {
    cores: f64,
    /// Intervals that each subsystem still stays away.
    rests: Vec<u32>,
}

impl Budget {
    /// Builds a budget of `cores` of a core for `n_subsystems` subsystems together.
    #[must_use]
    pub fn new(cores: f64, n_subsystems: usize) -> Self {
        Self { cores, rests: vec![0; n_subsystems] }
    }

    /// Returns the share of a core that all subsystems together may take.
    #[must_use]
    pub fn cores(&self) -> f64 {
        self.cores
    }

    /// Returns the measure of each subsystem in the next interval. The dearest is sampled more thinly until all fit,
    /// and shed where that no longer helps. A subsystem that was shed rests, and is then tried at its highest weight.
    /// The more it costs, the longer it rests, so that the mean over its rest and its trial is within the budget.
    pub fn plan(&mut self, loads: &[Load]) -> Vec<Measure> {
        let mut costs: Vec<SubsystemCost> = loads.iter().map(|load| load.cost).collect();
        let mut plan: Vec<Measure> = loads.iter().map(|load| load.measure).collect();
        for (rest, measure) in self.rests.iter_mut().zip(&mut plan) {
            if *measure == Measure::Shed {
                *rest = rest.saturating_sub(1);
                if *rest == 0 {
                    *measure = Measure::Weight(WEIGHT_MAX);
                }
            }
        }
        let total = |costs: &[SubsystemCost]| costs.iter().map(|cost| cost.cores()).sum::<f64>();
        if total(&costs) <= self.cores {
            self.relax(&costs, &mut plan);
            return plan;
        }
        let mut shed = Vec::new();
        while total(&costs) > self.cores {
            let dearest = (0..costs.len()).filter(|i| plan[*i] != Measure::Shed && costs[*i].cores() > 0.0);
            let Some(i) = dearest.max_by(|a, b| costs[*a].cores().total_cmp(&costs[*b].cores())) else { break };
            match plan[i] {
                Measure::Weight(weight)
                    if weight < WEIGHT_MAX && costs[i].counting_cores >= WORTH_SAMPLING * costs[i].cores() =>
                {
                    plan[i] = Measure::Weight(weight * 2);
                    costs[i].counting_cores /= 2.0;
                }
                _ => {
                    plan[i] = Measure::Shed;
                    costs[i] = SubsystemCost::default();
                    shed.push(i);
                }
            }
        }
        // All that are shed share what the others leave.
        let n_shed = plan.iter().filter(|measure| **measure == Measure::Shed).count();
        let room = (self.cores - total(&costs)) / n_shed as f64;
        for i in shed {
            let rest = loads[i].cost.cores() / room;
            self.rests[i] = rest.ceil().clamp(*REST.start(), *REST.end()) as u32;
        }
        plan
    }

    /// Halves the weight of one subsystem where there is room for it: the cheapest to look at twice as often.
    fn relax(&self, costs: &[SubsystemCost], plan: &mut [Measure]) {
        let total: f64 = costs.iter().map(|cost| cost.cores()).sum();
        let weighted = (0..plan.len()).filter(|i| matches!(plan[*i], Measure::Weight(weight) if weight > 1));
        let cheapest = weighted.min_by(|a, b| costs[*a].counting_cores.total_cmp(&costs[*b].counting_cores));
        if let Some(i) = cheapest
            && let Measure::Weight(weight) = plan[i]
            && total + costs[i].counting_cores < ROOM * self.cores
        {
            plan[i] = Measure::Weight(weight / 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(passing_cores: f64, counting_cores: f64, measure: Measure) -> Load {
        Load { cost: SubsystemCost { passing_cores, counting_cores }, measure }
    }

    #[test]
    fn the_dearest_is_sampled_first() {
        let loads = [load(0.001, 0.002, Measure::Weight(1)), load(0.002, 0.03, Measure::Weight(1))];
        let plan = Budget::new(0.01, 2).plan(&loads);
        assert_eq!(plan, [Measure::Weight(1), Measure::Weight(8)]);
    }

    #[test]
    fn what_sampling_cannot_make_cheaper_is_shed_and_tried_again_as_often_as_the_budget_allows() {
        let mut budget = Budget::new(0.01, 1);
        let mut rests = |cores| {
            let mut measure = budget.plan(&[load(cores, 0.01, Measure::Weight(1))])[0];
            assert_eq!(measure, Measure::Shed);
            let mut n_resting = 0;
            while measure == Measure::Shed {
                measure = budget.plan(&[load(0.0, 0.0, measure)])[0];
                n_resting += 1;
            }
            assert_eq!(measure, Measure::Weight(WEIGHT_MAX / 2));
            n_resting
        };
        assert_eq!([0.04, 0.04, 0.04, 0.04].map(&mut rests), [8; 4], "however often");
        assert_eq!([0.19, 90.0].map(rests), [20, 512]);
    }

    #[test]
    fn those_that_are_shed_share_what_the_others_leave() {
        let mut budget = Budget::new(0.01, 3);
        let on = Measure::Weight(1);
        let plan = budget.plan(&[load(0.1, 0.0, on), load(0.004, 0.0, on), load(0.2, 0.0, on)]);
        assert_eq!(plan, [Measure::Shed, on, Measure::Shed]);
        assert_eq!(budget.rests, [34, 0, 67]);
    }

    #[test]
    fn weights_go_back_when_there_is_room() {
        let mut budget = Budget::new(0.01, 1);
        assert_eq!(budget.plan(&[load(0.001, 0.001, Measure::Weight(8))]), [Measure::Weight(4)]);
        assert_eq!(budget.plan(&[load(0.001, 0.004, Measure::Weight(8))]), [Measure::Weight(8)]);
    }
}
