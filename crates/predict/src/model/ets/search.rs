//! The smoothing, and the state before the first sample, that make the sum of squared one-step errors least.

use super::{Smoothing, State};
use crate::effort::spend;
use crate::model::linear::dot;
use crate::optimize::nelder_mead;
use crate::spec::{Region, Trend};

/// The result of a search.
pub(super) struct Best {
    pub(super) smoothing: Smoothing,
    /// State before the first sample, about the mean.
    pub(super) start: State,
}

/// Least distance of smoothing constants from the ends of their ranges, as in R's forecast package.
const MARGIN: f64 = 1e-4;

/// Lower bound on phi: with less of it alpha may be a thousand and forecasts be what rounding leaves of the difference
/// of two numbers of any size.
const PHI_MIN: f64 = 0.1;

/// The range of phi that is usual: below it a slope is over before it shows, above it is not damped.
const PHI_USUAL: (f64, f64) = (0.8, 0.98);

/// Positions along each axis of the region where the search looks first.
const GRID: [f64; 5] = [0.02, 0.2, 0.5, 0.8, 0.98];

/// Number of the best of those from which the search goes on.
const N_STARTS: usize = 2;

/// Sums of squares below this share of the samples' are rounding.
const ROUNDING: f64 = 1e-24;

/// `deviations` about the mean, NaN for a gap, of mean square `power`; `None` where no search ends.
pub(super) fn search(deviations: &[f64], power: f64, trend: Trend, region: Region) -> Option<Best> {
    let columns = std::cell::RefCell::new(Columns::default());
    let floor = ROUNDING * power * deviations.len() as f64;
    let squares = |at: &[f64]| {
        if !spend(20 * deviations.len()) {
            return f64::INFINITY;
        }
        let (_, squares) = columns.borrow_mut().best_start(deviations, place(at, trend, region));
        if squares.is_nan() { f64::INFINITY } else { squares.max(floor) }
    };
    let mut starts: Vec<(f64, Vec<f64>)> = grid(trend.n_constants()).map(|at| (squares(&at), at)).collect();
    starts.sort_by(|one, other| one.0.total_cmp(&other.0));
    let minima = starts.into_iter().take(N_STARTS).map(|(_, at)| nelder_mead::minimize(squares, at));
    let best = minima.filter(|minimum| minimum.has_converged).min_by(|one, other| one.value.total_cmp(&other.value))?;
    let smoothing = place(&best.at, trend, region);
    let (start, _) = columns.borrow_mut().best_start(deviations, smoothing);
    Some(Best { smoothing, start })
}

/// The state before the first of `deviations` that makes the sum of squared errors least.
pub(super) fn best_start(deviations: &[f64], smoothing: Smoothing) -> State {
    Columns::default().best_start(deviations, smoothing).0
}

fn grid(n_axes: usize) -> impl Iterator<Item = Vec<f64>> {
    let n = GRID.len();
    (0..n.pow(n_axes as u32)).map(move |idx| (0..n_axes as u32).map(|axis| GRID[idx / n.pow(axis) % n]).collect())
}

/// Maps a point of the unit cube to the region. The cube's axes are alpha, beta and phi, each from one end of what the
/// others allow to the other, the ends left out.
fn place(at: &[f64], trend: Trend, region: Region) -> Smoothing {
    let inside = |axis: usize, low: f64, high: f64| low + (high - low) * (MARGIN + (1.0 - 2.0 * MARGIN) * at[axis]);
    let phi = match (trend, region) {
        (Trend::None, _) => 0.0,
        (Trend::Additive, _) => 1.0,
        (Trend::Damped, Region::Usual) => PHI_USUAL.0 + (PHI_USUAL.1 - PHI_USUAL.0) * at[2],
        (Trend::Damped, Region::Admissible) => inside(2, PHI_MIN, 1.0),
    };
    let alpha = match (trend, region) {
        (_, Region::Usual) => inside(0, 0.0, 1.0),
        (Trend::None, Region::Admissible) => inside(0, 0.0, 2.0),
        (_, Region::Admissible) => inside(0, 1.0 - 1.0 / phi, 1.0 + 1.0 / phi),
    };
    let beta = match (trend, region) {
        (Trend::None, _) => 0.0,
        (_, Region::Usual) => inside(1, 0.0, alpha),
        (_, Region::Admissible) => inside(1, alpha * (phi - 1.0), (1.0 + phi) * (2.0 - alpha)),
    };
    Smoothing { alpha, beta, phi }
}

