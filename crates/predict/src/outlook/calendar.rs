//! The user's days: what time of day and day of the week a step has.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use units::Timestamp;

const DAY_SECONDS: f64 = 86_400.0;
const WEEK_SECONDS: f64 = 7.0 * DAY_SECONDS;

/// Changes of a zone's offset that are looked up, at most: twice a year for thirty years.
const N_CHANGES_MAX: usize = 60;

/// No offset of a zone differs from another of it by more than these seconds.
const CHANGE_MAX_SECONDS: f64 = 7200.0;

/// Calendar of the user: where days begin, and which of them count as Sundays.
#[derive(Clone, Debug, PartialEq)]
pub struct Calendar {
    zone: TimeZone,
    holidays: BTreeSet<Date>,
}

/// The same for the steps of one series.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Days {
    /// Number of steps that local time is ahead of the number of the step, counted from a Monday, and the step from
    /// which on it holds. Ascending; the first is of step 0.
    shifts: Vec<(u64, f64)>,
    /// First and last step of each holiday, and how many steps before there was a Sunday. Ascending.
    holidays: Vec<(u64, u64, f64)>,
    /// A week, and the most by which clocks are changed, in steps.
    week: f64,
    change_max: f64,
}

impl Calendar {
    /// The same everywhere, without holidays.
    pub const UTC: Self = Self { zone: TimeZone::UTC, holidays: BTreeSet::new() };

    /// Days of a time zone, and dates that count as Sundays.
    #[must_use]
    pub fn new(zone: TimeZone, holidays: BTreeSet<Date>) -> Self {
        Self { zone, holidays }
    }

    /// Returns the time zone.
    #[must_use]
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Those of a series with this step, whose first sample begins at `start`.
    pub(super) fn days(&self, start: Timestamp, step: Duration) -> Days {
        let moment = |at: Timestamp| {
            jiff::Timestamp::from_nanosecond(i128::from(at.as_nanos()))
                .expect("64 bits of nanoseconds are in jiff's range")
        };
        let step_seconds = step.as_secs_f64();
        let steps = |seconds: f64| seconds / step_seconds;
        let first = moment(start);
        let local = self.zone.to_datetime(first);
        let of_day = local.time().duration_since(jiff::civil::Time::midnight()).as_secs_f64();
        let of_week = f64::from(local.weekday().to_monday_zero_offset()) * DAY_SECONDS + of_day;
        let offset = f64::from(self.zone.to_offset(first).seconds());
        // What begins within a step counts from the next one on.
        let step_at = |at: jiff::Timestamp| steps(at.duration_since(first).as_secs_f64()).ceil().max(0.0) as u64;
        let changes = self.zone.following(first).take(N_CHANGES_MAX);
        let change = changes.map(|change| {
            let ahead = f64::from(change.offset().seconds()) - offset;
            (step_at(change.timestamp()), steps(of_week + ahead))
        });
        let holiday = |date: &Date| {
            let begin = date.to_zoned(self.zone.clone()).ok()?.timestamp();
            let end = date.tomorrow().ok()?.to_zoned(self.zone.clone()).ok()?.timestamp();
            let since_sunday = f64::from(date.weekday().to_sunday_zero_offset()) * DAY_SECONDS;
            (end > first).then(|| (step_at(begin), step_at(end), steps(since_sunday)))
        };
        Days {
            shifts: std::iter::once((0, steps(of_week))).chain(change).collect(),
            holidays: self.holidays.iter().filter_map(holiday).collect(),
            week: steps(WEEK_SECONDS),
            change_max: steps(CHANGE_MAX_SECONDS).ceil(),
        }
    }
}

impl Days {
    /// No days: steps are counted as they are.
    pub(super) fn none() -> Self {
        Self { shifts: vec![(0, 0.0)], holidays: Vec::new(), week: f64::NAN, change_max: 0.0 }
    }

    /// Steps by which a period may be longer than its length.
    pub(super) fn change_max(&self) -> usize {
        self.change_max as usize
    }

    /// Returns the place of `step` in local time, in steps. For a period of a week holidays are where Sundays are.
    pub(super) fn place(&self, step: u64, period: f64) -> f64 {
        step as f64 + self.shift(step) - self.since_sunday(step, period)
    }

