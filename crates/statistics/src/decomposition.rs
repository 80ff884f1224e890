//! A series as a level, seasons and a rest (classical decomposition by moving averages; Kendall and Stuart 1966).

use crate::{mean, summary};

/// Cells of the shape of a season, at most: the hours of a week.
const N_CELLS_MAX: usize = 168;

/// Whole periods without which a season is not told from chance.
const N_CYCLES_MIN: f64 = 3.0;

/// The parts that add up to the samples; gaps are NaN in the rest, and the others go on through them.
#[derive(Clone, Debug, PartialEq)]
pub struct Decomposition {
    /// The mean over the longest period around each sample.
    pub level: Component,
    /// One for each period that explains something, the shortest first.
    pub seasons: Vec<Season>,
    /// The part that is left.
    pub rest: Component,
}

/// A part of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// The value at each sample.
    pub values: Vec<f64>,
    /// The share of the samples' variance that it explains. All of them add up to 1.
    pub share: f64,
}

/// A part that comes again.
#[derive(Clone, Debug, PartialEq)]
pub struct Season {
    /// The number of samples after which the part comes again.
    pub period: f64,
    /// Its share is what each cycle has of the shape of the others, so that chance explains nothing.
    pub component: Component,
}

/// Takes a series apart; `periods` are lengths in samples, in any order, that need not be whole numbers. Those of which
/// there are not three cycles, and those that explain nothing, are left out; `None` when none is left, or when samples
/// do not vary.
#[must_use]
pub fn decomposition(samples: &[f64], periods: &[f64]) -> Option<Decomposition> {
    let total =
        summary(samples).map(|summary| summary.variance).filter(|variance| *variance > 0.0 && variance.is_finite())?;
    let mut periods: Vec<f64> = periods.to_vec();
    periods.retain(|period| *period >= 2.0 && samples.len() as f64 >= N_CYCLES_MIN * period);
    periods.sort_by(f64::total_cmp);
    let variance = |rest: &[f64]| mean_square(rest) / total;
    let level = moving_means(samples, periods.last()?.round() as usize);
    let mut rest: Vec<f64> = samples.iter().zip(&level).map(|(sample, level)| sample - level).collect();
    let level = Component { values: level, share: (1.0 - variance(&rest)).max(0.0) };
    let mut seasons: Vec<Season> = Vec::new();
    for period in periods {
        let shape = Shape::of(&rest, period);
        let values: Vec<f64> = (0..rest.len()).map(|idx| shape.at(idx)).collect();
        let by_others: Vec<f64> = (0..rest.len()).map(|idx| rest[idx] - shape.without(idx, rest[idx])).collect();
        let share = variance(&rest) - variance(&by_others);
        if share <= 0.0 {
            continue;
        }
        rest.iter_mut().zip(&values).for_each(|(rest, value)| *rest -= value);
        seasons.push(Season { period, component: Component { values, share } });
    }
    if seasons.is_empty() {
        return None;
    }
    let explained = level.share + seasons.iter().map(|season| season.component.share).sum::<f64>();
    Some(Decomposition { level, seasons, rest: Component { values: rest, share: 1.0 - explained } })
}

/// Sums by phase.
struct Shape {
    period: f64,
    cells: Vec<(f64, f64)>,
    mean: f64,
}

impl Shape {
    fn of(samples: &[f64], period: f64) -> Self {
        let n_cells = (period.round() as usize).min(N_CELLS_MAX);
        let mut shape = Self { period, cells: vec![(0.0, 0.0); n_cells], mean: 0.0 };
        for (idx, sample) in samples.iter().enumerate().filter(|(_, sample)| sample.is_finite()) {
            let cell = shape.cell(idx);
            let (sum, n) = &mut shape.cells[cell];
            (*sum, *n) = (*sum + sample, *n + 1.0);
        }
        let known: Vec<f64> = shape.cells.iter().filter(|(_, n)| *n > 0.0).map(|(sum, n)| sum / n).collect();
        shape.mean = if known.is_empty() { 0.0 } else { mean(&known) };
        shape
    }

    fn cell(&self, idx: usize) -> usize {
        // A phase a rounding error before a cell belongs to it.
        let phase = (idx as f64 / self.period).fract() * self.cells.len() as f64 + 1e-6;
        phase as usize % self.cells.len()
    }

    /// The mean of a phase, above that of all.
    fn at(&self, idx: usize) -> f64 {
        let (sum, n) = self.cells[self.cell(idx)];
        if n > 0.0 { sum / n - self.mean } else { 0.0 }
    }

