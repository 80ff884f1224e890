//! The step from one sample to the next: a length of time, or a unit of the calendar.

use std::fmt;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};
use units::span;

/// The distance from one sample to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A length of time; never zero.
    Span(Duration),
    /// A length on the clock of a time zone, such as a day of 23 to 25 hours; never zero.
    Clock(Duration),
    /// Months of the calendar, always at the same day and time of day.
    Months {
        /// Their number; never zero. A quarter has 3, a year 12.
        n: u32,
        /// Day of the month from 1, or the last day of a month that is shorter. 31 is the end of each month.
        day: i8,
    },
    /// Days from Monday to Friday.
    BusinessDay,
}

/// Mean lengths in the calendar of leap years every four years, in which a year has 365.25 days.
const MONTH: Duration = Duration::from_secs(2_629_800);
const BUSINESS_DAY: Duration = Duration::from_secs(7 * 86_400 / 5);

/// Part of a calendar step by which a length of time may be longer and take no further step: a year of 366 days takes
/// twelve months.
const TOLERANCE: f64 = 0.1;

/// A Monday.
const MONDAY: Date = Date::constant(1970, 1, 5);

impl Step {
    /// Returns the mean length.
    #[must_use]
    pub fn length(self) -> Duration {
        match self {
            Self::Span(span) | Self::Clock(span) => span,
            Self::Months { n, .. } => MONTH * n,
            Self::BusinessDay => BUSINESS_DAY,
        }
    }

    /// Returns the number of steps within `span`, rounded up.
    #[must_use]
    pub fn steps_within(self, span: Duration) -> u128 {
        match self {
            Self::Span(step) | Self::Clock(step) => crate::steps_within(span, step),
            _ => (span.as_secs_f64() / self.length().as_secs_f64() - TOLERANCE).ceil().max(1.0) as u128,
        }
    }

    /// Returns the number of steps from `start` to `at`; `None` if `at` lies between two steps. Both are times on a
    /// clock, and a length of time is one on that clock.
    pub(crate) fn idx_of(self, start: DateTime, at: DateTime) -> Option<i64> {
        let (distance, step) = match self {
            Self::Span(step) | Self::Clock(step) => (at.duration_since(start).as_nanos(), nanos(step)),
            _ if at.time() != start.time() => return None,
            Self::Months { day, .. } if at.day() != day.min(at.days_in_month()) => return None,
            Self::Months { n, .. } => (i128::from(month(at) - month(start)), i128::from(n)),
            Self::BusinessDay => (i128::from(business_day(at.date())? - business_day(start.date())?), 1),
        };
        (distance % step == 0).then(|| i64::try_from(distance / step).ok()).flatten()
    }

    /// Returns the time on the clock `idx` steps after `start`; `None` outside of the years from -9999 to 9999.
    pub(crate) fn time_of(self, start: DateTime, idx: i64) -> Option<DateTime> {
        let date = match self {
            Self::Span(step) | Self::Clock(step) => {
                let distance = SignedDuration::try_from_nanos_i128(nanos(step).checked_mul(i128::from(idx))?)?;
                return start.checked_add(distance).ok();
            }
            Self::Months { n, day } => {
                let month = month(start).checked_add(idx.checked_mul(i64::from(n))?)?;
                let (year, month) = (i16::try_from(month.div_euclid(12)).ok()?, month.rem_euclid(12) as i8 + 1);
                let first = Date::new(year, month, 1).ok()?;
                Date::new(year, month, day.min(first.days_in_month())).ok()?
            }
            Self::BusinessDay => {
                let day = business_day(start.date())?.checked_add(idx)?;
                let n_days = day.div_euclid(5).checked_mul(7)? + day.rem_euclid(5);
                MONDAY.checked_add(SignedDuration::from_secs(n_days.checked_mul(86_400)?)).ok()?
            }
        };
        Some(date.to_datetime(start.time()))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |f: &mut fmt::Formatter<'_>, n: u32, unit: &str| match n {
            1 => write!(f, "1 {unit}"),
            n => write!(f, "{n} {unit}s"),
        };
        match self {
            Self::Span(step) | Self::Clock(step) => f.write_str(&span::format(*step)),
            Self::Months { n, .. } if n % 12 == 0 => counted(f, n / 12, "year"),
            Self::Months { n, .. } => counted(f, *n, "month"),
            Self::BusinessDay => f.write_str("1 business day"),
        }
    }
}

