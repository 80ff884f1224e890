//! Settings that all series of one model and one step share: the number of samples kept, and the leads that are scored.

use std::time::Duration;

use predict::{Policy, Spec, WindowErrors};
use units::Timestamp;

use crate::schedule::whole_steps;

/// The least length of each series in memory, for the page and the terminal.
const DISPLAY: Duration = Duration::from_secs(600);

/// Errors that a score is over, per lead.
const N_SCORED: usize = 512;

/// Lead times that are scored, beside a single step.
const LEADS: [Duration; 3] = [Duration::from_secs(10), Duration::from_secs(60), Duration::from_secs(300)];

/// Leads of up to this many steps are scored at every step, longer ones once in [`LONG_EVERY`]: a forecast of
/// 300 leads costs as much as thirty of 10, and errors of neighbouring origins say nearly the same.
const SHORT_LEAD_MAX: usize = 10;

/// Time between scores of longer leads.
const LONG_EVERY: Duration = Duration::from_secs(5);

/// Time between forecasts that are remembered in the store: one origin in each such time.
const REMEMBER_EVERY: Duration = Duration::from_secs(10);

/// Time between saves of the state of a series: later samples have to be replayed after a kill.
const SAVE_EVERY: Duration = Duration::from_secs(3600);

/// Largest number of cores with which the signals of a single one are forecast like all others. With more they are most
/// of what there is, and the one that somebody looks at is rarely one of them.
pub(crate) const CORES_FULL_MAX: usize = 8;

/// Settings for thousands of signals, unless a model is chosen.
const THRIFT: Thrift =
    Thrift { every: 200, window: 400, n_leads: 3, n_scored: 64, look_every: Duration::from_secs(60) };

/// Reduced settings of a thrifty plan.
struct Thrift {
    /// Refit interval of AR(16), and the number of samples of a fit. On CPU traces its errors are within 4 % of those
    /// of `AUTO`.
    every: usize,
    window: usize,
    /// Leads that are scored, the shortest ones, and errors that a score is over.
    n_leads: usize,
    n_scored: usize,
    /// Time between forecasts of long leads that are scored and remembered.
    look_every: Duration,
}

/// Refit interval and window of the baselines LAST and MEAN: those of the default model, so that the comparison is
/// fair. A fit of either costs about as much as one of AR(16).
const BASELINE: (usize, usize) = (100, 600);

/// Action of a series at one step besides stepping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Forecast the short leads, to score them.
    Short,
    /// Forecast all scored leads.
    Long,
    /// Forecast all scored leads, and remember what was said.
    Remembered,
}

/// The constants of the series of one model and step.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The text of the model.
    pub(crate) text: String,
    pub(crate) step: Duration,
    /// Samples kept.
    pub(crate) n_kept: usize,
    /// The policies by which the model, and LAST and MEAN, are fitted.
    pub(crate) policy: Policy,
    pub(crate) baselines: [Policy; 2],
    /// Leads that are scored, in steps, ascending.
    pub(crate) leads: Vec<usize>,
    n_short: usize,
    /// Errors that a score is over, per lead.
    pub(crate) n_scored: usize,
    long_every: Duration,
    remember_every: Duration,
}

impl Plan {
    pub(crate) fn new(spec: Spec, step: Duration) -> Self {
        let policy = Policy::of(&spec);
        let baselines = [Spec::Last, Spec::Mean].map(|simple| Policy::of(&simple.refit(BASELINE.0, BASELINE.1)));
        let n_display = to_steps(DISPLAY, step);
        let mut leads: Vec<usize> = LEADS.iter().map(|lead| to_steps(*lead, step)).collect();
        leads.insert(0, 1);
        leads.dedup();
        let n_short = leads.iter().copied().filter(|lead| *lead <= SHORT_LEAD_MAX).max().unwrap_or(1);
        // Beyond what the model needs there are the samples whose forecasts are scored after a restart.
        let n_kept = n_display.max(policy.n_replayed()) + N_SCORED;
        Self {
            text: spec.to_string(),
            step,
            n_kept,
            policy,
            baselines,
            leads,
            n_short,
            n_scored: N_SCORED,
            long_every: LONG_EVERY,
            remember_every: REMEMBER_EVERY,
        }
    }

    /// The plan of signals of which there are very many, such as those of single cores on a host with more than
    /// [`CORES_FULL_MAX`]: the same model if one was chosen, a thriftier one than `AUTO` otherwise, and less of
    /// everything that is kept.
    pub(crate) fn thrifty(spec: Spec, step: Duration) -> Self {
        let Thrift { every, window, n_leads, n_scored, look_every } = THRIFT;
        let thrifty = if spec == Spec::auto() { Spec::ar(16).refit(every, window) } else { spec };
        let mut plan = Self::new(thrifty, step);
        plan.baselines = [Spec::Last, Spec::Mean].map(|simple| Policy::of(&simple.refit(every, window)));
        plan.leads.truncate(n_leads);
        plan.n_kept = to_steps(DISPLAY, step).max(plan.policy.n_replayed()) + n_scored;
        Self { n_scored, long_every: look_every, remember_every: look_every, ..plan }
    }

    /// Returns the number of steps from the epoch to `label`: the number of its sample, the same after every restart.
    pub(crate) fn number(&self, label: Timestamp) -> u64 {
        whole_steps(label.saturating_since(Timestamp::from_nanos(0)), self.step)
    }

