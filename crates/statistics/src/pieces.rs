//! Straight pieces through points in a row, as many as the points speak for.

use std::ops::Range;

use crate::Line;

/// Parameters of a piece: two of its line, and where it begins.
const PARAMETERS: f64 = 3.0;

/// The best straight pieces of `(x, y)` in ascending order of `x`, as ranges of points: at most `n_max`, each of
/// `n_points_min` points or more.
///
/// Their number is the one with the least Bayesian information criterion (Schwarz 1978), where no fit counts as better
/// than to within `noise`, so that noise makes no piece. Nothing where there are fewer than `n_points_min` points.
#[must_use]
pub fn pieces(points: &[(f64, f64)], n_max: usize, n_points_min: usize, noise: f64) -> Vec<Range<usize>> {
    let n = points.len();
    if n < n_points_min || n_max == 0 {
        return Vec::new();
    }
    // best[k][end]: the least sum of squares of k + 1 pieces over the first `end` points, and where the last piece
    // begins.
    let mut best = vec![vec![(f64::INFINITY, 0); n + 1]; n_max];
    for end in n_points_min..=n {
        best[0][end] = (squares(&points[..end]), 0);
        for k in 1..n_max {
            for begin in n_points_min * k..=end.saturating_sub(n_points_min) {
                let sum = best[k - 1][begin].0 + squares(&points[begin..end]);
                if sum < best[k][end].0 {
                    best[k][end] = (sum, begin);
                }
            }
        }
    }
    let criterion = |k: &usize| {
        let variance = best[*k][n].0 / n as f64 + noise * noise;
        n as f64 * variance.ln() + PARAMETERS * (*k + 1) as f64 * (n as f64).ln()
    };
    let n_pieces = (0..n_max).min_by(|a, b| criterion(a).total_cmp(&criterion(b))).unwrap_or(0);
    let mut found = Vec::new();
    let mut end = n;
    for k in (0..=n_pieces).rev() {
        let begin = best[k][end].1;
        found.push(begin..end);
        end = begin;
    }
    found.reverse();
    found
}

fn squares(points: &[(f64, f64)]) -> f64 {
    let Some(line) = Line::through(points.iter().copied()) else { return 0.0 };
    points.iter().map(|(x, y)| (y - line.intercept - line.slope * x).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(value: impl Fn(f64) -> f64) -> Vec<Range<usize>> {
        let points: Vec<_> = (0..12).map(|i| (f64::from(i), value(f64::from(i)) + 0.01 * f64::from(i % 3))).collect();
        pieces(&points, 3, 3, 0.02)
    }

    #[test]
    fn a_break_is_found_where_it_is() {
        assert_eq!(found(|x| if x < 7.0 { 0.2 * x } else { 5.0 + 0.2 * x }), [0..7, 7..12]);
    }

    #[test]
    fn a_straight_row_is_one_piece() {
        assert_eq!(found(|x| 0.5 * x).len(), 1);
        assert!(pieces(&[(0.0, 1.0), (1.0, 2.0)], 3, 3, 0.02).is_empty());
    }
}
