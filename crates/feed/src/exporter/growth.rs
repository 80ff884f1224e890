//! Growth of a counter between two scrapes.

use std::time::Duration;

/// The longest time without a value after which a counter still continues. A mean over a longer time would say little
/// about the moment that it is the value of. Prometheus takes the last value for good for as long.
const LOOK_BACK: Duration = Duration::from_secs(300);

/// The value of a counter at one scrape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Count {
    pub value: f64,
    pub when: When,
}

/// When something was said, and since when it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct When {
    /// The time by the clock of this host that is never set.
    pub at: Duration,
    /// The time by the exporter's clock, if the page gives that time, which then takes precedence.
    pub at_s: Option<f64>,
    /// When the counter was set to zero, by the exporter's clock, if it says so.
    pub created_s: Option<f64>,
}

/// The time from one moment to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub seconds: f64,
    /// Whether the counter was set to zero in between, as far as its age tells.
    pub is_reset: bool,
}

impl When {
    /// The time since `last`; none if there was none, or more than is looked back.
    pub(super) fn since(self, last: When) -> Option<Span> {
        let seconds = match (last.at_s, self.at_s) {
            (Some(last_s), Some(at_s)) => at_s - last_s,
            _ => self.at.checked_sub(last.at)?.as_secs_f64(),
        };
        let is_reset =
            matches!((last.created_s, self.created_s), (Some(last_s), Some(created_s)) if last_s != created_s);
        (seconds > 0.0 && seconds <= LOOK_BACK.as_secs_f64()).then_some(Span { seconds, is_reset })
    }
}

impl Span {
    /// Returns the growth of a counter that went from `last` to `value`.
    ///
    /// One that went back was set to zero in between and has counted up to `value` since, as Prometheus has it: what it
    /// counted before that is lost. No number if one of them is none.
    pub(super) fn growth(self, last: f64, value: f64) -> f64 {
        if self.is_reset || value < last { value } else { value - last }
    }
}

impl Count {
    /// Returns the growth per second since `last`. None if the growth is not known, and never less than zero.
    pub(super) fn rate_since(self, last: Count) -> Option<f64> {
        let span = self.when.since(last.when)?;
        Some(span.growth(last.value, self.value) / span.seconds).filter(|&rate| rate >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(at_s: u64, value: f64) -> Count {
        Count { value, when: When { at: Duration::from_secs(at_s), at_s: None, created_s: None } }
    }

    #[track_caller]
    fn check(last: Count, count: Count, rate: Option<f64>) {
        assert_eq!(count.rate_since(last), rate);
    }

    #[test]
    fn a_rate_is_growth_over_elapsed_time() {
        check(count(1, 10.0), count(5, 18.0), Some(2.0));
        check(count(1, 10.0), count(5, 10.0), Some(0.0));
    }

    #[test]
    fn a_counter_that_went_back_has_counted_from_zero() {
        check(count(1, 10.0), count(5, 8.0), Some(2.0));
        check(count(1, 10.0), count(5, -8.0), None);
    }

    #[test]
    fn no_time_and_too_much_of_it_give_no_rate() {
        check(count(5, 1.0), count(5, 2.0), None);
        check(count(5, 1.0), count(4, 2.0), None);
        check(count(5, 1.0), count(305, 301.0), Some(1.0));
        check(count(5, 1.0), count(306, 302.0), None);
    }

    #[test]
    fn the_exporter_s_clock_goes_before_ours() {
        let stamped = |at_s, stamp_s, value| {
            let mut count = count(at_s, value);
            count.when.at_s = Some(stamp_s);
            count
        };
        check(stamped(1, 100.0, 0.0), stamped(2, 110.0, 20.0), Some(2.0));
        check(stamped(1, 100.0, 0.0), stamped(2, 100.0, 0.0), None);
        check(stamped(1, 100.0, 0.0), stamped(2, 90.0, 5.0), None);
        check(stamped(1, 100.0, 0.0), count(3, 4.0), Some(2.0));
    }

    #[test]
    fn a_younger_counter_has_counted_from_zero_though_it_is_ahead() {
        let created = |at_s, created_s, value| {
            let mut count = count(at_s, value);
            count.when.created_s = Some(created_s);
            count
        };
        check(created(1, 50.0, 10.0), created(3, 60.0, 12.0), Some(6.0));
        check(created(1, 50.0, 10.0), created(3, 50.0, 12.0), Some(1.0));
    }

    #[test]
    fn no_number_grows_to_no_number() {
        assert!(count(2, f64::INFINITY).rate_since(count(1, f64::INFINITY)).is_none());
        assert!(count(2, 1.0).rate_since(count(1, f64::NAN)).is_none());
    }
}