    /// Returns the action at the step labelled `label`, of the series with this `key`, whose step before was
    /// `previous`.
    ///
    /// Depends on labels alone, so that a replay does the same. The key spreads the long forecasts of many series
    /// over time, because at 100 Hz all of them at once take longer than a step.
    pub(crate) fn look(&self, key: i64, previous: Option<Timestamp>, label: Timestamp) -> Look {
        let n_offsets = i64::try_from(to_steps(self.long_every, self.step)).unwrap_or(i64::MAX);
        let offset = u64::try_from(key.rem_euclid(n_offsets)).unwrap_or(0);
        let shift = crate::schedule::times(self.step, offset);
        let is_fresh = |every| {
            previous.is_none_or(|previous| (previous - shift).floor_to(every) != (label - shift).floor_to(every))
        };
        match (is_fresh(self.remember_every), is_fresh(self.long_every)) {
            (true, _) => Look::Remembered,
            (false, true) => Look::Long,
            (false, false) => Look::Short,
        }
    }

    /// Whether to save the state of the series with this `key` at the step labelled `label`, after one at `previous`.
    /// The key spreads them over time.
    pub(crate) fn is_save_due(&self, key: i64, previous: Option<Timestamp>, label: Timestamp) -> bool {
        let n_offsets = i64::try_from(to_steps(SAVE_EVERY, self.step)).unwrap_or(i64::MAX);
        // A large prime sends neighbours to distant places.
        let offset = u64::try_from(key.wrapping_mul(7919).rem_euclid(n_offsets)).unwrap_or(0);
        let shift = crate::schedule::times(self.step, offset);
        previous.is_some_and(|previous| (previous - shift).floor_to(SAVE_EVERY) != (label - shift).floor_to(SAVE_EVERY))
    }

    /// Returns an upper bound of the memory of a series, in bytes, roughly.
    pub(crate) fn n_bytes(&self) -> usize {
        /// Memory of a score for one forecast, and for one error, in bytes.
        const SAID: usize = 80;
        const SCORED: usize = 32;
        let n_said: usize =
            self.leads.iter().map(|lead| if *lead <= self.n_short { *lead } else { *lead / 4 + 1 }).sum();
        let scores = 3 * (SAID * n_said + SCORED * self.n_scored * self.leads.len());
        let samples = size_of::<f64>() * self.n_kept.max(self.policy.window);
        self.policy.model.n_bytes() + scores + samples
    }

    /// Returns a record for the errors of means over windows of an availability.
    pub(crate) fn window_errors(&self) -> WindowErrors {
        WindowErrors::of_availability(self.step)
    }

    /// Returns the number of leads to forecast.
    pub(crate) fn n_leads(&self, look: Look) -> usize {
        match look {
            Look::Short => self.n_short,
            Look::Long | Look::Remembered => self.leads.last().copied().unwrap_or(1),
        }
    }
}

/// `span` in whole steps, at least 1.
pub(crate) fn to_steps(span: Duration, step: Duration) -> usize {
    usize::try_from(whole_steps(span, step)).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(spec: &str, step: Duration) -> Plan {
        Plan::new(spec.parse().unwrap(), step)
    }

    #[track_caller]
    fn check_leads(step: Duration, leads: &[usize]) {
        assert_eq!(plan("LAST", step).leads, leads);
    }

    #[test]
    fn leads_are_whole_steps_without_duplicates() {
        check_leads(Duration::from_secs(1), &[1, 10, 60, 300]);
        check_leads(Duration::from_millis(10), &[1, 1000, 6000, 30_000]);
        check_leads(Duration::from_secs(10), &[1, 6, 30]);
        check_leads(Duration::from_secs(100), &[1, 3]);
    }

    #[test]
    fn one_origin_in_ten_seconds_is_remembered_whatever_the_step() {
        for (step_ms, expected) in [(10, 6), (1000, 6), (7000, 6), (20_000, 3), (100_000, 1)] {
            let step = Duration::from_millis(step_ms);
            let plan = plan("LAST", step);
            for key in [1, 2, 77] {
                let labels: Vec<Timestamp> = (1000..1000 + 60_000_u64.div_ceil(step_ms))
                    .map(|k| Timestamp::from_nanos(0) + crate::schedule::times(step, k))
                    .collect();
                let looks = labels.iter().map(|label| plan.look(key, Some(*label - step), *label));
                let n_remembered = looks.filter(|look| *look == Look::Remembered).count();
                assert!(n_remembered.abs_diff(expected) <= 1, "step {step:?}, key {key}: {n_remembered}");
            }
        }
    }

    #[test]
    fn of_very_many_signals_a_chosen_model_is_kept_and_little_else() {
        let thrifty = |spec: &str| Plan::thrifty(spec.parse().unwrap(), Duration::from_secs(1));
        assert_eq!(thrifty("AUTO").text, "REFIT(AR(16),every=200,window=400)");
        let plan = thrifty("LAST");
        assert_eq!((&*plan.text, &*plan.leads, plan.n_scored, plan.n_kept), ("LAST", &[1, 10, 60][..], 64, 664));
        let label = |k| Timestamp::from_nanos(0) + crate::schedule::times(plan.step, k);
        let looks = (1000..1600).map(|k| plan.look(7, Some(label(k - 1)), label(k)));
        assert_eq!(looks.filter(|look| *look == Look::Remembered).count(), 10);
    }

    #[test]
    fn long_forecasts_of_many_series_are_spread_over_time() {
        let step = Duration::from_millis(10);
        let plan = plan("LAST", step);
        for k in 5000..5600 {
            let label = Timestamp::from_nanos(0) + crate::schedule::times(step, k);
            let n_long = (0..70).filter(|key| plan.look(*key, Some(label - step), label) != Look::Short).count();
            assert!(n_long <= 1, "{n_long} at once");
        }
    }
}
