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

/// Intervals that a shed subsystem stays away before it is tried again; each time twice as many.
const FIRST_REST: u32 = 8;
const LONGEST_REST: u32 = 512;

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
    rests: Vec<Rest>,
}

#[derive(Clone, Debug)]
struct Rest {
    left: u32,
    next: u32,
}

impl Budget {
    /// Builds a budget of `cores` of a core for `n_subsystems` subsystems together.
    #[must_use]
    pub fn new(cores: f64, n_subsystems: usize) -> Self {
        Self { cores, rests: vec![Rest { left: 0, next: FIRST_REST }; n_subsystems] }
    }

    /// Returns the share of a core that all subsystems together may take.
    #[must_use]
    pub fn cores(&self) -> f64 {
        self.cores
    }

    /// Returns the measure of each subsystem in the next interval. The dearest is sampled more thinly until all fit,
    /// and shed where that no longer helps. A subsystem that was shed rests, and is then tried at its highest weight.
    pub fn plan(&mut self, loads: &[Load]) -> Vec<Measure> {
        let mut costs: Vec<SubsystemCost> = loads.iter().map(|load| load.cost).collect();
        let mut plan: Vec<Measure> = loads.iter().map(|load| load.measure).collect();
        for (rest, measure) in self.rests.iter_mut().zip(&mut plan) {
            if *measure == Measure::Shed {
                rest.left = rest.left.saturating_sub(1);
                if rest.left == 0 {
                    *measure = Measure::Weight(WEIGHT_MAX);
                }
            }
        }
        let total = |costs: &[SubsystemCost]| costs.iter().map(|cost| cost.cores()).sum::<f64>();
        if total(&costs) <= self.cores {
            self.relax(&costs, &mut plan);
            return plan;
        }
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
                    let rest = &mut self.rests[i];
                    rest.left = rest.next;
                    rest.next = (rest.next * 2).min(LONGEST_REST);
                }
            }
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
    fn what_sampling_cannot_make_cheaper_is_shed_and_tried_again_later() {
        let mut budget = Budget::new(0.01, 1);
        let mut measure = budget.plan(&[load(0.05, 0.01, Measure::Weight(1))])[0];
        assert_eq!(measure, Measure::Shed);
        let mut n_resting = 0;
        while measure == Measure::Shed {
            measure = budget.plan(&[load(0.0, 0.0, measure)])[0];
            n_resting += 1;
        }
        assert_eq!((n_resting, measure), (FIRST_REST, Measure::Weight(WEIGHT_MAX / 2)));
        budget.plan(&[load(0.05, 0.0, measure)]);
        assert_eq!(budget.rests[0].left, 2 * FIRST_REST);
    }

    #[test]
    fn weights_go_back_when_there_is_room() {
        let mut budget = Budget::new(0.01, 1);
        assert_eq!(budget.plan(&[load(0.001, 0.001, Measure::Weight(8))]), [Measure::Weight(4)]);
        assert_eq!(budget.plan(&[load(0.001, 0.004, Measure::Weight(8))]), [Measure::Weight(8)]);
    }
}
