//! Seasons that nobody named: periods that stand out of the periodogram, believed where they hold out of sample.
//!
//! The periodogram of differences has a peak at each period and at its harmonics. Peaks are compared with the median of
//! their neighbourhood, which memory and noise raise alike. What is a candidate is put to the test: a profile by phase,
//! at each step learned from the steps before alone, must come closer to what was there than a mean over one period, by
//! a tenth and in nearly every cycle of the later half. The one that explains most is taken out, and the rest is
//! searched again. Periods that are given compete: what is only the shape of a given day is no season of its own.

mod peaks;
mod seasons;
mod shape;
mod whole;
mod worth;

use serde::{Deserialize, Serialize};

use super::Periods;
use super::season::{CLIP, N_CELLS, N_SLOTS_MAX};
use seasons::{OnLine, seasons};
use shape::Shape;

pub(crate) use whole::periods;

/// Seasons that are found, at most.
pub(super) const N_FOUND: usize = 2;

/// Samples that are looked at, at most, and without which nothing is looked for.
const WINDOW: usize = 4096;
pub(crate) const N_MIN: usize = 128;

/// A season that was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundSeason {
    /// Its length in steps; it need not be a whole number.
    pub period: f64,
    /// The share of the variance of the samples that it explains, in [0, 1], by samples from which its shape was not
    /// learned.
    pub share: f64,
}

/// The last samples, and the seasons that were found in them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Search {
    given: Periods,
    recent: Vec<f64>,
    /// The step of the first of them, and of the first that there was.
    start: u64,
    first: u64,
    found: [Option<Found>; N_FOUND],
}

/// A season and its shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Found {
    season: FoundSeason,
    shape: Shape,
}

impl Search {
    /// Builds a search from this step on.
    pub(super) fn new(given: Periods, first: u64) -> Self {
        Self { given, recent: Vec::new(), start: first, first, found: [None, None] }
    }

    /// Whether samples can have led here, beside these given periods.
    pub(super) fn is_sound(&self, given: Periods) -> bool {
        self.given == given
            && self.recent.len() < WINDOW
            && self.recent.iter().all(|sample| !sample.is_infinite())
            && (self.first..=super::CLOCK_MAX).contains(&self.start)
            && self.found.iter().flatten().all(|found| found.is_sound(&self.recent))
    }

    /// Takes the next sample, NaN for a gap, and now and then looks for seasons: which of them are others than before.
    /// `typical` is the mean absolute deviation of samples.
    pub(super) fn learn(&mut self, sample: f64, typical: f64) -> [bool; N_FOUND] {
        self.recent.push(sample);
        let last = self.recent.len() - 1;
        for found in self.found.iter_mut().flatten() {
            found.shape.learn(&self.recent, last, self.start, CLIP * typical);
        }
        let n = self.recent.len();
        let is_due = n == WINDOW || self.start == self.first && n >= N_MIN && n.is_power_of_two();
        let changed = if is_due { self.look(CLIP * typical) } else { [false; N_FOUND] };
        if n == WINDOW {
            self.recent.drain(..WINDOW / 2);
            self.start += (WINDOW / 2) as u64;
        }
        changed
    }

    /// Returns the amount that each of the found seasons adds at `step`.
    pub(super) fn features(&self, step: u64) -> [f64; N_FOUND] {
        std::array::from_fn(|idx| self.found[idx].as_ref().map_or(0.0, |found| found.shape.profile.value(step as f64)))
    }

    /// The one that explains most comes first.
    pub(super) fn found(&self) -> Vec<FoundSeason> {
        let mut found: Vec<_> = self.found.iter().flatten().map(|found| found.season).collect();
        found.sort_by(|one, other| other.share.total_cmp(&one.share));
        found
    }

    fn look(&mut self, clip: f64) -> [bool; N_FOUND] {
        let n = self.recent.len();
        let before = self.found().iter().map(|season| season.period).collect::<Vec<_>>();
        let mut seen = seasons(&self.recent, self.given, &before, &OnLine { longest: self.given.memory() });
        let mut changed = [false; N_FOUND];
        // Those that are found again keep their place. More samples tell a period better, and a shape that is off by a
        // hundredth has drifted by a whole period after a hundred.
        for (slot, changed) in self.found.iter_mut().zip(&mut changed) {
            let Some(found) = slot else { continue };
            match seen.iter().position(|(season, _)| is_same(season.period, found.season.period, n)) {
                Some(idx) => {
                    let (season, n_cells) = seen.swap_remove(idx);
                    if season.period != found.season.period {
                        found.shape = Shape::of(&self.recent, season.period, n_cells, self.start, clip);
                    }
                    found.season = season;
                }
                None => (*slot, *changed) = (None, true),
            }
        }
        for (slot, changed) in self.found.iter_mut().zip(&mut changed).filter(|(slot, _)| slot.is_none()) {
            let Some((season, n_cells)) = seen.pop() else { break };
            let shape = Shape::of(&self.recent, season.period, n_cells, self.start, clip);
            (*slot, *changed) = (Some(Found { season, shape }), true);
        }
        changed
    }
}

impl Found {
    fn is_sound(&self, recent: &[f64]) -> bool {
        let Self { season: FoundSeason { period, share }, shape } = self;
        Periods::RANGE.contains(period)
            && (0.0..=1.0).contains(share)
            && [N_CELLS, N_SLOTS_MAX]
                .iter()
                .any(|n_cells| shape.profile.is_like(&Shape::new(*period, *n_cells).profile))
            && shape.width == period.round() as usize
            && shape.width <= WINDOW
            && shape.sum.is_finite()
            && (0.0..=recent.len() as f64).contains(&shape.n)
    }
}

/// Whether two periods are one, as far as so many samples can tell.
fn is_same(one: f64, other: f64, n: usize) -> bool {
    (n as f64 * (1.0 / one - 1.0 / other)).abs() < 1.0
}
