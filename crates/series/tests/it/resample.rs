//! Uneven samples brought to a step.

use std::time::Duration;

use jiff::tz::TimeZone;
use proptest::prelude::*;
use series::{GridError, Resampling, Series};
use units::Timestamp;

const SECOND: Duration = Duration::from_secs(1);

fn timed(samples: &[(i64, f64)]) -> Vec<(Timestamp, f64)> {
    samples.iter().map(|(millis, sample)| (Timestamp::from_nanos(millis * 1_000_000), *sample)).collect()
}

/// Gaps as `None`, which equals itself.
fn resampled(samples: &[(i64, f64)], how: Resampling) -> Vec<Option<f64>> {
    let series = Series::resampled(&timed(samples), SECOND, how, &TimeZone::UTC).unwrap();
    series.samples().iter().map(|sample| (!sample.is_nan()).then_some(*sample)).collect()
}

#[test]
fn the_last_sample_holds_until_it_is_too_old() {
    let samples = [(0, 1.0), (900, 2.0), (1000, 3.0), (4500, 9.0), (5200, 8.0)];
    let how = Resampling::Last { age_max: 2 * SECOND };
    // At 3 s the sample of 1 s is 2 s old, at 4 s it is too old, at 5 s there is that of 4.5 s.
    assert_eq!(resampled(&samples, how), [Some(1.0), Some(3.0), Some(3.0), Some(3.0), None, Some(9.0)]);
}

#[test]
fn a_mean_is_over_what_came_since_the_moment_before() {
    let samples = [(0, 1.0), (500, 2.0), (1000, 4.0), (1001, 7.0), (3000, 5.0), (3000, 7.0)];
    assert_eq!(resampled(&samples, Resampling::Mean), [Some(1.0), Some(3.0), Some(7.0), Some(6.0)]);
    assert_eq!(resampled(&[(0, 1.0), (2000, 3.0)], Resampling::Mean), [Some(1.0), None, Some(3.0)]);
}

#[test]
fn a_straight_line_joins_neighbours_that_are_not_too_far_apart() {
    let samples = [(0, 1.0), (500, 2.0), (1500, 4.0), (2000, 5.0), (6000, 9.0)];
    let how = Resampling::Linear { apart_max: 2 * SECOND };
    assert_eq!(resampled(&samples, how), [Some(1.0), Some(3.0), Some(5.0), None, None, None, Some(9.0)]);
}

#[test]
fn what_is_not_finite_is_passed_over() {
    let samples = [(0, f64::NAN), (1000, 1.0), (2000, f64::INFINITY), (3000, 3.0), (4000, f64::NAN)];
    let series =
        Series::resampled(&timed(&samples), SECOND, Resampling::Linear { apart_max: 2 * SECOND }, &TimeZone::UTC)
            .unwrap();
    assert_eq!(series.samples(), [1.0, 2.0, 3.0]);
    assert_eq!(series.grid().unwrap().start, Timestamp::from_nanos(1_000_000_000));
}

#[test]
fn huge_samples_do_not_overflow() {
    let samples = [(0, 1.5e308), (500, 1.5e308), (1000, 1.5e308)];
    assert_eq!(resampled(&samples, Resampling::Mean), [Some(1.5e308), Some(1.5e308)]);
    let ends = [(0, -1.5e308), (2000, 1.5e308)];
    assert_eq!(resampled(&ends, Resampling::Linear { apart_max: 2 * SECOND })[1], Some(0.0));
}

#[test]
fn what_makes_no_series_is_refused() {
    let refused = |samples: &[(i64, f64)], step| {
        Series::resampled(&timed(samples), step, Resampling::Mean, &TimeZone::UTC).unwrap_err().to_string()
    };
    assert_eq!(refused(&[], SECOND), "none of 0 samples is a finite number, so there is nothing to resample");
    assert_eq!(
        refused(&[(0, f64::NAN)], SECOND),
        "none of 1 samples is a finite number, so there is nothing to resample"
    );
    assert_eq!(refused(&[(0, 1.0)], Duration::ZERO), "a step of 0s is too short; it must be longer");
    assert_eq!(
        refused(&[(0, 1.0), (86_400_000, 2.0)], Duration::from_nanos(1)),
        "a step of 1ns would make 86400000000001 samples, but the limit is 100000000; use a longer step"
    );
    let backwards = Series::resampled(&timed(&[(1000, 1.0), (0, 2.0)]), SECOND, Resampling::Mean, &TimeZone::UTC);
    assert!(matches!(backwards, Err(GridError::Backwards { idx: 1, .. })));
}

proptest! {
    /// At a step that divides every distance, nothing is made up and nothing is lost.
    #[test]
    fn even_samples_stay_as_they_are(samples in prop::collection::vec(-1e9..1e9_f64, 1..50), every_ms in 1..5000_i64) {
        let even: Vec<(i64, f64)> = (0..).zip(&samples).map(|(idx, sample)| (idx * every_ms, *sample)).collect();
        let step = Duration::from_millis(every_ms as u64);
        for how in [Resampling::Last { age_max: Duration::ZERO }, Resampling::Mean, Resampling::Linear { apart_max: step }] {
            let series = Series::resampled(&timed(&even), step, how, &TimeZone::UTC).unwrap();
            prop_assert_eq!(series.samples(), &samples[..]);
        }
    }
}
