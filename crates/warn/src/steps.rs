//! Steps in which a look ahead is made.

use std::ops::Range;
use std::time::Duration;

use units::Timestamp;

/// Steps of an answer, at most; a longer horizon is answered in longer steps.
pub const N_LEADS_MAX: usize = 360;

/// Those of a series that is too young for longer ones: an hour in steps of 5 min has twelve.
const N_LEADS_YOUNG: usize = 12 * N_LEADS_MAX;

/// The steps that there are beside the series' own, ascending.
const STEPS: [Duration; 4] =
    [Duration::from_secs(15), Duration::from_secs(60), Duration::from_secs(300), Duration::from_secs(3600)];

/// The furthest that is looked ahead.
pub const HORIZON_MAX: Duration = Duration::from_secs(14 * 86_400);

/// Longest horizon for which the model that follows a series' samples is asked, in time and in steps: beyond, its
/// forecasts have come to rest, and what counts is the time of day.
const NEAR_MAX: Duration = Duration::from_secs(3600);
const N_STEPS_NEAR: u32 = 600;

/// Length of the past that is looked at: four weeks, or as many steps.
const HISTORY_MAX: Duration = Duration::from_secs(28 * 86_400);
const N_HISTORY_MAX: u32 = 40_320;

/// Or so many of steps by which forecasts of others are only corrected.
const N_HISTORY_BESIDE: u32 = 8192;

/// A series whose last sample is longer ago than this and three of its own steps is said to be silent.
const SILENCE_MIN: Duration = Duration::from_secs(300);

/// Returns the time since which a series has had no sample: `last`, the moment of its last one, unless the next ones
/// can still come. `own` is the time between two samples, and not the step in which the series is looked at: a longer
/// step would hide an hour of silence.
#[must_use]
pub fn no_sample_since(last: Timestamp, own: Duration, now: Timestamp) -> Option<Timestamp> {
    (now.saturating_since(last) > SILENCE_MIN + own.saturating_mul(3)).then_some(last)
}

/// The steps in which a series that is sampled every `own` is looked at, to see as far as `horizon`: its own or the
/// shortest longer ones of which the horizon has at most 360.
#[must_use]
pub fn step(own: Duration, horizon: Duration) -> Duration {
    let suits = |step: &Duration| *step >= own && n_steps(horizon, *step) <= N_LEADS_MAX as u128;
    [own].into_iter().chain(STEPS).find(suits).unwrap_or(own)
}

/// The next longer step than this in which series are looked at.
#[must_use]
pub fn longer(step: Duration) -> Option<Duration> {
    STEPS.into_iter().find(|longer| *longer > step)
}

/// The next shorter step in which a series that is sampled every `own` is looked at to see as far as `horizon`, while
/// too few of this one are known; `None` where that would be too many steps.
#[must_use]
pub fn shorter(own: Duration, step: Duration, horizon: Duration) -> Option<Duration> {
    let shorter = next_shorter(own, step)?;
    (n_steps(horizon, shorter) <= N_LEADS_YOUNG as u128).then_some(shorter)
}

/// The next shorter step in which a series that is sampled every `own` is looked at, and the horizon up to which it is;
/// `None` if there is no such step, or if it is looked at as far as `horizon`.
#[must_use]
pub fn nearer(own: Duration, step: Duration, horizon: Duration) -> Option<(Duration, Duration)> {
    let shorter = next_shorter(own, step)?;
    let until = shorter.saturating_mul(N_LEADS_MAX as u32);
    (until < horizon).then_some((shorter, until))
}

fn next_shorter(own: Duration, step: Duration) -> Option<Duration> {
    levels(own).into_iter().rev().find(|shorter| *shorter < step)
}

/// All steps in which a series that is sampled every `own` is looked at, ascending: each is a multiple of the one
/// before.
#[must_use]
pub fn levels(own: Duration) -> Vec<Duration> {
    let longer: Vec<_> = STEPS.into_iter().filter(|step| *step > own).collect();
    let is_part = longer.first().is_none_or(|next| next.as_nanos().is_multiple_of(own.as_nanos().max(1)));
    is_part.then_some(own).into_iter().chain(longer).collect()
}

/// The longest horizon at which a series that is sampled every `own` is forecast by the model that follows its samples.
/// Beyond, an outlook answers.
#[must_use]
pub fn near(own: Duration) -> Duration {
    NEAR_MAX.min(own.saturating_mul(N_STEPS_NEAR))
}

