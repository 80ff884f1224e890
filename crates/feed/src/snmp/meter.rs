//! The octet counters of one interface, and the rates between two sightings of them.
//!
//! A sighting is what one answer says: the counters, and the agent's own clock beside them. Rates are over the agent's
//! time where that can be believed, because the answer's way here is not part of it.

use std::time::Duration;

use super::Implausible;

/// The time of one count of the agent's clock.
const TICK: Duration = Duration::from_millis(10);

/// The greatest ratio of a rate to the capacity at which the rate is still accepted: agents update counters in a rhythm
/// of their own, and the bytes of three seconds can seem to have come in two.
const MAX_OVERSHOOT: f64 = 1.5;

/// A counter of 32 or of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Narrow(u32),
    Wide(u64),
}

/// The values of an interface in one answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sighting {
    /// When the question was due, by our clock.
    pub(crate) at: Duration,
    /// `sysUpTime`.
    pub(crate) uptime_ticks: u32,
    /// `snmpEngineBoots`, if the agent has it.
    pub(crate) boots: Option<u32>,
    /// `ifCounterDiscontinuityTime`, if the agent has it.
    pub(crate) discontinuity: Option<u32>,
    pub(crate) received: Count,
    pub(crate) sent: Count,
}

/// Bytes per second, both ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    pub(crate) received: f64,
    pub(crate) sent: f64,
}

/// The time between two sightings.
enum Span {
    /// So far.
    Elapsed(Duration),
    /// The agent started again between them.
    Restarted,
}

/// The counters of one interface as they were seen last.
#[derive(Debug)]
pub(crate) struct Meter {
    base: Option<Sighting>,
    rates: Option<Rates>,
    refresh: Duration,
    lateness_max: Duration,
}

impl Meter {
    /// `refresh` is how long counters may stand still and be taken for old, `lateness_max` how late an answer may be.
    pub(crate) fn new(refresh: Duration, lateness_max: Duration) -> Meter {
        Meter { base: None, rates: None, refresh, lateness_max }
    }

    /// Forgets what was seen: the next sighting gives no rates.
    pub(crate) fn reset(&mut self) {
        (self.base, self.rates) = (None, None);
    }

    /// The rates up to this sighting, of an interface that can carry `capacity` bytes/s.
    ///
    /// None at the first sighting, when the agent started again, and when it says that its counters are not the ones
    /// that they were. The same rates again while the counters stand still for less than the agent may take to bring
    /// them up to date.
    ///
    /// # Errors
    /// When the counters cannot be believed. The next sighting is measured from this one.
    pub(crate) fn step(&mut self, now: Sighting, capacity: Option<f64>) -> Result<Option<Rates>, Implausible> {
        let Some(base) = self.base else {
            self.base = Some(now);
            return Ok(None);
        };
        let elapsed = match self.span(&base, &now) {
            Span::Elapsed(elapsed) if !elapsed.is_zero() && base.discontinuity == now.discontinuity => elapsed,
            Span::Elapsed(elapsed) if elapsed.is_zero() => return Ok(self.rates),
            _ => {
                (self.base, self.rates) = (Some(now), None);
                return Ok(None);
            }
        };
        if (base.received, base.sent) == (now.received, now.sent) && elapsed < self.refresh {
            return Ok(self.rates);
        }
        (self.base, self.rates) = (Some(now), None);
        let received = rate(base.received, now.received, elapsed, capacity)?;
        let sent = rate(base.sent, now.sent, elapsed, capacity)?;
        self.rates = Some(Rates { received, sent });
        Ok(self.rates)
    }

    /// Returns the time between `base` and `now`.
    ///
    /// A clock of 32 bits that counts hundredths of a second wraps after 497 days; what it says then differs from what
    /// it said by as much as passed here. A clock that is less than it was, and not by wrapping, or that gained less
    /// than passed here, belongs to an agent that started again. One that stands still or runs ahead is of no use, and
    /// ours is taken.
    fn span(&self, base: &Sighting, now: &Sighting) -> Span {
        let ours = now.at.saturating_sub(base.at);
        let theirs = TICK * now.uptime_ticks.wrapping_sub(base.uptime_ticks);
        let tolerance = self.lateness_max + ours / 10;
        if base.boots.is_some() && now.boots.is_some() && base.boots != now.boots {
            return Span::Restarted;
        }
        if theirs.abs_diff(ours) <= tolerance {
            return Span::Elapsed(if theirs >= ours / 2 { theirs } else { ours });
        }
        if now.uptime_ticks < base.uptime_ticks || (theirs < ours && !theirs.is_zero()) {
            return Span::Restarted;
        }
        Span::Elapsed(ours)
    }
}