fn nanos(span: Duration) -> i128 {
    i128::try_from(span.as_nanos()).unwrap_or(i128::MAX)
}

/// Returns the number of the month since the year 0.
pub(crate) fn month(at: DateTime) -> i64 {
    12 * i64::from(at.year()) + i64::from(at.month()) - 1
}

/// Returns the number of the day, counting Mondays to Fridays only; `None` for other days.
fn business_day(date: Date) -> Option<i64> {
    let n_days = days_since_monday(date);
    let of_week = n_days.rem_euclid(7);
    (of_week < 5).then(|| 5 * n_days.div_euclid(7) + of_week)
}

/// Days from a certain Monday to `date`.
pub(crate) fn days_since_monday(date: Date) -> i64 {
    date.duration_since(MONDAY).as_hours() / 24
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_walk(step: Step, start: &str, expected: &[&str]) {
        let start: DateTime = start.parse().unwrap();
        for (idx, expected) in (0..).zip(expected) {
            let at: DateTime = expected.parse().unwrap();
            assert_eq!((step.time_of(start, idx), step.idx_of(start, at)), (Some(at), Some(idx)), "step {idx}");
        }
    }

    #[test]
    fn months_keep_their_day_or_the_end_of_the_month() {
        let end = Step::Months { n: 1, day: 31 };
        check_walk(end, "2023-12-31", &["2023-12-31", "2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"]);
        check_walk(
            Step::Months { n: 1, day: 15 },
            "2024-11-15T06:00",
            &["2024-11-15T06:00", "2024-12-15T06:00", "2025-01-15T06:00"],
        );
        check_walk(Step::Months { n: 3, day: 30 }, "2023-11-30", &["2023-11-30", "2024-02-29", "2024-05-30"]);
        check_walk(Step::Months { n: 12, day: 29 }, "2024-02-29", &["2024-02-29", "2025-02-28", "2026-02-28"]);
        assert_eq!(end.idx_of("2024-01-31".parse().unwrap(), "2024-02-28".parse().unwrap()), None);
    }

    #[test]
    fn business_days_leave_weekends_out() {
        check_walk(Step::BusinessDay, "2026-11-26", &["2026-11-26", "2026-11-27", "2026-11-30", "2026-12-01"]);
        check_walk(Step::BusinessDay, "1969-12-31", &["1969-12-31", "1970-01-01", "1970-01-02", "1970-01-05"]);
        assert_eq!(Step::BusinessDay.idx_of("2026-11-26".parse().unwrap(), "2026-11-28".parse().unwrap()), None);
    }

    #[test]
    fn a_year_takes_twelve_months_and_a_fortnight_ten_business_days() {
        let days = |n: u64| Duration::from_secs(n * 86_400);
        let month = Step::Months { n: 1, day: 1 };
        assert_eq!([28, 31, 32, 365, 366, 400].map(|n| month.steps_within(days(n))), [1, 1, 1, 12, 12, 14]);
        assert_eq!([1, 7, 14].map(|n| Step::BusinessDay.steps_within(days(n))), [1, 5, 10]);
        assert_eq!(Step::Span(days(1)).steps_within(Duration::from_secs(86_401)), 2);
    }

    #[test]
    fn beyond_the_calendar_there_is_nothing() {
        let start = "2024-01-01".parse().unwrap();
        for step in [Step::Months { n: 1, day: 1 }, Step::BusinessDay, Step::Clock(BUSINESS_DAY)] {
            for idx in [10_000_000, i64::MAX, i64::MIN] {
                assert_eq!(step.time_of(start, idx), None, "{step}, {idx}");
            }
        }
    }
}