    /// The same without this sample.
    fn without(&self, idx: usize, sample: f64) -> f64 {
        let (sum, n) = self.cells[self.cell(idx)];
        if n > 1.0 { (sum - sample) / (n - 1.0) - self.mean } else { 0.0 }
    }
}

/// Means over so many samples around each, gaps left out; near the ends those of the first and the last ones.
fn moving_means(samples: &[f64], width: usize) -> Vec<f64> {
    let mut before = vec![(0.0, 0.0)];
    for sample in samples {
        let (sum, n) = before[before.len() - 1];
        before.push(if sample.is_finite() { (sum + sample, n + 1.0) } else { (sum, n) });
    }
    let mut last = f64::NAN;
    let at = |idx: usize| {
        let start = idx.saturating_sub(width / 2).min(samples.len() - width);
        let ((from, n_from), (to, n_to)) = (before[start], before[start + width]);
        if n_to > n_from {
            last = (to - from) / (n_to - n_from);
        }
        last
    };
    (0..samples.len()).map(at).collect()
}

fn mean_square(samples: &[f64]) -> f64 {
    let squares: Vec<f64> = samples.iter().filter(|sample| sample.is_finite()).map(|sample| sample * sample).collect();
    if squares.is_empty() { 0.0 } else { mean(&squares) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(idx: usize, period: f64) -> f64 {
        (std::f64::consts::TAU * idx as f64 / period).sin()
    }

    /// Returns noise of variance 1 and without a period that matters.
    fn noise(idx: usize) -> f64 {
        let hashed =
            (idx as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        12.0_f64.sqrt() * ((hashed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5)
    }

    #[track_caller]
    fn check_share(component: &Component, expected: f64) {
        // The mean of nine other weeks has a ninth of the variance of the noise.
        assert!((component.share - expected).abs() < 0.03, "{} is not {expected}", component.share);
    }

    #[test]
    fn shares_are_those_of_what_was_put_together() {
        // Variances 8, 2 and 1; the slow wave is a level.
        let sample = |idx: usize| 100.0 + 4.0 * wave(idx, 24.0) + 2.0 * wave(idx, 168.0) + noise(idx);
        let samples: Vec<f64> = (0..168 * 10).map(sample).collect();
        let parts = decomposition(&samples, &[168.0, 24.0]).unwrap();
        assert_eq!(parts.seasons.iter().map(|season| season.period).collect::<Vec<_>>(), [24.0, 168.0]);
        check_share(&parts.level, 0.0);
        check_share(&parts.seasons[0].component, 8.0 / 11.0);
        check_share(&parts.seasons[1].component, 2.0 / 11.0);
        check_share(&parts.rest, 1.0 / 11.0);
        let wave = |idx: usize| parts.seasons[0].component.values[idx];
        assert!((wave(6) - 4.0).abs() < 0.5 && (wave(18) + 4.0).abs() < 0.5);
        for idx in 0..samples.len() {
            let seasons: f64 = parts.seasons.iter().map(|season| season.component.values[idx]).sum();
            assert!((parts.level.values[idx] + seasons + parts.rest.values[idx] - samples[idx]).abs() < 1e-9);
        }
    }

    #[test]
    fn a_level_that_moves_is_no_season() {
        let sample = |idx: usize| if idx < 400 { 0.0 } else { 10.0 } + noise(idx);
        let samples: Vec<f64> = (0..960).map(sample).collect();
        if let Some(parts) = decomposition(&samples, &[24.0]) {
            assert!(parts.level.share > 0.9, "{}", parts.level.share);
            check_share(&parts.seasons[0].component, 0.0);
        }
        assert_eq!(decomposition(&samples, &[24.0, 21.0]), None);
    }

    #[test]
    fn gaps_stay_in_the_rest() {
        let mut samples: Vec<f64> = (0..240).map(|idx| wave(idx, 24.0)).collect();
        samples[50..60].fill(f64::NAN);
        let parts = decomposition(&samples, &[24.0]).unwrap();
        assert!(parts.rest.values[55].is_nan() && parts.level.values[55].is_finite());
        assert!(parts.seasons[0].component.share > 0.9);
    }

    #[test]
    fn what_did_not_come_three_times_is_left_out() {
        let samples: Vec<f64> = (0..100).map(|idx| wave(idx, 33.0)).collect();
        assert_eq!(decomposition(&samples, &[34.0]), None);
        assert_eq!(decomposition(&samples, &[]), None);
        assert_eq!(decomposition(&[5.0; 100], &[10.0]), None);
        assert!(decomposition(&samples, &[33.0]).is_some());
    }
}