/// Bytes per second of a counter that went from `from` to `to` in this time.
fn rate(from: Count, to: Count, elapsed: Duration, capacity: Option<f64>) -> Result<f64, Implausible> {
    let grown = match (from, to) {
        (Count::Wide(from), Count::Wide(to)) => to.checked_sub(from).ok_or(Implausible::WentBack { from, to })? as f64,
        (Count::Narrow(from), Count::Narrow(to)) => f64::from(narrow_growth(from, to, elapsed, capacity)?),
        // The agent changed over to counters of the other size: nothing is known yet.
        (Count::Wide(from), Count::Narrow(to)) => return Err(Implausible::WentBack { from, to: to.into() }),
        (Count::Narrow(from), Count::Wide(to)) => return Err(Implausible::WentBack { from: from.into(), to }),
    };
    // A clock that counts hundredths of a second can be a hundredth short.
    let shortest = elapsed.max(TICK).as_secs_f64();
    let rate = grown / shortest;
    match capacity {
        Some(capacity) if grown > capacity * MAX_OVERSHOOT * (elapsed + TICK * 2).as_secs_f64() => {
            Err(Implausible::TooFast { rate, capacity })
        }
        Some(capacity) => Ok(rate.min(capacity)),
        None => Ok(rate),
    }
}

