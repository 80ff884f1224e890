//! The test of Friedman (1937): whether any of several models is ranked otherwise than the others, block by block.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The result of the test.
#[derive(Clone, Debug, PartialEq)]
pub struct Friedman {
    /// The mean rank of each model, 1 the best.
    pub mean_ranks: Vec<f64>,
    /// Blocks ranked.
    pub n: usize,
    /// Corrected for ties.
    pub statistic: f64,
    /// The probability of such a statistic or a greater one if all models were equally good.
    pub p_value: f64,
}

/// `blocks` hold the losses of all models, infinite where a model failed; none is NaN. `None` with fewer than two
/// blocks or models, and where all are tied in every block.
pub fn friedman(blocks: &[Vec<f64>]) -> Option<Friedman> {
    let (n, k) = (blocks.len(), blocks.first()?.len());
    if n < 2 || k < 2 {
        return None;
    }
    let (mut sums, mut squares) = (vec![0.0; k], 0.0);
    for block in blocks {
        for (sum, rank) in sums.iter_mut().zip(ranks(block)) {
            *sum += rank;
            squares += rank * rank;
        }
    }
    let (blocks, models) = (n as f64, k as f64);
    let middle = 0.25 * blocks * models * (models + 1.0).powi(2);
    let between = sums.iter().map(|sum| sum * sum).sum::<f64>() / blocks - middle;
    let spread = squares - middle;
    if spread <= 0.0 {
        return None;
    }
    let statistic = blocks * (models - 1.0) * between / spread;
    let p_value = ChiSquared::new(models - 1.0).ok()?.sf(statistic);
    Some(Friedman { mean_ranks: sums.iter().map(|sum| sum / blocks).collect(), n, statistic, p_value })
}

/// Ranks from 1; those of equal values are the mean of the places that these take.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut n_before = 0;
    for tied in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = n_before as f64 + 0.5 * (tied.len() as f64 + 1.0);
        tied.iter().for_each(|idx| ranks[*idx] = rank);
        n_before += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_equal_values_are_shared() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, f64::INFINITY]), [2.5, 1.0, 2.5, 4.0]);
    }

    #[test]
    fn models_are_told_apart_as_by_r() {
        // Hollander and Wolfe (1973), rounding first base, by R 4.2: see testdata/crossval/tests.R.
        let blocks = [
            [5.40, 5.50, 5.55],
            [5.85, 5.70, 5.75],
            [5.20, 5.60, 5.50],
            [5.55, 5.50, 5.40],
            [5.90, 5.85, 5.70],
            [5.45, 5.55, 5.60],
        ];
        let blocks: Vec<Vec<f64>> = blocks.iter().map(|block| block.to_vec()).chain([vec![1.0, 1.0, 2.0]]).collect();
        let found = friedman(&blocks).unwrap();
        assert!(
            (found.statistic - 0.222_222_222_222_222).abs() < 1e-9
                && (found.p_value - 0.894_839_316_814_37).abs() < 1e-9,
            "{found:?}"
        );
    }

    #[test]
    fn what_cannot_be_told_is_not() {
        assert_eq!(friedman(&[]), None);
        assert_eq!(friedman(&[vec![1.0, 2.0]]), None);
        assert_eq!(friedman(&[vec![1.0, 1.0], vec![2.0, 2.0]]), None);
    }
}
