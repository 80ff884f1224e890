//! Any text is a trace of arrival that can be played, or is refused with a reason.

use std::time::Duration;

use playback::{Law, Setting, Trace, simulate};
use series::Resampling;
use series::csv::{self, Column};

/// Uneven times are brought to this step or a longer one: shorter ones fill the memory that `series` allows, over
/// years.
const RESAMPLED_STEP_MIN: Duration = Duration::from_secs(3600);

/// Longer traces are read and not played.
const PLAYED_SECONDS_MAX: f64 = 60.0;

/// Reads as `foretop play simulate` does. Returns whether it is a trace.
///
/// # Panics
/// When a rate is none, or a player of the trace has less than nothing in its buffer, more than fits, or a rate beyond
/// its limits.
pub fn arrival_trace(bytes: &[u8]) -> bool {
    let options = |resample| csv::Options {
        column: Some(Column::Name("arrival_rate".to_owned())),
        time_column: Some(Column::Number(1)),
        resample,
        ..csv::Options::default()
    };
    let read = csv::read(bytes, &options(None)).or_else(|error| match error.step_to_try() {
        Some(step) => csv::read(bytes, &options(Some((step.max(RESAMPLED_STEP_MIN), Resampling::Mean)))),
        None => Err(error),
    });
    let refused = |reason: String| {
        assert!(!reason.is_empty(), "refused without a reason");
        false
    };
    let series = match read {
        Ok(series) => series,
        Err(error) => return refused(error.to_string()),
    };
    let trace = match Trace::new("fuzzed", &series) {
        Ok(trace) => trace,
        Err(error) => return refused(error.to_string()),
    };
    let is_rate = |rate: f64| rate.is_finite() && rate >= 0.0;
    assert!(trace.rates().iter().all(|rate| is_rate(*rate)), "a rate of {trace:?} is none");
    assert!(trace.seconds() > 0.0 && trace.seconds().is_finite(), "{trace:?} has no length");
    assert!([0.0, trace.seconds(), f64::MAX].into_iter().all(|at| is_rate(trace.rate_at(at))));
    if trace.seconds() <= PLAYED_SECONDS_MAX {
        let setting = Setting::new(Law::Restricted, "LAST".parse().expect("a model"));
        let (slowest, fastest) = (setting.limits.slowest(1.0), setting.limits.fastest(1.0));
        for step in simulate(&trace, &setting).steps {
            assert!((0.0..=setting.capacity_seconds).contains(&step.buffer_seconds), "{step:?} of {trace:?}");
            // The last of a buffer may not last for a whole step.
            assert!((0.0..=fastest).contains(&step.rate), "{step:?} of {trace:?}");
            assert!(step.rate == 0.0 || step.rate >= slowest || step.buffer_seconds == 0.0, "{step:?} of {trace:?}");
        }
    }
    true
}
