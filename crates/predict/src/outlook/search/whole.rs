//! The seasons of a whole history, looked for once and more closely than on line: by tuned periods, and by those that
//! clocks count.

use super::super::Periods;
use super::super::season::N_CELLS;
use super::peaks::{N_PEAKS, changes, peaks};
use super::seasons::{Manner, seasons};
use super::worth::{DEVIATIONS_MIN, HELPED_MIN, SHARE_MIN, Worth, worth};
use super::{FoundSeason, N_MIN, is_same};

/// Share of the best gain that periods which are tuned need: what they lose is by how their cells lie.
const NEARLY_TUNED: f64 = 0.9;

/// Share of what the clearest of several seasons found at once explains that the others need to explain to count.
const SHARE_CLEAR: f64 = 0.5;

/// A season that is no longer shows in an AR(16), which follows it more closely.
const AUTOREGRESSIVE: f64 = 16.0;

/// So many cycles in the later half and a season has to explain twice the share that it has to after many. Of random
/// walks and AR(1), one in a hundred has a season of a few cycles that explains less.
const FEW_SHARED: f64 = 6.0;

/// Share of the variance within a period that, if explained, need not be so by as many standard errors where cycles are
/// few.
const SHARE_OBVIOUS: f64 = 0.5;

/// Number of parts of a period up to which the period is tested for whether it is but a multiple.
const N_PARTS: u32 = 6;

/// Days in a week.
const N_DAYS: f64 = 7.0;

/// Harmonics by which a period is tuned, in turns: each bounds it for the next.
const TUNED_BY: [usize; 4] = [1, 2, 4, 8];

/// Frequencies that are tried in each turn on either side.
const N_TRIED: i32 = 6;

/// Minutes, hours, days and weeks in steps of 1, 5, 10, 15 and 30 of a smaller unit. A period is taken for one of them,
/// or for a whole number of steps, within so much of what a bin of the periodogram is wide.
const NATURAL: [f64; 16] =
    [12.0, 24.0, 48.0, 60.0, 96.0, 120.0, 144.0, 168.0, 240.0, 288.0, 336.0, 360.0, 672.0, 720.0, 1440.0, 2016.0];
const NEARLY_NATURAL: f64 = 0.15;
const NEARLY_WHOLE: f64 = 0.03;

/// The periods by which an outlook should know evenly spaced samples, NaN for a gap, if it is told nothing: the longest
/// season among those that explain half as much as the one that explains most, for it finds shorter ones by itself. One
/// whose seventh is a season as well is taken for a week. One of 16 steps or less is none.
pub(crate) fn periods(samples: &[f64]) -> Option<Periods> {
    if samples.len() < N_MIN {
        return None;
    }
    let n = samples.len() as f64;
    let changes = changes(samples);
    let found = seasons(samples, Periods::NONE, &[], &Tuned(&changes));
    let is_clear = |season: &FoundSeason, most: f64| {
        let share_min = SHARE_MIN * (1.0 + FEW_SHARED * 2.0 * season.period / n);
        season.period > AUTOREGRESSIVE && season.share >= share_min.max(SHARE_CLEAR * most)
    };
    let most = found.iter().map(|(season, _)| season.share).fold(0.0, f64::max);
    let clear = found.iter().map(|(season, _)| season).filter(|season| is_clear(season, most));
    let long = clear.map(|season| season.period).max_by(f64::total_cmp)?;
    let better = tuned(&changes, long);
    let [as_found, as_tuned] =
        [long, better].map(|period| worth(samples, period, N_CELLS).map_or(0.0, |worth| worth.gain));
    let long = natural(if as_tuned >= NEARLY_TUNED * as_found { better } else { long }, n);
    let day = long / N_DAYS;
    let has_days =
        day >= *Periods::RANGE.start() && worth(samples, day, N_CELLS).is_some_and(|worth| worth.is_enough(1.0));
    Periods::new(&[day, long][usize::from(!has_days)..]).ok()
}

/// Returns the period that people and programs count in, if `period` cannot be told from it by so many samples; or else
/// a whole number of steps.
fn natural(period: f64, n_samples: f64) -> f64 {
    let away = |other: f64| n_samples * (1.0 / period - 1.0 / other).abs();
    let nearest = NATURAL.into_iter().min_by(|one, other| away(*one).total_cmp(&away(*other)));
    match nearest.filter(|natural| away(*natural) < NEARLY_NATURAL) {
        Some(natural) => natural,
        None if away(period.round()) < NEARLY_WHOLE => period.round(),
        None => period,
    }
}

/// A search with these changes from sample to sample.
struct Tuned<'a>(&'a [f64]);

