//! Times in cells: those that [`Timestamp`] reads; days with points, `21.11.2026` and `21.11.2026 09:00`; months,
//! quarters, weeks and years, `1949-01`, `2024Q3`, `2026-W05` and `1949`; and numbers since 1970.
//!
//! A number is in seconds since 1970, or with 12 digits and more in milli-, micro- or nanoseconds. In a column in which
//! all numbers are years, months such as 194901, or days such as 19490101 with or without a time of day, numbers are
//! those.

use jiff::civil::{Date, DateTime, ISOWeekDate, Weekday};
use units::Timestamp;

/// A time in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CellTime {
    /// A moment, from an offset or a number.
    Moment(Timestamp),
    /// A time on a clock whose zone the cell does not have.
    Local(DateTime),
}

/// A cell that is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoTime {
    /// A text that is not of a time.
    Unreadable,
    /// A time before or after those that a [`Timestamp`] holds.
    OutOfRange,
}

/// Form of the numbers of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberForm {
    SinceEpoch,
    /// Dates of so many digits: 4 for years, 6 for months, 8 for days, 12 for minutes, 14 for seconds.
    Date {
        n_digits: usize,
    },
}

/// Years of dates that are written as numbers without a mark between year, month and day.
const YEARS: std::ops::RangeInclusive<i16> = 1678..=2261;

impl NumberForm {
    /// Returns the form that the numbers among these cells have in common.
    pub(super) fn of<'c>(cells: impl Iterator<Item = &'c str>) -> Self {
        let mut numbers = cells.filter(|cell| is_digits(cell)).peekable();
        let n_digits = numbers.peek().map_or(0, |number| number.len());
        let are_dates = n_digits > 0
            && numbers.all(|number| date_of_digits(number, n_digits).is_some_and(|date| YEARS.contains(&date.year())));
        if are_dates { Self::Date { n_digits } } else { Self::SinceEpoch }
    }
}

/// Reads a time. Days with points begin with the day of the month wherever they are used; days with slashes may begin
/// with the month, and are refused.
pub(super) fn read(cell: &str, form: NumberForm) -> Result<CellTime, NoTime> {
    if let (NumberForm::Date { n_digits }, true) = (form, is_digits(cell)) {
        return date_of_digits(cell, n_digits).map(CellTime::Local).ok_or(NoTime::Unreadable);
    }
    if let Some(nanos) = since_epoch(cell) {
        return timestamp(nanos).map(CellTime::Moment);
    }
    let iso = with_points(cell);
    let iso = iso.as_deref().unwrap_or(cell);
    if let Ok(moment) = iso.parse::<jiff::Timestamp>() {
        return timestamp(Some(moment.as_nanosecond())).map(CellTime::Moment);
    }
    match iso.parse::<DateTime>().ok().or_else(|| period(cell).map(DateTime::from)) {
        Some(local) => Ok(CellTime::Local(local)),
        None if has_long_year(iso) => Err(NoTime::OutOfRange),
        None => Err(NoTime::Unreadable),
    }
}

/// Returns the moment of these nanoseconds since 1970; `None` is beyond all moments.
pub(super) fn timestamp(nanos: Option<i128>) -> Result<Timestamp, NoTime> {
    nanos.and_then(|nanos| i64::try_from(nanos).ok()).map(Timestamp::from_nanos).ok_or(NoTime::OutOfRange)
}

/// Whether a cell is meant as a date, readable or not: `2026-11-21`, `21.11.2026`, `11/21/26`, `2026-11`, `2026Q4`,
/// `2026-W47`.
pub(super) fn is_meant_as_date(cell: &str) -> bool {
    let unsigned = cell.strip_prefix(['-', '+']).filter(|_| has_long_year(cell)).unwrap_or(cell);
    let day = unsigned.split([' ', 'T']).next().unwrap_or_default();
    let has_parts = |mark| {
        let parts: Vec<&str> = day.split(mark).collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        parts.iter().all(|part| is_digits(part))
            && match lengths[..] {
                [2 | 4, 1 | 2, 1 | 2] | [1 | 2, 1 | 2, 2 | 4] => true,
                [5 | 6, 1 | 2, 1 | 2] | [4, 2] => mark == '-',
                _ => false,
            }
    };
    ['-', '/', '.'].into_iter().any(has_parts) || period(cell).is_some()
}

