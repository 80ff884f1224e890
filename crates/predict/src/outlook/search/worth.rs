//! Worth of a period: what it explains where its shape was not learned.

use super::super::season::{CLIP, N_CELLS, N_SLOTS_MAX};
use super::is_same;
use super::shape::Shape;

/// Thresholds for a period: the share of the variance within one that it has to explain, by how many standard errors
/// (by more where there are few cycles), and the share of cycles in which it helps.
pub(super) const SHARE_MIN: f64 = 0.1;
pub(super) const DEVIATIONS_MIN: f64 = 3.5;
const FEW_CYCLES: f64 = 4.0;
pub(super) const HELPED_MIN: f64 = 0.75;

/// Fractions of a bin of the periodogram by which a period is tried beside the peak.
const NEAR: [f64; 6] = [-0.5, -0.3, -0.15, 0.15, 0.3, 0.5];

/// The shortest of the periods is taken that explain so much of what the best one does: multiples of a period explain
/// as much. A whole number of steps is preferred to others in the same way.
pub(super) const NEARLY: f64 = 0.97;

/// Worth of a shape where it was not learned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Worth {
    pub(super) period: f64,
    pub(super) n_cells: usize,
    /// Squares that are gone.
    pub(super) gain: f64,
    /// Share of the squares that there were.
    pub(super) share: f64,
    /// The mean gain of a cycle, in standard errors.
    pub(super) deviations: f64,
    /// Cycles, and the share of them in which it helped.
    pub(super) n_cycles: f64,
    pub(super) helped: f64,
}

impl Worth {
    /// Whether it is to be believed; with less strictness than 1 as well if it explains less.
    pub(super) fn is_enough(&self, strictness: f64) -> bool {
        let deviations = DEVIATIONS_MIN * (1.0 + FEW_CYCLES / self.n_cycles);
        self.share > strictness * SHARE_MIN
            && self.deviations > strictness * deviations
            && self.helped >= strictness * HELPED_MIN
    }
}

/// Computes the worth of the shape of a period in the later half, at each step learned from the steps before; `None`
/// without a cycle there.
pub(super) fn worth(samples: &[f64], period: f64, n_cells: usize) -> Option<Worth> {
    let mut shape = Shape::new(period, n_cells);
    let clip = clip(samples);
    let half = samples.len() / 2;
    let mut cycles = vec![0.0; ((samples.len() - half) as f64 / period) as usize];
    let mut squares = 0.0;
    for idx in 0..samples.len() {
        let Some((step, deviation, expected)) = shape.learn(samples, idx, 0, clip) else { continue };
        let Some(cycle) =
            step.checked_sub(half as u64).and_then(|step| cycles.get_mut((step as f64 / period) as usize))
        else {
            continue;
        };
        squares += deviation.powi(2);
        *cycle += deviation.powi(2) - (deviation - expected).powi(2);
    }
    let gains = statistics::summary(&cycles)?;
    let n_cycles = cycles.len() as f64;
    let gain = gains.mean * n_cycles;
    let helped = cycles.iter().filter(|gain| **gain > 0.0).count() as f64 / n_cycles;
    let deviations = gains.mean / (gains.variance / (n_cycles - 1.0).max(1.0)).sqrt();
    Some(Worth { period, n_cells: shape.profile.n_cells(), gain, share: gain / squares, deviations, n_cycles, helped })
}

/// Returns the one that is worth most, of the periods around one, and shapes in few cells and in many.
pub(super) fn refined(samples: &[f64], best: Worth) -> Worth {
    let n = samples.len() as f64;
    let around = NEAR.into_iter().map(|away| 1.0 / (1.0 / best.period + away / n));
    let near = around.filter_map(|period| worth(samples, period, N_CELLS)).chain([best]);
    let most = |one: &Worth, other: &Worth| one.gain.total_cmp(&other.gain);
    let best = near.max_by(most).unwrap_or(best);
    let whole = best.period.round();
    let whole = worth(samples, whole, N_CELLS)
        .filter(|worth| is_same(whole, best.period, samples.len()) && worth.gain >= NEARLY * best.gain);
    let best = whole.unwrap_or(best);
    worth(samples, best.period, N_SLOTS_MAX).into_iter().chain([best]).max_by(most).unwrap_or(best)
}

/// The most that a sample may count for.
pub(super) fn clip(samples: &[f64]) -> f64 {
    let known = || samples.iter().filter(|sample| !sample.is_nan());
    let n = known().count().max(1) as f64;
    let mean = known().sum::<f64>() / n;
    CLIP * known().map(|sample| (sample - mean).abs()).sum::<f64>() / n
}
