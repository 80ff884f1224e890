//! Seasons that nobody named: periods that stand out of the periodogram, believed where they hold out of sample.
//!
//! The periodogram of differences has a peak at each period and at its harmonics. Peaks are compared with the median of their
//! neighbourhood, which memory and noise raise alike. What is a candidate is put to the test: a profile by phase, at each step learned from
//! the steps before alone, must come closer to what was there than a mean over one period, by a tenth and in nearly every cycle of the
//! later half. The one that explains most is taken out, and the rest is searched again. Periods that are given compete: what is only the
//! shape of a given day is no season of its own.

use serde::{Deserialize, Serialize};

use super::Periods;
use super::season::{CLIP, N_CELLS, N_SLOTS_MAX, Profile};

/// Seasons that are found, at most.
pub(super) const N_FOUND: usize = 2;

/// Samples that are looked at, at most, and without which nothing is looked for.
const WINDOW: usize = 4096;
pub(crate) const N_MIN: usize = 128;

/// Cycles without which a period is not believed: half of them to learn from, the others to hold in.
const N_CYCLES_MIN: f64 = 6.0;

/// Bins on either side of a peak that its neighbourhood has, and those next to it that it has not.
const N_NEIGHBOURS: usize = 16;
const N_LEAKED: usize = 2;

/// The power of a peak over the median of its neighbourhood. Of noise, one bin in 4096 has it.
const PEAK_MIN: f64 = 12.0;

/// Peaks that are put to the test, and peaks whose differences are: the harmonics of a timer are as high as its fundamental.
const N_PEAKS: usize = 6;
const N_BETWEEN: usize = 4;

/// What a period has to explain: the share of the variance within one, by how many standard errors (by more where there are few cycles), and
/// the share of cycles in which it helps. One that is believed already keeps with half of that.
const SHARE_MIN: f64 = 0.1;
const DEVIATIONS_MIN: f64 = 3.5;
const FEW_CYCLES: f64 = 4.0;
const HELPED_MIN: f64 = 0.75;
const KEPT: f64 = 0.5;

/// Up to this harmonic of a given period its shape is taken for what it is, until there are so many cycles of it that both can be told
/// apart.
const N_HARMONICS: f64 = 6.5;
const N_CYCLES_KNOWN: f64 = 12.0;

/// Around a multiple of a given day's frequency so many of the week's belong to days that differ by weekday.
const SIDEBAND: f64 = 1.5;

/// Fractions of a bin of the periodogram by which a period is tried beside the peak.
const NEAR: [f64; 6] = [-0.5, -0.3, -0.15, 0.15, 0.3, 0.5];

/// The shortest of the periods is taken that explain so much of what the best one does: multiples of a period explain as much. A whole number of steps is
/// preferred to others in the same way.
const NEARLY: f64 = 0.97;

/// Of periods that are tuned: what they lose is by how their cells lie.
const NEARLY_TUNED: f64 = 0.9;

/// Of several seasons that are found at once, those count that explain so much of what the clearest one does.
const SHARE_CLEAR: f64 = 0.5;

/// A season that is no longer shows in an AR(16), which follows it more closely.
const AUTOREGRESSIVE: f64 = 16.0;

/// So many cycles in the later half and a season has to explain twice the share that it has to after many. Of random walks and AR(1), one
/// in a hundred has a season of a few cycles that explains less.
const FEW_SHARED: f64 = 6.0;

/// What explains so much of the variance within a period need not do so by as many standard errors where cycles are few.
const SHARE_OBVIOUS: f64 = 0.5;

/// Up to so many parts of a period are tested for whether it is but a multiple.
const N_PARTS: u32 = 6;

/// In a week.
const N_DAYS: f64 = 7.0;

/// Harmonics by which a period is tuned, in turns: each bounds it for the next.
const TUNED_BY: [usize; 4] = [1, 2, 4, 8];

/// Frequencies that are tried in each turn on either side.
const N_TRIED: i32 = 6;

/// Minutes, hours, days and weeks in steps of 1, 5, 10, 15 and 30 of a smaller unit. A period is taken for one of them, or for a whole number of steps,
/// within so much of what a bin of the periodogram is wide.
const NATURAL: [f64; 16] =
    [12.0, 24.0, 48.0, 60.0, 96.0, 120.0, 144.0, 168.0, 240.0, 288.0, 336.0, 360.0, 672.0, 720.0, 1440.0, 2016.0];
