//! Gate of the tests: a test may not start while the sensors still show the test or the probe before it.

use std::time::Duration;

use crate::Settings;

/// Length of a test, as far as the gate is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It has to end before the next probe starts.
    BetweenProbes(Duration),
    /// It is longer than the time between two probes, and takes those that come.
    AcrossProbes,
}

/// Decides, reading by reading, whether a test may start.
///
/// It follows the rule by which the hybrid sensor starts its probes, because the sensor does not say when it does: a
/// probe that runs beside a test would take of the core what the test is to find out.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    warm_up: Duration,
    rest: Duration,
    settle: Duration,
    step: Duration,
    probe_every: Duration,
    probe_for: Duration,
    probed_at: Option<Duration>,
    ended_at: Option<Duration>,
}

impl Gate {
    pub(crate) fn new(settings: &Settings) -> Gate {
        Gate {
            warm_up: settings.warm_up,
            rest: settings.rest,
            settle: settings.settle(),
            step: settings.step,
            probe_every: settings.probe_every,
            probe_for: settings.probe_for,
            probed_at: None,
            ended_at: None,
        }
    }

    /// The sensors were read `at` this time since the visit began; the formulas of the hybrid sensor had a value or
    /// not.
    pub(crate) fn read(&mut self, at: Duration, has_formulas: bool) {
        if has_formulas && self.probed_at.is_none_or(|last| at.saturating_sub(last) >= self.probe_every) {
            self.probed_at = Some(at);
        }
    }

    /// A test has ended.
    pub(crate) fn ended(&mut self, at: Duration) {
        self.ended_at = Some(at);
    }

    /// Whether a test may start `at` this time, right after a reading.
    pub(crate) fn may_start(&self, at: Duration, fit: Fit) -> bool {
        let is_rested = self.ended_at.is_none_or(|ended_at| at >= ended_at + self.rest);
        let is_between_probes = self.probed_at.is_none_or(|probed_at| {
            let is_after = at >= probed_at + self.probe_for + self.settle;
            let is_before = match fit {
                Fit::BetweenProbes(span) => at + span + self.step <= probed_at + self.probe_every,
                Fit::AcrossProbes => true,
            };
            is_after && is_before
        });
        at >= self.warm_up && is_rested && is_between_probes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the seconds at which short tests start within the first `n_seconds` of a visit.
    fn starts(settings: &Settings, n_seconds: u64) -> Vec<u64> {
        let mut gate = Gate::new(settings);
        let mut starts = Vec::new();
        let mut busy_until = 0;
        for second in 0..n_seconds {
            let at = Duration::from_secs(second);
            gate.read(at, second > 0);
            if second == busy_until && second > 0 {
                gate.ended(at);
            }
            if second >= busy_until && gate.may_start(at, Fit::BetweenProbes(settings.short)) {
                starts.push(second);
                busy_until = second + settings.short.as_secs();
            }
        }
        starts
    }

    #[test]
    fn two_short_tests_a_minute_fit_between_probes() {
        // Probes start at 1, 61, 121 and 181, the warm-up ends at 75.
        assert_eq!(starts(&Settings::full(), 240), [75, 105, 135, 165, 195, 225]);
    }

    #[test]
    fn a_longer_rest_leaves_room_for_one() {
        let settings = Settings { rest: Duration::from_secs(40), warm_up: Duration::from_secs(15), ..Settings::full() };
        assert_eq!(starts(&settings, 200), [23, 83, 143]);
    }
}
