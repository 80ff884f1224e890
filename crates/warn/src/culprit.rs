//! Attribution of a change in the use of a resource to the programs that use it.
//!
//! The change from the beginning to the end of an interval, and the slope over it, are weighted sums of the minutes.
//! So the parts of the programs add up to that of the whole, and what is left is that of all others.

use std::collections::BTreeMap;
use std::time::Duration;

use units::Timestamp;

/// Least share of the whole for which one program is the culprit.
pub const CULPRIT_SHARE_MIN: f64 = 0.5;

/// A change that is smaller than this many standard errors of it is noise, and nobody's.
const N_ERRORS_MIN: f64 = 4.0;

/// Fewer minutes have neither a beginning and an end nor a noise to compare with.
const N_MINUTES_MIN: usize = 4;

/// Most minutes that count as the beginning, and as the end.
const N_ENDS_MAX: usize = 5;

/// Ratio of the standard deviation of normal noise to the median of its absolute value.
const PER_MEDIAN: f64 = 1.4826;

const HOUR_SECONDS: f64 = 3600.0;

/// The largest ratio of the squared errors about a course that changes at one moment to those about one that does not,
/// for which there is such a moment.
const BREAK_RATIO_MAX: f64 = 0.5;

/// Bounds of the time before now in which a cause is looked for.
const LOOK_BACK: [Duration; 2] = [Duration::from_secs(1800), Duration::from_secs(6 * 3600)];

/// Returns the length of the past in which the cause of what comes `within` a time is looked for: as long, but at least
/// half an hour and at most six.
#[must_use]
pub fn look_back(within: Duration) -> Duration {
    within.clamp(LOOK_BACK[0], LOOK_BACK[1])
}

/// Use of one resource in one minute, by programs or whatever else `K` stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct MinuteOfUse<K> {
    /// Beginning of the minute.
    pub at: Timestamp,
    /// Use by all programs together.
    pub whole: f64,
    /// Programs that used the most, what one used in one piece or more; what is left of the whole is that of others.
    pub programs: Vec<(K, f64)>,
}

/// The measure of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeMeasure {
    /// Difference between the means of the last and of the first fifth of the interval, at most five minutes each.
    Difference,
    /// Slope of the line of least squares, per hour.
    Slope,
    /// Mean over the interval: the change in what the resource adds up to, as bytes that are written.
    Mean,
}

/// Parts of the programs in a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribution<K> {
    /// Change of the whole, in the unit of the use; per hour for a slope.
    pub whole: f64,
    /// Share of each program in the change, greatest first. A program that moved against it has a negative share.
    /// With `others_ratio`, shares add up to 1.
    pub shares: Vec<(K, f64)>,
    /// Share of all that is in no minute by name.
    pub others_ratio: f64,
    /// Whether the change is larger than the noise of minutes explains.
    pub is_beyond_noise: bool,
    /// Program that accounts for [`CULPRIT_SHARE_MIN`] or more; `None` for nobody in particular, and for a change
    /// that is no larger than the noise.
    pub culprit: Option<K>,
}

/// Returns the parts of programs in a change over `minutes`, which are in order. `None` for fewer than four minutes,
/// and if nothing changed at all.
#[must_use]
pub fn attribute<K: Ord + Copy>(minutes: &[MinuteOfUse<K>], measure: ChangeMeasure) -> Option<Attribution<K>> {
    let weights = weights(minutes, measure)?;
    let whole: f64 = minutes.iter().zip(&weights).map(|(minute, weight)| weight * minute.whole).sum();
    if whole == 0.0 || !whole.is_finite() {
        return None;
    }
    let mut parts: BTreeMap<K, f64> = BTreeMap::new();
    for (minute, weight) in minutes.iter().zip(&weights) {
        for (program, used) in &minute.programs {
            *parts.entry(*program).or_default() += weight * used / whole;
        }
    }
    let mut shares: Vec<(K, f64)> = parts.into_iter().collect();
    shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let others_ratio = 1.0 - shares.iter().map(|(_, share)| share).sum::<f64>();
    let error = noise(minutes) * weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
    // What was used was used, however unevenly.
    let is_beyond_noise = measure == ChangeMeasure::Mean || whole.abs() > N_ERRORS_MIN * error;
    let culprit = shares.first().filter(|(_, share)| is_beyond_noise && *share >= CULPRIT_SHARE_MIN);
    Some(Attribution { whole, culprit: culprit.map(|(program, _)| *program), shares, others_ratio, is_beyond_noise })
}