const NEARLY_NATURAL: f64 = 0.15;
const NEARLY_WHOLE: f64 = 0.03;

/// Periods over which the shape of a found season is remembered.
const MEMORY: f64 = 20.0;

/// A season that was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundSeason {
    /// Its length in steps; it need not be a whole number.
    pub period: f64,
    /// The share of the variance of the samples that it explains, in [0, 1], by samples from which its shape was not learned.
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

/// Deviations by phase from the mean over the period around them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Shape {
    profile: Profile,
    /// Steps of that mean.
    width: usize,
    sum: f64,
    n: f64,
}

/// What a shape was worth where it was not learned.
#[derive(Clone, Copy, Debug)]
struct Worth {
    period: f64,
    n_cells: usize,
    /// Squares that are gone.
    gain: f64,
    /// Of those that there were.
    share: f64,
    /// The mean gain of a cycle, in standard errors.
    deviations: f64,
    /// Cycles, and the share of them in which it helped.
    n_cycles: f64,
    helped: f64,
}

impl Search {
    /// From this step on.
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

    /// Takes the next sample, NaN for a gap, and now and then looks for seasons: which of them are others than before. `typical` is the mean
    /// absolute deviation of samples.
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

    /// What each of them adds at `step`.
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
        let mut seen = seasons(&self.recent, self.given, &before, self.given.memory(), None);
        let mut changed = [false; N_FOUND];
        // Those that are found again keep their place. More samples tell a period better, and a shape that is off by a hundredth has drifted
        // by a whole period after a hundred.
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

/// The periods by which an outlook should know evenly spaced samples, NaN for a gap, if it is told nothing: the longest season among those that explain
/// half as much as the one that explains most, for it finds shorter ones by itself. One whose seventh is a season as well is taken for a week.
/// One of 16 steps or less is none.
pub(crate) fn periods(samples: &[f64]) -> Option<Periods> {
    if samples.len() < N_MIN {
        return None;
    }
    let n = samples.len() as f64;
    let changes = changes(samples);
    let found = seasons(samples, Periods::NONE, &[], f64::INFINITY, Some(&changes));
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

/// What people and programs count in, if the period cannot be told from it by so many samples; or else a whole number of steps.
fn natural(period: f64, n_samples: f64) -> f64 {
    let away = |other: f64| n_samples * (1.0 / period - 1.0 / other).abs();
    let nearest = NATURAL.into_iter().min_by(|one, other| away(*one).total_cmp(&away(*other)));
    match nearest.filter(|natural| away(*natural) < NEARLY_NATURAL) {
        Some(natural) => natural,
        None if away(period.round()) < NEARLY_WHOLE => period.round(),
        None => period,
    }
}

/// The seasons of evenly spaced samples, NaN for a gap, beside those that are given, and the cells of their shapes. `before` are periods
/// that were believed so far. None is longer than a sixth of the samples, or than `longest`. With `changes`, those of the
/// samples, periods are tuned before they are tested, and more of them are.
fn seasons(
    samples: &[f64],
    given: Periods,
    before: &[f64],
    longest: f64,
    changes: Option<&[f64]>,
) -> Vec<(FoundSeason, usize)> {
    let n = samples.len();
    let Some(later) = statistics::summary(&samples[n / 2..]) else { return Vec::new() };
    let total = later.variance * later.n as f64;
    let shortest = *Periods::RANGE.start();
    let longest = (n as f64 / N_CYCLES_MIN).min(longest);
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
        let strict = match changes {
            None => peaks(&rest, N_BETWEEN).into_iter().filter(is_new).collect(),
            Some(changes) => {
                let mut tried: Vec<f64> = Vec::new();
                let tuned = peaks(&rest, N_PEAKS).into_iter().filter(is_new).map(|period| tuned(changes, period));
                for period in tuned.chain(NATURAL).filter(is_new) {
                    if !tried.iter().any(|other| is_same(*other, period, n)) {
                        tried.push(period);
                    }
                }
                tried
            }
        };
        let strict = strict.into_iter().map(|period| (period, 1.0));
        let lenient = before.iter().copied().filter(is_new).map(|period| (period, KEPT));
        // Those that are given need not be believed: what they explain is theirs.
        let tested = strict.chain(lenient).chain(named.iter().map(|period| (*period, 0.0)));
        let enough: Vec<Worth> = tested
            .filter_map(|(period, strictness)| {
                let is_tuned = changes.is_some();
                Some(worth(&rest, period, N_CELLS)?)
                    .filter(|worth| worth.is_enough(strictness) || is_tuned && worth.is_obvious())
            })
            .collect();
        let most = enough.iter().map(|worth| worth.gain).fold(0.0, f64::max);
        let nearly = if changes.is_some() { NEARLY_TUNED } else { NEARLY };
        let nearly_best = enough.into_iter().filter(|worth| worth.gain >= nearly * most);
        let Some(best) = nearly_best.min_by(|one, other| one.period.total_cmp(&other.period)) else { break };
        let best = if changes.is_some() { shortest_part(&rest, best) } else { best };
        let best = refined(&rest, best);
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

/// Whether two periods are one, as far as so many samples can tell.
fn is_same(one: f64, other: f64, n: usize) -> bool {
    (n as f64 * (1.0 / one - 1.0 / other)).abs() < 1.0
}

/// Whether a period comes of the shape of a given day, or of days that differ by weekday. `is_known` says that the day itself is
/// tested as well as its harmonics: then it is for the test to judge.
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

/// Periods at which the periodogram of differences stands out, the clearest first, and those whose frequencies are the differences of the
/// clearest.
fn peaks(samples: &[f64], n_between: usize) -> Vec<f64> {
    let changes = changes(samples);
    let Ok(statistics::Periodogram { powers, .. }) = statistics::periodogram(&changes) else { return Vec::new() };
    let is_peak = |idx: &usize| {
        let around = [idx.wrapping_sub(1), idx + 1].map(|idx| powers.get(idx).copied().unwrap_or(0.0));
        around.iter().all(|power| *power < powers[*idx])
    };
    let clear =
        |idx: usize| Some((idx, powers[idx] / neighbourhood(&powers, idx))).filter(|(_, ratio)| *ratio > PEAK_MIN);
    let mut peaks: Vec<(usize, f64)> = (0..powers.len()).filter(is_peak).filter_map(clear).collect();
    peaks.sort_by(|one, other| other.1.total_cmp(&one.1));
    peaks.truncate(N_PEAKS);
    // In cycles over all samples.
    let mut frequencies: Vec<f64> = peaks.iter().map(|(idx, _)| (idx + 1) as f64 + summit(&powers, *idx)).collect();
    let clearest = frequencies[..frequencies.len().min(n_between)].to_vec();
    for (idx, one) in clearest.iter().enumerate() {
        frequencies.extend(clearest[..idx].iter().map(|other| (one - other).abs()));
    }
    frequencies
        .into_iter()
        .filter(|frequency| *frequency > 1.0)
        .map(|frequency| samples.len() as f64 / frequency)
        .collect()
}

/// From each sample to the next, over gaps none, and none that is out of proportion.
fn changes(samples: &[f64]) -> Vec<f64> {
    let mut last = None;
    let mut changes: Vec<f64> = samples
        .iter()
        .map(|sample| {
            // Over a gap there is no change.
            let known = (!sample.is_nan()).then_some(*sample);
            let change = known.zip(last).map_or(0.0, |(sample, last)| sample - last);
            last = known.or(last);
            change
        })
        .collect();
    let most = CLIP * changes.iter().map(|change| change.abs()).sum::<f64>() / changes.len() as f64;
    changes.iter_mut().for_each(|change| *change = change.clamp(-most, most));
    changes
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

/// Of the samples at a frequency in cycles a step.
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

/// The median of the bins around one.
fn neighbourhood(powers: &[f64], idx: usize) -> f64 {
    let below = idx.saturating_sub(N_NEIGHBOURS)..idx.saturating_sub(N_LEAKED);
    let above = (idx + N_LEAKED + 1).min(powers.len())..(idx + N_NEIGHBOURS + 1).min(powers.len());
    let around: Vec<f64> = powers[below].iter().chain(&powers[above]).copied().collect();
    statistics::median(&around).unwrap_or(f64::INFINITY)
}

/// How far from a bin its peak is, by the parabola through the logarithms of three.
fn summit(powers: &[f64], idx: usize) -> f64 {
    let at = |idx: usize| powers.get(idx).map_or(f64::NEG_INFINITY, |power| power.ln());
    let (left, middle, right) = (idx.checked_sub(1).map_or(f64::NEG_INFINITY, at), at(idx), at(idx + 1));
    let curve = left - 2.0 * middle + right;
    if curve.is_finite() && curve < 0.0 { (0.5 * (left - right) / curve).clamp(-0.5, 0.5) } else { 0.0 }
}

/// What the shape of a period is worth in the later half, at each step learned from the steps before; `None` without a cycle there.
fn worth(samples: &[f64], period: f64, n_cells: usize) -> Option<Worth> {
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

/// Of a period and its parts, the shortest that explains nearly as much.
fn shortest_part(samples: &[f64], best: Worth) -> Worth {
    let parts = (2..=N_PARTS).rev().map(|n_parts| best.period / f64::from(n_parts));
    let possible = parts.filter(|period| Periods::RANGE.contains(period));
    let tested = possible.filter_map(|period| worth(samples, period, N_CELLS));
    tested.into_iter().find(|worth| worth.gain >= NEARLY_TUNED * best.gain).unwrap_or(best)
}

/// Of the periods around one, and shapes in few cells and in many, the one that is worth most.
fn refined(samples: &[f64], best: Worth) -> Worth {
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
fn clip(samples: &[f64]) -> f64 {
    let known = || samples.iter().filter(|sample| !sample.is_nan());
    let n = known().count().max(1) as f64;
    let mean = known().sum::<f64>() / n;
    CLIP * known().map(|sample| (sample - mean).abs()).sum::<f64>() / n
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

impl Worth {
    /// Whether the share speaks for itself, however few cycles there are.
    fn is_obvious(&self) -> bool {
        self.share > SHARE_OBVIOUS && self.deviations > DEVIATIONS_MIN && self.helped >= HELPED_MIN
    }

    fn is_enough(&self, strictness: f64) -> bool {
        let deviations = DEVIATIONS_MIN * (1.0 + FEW_CYCLES / self.n_cycles);
        self.share > strictness * SHARE_MIN
            && self.deviations > strictness * deviations
            && self.helped >= strictness * HELPED_MIN
    }
}

impl Shape {
    fn new(period: f64, n_cells: usize) -> Self {
        let profile = Profile::new(period, n_cells.min(period.round() as usize), MEMORY);
        Self { profile, width: period.round() as usize, sum: 0.0, n: 0.0 }
    }

    /// Of all these samples, the first of which is step `start`.
    fn of(samples: &[f64], period: f64, n_cells: usize, start: u64, clip: f64) -> Self {
        let mut shape = Self::new(period, n_cells);
        for idx in 0..samples.len() {
            shape.learn(samples, idx, start, clip);
        }
        shape
    }

    /// Takes sample `idx` of `samples`, the first of which is step `start`. Half a period later than a step its deviation is known: the
    /// step, what it was, and what was expected.
    fn learn(&mut self, samples: &[f64], idx: usize, start: u64, clip: f64) -> Option<(u64, f64, f64)> {
        for (place, sign) in [(Some(idx), 1.0), (idx.checked_sub(self.width), -1.0)] {
            if let Some(sample) = place.map(|place| samples[place]).filter(|sample| !sample.is_nan()) {
                self.sum += sign * sample;
                self.n += sign;
            }
        }
        let middle = idx.checked_sub(self.width / 2).filter(|_| idx + 1 >= self.width)?;
        if samples[middle].is_nan() || 2.0 * self.n < self.width as f64 {
            return None;
        }
        let step = start + middle as u64;
        let (deviation, expected) = (samples[middle] - self.sum / self.n, self.profile.value(step as f64));
        // Sums of very large samples may have overflowed.
        deviation.is_finite().then(|| {
            self.profile.learn(step as f64, deviation, clip);
            (step, deviation, expected)
        })
    }
}
