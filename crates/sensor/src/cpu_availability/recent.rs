//! Rates over the last few seconds, from counters that are read at any moments.

use std::time::Duration;

/// The age at which a count weighs `1 / e` of a count at this moment.
///
/// The mean age of what counts is 5 seconds, as in the 10 seconds that a test process of Wolski, Spring and Hayes
/// runs: shorter follows single bursts, longer is late when load comes or goes.
const MEMORY: Duration = Duration::from_secs(5);

/// The rates of `N` counters that are read together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Recent<const N: usize> {
    sums: [f64; N],
    /// The time that the sums stand for: grows to [`MEMORY`], so that a short past is not taken for an idle one.
    seconds: f64,
}

impl<const N: usize> Recent<N> {
    /// Nothing counted yet.
    pub(crate) fn new() -> Recent<N> {
        Recent { sums: [0.0; N], seconds: 0.0 }
    }

    /// Nothing counted for as long as counts.
    pub(crate) fn idle() -> Recent<N> {
        Recent { sums: [0.0; N], seconds: MEMORY.as_secs_f64() }
    }

    /// Adds what was counted, evenly, during `span`.
    pub(crate) fn add(&mut self, span: Duration, counts: [f64; N]) {
        let span_s = span.as_secs_f64();
        if span_s <= 0.0 {
            return;
        }
        let memory_s = MEMORY.as_secs_f64();
        let kept = (-span_s / memory_s).exp();
        let added_s = (1.0 - kept) * memory_s;
        for (sum, count) in self.sums.iter_mut().zip(counts) {
            *sum = kept * *sum + added_s * count / span_s;
        }
        self.seconds = kept * self.seconds + added_s;
    }

    /// Adds what was counted elsewhere, and is not counted there any more.
    pub(crate) fn inherit(&mut self, other: &Recent<N>) {
        for (sum, inherited) in self.sums.iter_mut().zip(other.sums) {
            *sum += inherited;
        }
    }

    /// The counts themselves, as far as they count. Unlike rates they can be added up when some began later.
    pub(crate) fn sums(&self) -> [f64; N] {
        self.sums
    }

    /// Returns the time that the counts stand for.
    pub(crate) fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The counts per second; none before anything was added.
    pub(crate) fn rates(&self) -> Option<[f64; N]> {
        (self.seconds > 0.0).then(|| self.sums.map(|sum| sum / self.seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(spans: &[(f64, f64)], expected: f64) {
        let mut recent = Recent::new();
        for &(span_s, count) in spans {
            recent.add(Duration::from_secs_f64(span_s), [count]);
        }
        let [rate] = recent.rates().unwrap();
        // A few roundings of exponentials and sums near 1.
        assert!((rate - expected).abs() < 1e-12, "{rate}, not {expected}");
    }

    #[test]
    fn a_short_past_is_not_an_idle_one() {
        check(&[(0.5, 0.5)], 1.0);
        check(&[(1.0, 0.25), (1.0, 0.25)], 0.25);
    }

    #[test]
    fn a_rate_does_not_depend_on_how_often_it_is_read() {
        let often: Vec<(f64, f64)> = (0..40).map(|idx| (0.25, if idx < 20 { 0.25 } else { 0.0 })).collect();
        let once = [(5.0, 5.0), (5.0, 0.0)];
        let kept = (-1.0_f64).exp();
        check(&often, kept * (1.0 - kept) / (1.0 - kept * kept));
        check(&once, kept * (1.0 - kept) / (1.0 - kept * kept));
    }

    #[test]
    fn no_time_adds_nothing() {
        let mut recent = Recent::new();
        recent.add(Duration::ZERO, [7.0]);
        assert_eq!(recent.rates(), None);
    }
}