/// Returns the minute in which the use by one program began to change: it jumped then, or went along a line from then
/// on. `None` if there is no such minute, as for one that changes all the time, and for a mean.
#[must_use]
pub fn changed_since<K: Ord + Copy>(
    minutes: &[MinuteOfUse<K>],
    program: K,
    measure: ChangeMeasure,
) -> Option<Timestamp> {
    let used = |minute: &MinuteOfUse<K>| -> f64 {
        let of_program = minute.programs.iter().filter(|(known, _)| *known == program);
        of_program.map(|(_, used)| used).sum()
    };
    let used: Vec<f64> = minutes.iter().map(used).collect();
    let errors_after = match measure {
        ChangeMeasure::Difference => errors_about_level,
        ChangeMeasure::Slope => errors_about_line,
        ChangeMeasure::Mean => return None,
    };
    let errors = |at: usize| errors_about_level(&used[..at]) + errors_after(&used[at..]);
    let best = (1..used.len()).min_by(|a, b| errors(*a).total_cmp(&errors(*b)))?;
    (errors(best) < BREAK_RATIO_MAX * errors_after(&used)).then(|| minutes[best].at)
}

/// The sum of squared differences from the mean.
fn errors_about_level(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// The sum of squared differences from the line of least squares.
fn errors_about_line(values: &[f64]) -> f64 {
    let (n, mean) = (values.len() as f64, values.iter().sum::<f64>() / values.len() as f64);
    let centred = |idx: usize| idx as f64 - (n - 1.0) / 2.0;
    let spread: f64 = (0..values.len()).map(|idx| centred(idx).powi(2)).sum();
    let common: f64 = values.iter().enumerate().map(|(idx, value)| centred(idx) * (value - mean)).sum();
    // Not below 0 by rounding: a line without errors is to win over none.
    let explained = if spread > 0.0 { common.powi(2) / spread } else { 0.0 };
    (errors_about_level(values) - explained).max(0.0)
}

/// The weights of the minutes whose weighted sum is the change.
fn weights<K>(minutes: &[MinuteOfUse<K>], measure: ChangeMeasure) -> Option<Vec<f64>> {
    let n = minutes.len();
    if n < N_MINUTES_MIN {
        return None;
    }
    match measure {
        ChangeMeasure::Difference => {
            let n_ends = (n / 5).clamp(1, N_ENDS_MAX);
            let weight = 1.0 / n_ends as f64;
            let of_idx = |idx| if idx < n_ends { -weight } else { f64::from(idx >= n - n_ends) * weight };
            Some((0..n).map(of_idx).collect())
        }
        ChangeMeasure::Slope => {
            let first = minutes[0].at;
            let hours = |minute: &MinuteOfUse<K>| minute.at.saturating_since(first).as_secs_f64() / HOUR_SECONDS;
            let hours: Vec<f64> = minutes.iter().map(hours).collect();
            let mean = hours.iter().sum::<f64>() / n as f64;
            let spread: f64 = hours.iter().map(|hour| (hour - mean).powi(2)).sum();
            (spread > 0.0).then(|| hours.iter().map(|hour| (hour - mean) / spread).collect())
        }
        ChangeMeasure::Mean => Some(vec![1.0 / n as f64; n]),
    }
}

/// The standard deviation of a minute about its trend, from differences of minutes: one jump does not enlarge it.
fn noise<K>(minutes: &[MinuteOfUse<K>]) -> f64 {
    let mut steps: Vec<f64> = minutes.windows(2).map(|pair| pair[1].whole - pair[0].whole).collect();
    let trend = median(&mut steps);
    steps.iter_mut().for_each(|step| *step = (*step - trend).abs());
    PER_MEDIAN * median(&mut steps) / std::f64::consts::SQRT_2
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    const N_MINUTES: usize = 40;
    /// Programs that are kept of each minute.
    const N_KEPT: usize = 5;
    const N_CASES: u64 = 200;

    /// Numbers in [-1, 1), the same for each seed (splitmix64).
    struct Draws(u64);

    impl Draws {
        fn draw(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    /// Twelve programs with their own levels and noise. `grown` is the growth of a program up to a minute.
    fn case(seed: u64, grown: impl Fn(usize, usize) -> f64) -> Vec<MinuteOfUse<&'static str>> {
        let mut draws = Draws(seed);
        let levels: Vec<f64> = NAMES.iter().map(|_| 100.0 + 80.0 * draws.draw()).collect();
        (0..N_MINUTES)
            .map(|minute| {
                let used = |(idx, name): (usize, &&'static str)| {
                    (*name, (levels[idx] + 3.0 * draws.draw() + grown(idx, minute)).max(0.0))
                };
                let mut programs: Vec<(&str, f64)> = NAMES.iter().enumerate().map(used).collect();
                let whole = programs.iter().map(|(_, used)| used).sum();
                programs.sort_by(|a, b| b.1.total_cmp(&a.1));
                programs.truncate(N_KEPT);
                MinuteOfUse { at: Timestamp::from_nanos(minute as i64 * 60_000_000_000), whole, programs }
            })
            .collect()
    }

    #[track_caller]
    fn check_whole(found: &Attribution<&str>) {
        let sum: f64 = found.shares.iter().map(|(_, share)| share).sum();
        // Twelve sums of rounded products.
        assert!((sum + found.others_ratio - 1.0).abs() < 1e-9, "{found:?}");
    }

    /// Counts the cases whose culprit is the one that `culprit_of` gives for their seed.
    fn n_right(
        measure: ChangeMeasure,
        grown: impl Fn(u64, usize, usize) -> f64,
        culprit_of: impl Fn(u64) -> Option<&'static str>,
    ) -> usize {
        let is_right = |seed: &u64| {
            let found = attribute(&case(*seed, |idx, minute| grown(*seed, idx, minute)), measure).unwrap();
            check_whole(&found);
            found.culprit == culprit_of(*seed)
        };
        (0..N_CASES).filter(is_right).count()
    }

    #[test]
    fn a_known_culprit_is_found_in_19_of_20_cases() {
        let culprit = |seed: u64| (seed % 12) as usize;
        // A leak of one megabyte after another, and a jump in the middle; each beside a smaller growth of a
        // neighbour.
        let leak = |seed: u64, idx: usize, minute: usize| match idx {
            idx if idx == culprit(seed) => 10.0 * minute as f64,
            idx if idx == (culprit(seed) + 1) % 12 => 1.5 * minute as f64,
            _ => 0.0,
        };
        let jump = |seed: u64, idx: usize, minute: usize| {
            if idx == culprit(seed) && minute >= 15 + (seed % 10) as usize { 300.0 } else { 0.0 }
        };
        for measure in [ChangeMeasure::Difference, ChangeMeasure::Slope] {
            let name = |seed: u64| Some(NAMES[culprit(seed)]);
            let counts = [n_right(measure, leak, name), n_right(measure, jump, name)];
            assert!(counts.iter().all(|n| *n >= 190), "{measure:?}: {counts:?}");
        }
    }

    #[test]
    fn it_is_nobody_if_all_grow_or_none_does() {
        for measure in [ChangeMeasure::Difference, ChangeMeasure::Slope] {
            let all = n_right(measure, |_, _, minute| 2.0 * minute as f64, |_| None);
            let none = n_right(measure, |_, _, _| 0.0, |_| None);
            assert!(all >= 190 && none >= 190, "{measure:?}: {all}, {none}");
        }
    }

    #[test]
    fn a_fall_has_its_culprit_too() {
        let found = attribute(
            &case(1, |idx, minute| if idx == 3 { 500.0 - 12.0 * minute as f64 } else { 0.0 }),
            ChangeMeasure::Slope,
        );
        let found = found.unwrap();
        assert_eq!(found.culprit, Some("d"));
        // 12 a minute.
        assert!((found.whole + 720.0).abs() < 30.0, "{found:?}");
    }

    #[test]
    fn too_few_minutes_and_no_change_have_no_parts() {
        let minutes = case(1, |_, _| 0.0);
        assert_eq!(attribute(&minutes[..3], ChangeMeasure::Slope), None);
        let still = vec![MinuteOfUse { at: Timestamp::from_nanos(0), whole: 1.0, programs: vec![("a", 1.0)] }; 6];
        assert_eq!(attribute(&still, ChangeMeasure::Difference), None);
        assert_eq!(attribute(&still, ChangeMeasure::Slope), None);
    }

    #[test]
    fn a_change_that_began_meanwhile_has_a_beginning() {
        let leak = |idx: usize, minute: usize| if idx == 2 { 10.0 * minute.saturating_sub(25) as f64 } else { 0.0 };
        let jump = |idx: usize, minute: usize| if idx == 2 && minute >= 25 { 300.0 } else { 0.0 };
        let since = |grown: &dyn Fn(usize, usize) -> f64, measure| {
            let found = changed_since(&case(7, grown), "c", measure)?;
            Some(found.as_nanos() / 60_000_000_000)
        };
        // A leak of ten a minute shows above a noise of three within a minute.
        assert!(since(&leak, ChangeMeasure::Slope).is_some_and(|minute| (24..=27).contains(&minute)));
        assert_eq!(since(&jump, ChangeMeasure::Difference), Some(25));
        assert_eq!(since(&jump, ChangeMeasure::Mean), None);
        let always = |idx: usize, minute: usize| if idx == 2 { 10.0 * minute as f64 } else { 0.0 };
        assert_eq!(since(&always, ChangeMeasure::Slope), None);
        assert_eq!(since(&|_, _| 0.0, ChangeMeasure::Difference), None);
    }

    #[test]
    fn parts_of_a_mean_are_those_of_what_was_used() {
        let minutes: Vec<_> = (0..6)
            .map(|minute| MinuteOfUse {
                at: Timestamp::from_nanos(minute * 60_000_000_000),
                whole: 10.0,
                programs: vec![("a", 7.0), ("b", 1.0)],
            })
            .collect();
        let found = attribute(&minutes, ChangeMeasure::Mean).unwrap();
        assert_eq!((found.culprit, found.shares.len()), (Some("a"), 2));
        check_whole(&found);
        assert!((found.shares[0].1 - 0.7).abs() < 1e-12 && (found.whole - 10.0).abs() < 1e-12, "{found:?}");
    }
}
