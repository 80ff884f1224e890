//! Fair sharing when some may use some of the cores only.
//!
//! Whoever can go elsewhere does, so first all divide everything as if nobody were confined. Where those that are
//! confined to a set of cores would have more than is there, they divide that set among themselves and the others the
//! rest, the scarcest set first: this is max-min fairness, since parts can be had together exactly if no set has to
//! give more than it has (Hall's condition).

use super::fair::{Claim, divide};

/// The greatest number of different sets of cores that are looked at; whoever has a further set counts as free to go
/// anywhere.
pub(crate) const N_SETS_MAX: usize = 4;

/// The share by which a set may have to give more than it has: roundings.
const TOLERANCE: f64 = 1e-9;

/// The cores of a host, and which of them some of the claims may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cores<'a> {
    /// The capacity of each core.
    pub capacities: &'a [f64],
    /// The members of each set: whether each core is in it. At most [`N_SETS_MAX`] sets.
    pub sets: &'a [Vec<bool>],
    /// The set of each claim; none for any core. Groups have none.
    pub set_of: &'a [Option<usize>],
}

impl Cores<'_> {
    /// Divides the cores as [`divide`] does, with respect to the sets that claims are confined to.
    pub(crate) fn divide(self, n_groups: usize, claims: &[Claim], parts: &mut Vec<f64>) {
        let mut claims = claims.to_vec();
        let mut settled = vec![0.0; claims.len()];
        let mut is_free = vec![true; self.capacities.len()];
        loop {
            divide(self.capacity(&is_free), n_groups, &claims, parts);
            let Some((union, room)) = self.scarcest(&is_free, &parts[n_groups..], n_groups) else { break };
            let mut confined = claims.clone();
            for idx in n_groups..claims.len() {
                let is_within = self.is_within(idx, union);
                let other = if is_within { &mut claims } else { &mut confined };
                other[idx].limit = 0.0;
            }
            divide(room, n_groups, &confined, parts);
            for (idx, part) in parts.iter().enumerate() {
                settled[idx] += part;
                if idx < n_groups {
                    claims[idx].limit = (claims[idx].limit - part).max(0.0);
                }
            }
            let union = self.union(union);
            is_free.iter_mut().zip(union).for_each(|(is_free, is_taken)| *is_free &= !is_taken);
        }
        parts.iter_mut().zip(settled).for_each(|(part, settled)| *part += settled);
    }

    fn capacity(&self, is_in: &[bool]) -> f64 {
        self.capacities.iter().zip(is_in).filter(|(_, is_in)| **is_in).map(|(capacity, _)| capacity).sum()
    }

    fn is_within(&self, claim: usize, union: usize) -> bool {
        self.set_of[claim].is_some_and(|set| union >> set & 1 == 1)
    }

    /// The cores of all sets whose bits are in `union`.
    fn union(&self, union: usize) -> Vec<bool> {
        let sets = || self.sets.iter().enumerate().filter(|(set, _)| union >> set & 1 == 1);
        (0..self.capacities.len()).map(|core| sets().any(|(_, set)| set[core])).collect()
    }

    /// The sets, as bits, that would have to give most for what they have, and what that is; none if all have enough.
    fn scarcest(&self, is_free: &[bool], task_parts: &[f64], n_groups: usize) -> Option<(usize, f64)> {
        let scarcity = |union: usize| {
            let is_in: Vec<bool> = self.union(union).iter().zip(is_free).map(|(a, b)| *a && *b).collect();
            let room = self.capacity(&is_in);
            let parts = task_parts.iter().enumerate().filter(|(task, _)| self.is_within(n_groups + task, union));
            let wanted: f64 = parts.map(|(_, part)| part).sum();
            (union, room, wanted)
        };
        let scarce =
            (1..1_usize << self.sets.len()).map(scarcity).filter(|(_, room, wanted)| *wanted > room + TOLERANCE);
        let scarcest = scarce
            .max_by(|(_, a_room, a_wanted), (_, b_room, b_wanted)| (a_wanted * b_room).total_cmp(&(b_wanted * a_room)));
        scarcest.map(|(union, room, _)| (union, room))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROOT: Claim = Claim { group: 0, weight: 1.0, limit: f64::INFINITY };
    const TASK: Claim = Claim { group: 0, weight: 1024.0, limit: 1.0 };

    /// Tasks of one weight, each with the cores it may use.
    fn parts(n_cores: usize, tasks: &[&[usize]]) -> Vec<f64> {
        let sets: Vec<Vec<bool>> =
            tasks.iter().map(|set| (0..n_cores).map(|core| set.contains(&core)).collect()).collect();
        let mut distinct = sets.clone();
        distinct.sort();
        distinct.dedup();
        let set_of = sets.iter().map(|set| distinct.iter().position(|other| other == set));
        let set_of: Vec<Option<usize>> = [None].into_iter().chain(set_of).collect();
        let claims: Vec<Claim> = [ROOT].into_iter().chain(tasks.iter().map(|_| TASK)).collect();
        let mut parts = Vec::new();
        let capacities = vec![1.0; n_cores];
        Cores { capacities: &capacities, sets: &distinct, set_of: &set_of }.divide(1, &claims, &mut parts);
        parts.split_off(1)
    }

    #[track_caller]
    fn check(n_cores: usize, tasks: &[&[usize]], expected: &[f64]) {
        let parts = parts(n_cores, tasks);
        // A few roundings of sums and quotients near 1.
        let are_near = parts.iter().zip(expected).all(|(part, expected)| (part - expected).abs() < 1e-8);
        assert!(are_near, "{parts:?}, not {expected:?}");
    }

    #[test]
    fn three_on_one_core_leave_the_other_to_one_that_may_go_there() {
        let third = 1.0 / 3.0;
        check(2, &[&[0], &[0], &[0], &[0, 1]], &[third, third, third, 1.0]);
    }

    #[test]
    fn a_confined_one_shares_fairly_with_those_that_are_not() {
        check(2, &[&[0], &[0, 1], &[0, 1]], &[2.0 / 3.0; 3]);
    }

    #[test]
    fn sets_that_overlap_are_one_when_both_are_scarce() {
        check(3, &[&[0, 1], &[1], &[1], &[0, 1], &[2, 0]], &[2.0 / 4.0, 0.5, 0.5, 0.5, 1.0]);
    }

    proptest! {
        #[test]
        fn nobody_is_on_two_cores_and_no_set_gives_more_than_it_has(
            tasks in prop::collection::vec(prop::sample::select(vec![vec![0], vec![0, 1], vec![1, 2], vec![2]]), 1..9),
        ) {
            let tasks: Vec<&[usize]> = tasks.iter().map(Vec::as_slice).collect();
            let parts = parts(3, &tasks);
            for within in [&[0][..], &[1], &[2], &[0, 1], &[1, 2], &[0, 2], &[0, 1, 2]] {
                let had = parts.iter().zip(&tasks).filter(|(_, set)| set.iter().all(|core| within.contains(core)));
                prop_assert!(had.map(|(part, _)| part).sum::<f64>() <= within.len() as f64 + 1e-6);
            }
            prop_assert!(parts.iter().all(|part| *part > 0.1 && *part <= 1.0 + 1e-9));
        }
    }
}
