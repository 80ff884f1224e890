//! Trains: detours of about the same length that come at even distances, such as a timer's ticks, a daemon's rounds, or
//! noise that was made to be found.
//!
//! A class of lengths at a time, the distances between neighbours propose periods; each is made exact over twice as
//! many periods again and again (so that it never slips by one), and the detours that lie on its grid are counted. A
//! train is told of when far more lie there than would by chance. Detours in between, and pulses that were not seen, do
//! no harm.

use serde::{Deserialize, Serialize};
use statistics::{Interval, bootstrap, median};
use units::Confidence;

use super::detour::Detour;

/// Detours of one class that are looked at: the first ones, when there are more.
const N_CLASS_MAX: usize = 20_000;
/// Fewer pulses are no train.
const N_PULSES_MIN: usize = 8;
/// A train that shows less of its pulses is not told of.
const COVERAGE_MIN: f64 = 0.2;
/// Least number of deviations of the count of detours on the grid above chance. High, because many grids are tried.
const DEVIATIONS_MIN: f64 = 8.0;
/// Periods proposed for a class.
const N_PROPOSALS: usize = 8;
/// Neighbours whose distances are looked at: a pulse may have so many strangers before the next.
const N_NEIGHBOURS: usize = 3;
/// Lateness that a pulse may have, as a share of the period, beside the uncertainty of its time.
const JITTER_RATIO: f64 = 0.01;
/// Trains told of.
const N_TRAINS_MAX: usize = 6;
/// Standard normal quantile of the intervals, which hold 95 %.
const Z: f64 = 1.959_964;

/// A figure and where it lies with a confidence of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Value in nanoseconds.
    pub value_ns: f64,
    /// Confidence interval in nanoseconds.
    pub interval: Interval,
}

/// Detours at even distances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Train {
    /// Time from one pulse to the next.
    pub period: Estimate,
    /// Median length of a pulse.
    pub length: Estimate,
    /// Time of the first pulse, in nanoseconds of the run's clock.
    pub first_ns: f64,
    /// Pulses seen.
    pub n_pulses: usize,
    /// Pulses seen among those that there were between the first and the last.
    pub coverage_ratio: f64,
}

/// A grid of pulses, and the detours on it.
#[derive(Clone, Debug)]
struct Grid {
    period: f64,
    period_error: f64,
    first: f64,
    /// Positions in the class.
    members: Vec<usize>,
    coverage: f64,
    deviations: f64,
}

/// All trains among `detours`, which are in the order of time; the surest first. The same seed gives the same
/// intervals.
#[must_use]
pub(crate) fn trains(detours: &[Detour], seed: u64) -> Vec<Train> {
    let mut found: Vec<(Grid, Vec<usize>)> = Vec::new();
    for class in classes(detours) {
        let times: Vec<f64> =
            class.iter().map(|&idx| detours[idx].at_ns as f64 + 0.5 * detours[idx].within_ns).collect();
        let within: Vec<f64> = class.iter().map(|&idx| detours[idx].within_ns).collect();
        let tolerance = 0.5 * median(&within).unwrap_or(0.0) + 1.0;
        if let Some(grid) = best_grid(&times, tolerance) {
            let members = grid.members.iter().map(|&member| class[member]).collect();
            found.push((grid, members));
        }
    }
    found.sort_by(|a, b| b.0.deviations.total_cmp(&a.0.deviations));
    let mut taken = vec![false; detours.len()];
    let mut trains = Vec::new();
    for (grid, members) in found {
        let n_taken = members.iter().filter(|&&idx| taken[idx]).count();
        if 2 * n_taken < members.len() && trains.len() < N_TRAINS_MAX {
            members.iter().for_each(|&idx| taken[idx] = true);
            trains.extend(train(&grid, &members, detours, seed));
        }
    }
    trains
}

fn train(grid: &Grid, members: &[usize], detours: &[Detour], seed: u64) -> Option<Train> {
    let lengths: Vec<f64> = members.iter().map(|&idx| detours[idx].length_ns).collect();
    let half = Z * grid.period_error;
    Some(Train {
        period: Estimate {
            value_ns: grid.period,
            interval: Interval { lower: grid.period - half, upper: grid.period + half },
        },
        length: Estimate { value_ns: median(&lengths)?, interval: bootstrap(&lengths, median, Confidence::P95, seed)? },
        first_ns: grid.first,
        n_pulses: members.len(),
        coverage_ratio: grid.coverage,
    })
}

