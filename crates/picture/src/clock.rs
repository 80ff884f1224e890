//! Dates and times of day along an axis.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, date};

/// Number of values that are wanted.
const N_TICKS: f64 = 5.0;

const DAY: i64 = 86_400;

/// Distances of ticks in seconds: all divide a day, or are days.
const SPANS: [i64; 19] = [
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1_800,
    3_600,
    2 * 3_600,
    3 * 3_600,
    6 * 3_600,
    12 * 3_600,
    DAY,
    2 * DAY,
];

/// Longer ones: weeks, and months of the calendar.
const WEEKS: [i64; 2] = [1, 2];
const MONTHS: [i64; 15] = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1_200, 2_400, 6_000, 12_000, 24_000, 60_000];

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// A Monday before all others.
const MONDAY: i64 = -3 * DAY;

/// Returns about five round moments between two, in seconds since the begin of 1970, with what is written there: the
/// time of day, a day, a month or a year, whatever changes from one to the next. None where a moment is outside of the
/// years from -9999 to 9999.
pub(crate) fn ticks((low, high): (f64, f64)) -> Vec<(f64, String)> {
    let rough = (high - low) / N_TICKS;
    if !rough.is_finite() || at(low).is_none() || at(high).is_none() {
        return Vec::new();
    }
    let weeks = WEEKS.map(|n| 7 * n * DAY);
    if let Some(span) = SPANS.into_iter().chain(weeks).find(|span| *span as f64 >= rough) {
        let begin = if weeks.contains(&span) { MONDAY } else { 0 };
        let first = ((low - begin as f64) / span as f64).ceil() as i64 * span + begin;
        let seconds = (0..).map(|idx| first + idx * span).take_while(|seconds| *seconds as f64 <= high);
        return seconds.filter_map(|seconds| Some((seconds as f64, written(at(seconds as f64)?, span)))).collect();
    }
    let month = |n_months: i64| 30.5 * (n_months * DAY) as f64;
    let n_months = MONTHS.into_iter().find(|n| month(*n) >= rough).unwrap_or(MONTHS[MONTHS.len() - 1]);
    let whole = |moment: DateTime| i64::from(moment.year()) * 12 + i64::from(moment.month()) - 1;
    let first = at(low).map_or(0, |moment| whole(moment).div_euclid(n_months) * n_months);
    let firsts = (0..).map_while(|idx| first_of(first + idx * n_months));
    let seconds = firsts.map(|first| (first.to_datetime(jiff::civil::Time::midnight()).duration_since(EPOCH), first));
    let text = |first: Date| {
        let format = if n_months < 12 { "%b %Y" } else { "%Y" };
        first.strftime(format).to_string()
    };
    seconds
        .map(|(since, first)| (since.as_secs() as f64, text(first)))
        .skip_while(|(seconds, _)| *seconds < low)
        .take_while(|(seconds, _)| *seconds <= high)
        .collect()
}

/// Returns the first day of a month, counted from the year 0.
fn first_of(month: i64) -> Option<Date> {
    let year = i16::try_from(month.div_euclid(12)).ok().filter(|year| (-9999..=9999).contains(year))?;
    Some(date(year, month.rem_euclid(12) as i8 + 1, 1))
}

/// Returns the moment so many seconds after the begin of 1970.
fn at(seconds: f64) -> Option<DateTime> {
    EPOCH.checked_add(SignedDuration::try_from_secs_f64(seconds).ok()?).ok()
}

/// Returns the day at midnight and for spans of days, else the time of day.
fn written(moment: DateTime, span: i64) -> String {
    let is_day = span >= DAY || moment == moment.start_of_day();
    let format = if is_day {
        "%b %-d"
    } else if span < 60 {
        "%H:%M:%S"
    } else {
        "%H:%M"
    };
    moment.strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;

    use super::*;

    fn texts(from: DateTime, to: DateTime) -> String {
        let seconds = [from, to].map(|moment| moment.duration_since(EPOCH).as_secs_f64());
        ticks((seconds[0], seconds[1])).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn round_moments_are_written_as_briefly_as_they_differ() {
        let begin = date(2026, 11, 29).at(15, 17, 12, 0);
        for (span, expected) in [
            (30.seconds(), "15:17:20, 15:17:30, 15:17:40"),
            (1.hour(), "15:30, 15:45, 16:00, 16:15"),
            (1.day(), "18:00, Nov 30, 06:00, 12:00"),
            (9.days(), "Dec 1, Dec 3, Dec 5, Dec 7"),
            (60.days(), "Nov 30, Dec 14, Dec 28, Jan 11, Jan 25"),
            (1.year(), "Jan 2027, Apr 2027, Jul 2027, Oct 2027"),
            (20.years(), "2030, 2035, 2040, 2045"),
        ] {
            assert_eq!(texts(begin, begin + span), expected, "{span:#}");
        }
        assert_eq!(texts(date(-44, 3, 15).at(0, 0, 0, 0), date(2026, 1, 1).at(0, 0, 0, 0)).matches(", ").count(), 4);
    }
}
