//! Eligible members of an ensemble: the cost per sample of each model, and the models that a budget pays for.
//!
//! Costs follow from the specification alone, so that the same text has the same members everywhere.

use super::record::LADDER;
use crate::cost::of_fit;
use crate::spec::{Orders, Spec};

/// A model that can be a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    text: &'static str,
    /// Factor by which it is fitted less often than the others, because its fit costs more than all of theirs.
    patience: usize,
}

/// The possible members in the order in which they are admitted: the most useful for their cost first. ETS and TAR
/// were dropped: they took 29 % of the time, and without them no error of `bench/intervals` is larger by 2 %.
const ENTRIES: [Entry; 8] = [
    Entry::new("LAST"),
    Entry::new("MEAN"),
    Entry::new("AR(16)"),
    Entry::new("ARIMA(16,1,0)"),
    Entry::new("BM(32)"),
    Entry::new("AR(2)"),
    Entry::new("NWS"),
    Entry { patience: 2, ..Entry::new("ARMA(1,1)") },
];

/// The first members are there with any budget.
const N_ALWAYS: usize = 2;

/// The least budget: what the first three cost with the shortest window and the longest pauses.
pub(crate) const BUDGET_MIN: u64 = 2_000;

/// Steps over which the length of the watched forecasts repeats itself.
const PERIOD: u64 = 32;

/// One of the members that a budget pays for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Admitted {
    pub(super) spec: Spec,
    pub(super) patience: usize,
    /// Multiplications with addition per sample, on average.
    pub(super) cost: u64,
}

/// The members that the budget pays for, if each is fitted once in `every` steps to `window` samples. One that is
/// too dear leaves its place to those after it.
pub(super) fn within(every: usize, window: usize, budget: u64) -> Vec<Admitted> {
    let mut left = budget;
    let mut admitted = Vec::new();
    for Entry { text, patience } in ENTRIES {
        let spec: Spec = text.parse().expect("a member is a specification");
        let cost = per_sample(&spec) + of_fit(&spec, window) / (every * patience) as u64;
        // Somebody has to forecast, whatever it costs.
        let is_needed = admitted.len() < N_ALWAYS;
        if (cost <= left || is_needed) && spec.n_samples_min() <= window {
            left = left.saturating_sub(cost);
            admitted.push(Admitted { spec, patience, cost });
        }
    }
    admitted
}

impl Entry {
    const fn new(text: &'static str) -> Self {
        Self { text, patience: 1 }
    }
}

/// Returns the cost of a step, and of the forecasts by which the member is judged.
fn per_sample(spec: &Spec) -> u64 {
    let n_leads: u64 = (0..PERIOD).map(|clock| LADDER.n_leads_due(clock) as u64).sum::<u64>() / PERIOD;
    let (step, lead) = match spec {
        Spec::Nws { .. } => (500, 1),
        _ => match spec.orders() {
            Some(Orders { n_phi, n_differences, n_theta, .. }) => {
                ((n_phi + n_differences + n_theta) as u64, (n_phi + n_differences + 2) as u64)
            }
            None => (2, 2),
        },
    };
    step + n_leads * lead
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(budget: u64) -> Vec<String> {
        within(100, 600, budget).iter().map(|admitted| admitted.spec.to_string()).collect()
    }

    #[test]
    fn the_default_budget_pays_for_all() {
        let Spec::Auto { every, window, budget, .. } = Spec::auto() else { unreachable!("AUTO is AUTO") };
        let admitted = within(every, window, budget);
        assert_eq!(admitted.len(), ENTRIES.len());
    }

    #[test]
    fn a_small_budget_pays_for_the_cheap_and_useful() {
        assert_eq!(texts(BUDGET_MIN)[..3], ["LAST", "MEAN", "AR(16)"]);
        assert!(texts(10_000).len() > texts(BUDGET_MIN).len());
    }

    #[test]
    fn no_member_needs_more_samples_than_there_are() {
        assert!(within(100, 40, 1_000_000).iter().all(|admitted| admitted.spec.n_samples_min() <= 40));
    }
}
