//! Statistics that one wild value does not move: medians, quantiles, median deviations.
//!
//! All take values in any order; those that are not finite are an error of the caller's and are left out. Units are the
//! values'.

/// The middle of `values`; of an even number the mean of the two in the middle. `None` when there are none.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value below which the share `at`, in [0, 1], of `values` lies, by lines between neighbours (Hyndman and Fan
/// 1996, type 7).
#[must_use]
pub fn quantile(values: &[f64], at: f64) -> Option<f64> {
    let sorted = sorted(values);
    quantile_of_sorted(&sorted, at)
}

/// Computes the [`quantile`] of values that are in order already.
#[must_use]
pub fn quantile_of_sorted(sorted: &[f64], at: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = at.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (position - below as f64) * (sorted[above] - sorted[below]))
}

/// The median of the distances from the median, not scaled. `None` when there are no values.
#[must_use]
pub fn mad(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&distances)
}

/// Ascending, without what is not finite.
#[must_use]
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_on_lines_between_neighbours() {
        // R: quantile(c(1, 2, 4, 8), c(.25, .5, .9)) gives 1.75, 3, 6.8.
        let values = [8.0, 1.0, 4.0, 2.0];
        assert_eq!(quantile(&values, 0.25), Some(1.75));
        assert_eq!(median(&values), Some(3.0));
        assert!((quantile(&values, 0.9).unwrap() - 6.8).abs() < 1e-12);
    }

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(median(&[]), None);
        assert_eq!(mad(&[f64::NAN]), None);
    }

    #[test]
    fn one_wild_value_does_not_move_the_deviation() {
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 1e9]), Some(1.0));
    }
}
