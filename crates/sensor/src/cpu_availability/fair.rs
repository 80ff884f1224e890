//! Fair sharing by weight: how a capacity is divided among those that want parts of it, group by group.
//!
//! This is what the kernel's fair scheduler does over times longer than its slices, taken as a fluid: each group
//! divides what it has among its children in proportion to their weights, and what one of them does not want goes to
//! the others (weighted max-min fairness). A group's weight is divided over all cores, as in `calc_group_shares` of
//! `kernel/sched/fair.c`, so no core is singled out.

/// One that wants a part: a group, or a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// Position of the group that it is a child of.
    pub group: usize,
    /// Its weight among the children of that group. Positive.
    pub weight: f64,
    /// The most that it takes, in cores; infinite for no limit. Not negative.
    pub limit: f64,
}

/// Divides `capacity`, in cores, and leaves in `parts` what each of `claims` gets.
///
/// The first `n_groups` claims are groups, parents before their children, and the first of all is the root: its
/// group and weight mean nothing. A group wants what its children want together, up to its limit; a task wants its
/// limit, which is finite.
pub(crate) fn divide(capacity: f64, n_groups: usize, claims: &[Claim], parts: &mut Vec<f64>) {
    let mut wanted: Vec<f64> = claims.iter().map(|claim| claim.limit).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); n_groups];
    let mut sums = vec![0.0; n_groups];
    for idx in (1..claims.len()).rev() {
        if idx < n_groups {
            wanted[idx] = wanted[idx].min(sums[idx]);
        }
        sums[claims[idx].group] += wanted[idx];
        if wanted[idx] > 0.0 {
            children[claims[idx].group].push(idx);
        }
    }
    parts.clear();
    parts.resize(claims.len(), 0.0);
    parts[0] = capacity.min(sums[0]).min(claims[0].limit);
    for group in 0..n_groups {
        // Whoever wants least for its weight is the first to have enough.
        children[group].sort_by(|&a, &b| (wanted[a] / claims[a].weight).total_cmp(&(wanted[b] / claims[b].weight)));
        let mut left = parts[group];
        let mut weight_left: f64 = children[group].iter().map(|&child| claims[child].weight).sum();
        for &child in &children[group] {
            let weight = claims[child].weight;
            let part = wanted[child].min(left * (weight / weight_left).min(1.0));
            parts[child] = part;
            left = (left - part).max(0.0);
            weight_left -= weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROOT: Claim = Claim { group: 0, weight: 1.0, limit: f64::INFINITY };

    fn claim(group: usize, weight: f64, limit: f64) -> Claim {
        Claim { group, weight, limit }
    }

    /// The tolerance is for the few roundings of sums and quotients near 1.
    #[track_caller]
    fn check(capacity: f64, n_groups: usize, claims: &[Claim], expected: &[f64]) {
        let mut parts = Vec::new();
        divide(capacity, n_groups, claims, &mut parts);
        for (idx, (part, expected)) in parts[n_groups..].iter().zip(expected).enumerate() {
            assert!((part - expected).abs() < 1e-12, "task {idx} gets {part}, not {expected}");
        }
        assert_eq!(parts.len(), n_groups + expected.len());
    }

    #[test]
    fn equals_share_equally() {
        check(2.0, 1, &[ROOT, claim(0, 1024.0, 1.0), claim(0, 1024.0, 1.0), claim(0, 1024.0, 1.0)], &[2.0 / 3.0; 3]);
    }

    #[test]
    fn what_one_does_not_want_goes_to_the_others() {
        check(1.0, 1, &[ROOT, claim(0, 1024.0, 0.2), claim(0, 1024.0, 1.0), claim(0, 1024.0, 1.0)], &[0.2, 0.4, 0.4]);
        check(4.0, 1, &[ROOT, claim(0, 1.0, 1.0), claim(0, 1024.0, 1.0)], &[1.0, 1.0]);
    }

    #[test]
    fn weights_are_proportions() {
        check(1.0, 1, &[ROOT, claim(0, 15.0, 1.0), claim(0, 1024.0, 1.0)], &[15.0 / 1039.0, 1024.0 / 1039.0]);
    }

    #[test]
    fn a_group_weighs_the_same_however_many_are_in_it() {
        let tasks = [claim(1, 1024.0, 1.0), claim(1, 15.0, 1.0), claim(0, 1024.0, 1.0)];
        let claims = [&[ROOT, claim(0, 1024.0, f64::INFINITY)][..], &tasks].concat();
        check(1.0, 2, &claims, &[0.5 * 1024.0 / 1039.0, 0.5 * 15.0 / 1039.0, 0.5]);
    }

    #[test]
    fn the_tightest_limit_on_the_way_holds() {
        let groups = [ROOT, claim(0, 1024.0, 0.5), claim(1, 1024.0, 0.75)];
        let claims = [&groups[..], &[claim(2, 1024.0, 1.0), claim(2, 1024.0, 1.0), claim(0, 1024.0, 1.0)]].concat();
        check(4.0, 3, &claims, &[0.25, 0.25, 1.0]);
    }

    #[test]
    fn nothing_to_divide_is_divided() {
        check(0.0, 1, &[ROOT, claim(0, 1024.0, 1.0)], &[0.0]);
        check(2.0, 1, &[ROOT], &[]);
    }

    proptest! {
        #[test]
        fn nobody_gets_more_than_wanted_and_nothing_wanted_is_left(
            capacity in 0.0..8.0,
            tasks in prop::collection::vec((0_usize..3, 3.0..90_000.0, 0.0..4.0), 0..12),
        ) {
            let mut claims = vec![ROOT, claim(0, 1024.0, 1.5), claim(1, 512.0, f64::INFINITY)];
            claims.extend(tasks.iter().map(|&(group, weight, limit)| claim(group, weight, limit)));
            let mut parts = Vec::new();
            divide(capacity, 3, &claims, &mut parts);
            let total: f64 = parts[3..].iter().sum();
            prop_assert!((total - parts[0]).abs() < 1e-9);
            prop_assert!(parts.iter().zip(&claims).skip(1).all(|(part, claim)| *part <= claim.limit + 1e-12));
            let at_root: f64 = tasks.iter().filter(|task| task.0 == 0).map(|task| task.2).sum();
            let below: f64 = tasks.iter().filter(|task| task.0 > 0).map(|task| task.2).sum();
            prop_assert!((total - capacity.min(at_root + below.min(1.5))).abs() < 1e-9);
        }
    }
}