/// Returns the length of the past that is looked at in such steps.
#[must_use]
pub fn past(step: Duration) -> Duration {
    HISTORY_MAX.min(step.saturating_mul(N_HISTORY_MAX))
}

/// Returns the length of the past that is looked at in steps by which forecasts of others are only corrected.
#[must_use]
pub fn past_beside(step: Duration) -> Duration {
    past(step).min(step.saturating_mul(N_HISTORY_BESIDE))
}

/// Returns the number of steps that it takes to cover a length of time.
#[must_use]
pub fn n_steps(length: Duration, step: Duration) -> u128 {
    length.as_nanos().div_ceil(step.as_nanos().max(1))
}

/// Returns the begin of the time in which all of several series are known, and the range of each series' samples in
/// that time; `None` if there is no such time, or if the steps of the series do not begin at the same moments. Of each
/// series the function takes the begin of the first step and the number of steps, all of them `step` long.
#[must_use]
pub fn in_common(series: &[(Timestamp, usize)], step: Duration) -> Option<(Timestamp, Vec<Range<usize>>)> {
    let begin = series.iter().map(|(start, _)| *start).max()?;
    let n_before = |start: &Timestamp| {
        let early = begin.saturating_since(*start);
        let n = usize::try_from(n_steps(early, step)).ok()?;
        early.as_nanos().is_multiple_of(step.as_nanos().max(1)).then_some(n)
    };
    let before = series.iter().map(|(start, _)| n_before(start)).collect::<Option<Vec<_>>>()?;
    let n = series.iter().zip(&before).map(|((_, n), before)| n.saturating_sub(*before)).min()?;
    (n > 0).then(|| (begin, before.into_iter().map(|before| before..before + n).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_cut_to_the_time_in_which_all_are_known() {
        let step = Duration::from_secs(60);
        let at = |seconds: u64| Timestamp::from_nanos(0) + Duration::from_secs(seconds);
        let found = in_common(&[(at(0), 10), (at(120), 5), (at(60), 20)], step);
        assert_eq!(found, Some((at(120), vec![2..7, 0..5, 1..6])));
        assert_eq!(in_common(&[(at(0), 10), (at(90), 10)], step), None, "at other moments");
        assert_eq!(in_common(&[(at(0), 2), (at(120), 5)], step), None, "one after the other");
    }

    #[test]
    fn a_series_is_silent_when_its_next_samples_are_late() {
        let (minute, last) = (Duration::from_secs(60), Timestamp::from_nanos(0));
        let since = |own, minutes: u32| no_sample_since(last, own, last + minute * minutes);
        assert_eq!([8, 9].map(|minutes| since(minute, minutes)), [None, Some(last)]);
        assert_eq!([20, 21].map(|minutes| since(5 * minute, minutes)), [None, Some(last)]);
    }

    #[test]
    fn a_longer_horizon_is_seen_in_longer_steps() {
        let seconds = Duration::from_secs;
        for (own, horizon, expected) in [
            (1, 30, 1),
            (1, 360, 1),
            (1, 361, 15),
            (1, 86_400, 300),
            (1, 1_209_600, 3600),
            (120, 86_400, 300),
            (7200, 86_400, 7200),
        ] {
            assert_eq!(step(seconds(own), seconds(horizon)), seconds(expected), "{own} {horizon}");
        }
        let all = |own| levels(seconds(own)).iter().map(Duration::as_secs).collect::<Vec<_>>();
        assert_eq!([1, 60, 3600].map(all), [vec![1, 15, 60, 300, 3600], vec![60, 300, 3600], vec![3600]]);
        assert_eq!([120, 7200].map(all), [vec![300, 3600], vec![7200]]);
        let nearer = |own, step, horizon| nearer(seconds(own), seconds(step), seconds(horizon));
        assert_eq!(nearer(1, 300, 86_400), Some((seconds(60), seconds(21_600))));
        assert_eq!(nearer(1, 60, 3600), None, "a young series that is seen an hour ahead in steps of 15 s");
        assert_eq!(nearer(300, 300, 86_400), None);
        assert_eq!([1, 6, 300].map(|own| near(seconds(own))), [600, 3600, 3600].map(seconds));
        assert_eq!(past(seconds(1)), seconds(40_320));
        assert_eq!(past(seconds(3600)), HISTORY_MAX);
    }
}