/// Detours by length: each class reaches over an octave and shares half of it with the next, so that no train lies on a
/// border only.
fn classes(detours: &[Detour]) -> Vec<Vec<usize>> {
    let half_octave = |detour: &Detour| (2.0 * detour.length_ns.max(1.0).log2()).floor() as i64;
    let steps: Vec<i64> = detours.iter().map(half_octave).collect();
    let (Some(&low), Some(&high)) = (steps.iter().min(), steps.iter().max()) else { return Vec::new() };
    let class = |step: i64| -> Vec<usize> {
        let members = (0..detours.len()).filter(|&idx| (step..=step + 1).contains(&steps[idx]));
        members.take(N_CLASS_MAX).collect()
    };
    (low - 1..=high).map(class).filter(|class| class.len() >= N_PULSES_MIN).collect()
}

fn best_grid(times: &[f64], tolerance: f64) -> Option<Grid> {
    let grids = proposals(times, tolerance)
        .into_iter()
        .filter_map(|period| grid(times, refined(times, period, tolerance), tolerance));
    grids.max_by(|a, b| a.deviations.total_cmp(&b.deviations))
}

/// The commonest distances between detours that are near to each other, longer than what is not known of their times.
fn proposals(times: &[f64], tolerance: f64) -> Vec<f64> {
    let near = (1..=N_NEIGHBOURS).flat_map(|lag| times.iter().zip(times.iter().skip(lag)).map(|(a, b)| b - a));
    let mut distances: Vec<f64> = near.filter(|distance| *distance > 4.0 * tolerance).collect();
    distances.sort_unstable_by(f64::total_cmp);
    let mut windows = Vec::new();
    let mut last = 0;
    for first in 0..distances.len() {
        let width = 4.0 * tolerance + JITTER_RATIO * distances[first];
        last = last.max(first);
        while last + 1 < distances.len() && distances[last + 1] <= distances[first] + width {
            last += 1;
        }
        windows.push((last - first + 1, first, last));
    }
    windows.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<(usize, usize, usize)> = Vec::new();
    for window in windows {
        let is_apart = chosen.iter().all(|other| window.2 < other.1 || other.2 < window.1);
        if is_apart && chosen.len() < N_PROPOSALS {
            chosen.push(window);
        }
    }
    chosen.iter().map(|&(_, first, last)| distances[first.midpoint(last)]).collect()
}

/// Makes a period exact: by the distances over one period, two, four and so on, each known well enough by the last that
/// it is clear which detours are so far apart.
fn refined(times: &[f64], proposed: f64, tolerance: f64) -> f64 {
    let span = times.last().copied().unwrap_or(0.0) - times.first().copied().unwrap_or(0.0);
    let mut period = proposed;
    let mut n_periods = 1.0;
    while n_periods * period < 0.75 * span {
        let distance = n_periods * period;
        let reach = (4.0 * tolerance + JITTER_RATIO * period).min(0.25 * period);
        let mut errors = Vec::new();
        let mut next = 0;
        for &time in times {
            while next + 1 < times.len()
                && (times[next + 1] - time - distance).abs() <= (times[next] - time - distance).abs()
            {
                next += 1;
            }
            let error = times[next] - time - distance;
            if error.abs() <= reach {
                errors.push(error);
            }
        }
        if errors.len() >= N_PULSES_MIN / 2 {
            period += median(&errors).unwrap_or(0.0) / n_periods;
        }
        n_periods *= 2.0;
    }
    period
}