    /// The last step at least `n_back` before `step` that is at the same place of a period; `None` before the first
    /// one, and for a week where that was a holiday.
    pub(super) fn before(&self, step: u64, n_back: u64, period: f64) -> Option<u64> {
        let since_sunday = self.since_sunday(step, period);
        let least = ((n_back as f64 - since_sunday) / period).ceil().max(0.0);
        // Clocks that are set forward on the way bring the nearest one too near.
        let found = [least, least + 1.0].into_iter().find_map(|n_periods| {
            let near = step as f64 - (n_periods * period + since_sunday).round();
            let before = (near >= 0.0).then(|| (near + self.shift(step) - self.shift(near as u64)).round())?;
            (before >= 0.0 && step as f64 - before >= n_back as f64).then_some(before as u64)
        })?;
        (since_sunday > 0.0 || self.since_sunday(found, period) == 0.0).then_some(found)
    }

    fn shift(&self, step: u64) -> f64 {
        self.shifts[self.shifts.partition_point(|(from, _)| *from <= step) - 1].1
    }

    /// Returns the number of steps before `step` at which there was a Sunday, if the period is a week and the step a
    /// holiday; else 0.
    fn since_sunday(&self, step: u64, period: f64) -> f64 {
        let idx = self.holidays.partition_point(|(begin, ..)| *begin <= step);
        let holiday = idx.checked_sub(1).map(|idx| self.holidays[idx]).filter(|(_, end, _)| step < *end);
        let is_week = (period - self.week).abs() < 1e-9 * period;
        holiday.filter(|_| is_week).map_or(0.0, |(.., since_sunday)| since_sunday)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const WEEK: f64 = 168.0;

    /// Hours of central Europe from a moment on: clocks go from 2 to 3 on 29 March 2026 and from 3 to 2 on 25 October,
    /// at 01:00 UTC.
    fn hours(start: &str, holidays: &[&str]) -> Days {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let holidays = holidays.iter().map(|date| date.parse().unwrap()).collect();
        Calendar::new(zone, holidays).days(start.parse().unwrap(), HOUR)
    }

    #[test]
    fn days_follow_the_clock_on_the_wall_over_both_changes() {
        // The Saturday before, at midnight in local time; the change is 26 hours later.
        let spring = hours("2026-03-27T23:00:00Z", &[]);
        let autumn = hours("2026-10-23T22:00:00Z", &[]);
        let hour = |days: &Days, step: u64| days.place(step, 24.0).rem_euclid(24.0);
        assert_eq!([0, 25, 26, 49].map(|step| hour(&spring, step)), [0.0, 1.0, 3.0, 2.0]);
        assert_eq!([0, 26, 27, 49].map(|step| hour(&autumn, step)), [0.0, 2.0, 2.0, 0.0]);
        // Noon on Sunday was noon on Saturday 23 hours before, or 25.
        assert_eq!(spring.before(35, 1, 24.0), Some(12));
        assert_eq!(autumn.before(37, 1, 24.0), Some(12));
        // Of what may be no nearer than 24 hours it was the day before that.
        assert_eq!(spring.before(60, 24, 24.0), Some(36));
        assert_eq!(spring.before(59, 24, 24.0), Some(35));
        assert_eq!(spring.before(35, 24, 24.0), None);
    }

    #[test]
    fn weeks_begin_on_monday_in_local_time() {
        // Sunday 23:00 in UTC.
        let days = hours("2026-01-04T23:00:00Z", &[]);
        assert_eq!(days.place(0, WEEK), 0.0);
        assert_eq!(hours("2026-01-06T23:30:00Z", &[]).place(0, WEEK), 48.5);
    }

    #[test]
    fn a_holiday_is_where_the_sunday_before_it_was() {
        // From Monday on; the Wednesday of the second week is one, from hour 168 + 48 on.
        let days = hours("2026-01-04T23:00:00Z", &["2026-01-14"]);
        let wednesday = 168 + 48;
        assert_eq!(days.place(wednesday + 5, WEEK), 168.0 - 24.0 + 5.0);
        assert_eq!(days.place(wednesday + 5, 24.0).rem_euclid(24.0), 5.0, "its hours are its own");
        assert_eq!(days.before(wednesday + 5, 1, WEEK), Some(wednesday + 5 - 72));
        assert_eq!(days.place(wednesday + 24, WEEK), 168.0 + 72.0);
        // A week later nothing can be learned from it.
        assert_eq!(days.before(wednesday + 168, 24, WEEK), None);
    }

    #[test]
    fn without_a_calendar_steps_are_counted() {
        let days = Days::none();
        assert_eq!(days.place(1000, 24.0), 1000.0);
        assert_eq!(days.before(1000, 25, 24.0), Some(952));
        assert_eq!(days.before(10, 1, 24.0), None);
    }
}
