//! The share of a link that a starting flow gets.

use std::num::NonZeroU32;

/// Bytes per second that a flow gets that starts on a link of this `capacity`, of which `used` is in use.
///
/// What is left over, and where it is known that at most `n_rivals_max` flows use the link, at least an equal part with
/// them. That is the max-min fair share of a flow without limit beside n flows of equal rates: each of those keeps its
/// rate u / n if all fit, and else gives way until all have c / (n + 1). Flows of unequal rates leave the flow no less.
/// Dinda and O'Hallaron's flow bandwidth sensor (RPS, section 4) assumes no change in other flows, which is what is
/// left over. `docs/decisions/flow-bandwidth.md` says when to use which.
pub(crate) fn of_flow(capacity: f64, used: f64, n_rivals_max: Option<NonZeroU32>) -> f64 {
    let left = (capacity - used).max(0.0);
    let equal = n_rivals_max.map_or(0.0, |n_rivals| capacity / (f64::from(n_rivals.get()) + 1.0));
    left.max(equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(capacity: f64, used: f64, n_rivals: u32, expected: f64) {
        assert_eq!(of_flow(capacity, used, NonZeroU32::new(n_rivals)), expected);
    }

    #[test]
    fn a_flow_gets_what_is_left_when_nothing_is_known_of_the_others() {
        check(100.0, 0.0, 0, 100.0);
        check(100.0, 70.0, 0, 30.0);
        check(100.0, 120.0, 0, 0.0);
    }

    #[test]
    fn a_flow_gets_an_equal_part_of_a_full_link() {
        check(100.0, 100.0, 1, 50.0);
        check(100.0, 100.0, 3, 25.0);
    }

    #[test]
    fn a_flow_gets_more_than_an_equal_part_when_more_is_left() {
        check(100.0, 30.0, 1, 70.0);
    }

    #[test]
    fn a_link_that_is_down_gives_nothing() {
        check(0.0, 0.0, 2, 0.0);
    }
}