/// The detours on the grid of this period that has most of them, and the line through their times.
fn grid(times: &[f64], period: f64, tolerance: f64) -> Option<Grid> {
    let reach = tolerance + JITTER_RATIO * period;
    let share = 2.0 * reach / period;
    if !(share > 0.0 && share < 0.7) {
        return None;
    }
    let (mut first, mut period, mut error) = (commonest_phase(times, period, reach), period, 0.0);
    let mut members = Vec::new();
    // The second time by the better line.
    for _ in 0..2 {
        members = on_grid(times, first, period, reach);
        if members.len() < N_PULSES_MIN {
            return None;
        }
        (first, period, error) = line(times, &members)?;
    }
    let (low, high) = (members.first()?.0, members.last()?.0);
    let n = times.len() as f64;
    let grid = Grid {
        period,
        period_error: error,
        first: first + low as f64 * period,
        coverage: members.len() as f64 / (high - low + 1) as f64,
        deviations: (members.len() as f64 - n * share) / (n * share * (1.0 - share)).sqrt(),
        members: members.iter().map(|member| member.1).collect(),
    };
    // A grid that is filled to the last place cannot stand out further, however wide its places are.
    let is_full = grid.coverage > 0.9 && grid.members.len() > 3 * N_PULSES_MIN && members.len() as f64 > 0.9 * n;
    (grid.coverage >= COVERAGE_MIN && (grid.deviations >= DEVIATIONS_MIN || is_full)).then_some(grid)
}

/// The time within a period around which most detours lie.
fn commonest_phase(times: &[f64], period: f64, reach: f64) -> f64 {
    let mut phases: Vec<f64> = times.iter().map(|time| time.rem_euclid(period)).collect();
    phases.sort_unstable_by(f64::total_cmp);
    let n = phases.len();
    let around = |idx: usize| phases[idx % n] + period * (idx / n) as f64;
    let (mut best, mut last) = ((0, 0), 0);
    for first in 0..n {
        last = last.max(first);
        while last + 1 < first + n && around(last + 1) <= around(first) + 2.0 * reach {
            last += 1;
        }
        if last - first > best.1 - best.0 {
            best = (first, last);
        }
    }
    if n == 0 { 0.0 } else { around(best.0.midpoint(best.1)).rem_euclid(period) }
}

/// Number of the pulse and position of each detour that is one; of two at the same pulse, the nearer.
fn on_grid(times: &[f64], first: f64, period: f64, reach: f64) -> Vec<(i64, usize)> {
    let mut members: Vec<(i64, usize, f64)> = Vec::new();
    for (position, time) in times.iter().enumerate() {
        let pulse = ((time - first) / period).round();
        let away = (time - first - pulse * period).abs();
        if away > reach {
            continue;
        }
        match members.last_mut() {
            Some(last) if last.0 == pulse as i64 => {
                if away < last.2 {
                    *last = (pulse as i64, position, away);
                }
            }
            _ => members.push((pulse as i64, position, away)),
        }
    }
    members.into_iter().map(|(pulse, position, _)| (pulse, position)).collect()
}

