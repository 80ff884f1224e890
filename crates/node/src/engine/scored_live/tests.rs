//! A series on samples made by hand: waking up, falling asleep, and what its scores are of.

use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn scored(spec: &str) -> ScoredLive {
    let plan = Plan::new(spec.parse().unwrap(), SECOND);
    ScoredLive::new(Arc::new(plan), 1, Range { min: Some(0.0), max: Some(1.0) })
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_nanos(0) + times(SECOND, seconds)
}

fn value(seconds: u64) -> f64 {
    (seconds * 7919 % 101) as f64 / 100.0
}

fn take(live: &mut ScoredLive, seconds: u64, sample: f64) {
    live.take(at(seconds), sample, &mut Forecast::default(), &mut Vec::new());
    live.fit_here();
}

#[test]
fn a_signal_that_wakes_up_gets_its_model_soon() {
    let mut sleeper = scored("AR(2)");
    (0..50).for_each(|seconds| take(&mut sleeper, seconds, 0.5));
    assert_eq!(sleeper.waiting(), Some((WaitingReason::Constant, 50)));
    (50..50 + 4).for_each(|seconds| take(&mut sleeper, seconds, value(seconds)));
    assert_eq!(sleeper.waiting(), None);
}

#[test]
fn a_signal_that_falls_asleep_is_forecast_by_last() {
    let mut sleeper = scored("REFIT(AR(2),every=10,window=20)");
    (0..30).for_each(|seconds| take(&mut sleeper, seconds, value(seconds)));
    assert_eq!(sleeper.waiting(), None);
    (30..70).for_each(|seconds| take(&mut sleeper, seconds, 0.5));
    assert_eq!(sleeper.model_text(), "LAST");
    assert_eq!(sleeper.counts.n_fit_failures, 1);
}

#[test]
fn what_is_scored_is_what_is_served() {
    // A ramp that leaves the range: AR would go on beyond 1, and what is served does not.
    let mut ramp = scored("AR(1)");
    (0..200).for_each(|seconds| take(&mut ramp, seconds, 1.0 - 0.3 * value(seconds)));
    for scores in ramp.scores() {
        let Some(errors) = scores.model.errors else { continue };
        // A sample is at most 1 and a served mean at least 0.
        assert!(errors.max <= 1.0 && errors.min >= -1.0);
    }
}

proptest! {
    #[test]
    fn a_series_is_evenly_spaced_whatever_comes(steps in prop::collection::vec((1_u64..40, any::<bool>()), 1..120)) {
        let mut live = scored("REFIT(AR(2),every=7,window=30)");
        let mut expected: Vec<f64> = Vec::new();
        let mut now = 1000;
        for (skip, is_gap) in steps {
            now += skip;
            let sample = if is_gap { f64::NAN } else { value(now) };
            take(&mut live, now, sample);
            if expected.is_empty() {
                if !is_gap { expected.push(sample); }
                continue;
            }
            expected.extend((1..skip).map(|_| f64::NAN));
            expected.push(sample);
        }
        let kept: Vec<f64> = live.kept().map_or(Vec::new(), |(_, kept)| kept.iter().copied().collect());
        let tail = &expected[expected.len().saturating_sub(live.plan.n_kept)..];
        prop_assert_eq!(kept.len(), tail.len());
        prop_assert!(kept.iter().zip(tail).all(|(kept, expected)| kept.to_bits() == expected.to_bits()));
        let counted = live.counts.n_samples + live.counts.n_gaps;
        prop_assert_eq!(counted, expected.len() as u64);
    }
}