/// Returns the growth of a 32-bit counter. It may have wrapped once, if it can be known that it did not do so twice.
fn narrow_growth(from: u32, to: u32, elapsed: Duration, capacity: Option<f64>) -> Result<u32, Implausible> {
    match capacity {
        Some(capacity) if capacity * elapsed.as_secs_f64() > f64::from(u32::MAX) => {
            Err(Implausible::WrapsTooOften { elapsed })
        }
        None if to < from => Err(Implausible::WentBack { from: from.into(), to: to.into() }),
        _ => Ok(to.wrapping_sub(from)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFRESH: Duration = Duration::from_secs(6);
    const LATENESS: Duration = Duration::from_millis(600);
    const GIGABIT: Option<f64> = Some(125e6);

    fn meter() -> Meter {
        Meter::new(REFRESH, LATENESS)
    }

    fn wide(at_s: u64, uptime_ticks: u32, received: u64) -> Sighting {
        let (received, sent) = (Count::Wide(received), Count::Wide(0));
        let at = Duration::from_secs(at_s);
        Sighting { at, uptime_ticks, boots: Some(1), discontinuity: Some(0), received, sent }
    }

    fn narrow(at_s: u64, uptime_ticks: u32, received: u32) -> Sighting {
        Sighting { received: Count::Narrow(received), sent: Count::Narrow(0), ..wide(at_s, uptime_ticks, 0) }
    }

    /// Checks the rate of bytes received that two sightings, one after the other, give.
    #[track_caller]
    fn check(from: Sighting, to: Sighting, capacity: Option<f64>, expected: Result<Option<f64>, Implausible>) {
        let mut meter = meter();
        assert_eq!(meter.step(from, capacity), Ok(None), "one sighting has no rate");
        let rates = meter.step(to, capacity);
        assert_eq!(rates.map(|rates| rates.map(|rates| rates.received)), expected);
    }

    #[test]
    fn a_rate_is_over_the_agents_time() {
        check(wide(0, 100, 0), wide(1, 225, 1000), GIGABIT, Ok(Some(800.0)));
    }

    #[test]
    fn a_clock_that_stands_still_or_runs_ahead_is_not_believed() {
        check(wide(0, 100, 0), wide(1, 100, 1000), GIGABIT, Ok(Some(1000.0)));
        check(wide(0, 100, 0), wide(60, 100, 6000), GIGABIT, Ok(Some(100.0)));
        check(wide(0, 100, 0), wide(1, 900_000, 1000), GIGABIT, Ok(Some(1000.0)));
    }

    #[test]
    fn a_clock_that_wraps_after_497_days_goes_on() {
        check(wide(0, u32::MAX - 49, 0), wide(1, 50, 1000), GIGABIT, Ok(Some(1000.0)));
    }

    #[test]
    fn a_clock_that_went_back_is_a_restart_and_a_gap() {
        check(wide(0, 5_000, 10), wide(1, 20, 1000), GIGABIT, Ok(None));
        check(wide(0, u32::MAX - 500_000, 10), wide(1, 20, 1000), GIGABIT, Ok(None));
    }

    #[test]
    fn an_agent_that_was_gone_and_came_back_within_its_first_minutes_restarted() {
        check(wide(0, 500, 0), wide(3_600, 60_000, 1000), GIGABIT, Ok(None));
    }

    #[test]
    fn another_count_of_boots_is_a_restart_whatever_the_clock_says() {
        check(wide(0, 100, 0), Sighting { boots: Some(2), ..wide(1, 200, 1000) }, GIGABIT, Ok(None));
    }

    #[test]
    fn a_discontinuity_is_a_gap_and_counting_starts_anew() {
        let mut meter = meter();
        let after = |at_s, ticks, received| Sighting { discontinuity: Some(150), ..wide(at_s, ticks, received) };
        assert_eq!(meter.step(wide(0, 100, 5_000), GIGABIT), Ok(None));
        assert_eq!(meter.step(after(1, 200, 10), GIGABIT), Ok(None));
        assert_eq!(meter.step(after(2, 300, 110), GIGABIT), Ok(Some(Rates { received: 100.0, sent: 0.0 })));
    }

    #[test]
    fn a_narrow_counter_wraps_once() {
        check(narrow(0, 0, u32::MAX - 499), narrow(1, 100, 500), GIGABIT, Ok(Some(1000.0)));
    }

    #[test]
    fn a_narrow_counter_that_may_have_wrapped_twice_is_not_believed() {
        let elapsed = Duration::from_secs(60);
        check(narrow(0, 0, 0), narrow(60, 6_000, 500), GIGABIT, Err(Implausible::WrapsTooOften { elapsed }));
    }

    #[test]
    fn a_narrow_counter_that_went_back_without_a_capacity_is_not_believed() {
        check(narrow(0, 0, 9), narrow(1, 100, 5), None, Err(Implausible::WentBack { from: 9, to: 5 }));
    }

    #[test]
    fn a_wide_counter_that_went_back_is_not_believed() {
        check(wide(0, 0, 9), wide(1, 100, 5), GIGABIT, Err(Implausible::WentBack { from: 9, to: 5 }));
    }

    #[test]
    fn a_narrow_counter_that_turns_wide_starts_anew() {
        let mut meter = meter();
        assert_eq!(meter.step(narrow(0, 0, 900), GIGABIT), Ok(None));
        assert_eq!(meter.step(wide(1, 100, 5), GIGABIT), Err(Implausible::WentBack { from: 900, to: 5 }));
        assert_eq!(meter.step(wide(2, 200, 105), GIGABIT), Ok(Some(Rates { received: 100.0, sent: 0.0 })));
    }

    #[test]
    fn more_than_an_interface_can_carry_is_not_believed() {
        let error = Implausible::TooFast { rate: 1e9, capacity: 125e6 };
        check(wide(0, 0, 0), wide(1, 100, 1_000_000_000), GIGABIT, Err(error));
    }

    #[test]
    fn a_little_more_than_an_interface_can_carry_is_its_capacity() {
        check(wide(0, 0, 0), wide(1, 100, 130_000_000), GIGABIT, Ok(Some(125e6)));
    }

    #[test]
    fn counters_that_are_brought_up_to_date_every_three_seconds_give_an_even_rate() {
        let mut meter = meter();
        let rates: Vec<_> = (0..9_u32)
            .map(|s| meter.step(wide(s.into(), s * 100, u64::from(s / 3) * 3_000), GIGABIT).unwrap())
            .map(|rates| rates.map(|rates| rates.received))
            .collect();
        assert_eq!(rates[..3], [None; 3]);
        assert_eq!(rates[3..], [Some(1000.0); 6]);
    }

    #[test]
    fn counters_that_stand_still_for_longer_are_idle() {
        let mut meter = meter();
        let mut seen = |s: u32, received| meter.step(wide(s.into(), s * 100, received), GIGABIT).unwrap();
        let (busy, idle) = (Rates { received: 10.0, sent: 0.0 }, Rates { received: 0.0, sent: 0.0 });
        assert_eq!((seen(0, 0), seen(1, 10)), (None, Some(busy)));
        assert_eq!((seen(6, 10), seen(7, 10), seen(8, 10)), (Some(busy), Some(idle), Some(idle)));
        assert_eq!(seen(9, 30), Some(busy), "10 bytes/s over the two seconds since the agent was known to be idle");
    }
}