/// Least squares: time of pulse 0, period, and the period's standard error.
fn line(times: &[f64], members: &[(i64, usize)]) -> Option<(f64, f64, f64)> {
    let n = members.len() as f64;
    let mean_pulse = members.iter().map(|member| member.0 as f64).sum::<f64>() / n;
    let mean_time = members.iter().map(|member| times[member.1]).sum::<f64>() / n;
    let away = |member: &(i64, usize)| (member.0 as f64 - mean_pulse, times[member.1] - mean_time);
    let squares: f64 = members.iter().map(|member| away(member).0.powi(2)).sum();
    if squares <= 0.0 {
        return None;
    }
    let period = members.iter().map(|member| away(member).0 * away(member).1).sum::<f64>() / squares;
    let residuals: f64 = members.iter().map(|member| (away(member).1 - period * away(member).0).powi(2)).sum();
    let error = (residuals / (n - 2.0).max(1.0) / squares).sqrt();
    (period > 0.0).then_some((mean_time - period * mean_pulse, period, error))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Detours as quanta of 100 us show them: somewhere within a quantum.
    fn seen(mut pulses: Vec<(f64, f64)>, quantum: f64) -> Vec<Detour> {
        pulses.sort_by(|a, b| a.0.total_cmp(&b.0));
        let detour = |(idx, (at, length_ns)): (usize, (f64, f64))| Detour {
            idx,
            at_ns: ((at / quantum).floor() * quantum) as u64,
            within_ns: quantum,
            length_ns,
        };
        pulses.into_iter().enumerate().map(detour).collect()
    }

    fn pulses(chance: &mut ChaCha8Rng, period: f64, length: f64, span: f64, missing: f64) -> Vec<(f64, f64)> {
        let n = (span / period) as usize;
        let all = (0..n).map(|k| {
            (3e6 + k as f64 * period + 2e4 * chance.random::<f64>(), length * (1.0 + 0.05 * chance.random::<f64>()))
        });
        let all: Vec<_> = all.collect();
        all.into_iter().filter(|_| chance.random::<f64>() >= missing).collect()
    }

    fn at_random(chance: &mut ChaCha8Rng, n: usize, span: f64) -> Vec<(f64, f64)> {
        (0..n).map(|_| (span * chance.random::<f64>(), 1e3 * 300.0_f64.powf(chance.random::<f64>()))).collect()
    }

    #[track_caller]
    fn check_found(trains: &[Train], period: f64, length: f64) {
        let near = |train: &&Train| {
            (train.period.value_ns / period - 1.0).abs() < 1e-3 && (train.length.value_ns / length - 1.0).abs() < 0.1
        };
        let found = trains.iter().filter(near).count();
        assert_eq!(found, 1, "{trains:#?}");
    }

    #[test]
    fn noise_that_was_made_is_recovered_between_other_noise() {
        for seed in 0..5 {
            let mut chance = ChaCha8Rng::seed_from_u64(seed);
            let mut all = pulses(&mut chance, 10e6, 100e3, 5e9, 0.1);
            all.extend(at_random(&mut chance, 1_500, 5e9));
            let trains = trains(&seen(all, 100e3), 1);
            check_found(&trains, 10e6, 102.5e3);
            assert!(trains[0].coverage_ratio > 0.85, "{trains:?}");
            assert!(
                (trains[0].first_ns - 3e6).rem_euclid(10e6) < 2e5
                    || (trains[0].first_ns - 3e6).rem_euclid(10e6) > 9.8e6
            );
        }
    }

    #[test]
    fn the_period_lies_in_its_interval_as_often_as_that_says() {
        let is_inside = |seed: u64| {
            let mut chance = ChaCha8Rng::seed_from_u64(seed);
            let period = 1e6 * (7.0 + chance.random::<f64>());
            let found = trains(&seen(pulses(&mut chance, period, 100e3, 2e9, 0.2), 100e3), 1);
            usize::from(found[0].period.interval.contains(period))
        };
        // 95 of 100, and 87 or fewer once in two thousand.
        let n_inside: usize = (0..100).map(is_inside).sum();
        assert!(n_inside > 87, "{n_inside}");
    }

    #[test]
    fn two_trains_are_told_apart() {
        let mut chance = ChaCha8Rng::seed_from_u64(9);
        let mut all = pulses(&mut chance, 4e6, 3e3, 5e9, 0.05);
        all.extend(pulses(&mut chance, 33.3e6, 90e3, 5e9, 0.05));
        all.extend(at_random(&mut chance, 300, 5e9));
        let trains = trains(&seen(all, 100e3), 1);
        check_found(&trains, 4e6, 3.075e3);
        check_found(&trains, 33.3e6, 92.25e3);
    }

    #[test]
    fn quanta_of_a_tenth_of_the_period_suffice() {
        // What a program with work of 1 ms sees of noise every 10 ms.
        let mut chance = ChaCha8Rng::seed_from_u64(3);
        let found = trains(&seen(pulses(&mut chance, 10e6, 100e3, 20e9, 0.05), 1e6), 1);
        check_found(&found, 10e6, 102.5e3);
    }

    #[test]
    fn chance_makes_no_trains() {
        for seed in 0..20 {
            let mut chance = ChaCha8Rng::seed_from_u64(seed);
            let n = [10, 30, 300, 3_000][seed as usize % 4];
            assert_eq!(trains(&seen(at_random(&mut chance, n, 5e9), 100e3), 1), [], "seed {seed}");
        }
    }

    #[test]
    fn nothing_and_the_same_moment_are_no_trains() {
        assert_eq!(trains(&[], 1), []);
        let same = Detour { idx: 0, at_ns: 5, within_ns: 0.0, length_ns: 10.0 };
        assert_eq!(trains(&[same; 50], 1), []);
    }
}
