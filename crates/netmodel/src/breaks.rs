//! Breaks: the places where one line ends and the next begins.
//!
//! All ways to cut the sizes into up to four parts are weighed against each other by dynamic programming. A part costs
//! what its sizes are off its line, in squares of their own scatter, none of them more than [`WILD`]: sizes that stick
//! out alone are thus not worth a part (Fearnhead and Rigaill 2019: the biweight loss). A further part must pay for its
//! three parameters.

use std::ops::Range;

use crate::cost::{SEGMENT_SIZES_MIN, Size};
use crate::line::Line;

/// Libraries send in two or three ways, and a cache may end within one of them.
const N_SEGMENTS_MAX: usize = 4;
/// The most that one size counts: three standard deviations, squared.
const WILD: f64 = 9.0;
/// A part's parameters: alpha, beta, and where it begins.
const N_PARAMETERS: f64 = 3.0;
/// Cost of a parameter, in logarithms of the number of sizes. BIC's is 1, which holds for a given place; here the best
/// of all places is taken, and the scatter is an estimate. With 2, plain data of 12 to 45 sizes are cut up about once
/// in a hundred times (`plain_data_are_seldom_cut`).
const PENALTY: f64 = 2.0;
/// Places that are tried as ends of parts; of more sizes than that, evenly many are passed over. Bounds the time to
/// some 10,000 lines.
const N_PLACES_MAX: usize = 128;

/// The best parts of `sizes`, in their order; one where there are too few sizes for two.
pub(crate) fn parts(sizes: &[Size]) -> Vec<Range<usize>> {
    let places = places(sizes.len());
    let costs = costs(sizes, &places);
    let last = places.len() - 1;
    // By number of parts less one, and place where the last of them ends: its cost, and the place where its last part
    // begins.
    let mut best: Vec<Vec<(f64, usize)>> = vec![costs[0].iter().map(|cost| (*cost, 0)).collect()];
    for n_before in 0..N_SEGMENTS_MAX - 1 {
        let cheapest = |to: usize| {
            let ways = (0..to).map(|from| (best[n_before][from].0 + costs[from][to], from));
            ways.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0))
        };
        let next = (0..=last).map(cheapest).collect();
        best.push(next);
    }
    let further = PENALTY * N_PARAMETERS * (sizes.len() as f64).ln();
    let total = |n_breaks: usize| best[n_breaks][last].0 + further * n_breaks as f64;
    let n_breaks = (0..N_SEGMENTS_MAX).min_by(|a, b| total(*a).total_cmp(&total(*b))).unwrap_or(0);
    let mut to = last;
    let mut parts = Vec::with_capacity(n_breaks + 1);
    for before in best[..=n_breaks].iter().rev() {
        let from = before[to].1;
        parts.push(places[from]..places[to]);
        to = from;
    }
    parts.reverse();
    parts
}

/// Positions where parts may begin and end, 0 and `n_sizes` among them.
fn places(n_sizes: usize) -> Vec<usize> {
    let stride = n_sizes.div_ceil(N_PLACES_MAX).max(1);
    (0..n_sizes).step_by(stride).chain([n_sizes]).collect()
}

/// Returns the cost of each part from a place to a later one; infinite for those with too few sizes.
fn costs(sizes: &[Size], places: &[usize]) -> Vec<Vec<f64>> {
    let cost = |from: usize, to: usize| {
        if to < from + SEGMENT_SIZES_MIN {
            return f64::INFINITY;
        }
        let line = Line::fit(&sizes[from..to]);
        sizes[from..to].iter().map(|size| (line.off(size) / size.scatter).powi(2).min(WILD)).sum()
    };
    places.iter().map(|&from| places.iter().map(|&to| cost(from, to)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_sizes_are_cut_at_few_places() {
        let places = places(100_000);
        assert!(places.len() <= N_PLACES_MAX + 1 && places[0] == 0 && places.last() == Some(&100_000));
        assert_eq!(super::places(5), [0, 1, 2, 3, 4, 5]);
    }
}
