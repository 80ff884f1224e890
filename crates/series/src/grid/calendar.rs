//! The step of the calendar that times are on, if there is one.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use units::Timestamp;

use super::{Distances, SLOTS_PER_SAMPLE_MAX, local};
use crate::Step;
use crate::step::{days_since_monday, month};

const DAY: Duration = Duration::from_secs(86_400);

/// Clocks are changed by no more than this where people live, so steps up to this length do not depend on a zone.
const CHANGE_MAX: Duration = Duration::from_secs(3600);

/// Returns the step of which all times are whole numbers from the first one: months, business days, or in a zone whose
/// clocks are changed a length on the clock. `None` if there is none, or a length of time does as well.
pub(super) fn find(timed: &[(Timestamp, f64)], zone: &TimeZone, spans: &Distances) -> Option<Step> {
    spans.shortest().filter(|shortest| *shortest > CHANGE_MAX)?;
    let mut times: Vec<DateTime> = timed.iter().map(|(time, _)| local(*time, zone)).collect();
    times.dedup();
    if times.windows(2).any(|pair| pair[1] <= pair[0]) {
        return None;
    }
    let step = months(&times).or_else(|| business_day(&times)).or_else(|| clock(&times, zone, spans))?;
    let start = *times.first()?;
    let n_slots = times.iter().try_fold(0, |_, time| step.idx_of(start, *time))? + 1;
    (n_slots as u128 <= SLOTS_PER_SAMPLE_MAX * times.len() as u128).then_some(step)
}

/// Returns the number of months that all distances are multiples of. The day is the end of the month if all times have
/// that.
fn months(times: &[DateTime]) -> Option<Step> {
    let are_ends = times.iter().all(|time| time.day() == time.days_in_month());
    let day = if are_ends { 31 } else { times.iter().map(|time| time.day()).max()? };
    let n = times.windows(2).map(|pair| month(pair[1]) - month(pair[0])).fold(0, gcd);
    let step = Step::Months { n: u32::try_from(n).ok().filter(|n| *n > 0)?, day };
    times.iter().all(|time| step.idx_of(times[0], *time).is_some()).then_some(step)
}

/// Returns the business day if most times are one business day apart, and a weekend lies among them.
fn business_day(times: &[DateTime]) -> Option<Step> {
    let step = Step::BusinessDay;
    let idxs: Vec<i64> = times.iter().map(|time| step.idx_of(times[0], *time)).collect::<Option<_>>()?;
    let n_next = idxs.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    let n_days = days_since_monday(times.last()?.date()) - days_since_monday(times[0].date());
    (2 * n_next > idxs.len() - 1 && *idxs.last()? < n_days).then_some(step)
}

/// Returns the step on the clock if it is in whole days, or there is no length of time that does as well.
fn clock(times: &[DateTime], zone: &TimeZone, spans: &Distances) -> Option<Step> {
    if zone.to_fixed_offset().is_ok() {
        return None;
    }
    let distances = Distances::of(times.iter().copied(), |later, earlier| later.duration_since(earlier).unsigned_abs());
    let step = distances.commonest().filter(|step| distances.are_multiples_of(*step))?;
    let is_in_days = step.as_nanos().is_multiple_of(DAY.as_nanos());
    let is_even = spans.commonest().is_some_and(|span| spans.are_multiples_of(span));
    (is_in_days || !is_even).then_some(Step::Clock(step))
}

