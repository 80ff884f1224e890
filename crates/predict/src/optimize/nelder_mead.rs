//! The least value of a function on the unit cube, by Nelder and Mead's method (1965): for two or three variables, with
//! bounds at which the minimum may lie.
//!
//! Beyond a side the function goes on as its mirror image, so that a simplex that leans over one keeps its volume;
//! pressed flat against it, it would move along the side only.

/// The place where the search ended.
#[derive(Clone, Debug)]
pub(crate) struct Minimum {
    pub(crate) at: Vec<f64>,
    pub(crate) value: f64,
    /// Whether a search begun anew from there finds nothing lower.
    pub(crate) has_converged: bool,
}

/// A simplex whose values differ by less than this share has found its minimum.
const SPREAD_MIN: f64 = 1e-12;

/// A simplex smaller than this too: at a minimum values are flat to the square of a distance.
const SIZE_MIN: f64 = 1e-6;

/// A simplex can collapse where no minimum is. Begun anew it leaves from there, if its first edges fit the function
/// there; so it is begun with these in turn, until neither gains.
const EDGES: [f64; 2] = [0.1, 0.003];

/// Number of times that the search may be begun.
const N_DESCENTS_MAX: usize = 40;

/// Gain, as a share, that a search begun anew needs to count as having found something lower.
const GAIN_MIN: f64 = 1e-10;

const N_STEPS_MAX: usize = 400;

/// Minimizes from `start` on. Values may be infinite, and are not negative.
pub(crate) fn minimize(function: impl Fn(&[f64]) -> f64, start: Vec<f64>) -> Minimum {
    let mut best = Vertex { value: function(&start), at: start };
    let mut n_in_vain = 0;
    for edge in EDGES.into_iter().cycle().take(N_DESCENTS_MAX) {
        let before = best.value;
        best = descend(&function, best, edge);
        let gain = before - best.value;
        n_in_vain = if gain.is_nan() || gain <= GAIN_MIN * best.value { n_in_vain + 1 } else { 0 };
        if n_in_vain == EDGES.len() {
            return Minimum { at: best.at, value: best.value, has_converged: best.value.is_finite() };
        }
    }
    Minimum { at: best.at, value: best.value, has_converged: false }
}

#[derive(Clone, Debug)]
struct Vertex {
    at: Vec<f64>,
    value: f64,
}

/// One simplex, from its beginning at `start` until it is small and flat.
fn descend(function: &impl Fn(&[f64]) -> f64, start: Vertex, edge: f64) -> Vertex {
    let function = |at: &[f64]| function(&folded(at));
    let mut simplex = vec![start.clone()];
    for axis in 0..start.at.len() {
        let mut at = start.at.clone();
        at[axis] += if at[axis] < 0.5 { edge } else { -edge };
        simplex.push(Vertex { value: function(&at), at });
    }
    for _ in 0..N_STEPS_MAX {
        simplex.sort_by(|one, other| one.value.total_cmp(&other.value));
        if is_small(&simplex) {
            break;
        }
        advance(&function, &mut simplex);
    }
    let best = simplex.swap_remove(0);
    Vertex { at: folded(&best.at), value: best.value }
}

/// Returns the place in the cube where the mirrors show `at`.
fn folded(at: &[f64]) -> Vec<f64> {
    let fold = |value: f64| {
        let turn = value.rem_euclid(2.0);
        if turn > 1.0 { 2.0 - turn } else { turn }
    };
    at.iter().map(|value| fold(*value)).collect()
}

fn is_small(simplex: &[Vertex]) -> bool {
    let (best, worst) = (&simplex[0], &simplex[simplex.len() - 1]);
    let distance =
        |vertex: &Vertex| vertex.at.iter().zip(&best.at).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max);
    worst.value - best.value <= SPREAD_MIN * best.value && simplex.iter().map(distance).fold(0.0, f64::max) < SIZE_MIN
}

/// Replaces the worst vertex, or shrinks all toward the best. The vertices are in order.
fn advance(function: &impl Fn(&[f64]) -> f64, simplex: &mut [Vertex]) {
    let n = simplex.len() - 1;
    let centre: Vec<f64> =
        (0..n).map(|axis| simplex[..n].iter().map(|vertex| vertex.at[axis]).sum::<f64>() / n as f64).collect();
    // From the worst vertex through the centre of the others, and on by `reach` times that distance.
    let beyond = |worst: &Vertex, reach: f64| {
        let at: Vec<f64> =
            centre.iter().zip(&worst.at).map(|(centre, worst)| centre + reach * (centre - worst)).collect();
        Vertex { value: function(&at), at }
    };
    let reflected = beyond(&simplex[n], 1.0);
    let next = if reflected.value < simplex[0].value {
        let expanded = beyond(&simplex[n], 2.0);
        if expanded.value < reflected.value { expanded } else { reflected }
    } else if reflected.value < simplex[n - 1].value {
        reflected
    } else {
        let is_outside = reflected.value < simplex[n].value;
        let contracted = beyond(&simplex[n], if is_outside { 0.5 } else { -0.5 });
        if contracted.value < reflected.value.min(simplex[n].value) {
            contracted
        } else {
            shrink(function, simplex);
            return;
        }
    };
    simplex[n] = next;
}

fn shrink(function: &impl Fn(&[f64]) -> f64, simplex: &mut [Vertex]) {
    let (best, others) = simplex.split_at_mut(1);
    for vertex in others {
        vertex.at.iter_mut().zip(&best[0].at).for_each(|(at, best)| *at = f64::midpoint(*at, *best));
        vertex.value = function(&vertex.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_minimum(function: impl Fn(&[f64]) -> f64, start: &[f64], expected: &[f64]) {
        let minimum = minimize(function, start.to_vec());
        assert!(minimum.has_converged, "{minimum:?}");
        for (ours, theirs) in minimum.at.iter().zip(expected) {
            // Rounding of the value leaves its place open to the square root.
            assert!((ours - theirs).abs() < 1e-5, "{minimum:?}");
        }
    }

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        let valley = |at: &[f64]| 1.0 + 100.0 * (at[1] - at[0] * at[0]).powi(2) + (0.7 - at[0]).powi(2);
        check_minimum(valley, &[0.05, 0.9], &[0.7, 0.49]);
    }

    #[test]
    fn a_minimum_may_lie_on_a_side_or_in_a_corner() {
        check_minimum(|at| 2.0 + at[0] + (at[1] - 0.3).powi(2), &[0.9, 0.9], &[0.0, 0.3]);
        check_minimum(|at| 5.0 + at[0] - 2.0 * at[1] + at[2], &[0.5, 0.5, 0.5], &[0.0, 1.0, 0.0]);
    }

    #[test]
    fn one_variable_is_enough() {
        check_minimum(|at| 1.0 + (at[0] - 0.123).powi(2), &[0.9], &[0.123]);
    }

    #[test]
    fn infinite_everywhere_is_no_minimum() {
        assert!(!minimize(|_| f64::INFINITY, vec![0.5]).has_converged);
    }
}
