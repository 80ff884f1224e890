//! Shares of hosts in the ranks of a run, by weight.

/// Returns the number of ranks of each host, in proportion to weights that are not negative. Largest remainders are
/// rounded up, so that the sum is `n_ranks`. Each host has at least one rank if there are enough. Hosts share evenly if
/// all weights are 0, and there are no shares without hosts.
#[must_use]
pub fn shares(n_ranks: u32, weights: &[f64]) -> Vec<u32> {
    if weights.is_empty() {
        return Vec::new();
    }
    let n_hosts = u32::try_from(weights.len()).unwrap_or(u32::MAX);
    let least = u32::from(n_ranks >= n_hosts);
    let total: f64 = weights.iter().sum();
    let part = |weight: f64| if total > 0.0 { weight / total } else { 1.0 / f64::from(n_hosts) };
    let exact: Vec<f64> = weights.iter().map(|&weight| part(weight) * f64::from(n_ranks)).collect();
    let mut shares: Vec<u32> = exact.iter().map(|exact| (exact.floor() as u32).max(least)).collect();
    // What is left of a share is largest where one more rank is most deserved, and most negative where one is too many.
    let left = |shares: &[u32], host: usize| exact[host] - f64::from(shares[host]);
    while shares.iter().sum::<u32>() < n_ranks {
        let host = (0..shares.len()).max_by(|&a, &b| left(&shares, a).total_cmp(&left(&shares, b)).then(b.cmp(&a)));
        shares[host.expect("ranks are left, so that there are hosts")] += 1;
    }
    while shares.iter().sum::<u32>() > n_ranks {
        let rich = (0..shares.len()).filter(|&host| shares[host] > least);
        let host = rich.min_by(|&a, &b| left(&shares, a).total_cmp(&left(&shares, b)));
        shares[host.expect("more than one rank each")] -= 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_get_ranks_in_proportion_and_none_is_left_out() {
        for (n_ranks, weights, wanted) in [
            (4, &[1.0, 1.0][..], &[2, 2][..]),
            (4, &[0.9, 0.3], &[3, 1]),
            (8, &[0.5, 0.25, 0.25], &[4, 2, 2]),
            (4, &[1.0, 0.0], &[3, 1]),
            (3, &[0.0, 0.0, 0.0], &[1, 1, 1]),
            (5, &[1.0, 1.0], &[3, 2]),
            (4, &[1.0, 0.01, 0.01], &[2, 1, 1]),
            (1, &[0.2, 0.8], &[0, 1]),
            (4, &[], &[]),
        ] {
            assert_eq!(shares(n_ranks, weights), wanted, "{n_ranks} by {weights:?}");
        }
    }
}