fn gcd(one: i64, other: i64) -> i64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Series;

    fn berlin() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    /// The series of samples 1, 2, … at these times.
    #[track_caller]
    fn series(times: &[&str], zone: &TimeZone) -> Series {
        let timed: Vec<(Timestamp, f64)> =
            times.iter().zip(1..).map(|(time, n)| (time.parse().unwrap(), f64::from(n))).collect();
        Series::from_timed_in(&timed, zone).unwrap()
    }

    /// Checks the step, the number of slots and of gaps, and the text of the next moment.
    #[track_caller]
    fn check(times: &[&str], zone: &TimeZone, step: &str, n_slots: usize, n_gaps: usize, next: &str) {
        let series = series(times, zone);
        let grid = series.grid().unwrap();
        let found = (grid.step.to_string(), series.samples().len(), series.n_gaps(), series.merged());
        assert_eq!(found, (step.to_owned(), n_slots, n_gaps, None), "{:?}", grid.step);
        assert_eq!(grid.text_of(grid.time_of(n_slots).unwrap()), next);
    }

    #[test]
    fn months_quarters_and_years_are_units_of_the_calendar() {
        let utc = &TimeZone::UTC;
        check(&["2024-01-01", "2024-02-01"], utc, "1 month", 2, 0, "2024-03-01T00:00:00Z");
        check(&["2023-11-15", "2023-12-15", "2024-01-15"], utc, "1 month", 3, 0, "2024-02-15T00:00:00Z");
        check(&["2023-12-31", "2024-01-31", "2024-02-29"], utc, "1 month", 3, 0, "2024-03-31T00:00:00Z");
        check(&["2024-04-30", "2024-06-30"], utc, "2 months", 2, 0, "2024-08-31T00:00:00Z");
        check(&["2024-01-30", "2024-02-29", "2024-03-30"], utc, "1 month", 3, 0, "2024-04-30T00:00:00Z");
        check(&["2023-10-01", "2024-01-01", "2024-04-01"], utc, "3 months", 3, 0, "2024-07-01T00:00:00Z");
        check(&["2022-01-01", "2023-01-01", "2024-01-01"], utc, "1 year", 3, 0, "2025-01-01T00:00:00Z");
        check(&["2020-02-29", "2021-02-28", "2022-02-28"], utc, "1 year", 3, 0, "2023-02-28T00:00:00Z");
    }

    #[test]
    fn a_missing_month_is_a_gap() {
        let utc = &TimeZone::UTC;
        check(&["2024-01-01", "2024-02-01", "2024-05-01"], utc, "1 month", 5, 2, "2024-06-01T00:00:00Z");
        let quarters = ["2023-01-01", "2023-04-01", "2023-10-01", "2024-01-01"];
        check(&quarters, utc, "3 months", 5, 1, "2024-04-01T00:00:00Z");
    }

    #[test]
    fn business_days_need_a_weekend_among_them() {
        let utc = &TimeZone::UTC;
        let week = ["2026-11-23", "2026-11-24", "2026-11-25", "2026-11-26", "2026-11-27"];
        check(&week, utc, "1d", 5, 0, "2026-11-28T00:00:00Z");
        check(&week[1..4], utc, "1d", 3, 0, "2026-11-27T00:00:00Z");
        // The Thursday is a holiday.
        let days = ["2026-11-24", "2026-11-25", "2026-11-27", "2026-11-30", "2026-12-01"];
        check(&days, utc, "1 business day", 6, 1, "2026-12-02T00:00:00Z");
        check(&["2026-11-26", "2026-11-27", "2026-11-28", "2026-11-30"], utc, "1d", 5, 1, "2026-12-01T00:00:00Z");
        check(&["2026-11-16", "2026-11-23", "2026-11-30"], utc, "7d", 3, 0, "2026-12-07T00:00:00Z");
    }

    #[test]
    fn days_and_months_of_a_zone_follow_its_clock() {
        let zone = &berlin();
        let days = ["2026-03-27T23:00Z", "2026-03-28T23:00Z", "2026-03-29T22:00Z", "2026-03-30T22:00Z"];
        check(&days, zone, "1d", 4, 0, "2026-04-01T00:00:00+02:00");
        check(&days[..2], zone, "1d", 2, 0, "2026-03-30T00:00:00+02:00");
        check(&["2026-02-28T23:00Z", "2026-03-31T22:00Z"], zone, "1 month", 2, 0, "2026-05-01T00:00:00+02:00");
        let quarters_of_a_day = ["2026-03-28T17:00Z", "2026-03-28T23:00Z", "2026-03-29T04:00Z", "2026-03-29T10:00Z"];
        check(&quarters_of_a_day, zone, "6h", 4, 0, "2026-03-29T18:00:00+02:00");
    }

    #[test]
    fn hours_are_the_same_in_every_zone() {
        let hours = ["2026-10-25T00:00Z", "2026-10-25T01:00Z", "2026-10-25T02:00Z"];
        check(&hours, &berlin(), "1h", 3, 0, "2026-10-25T04:00:00+01:00");
    }
}