impl Manner for Tuned<'_> {
    const N_CYCLES_MIN: f64 = 4.0;
    const NEARLY: f64 = NEARLY_TUNED;

    fn longest(&self) -> f64 {
        f64::INFINITY
    }

    fn candidates(&self, rest: &[f64], is_new: &dyn Fn(&f64) -> bool) -> Vec<f64> {
        let tuned = peaks(rest, N_PEAKS).into_iter().filter(is_new).map(|period| tuned(self.0, period));
        let mut candidates: Vec<f64> = Vec::new();
        for period in tuned.chain(NATURAL).filter(is_new) {
            if !candidates.iter().any(|other| is_same(*other, period, rest.len())) {
                candidates.push(period);
            }
        }
        candidates
    }

    /// A share may speak for itself, however few cycles there are.
    fn believes(&self, worth: &Worth, strictness: f64) -> bool {
        let Worth { share, deviations, helped, .. } = *worth;
        worth.is_enough(strictness) || share > SHARE_OBVIOUS && deviations > DEVIATIONS_MIN && helped >= HELPED_MIN
    }

    /// Returns the shortest of a period and its parts that explains nearly as much.
    fn settle(&self, rest: &[f64], best: Worth) -> Worth {
        let parts = (2..=N_PARTS).rev().map(|n_parts| best.period / f64::from(n_parts));
        let possible = parts.filter(|period| Periods::RANGE.contains(period));
        let tested = possible.filter_map(|period| worth(rest, period, N_CELLS));
        tested.into_iter().find(|worth| worth.gain >= NEARLY_TUNED * best.gain).unwrap_or(best)
    }
}

/// The period near one at which its harmonics are strongest.
fn tuned(changes: &[f64], period: f64) -> f64 {
    let mut frequency = 1.0 / period;
    for n_harmonics in TUNED_BY {
        let bin = 1.0 / (changes.len() * n_harmonics) as f64;
        let tried = (-N_TRIED..=N_TRIED).map(|away| frequency + 0.5 * bin * f64::from(away) / f64::from(N_TRIED));
        let strength = |frequency: f64| -> f64 {
            let below_half = (1..=n_harmonics).map(|harmonic| harmonic as f64 * frequency).take_while(|one| *one < 0.5);
            below_half.map(|one| power(changes, one)).sum()
        };
        let strengths = tried.map(|frequency| (frequency, strength(frequency)));
        frequency = strengths.max_by(|(_, one), (_, other)| one.total_cmp(other)).map_or(frequency, |(best, _)| best);
    }
    1.0 / frequency
}

/// Returns the power of the samples at a frequency in cycles a step.
fn power(samples: &[f64], frequency: f64) -> f64 {
    let (turn_im, turn_re) = (std::f64::consts::TAU * frequency).sin_cos();
    let (mut re, mut im) = (1.0, 0.0);
    let (mut sum_re, mut sum_im) = (0.0, 0.0);
    for sample in samples {
        (sum_re, sum_im) = (sum_re + sample * re, sum_im + sample * im);
        (re, im) = (re * turn_re - im * turn_im, re * turn_im + im * turn_re);
    }
    sum_re * sum_re + sum_im * sum_im
}

#[cfg(test)]
mod tests {
    use super::super::super::paths::Shocks;
    use super::*;

    /// So many of variance 1.
    fn noise(n: usize, seed: u64) -> Vec<f64> {
        Shocks::new(n, seed).next().to_vec()
    }

    #[test]
    fn a_clear_day_is_believed_in_the_fifth() {
        for day in [48, 96, 288] {
            let found = (0..10).filter(|seed| {
                let shape = |t: usize| 6.0 * (std::f64::consts::TAU * t as f64 / day as f64).sin();
                let samples: Vec<f64> = (0..).zip(noise(5 * day, *seed)).map(|(t, noise)| shape(t) + noise).collect();
                periods(&samples) == Periods::new(&[day as f64]).ok() && periods(&samples[..3 * day]).is_none()
            });
            assert!(found.count() >= 9, "{day}");
        }
    }

    #[test]
    fn hardly_any_memory_is_taken_for_a_season() {
        for kept in [0.9, 0.99, 1.0] {
            let found = (0..100).filter(|seed| {
                let mut state = 0.0;
                let go_on = |noise: f64| {
                    state = kept * state + noise;
                    state
                };
                periods(&noise(512, *seed).into_iter().map(go_on).collect::<Vec<f64>>()).is_some()
            });
            let n_found = found.count();
            assert!(n_found <= 1, "{n_found} of 100 that keep {kept} of what they were");
        }
    }
}
