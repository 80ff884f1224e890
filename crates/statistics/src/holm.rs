//! Holm's adjustment of p-values that are looked at together.

/// Adjusts p-values of tests that are made together, so that the chance of any false alarm among them stays what is
/// asked for (Holm 1979). Smaller ones stay smaller.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let n = p_values.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let (mut adjusted, mut most) = (vec![0.0; n], 0.0_f64);
    for (place, idx) in order.into_iter().enumerate() {
        most = most.max((n - place) as f64 * p_values[idx]).min(1.0);
        adjusted[idx] = most;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_adjusted_as_by_r() {
        // R 4.2: p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.9), "holm").
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005, 0.9]);
        let expected = [0.04, 0.09, 0.09, 0.025, 0.9];
        // Rounding of products.
        assert!(adjusted.iter().zip(expected).all(|(ours, theirs)| (ours - theirs).abs() < 1e-15), "{adjusted:?}");
        assert!(holm(&[]).is_empty());
    }
}
