//! Numbers in order, for medians that follow a sliding window without sorting it at every step.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// Finite numbers, rising. Windows here hold a few dozen, where moving the tail of the row is cheaper than any tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sorted {
    values: Vec<f64>,
}

impl Sorted {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn insert(&mut self, value: f64) {
        self.values.insert(self.place(value), value);
    }

    /// Takes out one number equal to `value`, which is among them.
    pub(super) fn remove(&mut self, value: f64) {
        self.values.remove(self.place(value));
    }

    /// Takes `old`, which is among them, out and puts `new` in; only what lies between the two moves.
    pub(super) fn replace(&mut self, old: f64, new: f64) {
        let (from, to) = (self.place(old), self.place(new));
        if from < to {
            self.values.copy_within(from + 1..to, from);
            self.values[to - 1] = new;
        } else {
            self.values.copy_within(to..from, to + 1);
            self.values[to] = new;
        }
    }

    /// The middle one, or the mean of the middle two; of at least one number.
    pub(super) fn median(&self) -> f64 {
        median_of(self.len(), |rank| self.values[rank])
    }

    /// The median if `value`, which is among at least two, were gone.
    pub(super) fn median_without(&self, value: f64) -> f64 {
        let gone = self.place(value);
        median_of(self.len() - 1, |rank| self.values[rank + usize::from(rank >= gone)])
    }

    /// The median if `value` were there too.
    pub(super) fn median_with(&self, value: f64) -> f64 {
        let place = self.place(value);
        let at = |rank: usize| match rank.cmp(&place) {
            Ordering::Less => self.values[rank],
            Ordering::Equal => value,
            Ordering::Greater => self.values[rank - 1],
        };
        median_of(self.len() + 1, at)
    }

    /// The mean of what is left after `n_cut` numbers, fewer than half, are left out at either end.
    pub(super) fn trimmed_mean(&self, n_cut: usize) -> f64 {
        let kept = &self.values[n_cut..self.len() - n_cut];
        kept.iter().sum::<f64>() / kept.len() as f64
    }

    /// Whether these are the numbers of `window`, as a decoder must check.
    pub(super) fn is_of(&self, window: &[f64]) -> bool {
        let mut sorted = window.to_vec();
        sorted.sort_by(f64::total_cmp);
        self.values == sorted
    }

    /// Returns the number of smaller values: counting all of a short row beats the mispredicted branches of a search.
    fn place(&self, value: f64) -> usize {
        self.values.iter().map(|other| usize::from(*other < value)).sum()
    }
}

fn median_of(n: usize, at: impl Fn(usize) -> f64) -> f64 {
    if n.is_multiple_of(2) { f64::midpoint(at(n / 2 - 1), at(n / 2)) } else { at(n / 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(values: &[f64]) -> Sorted {
        let mut row = Sorted::default();
        values.iter().for_each(|value| row.insert(*value));
        row
    }

    #[test]
    fn a_replaced_number_leaves_the_row_in_order() {
        for (old, new) in [(1.0, 9.0), (9.0, 1.0), (4.0, 4.5), (4.0, 4.0), (2.0, -7.0), (1.0, 2.0)] {
            let mut row = sorted(&[4.0, 1.0, 9.0, 2.0, 2.0]);
            row.replace(old, new);
            let mut other = sorted(&[4.0, 1.0, 9.0, 2.0, 2.0]);
            other.remove(old);
            other.insert(new);
            assert_eq!(row, other, "{old} by {new}");
        }
    }

    #[test]
    fn medians_of_one_more_and_one_less_are_those_of_the_changed_row() {
        for values in [&[4.0, 1.0, 9.0, 2.0][..], &[4.0, 1.0, 9.0, 2.0, 2.0]] {
            let row = sorted(values);
            for value in values {
                let mut less = row.clone();
                less.remove(*value);
                assert_eq!(row.median_without(*value), less.median());
            }
            for value in [-1.0, 2.0, 3.0, 10.0] {
                let mut more = row.clone();
                more.insert(value);
                assert_eq!(row.median_with(value), more.median());
            }
        }
    }

    #[test]
    fn a_trimmed_mean_leaves_out_both_ends() {
        assert_eq!(sorted(&[100.0, 1.0, 3.0, 2.0, -50.0]).trimmed_mean(1), 2.0);
    }
}