/// Whether a cell can be read as a time, or could if that were not out of range.
pub(super) fn is_time(cell: &str, form: NumberForm) -> bool {
    !matches!(read(cell, form), Err(NoTime::Unreadable))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the beginning of `1949`, `194901`, `19490101`, `194901010900` or `19490101090000`.
fn date_of_digits(cell: &str, n_digits: usize) -> Option<DateTime> {
    if cell.len() != n_digits || !matches!(n_digits, 4 | 6 | 8 | 12 | 14) {
        return None;
    }
    // Two digits fit.
    let part = |from: usize, absent: i8| cell.get(from..from + 2).map_or(absent, |part| part.parse().unwrap_or(absent));
    let (year, month, day) = (cell[..4].parse().ok()?, part(4, 1), part(6, 1));
    DateTime::new(year, month, day, part(8, 0), part(10, 0), part(12, 0), 0).ok()
}

/// Returns the nanoseconds of a number since 1970; the inner `None` if it is between the seconds and the milliseconds
/// that a [`Timestamp`] holds, or has more digits than any unit.
fn since_epoch(cell: &str) -> Option<Option<i128>> {
    let (sign, digits) = cell.strip_prefix('-').map_or((1, cell), |digits| (-1, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    if !is_digits(whole) || !is_digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let n_per_second = match whole.trim_start_matches('0').len() {
        ..=11 => 1,
        12..=14 => 1_000,
        15..=17 => 1_000_000,
        18..=19 => 1_000_000_000,
        _ => return Some(None),
    };
    let nanos: i128 = format!("{whole}{fraction:0<9}").parse().ok()?;
    Some(Some(sign * nanos / n_per_second))
}

/// Returns the first day of `1949-01`, `2024Q3`, `2024-Q3`, `2026-W05` or `2026W05`.
fn period(cell: &str) -> Option<Date> {
    let (year, rest) = cell.split_at_checked(4).filter(|(year, _)| is_digits(year))?;
    let year: i16 = year.parse().ok()?;
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    let unmarked = rest.strip_prefix('-').unwrap_or(rest);
    let number = |digits: &str| digits.parse::<i8>().ok().filter(|_| is_digits(digits));
    match (unmarked.get(..1)?, unmarked.get(1..)?) {
        ("Q" | "q", quarter) if quarter.len() == 1 => {
            let quarter = number(quarter).filter(|quarter| (1..=4).contains(quarter))?;
            Date::new(year, 3 * quarter - 2, 1).ok()
        }
        ("W" | "w", week) if week.len() == 2 => {
            Some(ISOWeekDate::new(year, number(week)?, Weekday::Monday).ok()?.date())
        }
        _ if unmarked.len() == 2 && rest.starts_with('-') => Date::new(year, number(unmarked)?, 1).ok(),
        _ => None,
    }
}

/// Whether a year with a sign or more than four digits begins a date.
fn has_long_year(cell: &str) -> bool {
    let unsigned = cell.strip_prefix(['-', '+']);
    let mut parts = unsigned.unwrap_or(cell).splitn(3, '-');
    let (year, month, rest) = (parts.next(), parts.next(), parts.next());
    year.is_some_and(|year| is_digits(year) && (year.len() > 4 || (unsigned.is_some() && year.len() == 4)))
        && month.is_some_and(|month| is_digits(month) && month.len() == 2)
        && rest.is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()))
}

/// Returns `2026-11-21 09:00` of `21.11.2026 09:00`.
fn with_points(cell: &str) -> Option<String> {
    let (day, time) = cell.split_at(cell.find([' ', 'T']).unwrap_or(cell.len()));
    let mut parts = day.split('.');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    (parts.next().is_none() && year.len() == 4).then(|| format!("{year}-{month:0>2}-{day:0>2}{time}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(cell: &str, expected: &str) {
        let moment = match read(cell, NumberForm::of([cell].into_iter())) {
            Ok(CellTime::Moment(moment)) => moment.to_string(),
            Ok(CellTime::Local(local)) => local.to_string(),
            Err(no_time) => format!("{no_time:?}"),
        };
        assert_eq!(moment, expected, "{cell}");
    }

    #[test]
    fn periods_begin_on_their_first_day() {
        check("1949-01", "1949-01-01T00:00:00");
        check("2024Q3", "2024-07-01T00:00:00");
        check("2024-q1", "2024-01-01T00:00:00");
        check("2026-W05", "2026-01-26T00:00:00");
        check("2026W53", "2026-12-28T00:00:00");
        check("1949", "1949-01-01T00:00:00");
        check("194902", "1949-02-01T00:00:00");
        check("20240229", "2024-02-29T00:00:00");
        check("202402290915", "2024-02-29T09:15:00");
        check("20240229091501", "2024-02-29T09:15:01");
        for cell in
            ["1949-13", "1949-1", "2024Q5", "2024Q0", "2025-W53", "2026-W5", "1949-", "Q3", "1949x1", "\u{e9}9-01"]
        {
            check(cell, "Unreadable");
        }
    }

    #[test]
    fn the_unit_of_a_number_since_1970_follows_from_its_digits() {
        check("1700000000", "2023-11-14T22:13:20Z");
        check("1700000000.25", "2023-11-14T22:13:20.25Z");
        check("1700000000250", "2023-11-14T22:13:20.25Z");
        check("1700000000250000", "2023-11-14T22:13:20.25Z");
        check("1700000000250000000", "2023-11-14T22:13:20.25Z");
        check("-0.5", "1969-12-31T23:59:59.5Z");
        check("20249999", "1970-08-23T08:59:59Z");
        check("99999999999", "OutOfRange");
        check("99999999999999999999", "OutOfRange");
    }

    #[test]
    fn times_that_no_timestamp_holds_are_named_as_such() {
        for cell in ["9999-01-01T00:00:00Z", "12000-01-01", "-0044-03-15", "+10000-01-01 00:00"] {
            check(cell, "OutOfRange");
            assert!(is_meant_as_date(cell), "{cell}");
        }
        // Without an offset, the zone decides.
        check("1500-01-01", "1500-01-01T00:00:00");
        check("-5-3", "Unreadable");
    }

    #[test]
    fn numbers_are_dates_only_if_all_of_them_are() {
        assert_eq!(NumberForm::of(["year", "1949", "1950"].into_iter()), NumberForm::Date { n_digits: 4 });
        for cells in [["0", "1949"], ["1949", "19500"], ["202401", "202413"], ["1000", "2000"], ["x", "y"]] {
            assert_eq!(NumberForm::of(cells.into_iter()), NumberForm::SinceEpoch, "{cells:?}");
        }
    }
}
