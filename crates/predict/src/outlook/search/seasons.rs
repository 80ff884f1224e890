//! Seasons beside those that are given: one after the other, each out of what the one before leaves, in one of several
//! manners.

use super::super::Periods;
use super::super::season::N_CELLS;
use super::peaks::{N_BETWEEN, peaks};
use super::shape::Shape;
use super::worth::{NEARLY, Worth, clip, refined, worth};
use super::{FoundSeason, N_FOUND, is_same};

/// One that is believed already keeps with so much of what others have to explain.
const KEPT: f64 = 0.5;

/// Up to this harmonic of a given period its shape is taken for what it is, until there are so many cycles of it that
/// both can be told apart.
const N_HARMONICS: f64 = 6.5;
const N_CYCLES_KNOWN: f64 = 12.0;

/// Around a multiple of a given day's frequency so many of the week's belong to days that differ by weekday.
const SIDEBAND: f64 = 1.5;

/// Manner of a search for seasons: by default so that it can be done again and again.
pub(super) trait Manner {
    /// Cycles without which a period is not believed: half of them to learn from, the others to hold in.
    const N_CYCLES_MIN: f64 = 6.0;

    /// The shortest of the periods is taken that explain so much of what the best one does: multiples of a period
    /// explain as much.
    const NEARLY: f64 = NEARLY;

    /// No season is longer.
    fn longest(&self) -> f64;

    /// Periods of `rest`, of which `is_new` says whether they were not found yet and are possible, that are put to the
    /// test.
    fn candidates(&self, rest: &[f64], is_new: &dyn Fn(&f64) -> bool) -> Vec<f64> {
        peaks(rest, N_BETWEEN).into_iter().filter(is_new).collect()
    }

    /// Whether a period is to be believed.
    fn believes(&self, worth: &Worth, strictness: f64) -> bool {
        worth.is_enough(strictness)
    }

    /// Returns the season that the best one is taken for.
    fn settle(&self, _rest: &[f64], best: Worth) -> Worth {
        best
    }
}

/// Search as samples come.
pub(super) struct OnLine {
    pub(super) longest: f64,
}

impl Manner for OnLine {
    fn longest(&self) -> f64 {
        self.longest
    }
}

/// The seasons of evenly spaced samples, NaN for a gap, beside those that are given, and the cells of their shapes.
/// `before` are periods that were believed so far. Each comes [`Manner::N_CYCLES_MIN`] times at least.
pub(super) fn seasons<M: Manner>(
    samples: &[f64],
    given: Periods,
    before: &[f64],
    manner: &M,
) -> Vec<(FoundSeason, usize)> {
    let n = samples.len();
    let Some(later) = statistics::summary(&samples[n / 2..]) else { return Vec::new() };
    let total = later.variance * later.n as f64;
    let shortest = *Periods::RANGE.start();
    let longest = (n as f64 / M::N_CYCLES_MIN).min(manner.longest());
    let mut named: Vec<f64> = given.0.into_iter().filter(|period| (shortest..=longest).contains(period)).collect();
    let is_known = n as f64 >= N_CYCLES_KNOWN * given.0[0];
    let mut rest = samples.to_vec();
    let mut found: Vec<(FoundSeason, usize)> = Vec::new();
    while found.len() < N_FOUND {
        let is_new = |period: &f64| {
            (shortest..longest).contains(period)
                && !is_of_given(*period, given, is_known, n)
                && found.iter().all(|(one, _)| !is_same(one.period, *period, n))
        };
        let strict = manner.candidates(&rest, &is_new).into_iter().map(|period| (period, 1.0));
        let lenient = before.iter().copied().filter(is_new).map(|period| (period, KEPT));
        // Those that are given need not be believed: what they explain is theirs.
        let tested = strict.chain(lenient).chain(named.iter().map(|period| (*period, 0.0)));
        let enough: Vec<Worth> = tested
            .filter_map(|(period, strictness)| {
                worth(&rest, period, N_CELLS).filter(|worth| manner.believes(worth, strictness))
            })
            .collect();
        let most = enough.iter().map(|worth| worth.gain).fold(0.0, f64::max);
        let nearly = enough.into_iter().filter(|worth| worth.gain >= M::NEARLY * most);
        let Some(best) = nearly.min_by(|one, other| one.period.total_cmp(&other.period)) else { break };
        let best = refined(&rest, manner.settle(&rest, best));
        let shape = Shape::of(&rest, best.period, best.n_cells, 0, clip(&rest));
        rest.iter_mut().enumerate().for_each(|(step, sample)| *sample -= shape.profile.value(step as f64));
        match named.iter().position(|period| is_same(*period, best.period, n)) {
            Some(idx) => drop(named.remove(idx)),
            None => {
                let share = (best.gain / total).clamp(0.0, 1.0);
                found.push((FoundSeason { period: best.period, share }, best.n_cells));
            }
        }
    }
    found
}

/// Whether a period comes of the shape of a given day, or of days that differ by weekday. `is_known` says that the day
/// itself is tested as well as its harmonics: then it is for the test to judge.
fn is_of_given(period: f64, given: Periods, is_known: bool, n: usize) -> bool {
    let [short, long] = given.0;
    let harmonic = short / period;
    let away = (harmonic - harmonic.round()).abs();
    if short == 0.0 || harmonic > N_HARMONICS {
        false
    } else if away * n as f64 / short < 1.0 {
        !is_known
    } else {
        long > 0.0 && away < SIDEBAND * short / long
    }
}
