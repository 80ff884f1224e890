//! Cost of each member's errors so far, or of late.

use serde::{Deserialize, Serialize};

/// No single error costs more, so that no sum of them overflows.
const COST_MAX: f64 = 1e290;

/// The summed cost of every member's errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Score {
    /// Sums over all steps, or over those since `recent` was last turned over.
    sums: Vec<f64>,
    recent: Option<Recent>,
}

/// The costs of the last steps, for sums over a window without subtraction: what a large error leaves of the digits of
/// a running sum would stay wrong after it has left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Recent {
    /// A row of costs per step of the window, as far as there were steps: of this turn before `n_filled`, from there on
    /// each the sum of itself and the later ones of the turn before.
    rows: Vec<f64>,
    n_filled: usize,
    n_steps: usize,
}

impl Score {
    /// Builds the score over the last `n_steps`, or over all.
    pub(super) fn new(n_members: usize, n_steps: Option<usize>) -> Self {
        let recent = n_steps.map(|n_steps| Recent { rows: Vec::new(), n_filled: 0, n_steps });
        Self { sums: vec![0.0; n_members], recent }
    }

    /// Returns the number of steps that the score is over, if not over all.
    pub(super) fn window(&self) -> Option<usize> {
        self.recent.as_ref().map(|recent| recent.n_steps)
    }

    pub(super) fn add(&mut self, costs: impl Iterator<Item = f64>) {
        let n = self.sums.len();
        match &mut self.recent {
            None => self.sums.iter_mut().zip(costs).for_each(|(sum, cost)| *sum += cost.min(COST_MAX)),
            Some(recent) => {
                if recent.rows.len() == recent.n_filled * n {
                    recent.rows.resize((recent.n_filled + 1) * n, 0.0);
                }
                let row = &mut recent.rows[recent.n_filled * n..][..n];
                for ((sum, place), cost) in self.sums.iter_mut().zip(row).zip(costs) {
                    *place = cost.min(COST_MAX);
                    *sum += *place;
                }
                recent.n_filled += 1;
                if recent.n_filled == recent.n_steps {
                    recent.turn(n);
                    self.sums.fill(0.0);
                }
            }
        }
    }

    /// The member with the least sum; of equals the first.
    pub(super) fn best(&self) -> usize {
        let n = self.sums.len();
        let earlier = self.recent.as_ref().and_then(|recent| recent.rows.get(recent.n_filled * n..)?.get(..n));
        let sum = |idx: usize| self.sums[idx] + earlier.map_or(0.0, |row| row[idx]);
        (1..n).fold((0, sum(0)), |best, idx| if sum(idx) < best.1 { (idx, sum(idx)) } else { best }).0
    }

    /// Whether this is a score of `n_members` over `n_steps`, as a decoder must check.
    pub(super) fn is_sound(&self, n_members: usize, n_steps: Option<usize>) -> bool {
        let is_cost = |cost: &f64| cost.is_finite() && *cost >= 0.0;
        let recent_is_sound = match (&self.recent, n_steps) {
            (None, None) => true,
            (Some(recent), Some(n_steps)) => {
                recent.n_steps == n_steps
                    && recent.n_filled < n_steps
                    && recent.rows.len().is_multiple_of(n_members)
                    && (recent.n_filled..=n_steps).contains(&(recent.rows.len() / n_members))
                    && recent.rows.iter().all(is_cost)
            }
            _ => false,
        };
        recent_is_sound && self.sums.len() == n_members && self.sums.iter().all(is_cost)
    }
}

impl Recent {
    /// Makes each full row the sum of itself and the later ones.
    fn turn(&mut self, n_members: usize) {
        for place in (0..self.rows.len() - n_members).rev() {
            self.rows[place] += self.rows[place + n_members];
        }
        self.n_filled = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_sum_over_the_window_wins() {
        let costs = |t: usize| [((t * 37) % 11) as f64, ((t * 53) % 13) as f64, ((t * 29) % 7) as f64 + 2.0];
        for n_steps in [1, 2, 5, 8] {
            let mut score = Score::new(3, Some(n_steps));
            for t in 0..50_usize {
                score.add(costs(t).into_iter());
                let window = || (t + 1).saturating_sub(n_steps)..=t;
                let sums: Vec<f64> = (0..3).map(|member| window().map(|t| costs(t)[member]).sum()).collect();
                let least = sums.iter().fold(f64::INFINITY, |least, sum| least.min(*sum));
                assert_eq!(Some(score.best()), sums.iter().position(|sum| *sum == least), "step {t} of {n_steps}");
            }
        }
    }

    #[test]
    fn an_error_without_bound_is_forgotten_when_it_leaves() {
        let mut score = Score::new(2, Some(3));
        score.add([f64::INFINITY, 0.0].into_iter());
        (0..2).for_each(|_| score.add([0.0, 1.0].into_iter()));
        assert_eq!(score.best(), 1);
        score.add([0.0, 1.0].into_iter());
        assert_eq!(score.best(), 0);
        assert!(score.is_sound(2, Some(3)));
    }

    #[test]
    fn all_errors_count_without_a_window() {
        let mut score = Score::new(2, None);
        score.add([5.0, 1.0].into_iter());
        (0..3).for_each(|_| score.add([0.0, 1.0].into_iter()));
        assert_eq!(score.best(), 1);
    }
}