/// One-step errors are linear in the first state, so for given smoothing the best first state is a regression: errors
/// from zeros on what a first level of 1, and a first slope of 1, would take off them.
#[derive(Default)]
struct Columns {
    errors: Vec<f64>,
    of_level: Vec<f64>,
    of_slope: Vec<f64>,
}

impl Columns {
    /// The first state and the sum of squared errors with it.
    fn best_start(&mut self, deviations: &[f64], smoothing: Smoothing) -> (State, f64) {
        self.run(deviations, smoothing);
        let Self { errors, of_level, of_slope } = self;
        let has_slope = smoothing.phi > 0.0;
        // Gram and Schmidt's way: the slope's column less what the level's explains of it.
        let level_norm = dot(of_level, of_level);
        let shared = if has_slope { dot(of_level, of_slope) / level_norm } else { 0.0 };
        let level = dot(of_level, errors) / level_norm;
        subtract(errors, level, of_level);
        let mut slope = 0.0;
        if has_slope {
            let before = dot(of_slope, of_slope);
            subtract(of_slope, shared, of_level);
            let norm = dot(of_slope, of_slope);
            // Where smoothing makes the two columns one, any slope does as well as none.
            if norm > before * f64::EPSILON {
                slope = dot(of_slope, errors) / norm;
                subtract(errors, slope, of_slope);
            }
        }
        (State { level: level - slope * shared, slope }, dot(errors, errors))
    }

    /// Errors from a first state of zeros, and by how much less each is for a first level, and slope, of 1.
    fn run(&mut self, deviations: &[f64], smoothing: Smoothing) {
        [&mut self.errors, &mut self.of_level, &mut self.of_slope].iter_mut().for_each(|column| column.clear());
        let mut state = State::default();
        let (mut of_level, mut of_slope) = (State { level: 1.0, slope: 0.0 }, State { level: 0.0, slope: 1.0 });
        for deviation in deviations {
            let respond = if deviation.is_nan() { f64::NAN } else { 0.0 };
            self.errors.push(state.step(smoothing, *deviation));
            self.of_level.push(-of_level.step(smoothing, respond));
            self.of_slope.push(-of_slope.step(smoothing, respond));
        }
    }
}

fn subtract(from: &mut [f64], times: f64, column: &[f64]) {
    from.iter_mut().zip(column).for_each(|(value, other)| *value -= times * other);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_of_the_cube_is_stable_smoothing() {
        for trend in [Trend::None, Trend::Additive, Trend::Damped] {
            for region in [Region::Usual, Region::Admissible] {
                for corner in 0..1 << trend.n_constants() {
                    let at: Vec<f64> =
                        (0..trend.n_constants()).map(|axis| f64::from((corner >> axis & 1) as u8)).collect();
                    let smoothing = place(&at, trend, region);
                    assert!(smoothing.is_stable(), "{trend:?} {region:?} {at:?}: {smoothing:?}");
                }
            }
        }
    }

    #[test]
    fn no_first_state_near_the_best_is_better() {
        let deviations: Vec<f64> = (0..60_u32).map(|t| f64::from(t * 37 % 23) - 11.0).collect();
        let smoothing = Smoothing { alpha: 0.3, beta: 0.1, phi: 0.9 };
        let (start, least) = Columns::default().best_start(&deviations, smoothing);
        let squares = |mut state: State| -> f64 {
            deviations.iter().map(|deviation| state.step(smoothing, *deviation).powi(2)).sum()
        };
        assert!((squares(start) - least).abs() < 1e-9 * least);
        for (level, slope) in [(0.1, 0.0), (-0.1, 0.0), (0.0, 0.1), (0.0, -0.1)] {
            assert!(squares(State { level: start.level + level, slope: start.slope + slope }) > least);
        }
    }
}
