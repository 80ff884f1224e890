//! The future of a threshold autoregression along many paths at once.

use std::ops::Range;

use super::shock::{N_PATHS, shocks};
use super::{Regime, Regimes};

/// The deviations of all paths at one lead.
pub(super) type Path = [f64; N_PATHS];

/// Simulated from the same past on, with fixed shocks.
pub(super) struct Paths<'a> {
    regimes: &'a Regimes,
    /// The last p deviations of every path; the oldest, which the next replaces, stands where its lead index has it.
    past: Vec<Path>,
    leads: Range<usize>,
}

impl<'a> Paths<'a> {
    /// `n_leads` of them from `history`, oldest first and as long as the regimes' order.
    pub(super) fn new(regimes: &'a Regimes, history: &[f64], n_leads: usize) -> Self {
        let past = history.iter().map(|deviation| [*deviation; N_PATHS]).collect();
        Self { regimes, past, leads: 0..n_leads }
    }

    /// The deviations of all paths at the next lead.
    pub(super) fn next(&mut self) -> Option<&Path> {
        let lead_idx = self.leads.next()?;
        let order = self.past.len();
        let oldest = lead_idx % order;
        let lag = |lag: usize| (oldest + order - lag) % order;
        let Regimes { delay, threshold, low, high } = self.regimes;
        let mut of_low = low.shocked(lead_idx);
        let mut of_high = high.shocked(lead_idx);
        for (idx, (low, high)) in low.phi.iter().zip(&high.phi).enumerate() {
            let values = &self.past[lag(idx + 1)];
            for path in 0..N_PATHS {
                of_low[path] += low * values[path];
                of_high[path] += high * values[path];
            }
        }
        let is_low = self.past[lag(*delay)].map(|decider| decider <= *threshold);
        let next = &mut self.past[oldest];
        for path in 0..N_PATHS {
            next[path] = if is_low[path] { of_low[path] } else { of_high[path] };
        }
        Some(next)
    }
}

impl Regime {
    /// Returns the value of each path at `lead_idx` before its past is added.
    fn shocked(&self, lead_idx: usize) -> Path {
        let deviation = self.variance.sqrt();
        shocks(lead_idx).map(|shock| self.intercept + deviation * shock)
    }
}

pub(super) fn mean_of(path: &Path) -> f64 {
    side_by_side(path, |sum, value| sum + value).iter().sum::<f64>() / N_PATHS as f64
}

/// The root of the mean squared distance from `mean`, however large.
pub(super) fn deviation_of(path: &Path, mean: f64) -> f64 {
    let most = side_by_side(path, |most, value| most.max((value - mean).abs())).into_iter().fold(0.0, f64::max);
    if most == 0.0 {
        return 0.0;
    }
    let shares = side_by_side(path, |sum, value| {
        let share = (value - mean) / most;
        sum + share * share
    });
    most * (shares.iter().sum::<f64>() / N_PATHS as f64).sqrt()
}

/// Eight folds over every eighth value, each from 0, to fill the vector registers.
fn side_by_side(path: &Path, fold: impl Fn(f64, f64) -> f64) -> [f64; 8] {
    let mut lanes = [0.0; 8];
    for chunk in path.as_chunks::<8>().0 {
        (0..8).for_each(|lane| lanes[lane] = fold(lanes[lane], chunk[lane]));
    }
    lanes
}
