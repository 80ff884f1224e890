//! Times of the calendar and of local clocks, from text to the moments of the next samples.

use std::time::Duration;

use jiff::tz::TimeZone;
use series::csv::{Column, CsvError, Options, read};
use series::{Resampling, Series};

fn berlin() -> Options {
    Options { zone: Some(TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()), ..Options::default() }
}

/// Rows with these labels, and the numbers 1, 2, … beside them.
fn table(header: &str, labels: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    let rows = labels.into_iter().zip(1..).map(|(label, n)| format!("{label},{n}\n"));
    [format!("{header}\n")].into_iter().chain(rows).collect()
}

#[track_caller]
fn series(text: &str, options: &Options) -> Series {
    read(text.as_bytes(), options).unwrap_or_else(|error| panic!("{error}"))
}

/// Checks the step, how many samples there are, that none is a gap or shares a slot, and the next moment.
#[track_caller]
fn check_even(series: &Series, step: &str, n_samples: usize, next: &str) {
    let grid = series.grid().unwrap();
    let found = (grid.step.to_string(), series.samples().len(), series.n_gaps(), series.merged());
    assert_eq!(found, (step.to_owned(), n_samples, 0, None));
    assert_eq!(grid.text_of(grid.time_of(n_samples).unwrap()), next);
}

#[track_caller]
fn check_merged(series: &Series, expected: &str) {
    assert_eq!(series.merged().map(ToString::to_string).as_deref(), Some(expected));
}

#[track_caller]
fn check_refused(text: &str, options: &Options, expected: &str) {
    let error = read(text.as_bytes(), options).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

fn months(format: impl Fn(i32, i32) -> String) -> Vec<String> {
    (0..144).map(|month| format(1949 + month / 12, month % 12 + 1)).collect()
}

#[test]
fn twelve_years_of_months_are_144_samples() {
    let first_days = months(|year, month| format!("{year}-{month:02}-01"));
    let short = months(|year, month| format!("{year}-{month:02}"));
    let digits = months(|year, month| format!("{year}{month:02}"));
    for (header, labels) in [("Month,Passengers", first_days), ("Month,Passengers", short), ("date,passengers", digits)]
    {
        check_even(&series(&table(header, labels), &Options::default()), "1 month", 144, "1961-01-01T00:00:00Z");
    }
    let middles = months(|year, month| format!("{year}-{month:02}-15 06:00"));
    check_even(&series(&table("t,x", middles), &Options::default()), "1 month", 144, "1961-01-15T06:00:00Z");
}

#[test]
fn a_hundred_quarters_are_a_hundred_samples() {
    let quarters = |format: fn(i32, i32) -> String| (0..100).map(move |n| format(2000 + n / 4, n % 4));
    let short = table("quarter,gdp", quarters(|year, quarter| format!("{year}Q{}", quarter + 1)));
    let first_days = table("t,gdp", quarters(|year, quarter| format!("{year}-{:02}-01", 3 * quarter + 1)));
    for text in [short, first_days] {
        check_even(&series(&text, &Options::default()), "3 months", 100, "2025-01-01T00:00:00Z");
    }
    let ends = ["03-31", "06-30", "09-30", "12-31"];
    let ends = table("t,gdp", (0..100).map(|n| format!("{}-{}", 2000 + n / 4, ends[n % 4])));
    check_even(&series(&ends, &Options::default()), "3 months", 100, "2025-03-31T00:00:00Z");
}

#[test]
fn weeks_and_years_have_labels_of_their_own() {
    let weeks = table("week,x", ["2026-W52", "2026-W53", "2027-W01"]);
    check_even(&series(&weeks, &Options::default()), "7d", 3, "2027-01-11T00:00:00Z");
    let years = table("year,x", 1900..2000);
    check_even(&series(&years, &Options::default()), "1 year", 100, "2000-01-01T00:00:00Z");
    let named = Options { time_column: Some(Column::Number(1)), ..Options::default() };
    check_even(&series("2024,5\n2025,6\n2026,7\n", &named), "1 year", 3, "2027-01-01T00:00:00Z");
    let error = read(table("year,x", (1990..2010).chain([20100])).as_bytes(), &named).unwrap_err().to_string();
    assert!(error.starts_with("line 22, column 1: `20100` is no time such as"), "{error}");
}

#[test]
fn a_hole_and_disorder_among_months_are_seen() {
    let holed = series("t,x\n2024-01,1\n2024-02,2\n2024-04,4\n2024-05,\n", &Options::default());
    let known: Vec<Option<f64>> = holed.samples().iter().map(|x| (!x.is_nan()).then_some(*x)).collect();
    assert_eq!(known, [Some(1.0), Some(2.0), None, Some(4.0), None]);
    let error = read(&b"t,x\n2024-01,1\n2024-03,3\n2024-02,2\n"[..], &Options::default()).unwrap_err();
    assert!(matches!(error, CsvError::TimesAt { line: 4, .. }), "{error}");
    let twice = series("t,x\n2024-01,1\n2024-02,2\n2024-02,4\n2024-03,5\n", &Options::default());
    assert_eq!(twice.samples(), [1.0, 3.0, 5.0]);
    check_merged(&twice, "1 sample is averaged with another one of the same step: that of 2024-02-01T00:00:00Z");
}

#[test]
fn months_are_brought_to_a_step_that_is_given() {
    let sixty_days = Duration::from_secs(60 * 86_400);
    let options = Options { resample: Some((sixty_days, Resampling::Mean)), ..Options::default() };
    let text = table("t,x", ["2024-01", "2024-02", "2024-03", "2024-04"]);
    check_even(&series(&text, &options), "60d", 2, "2024-04-30T00:00:00Z");
}

/// Times of four days, with 97 hours of them in the zone.
fn hours_over_the_end_of_summer_time(per_hour: usize) -> Vec<String> {
    let label = |n: usize| {
        let clock = if n >= 27 * per_hour { n - per_hour } else { n };
        let (day, of_day) = (clock / (24 * per_hour), clock % (24 * per_hour));
        format!("2026-10-{} {:02}:{:02}", 24 + day, of_day / per_hour, 60 / per_hour * (of_day % per_hour))
    };
    (0..97 * per_hour).map(label).collect()
}

#[test]
fn an_hour_that_comes_twice_needs_a_time_zone_or_offsets() {
    for (per_hour, step, line) in [(1, "1h", 29), (2, "30m", 56), (4, "15m", 110)] {
        let text = table("t,x", hours_over_the_end_of_summer_time(per_hour));
        check_refused(
            &text,
            &Options::default(),
            &format!(
                "line {line}, column 1: 02:00 comes twice on 2026-10-25, as at the end of summer time; \
                 the file needs offsets, such as 2026-10-25T02:00:00+01:00, or a time zone"
            ),
        );
        check_even(&series(&text, &berlin()), step, 97 * per_hour, "2026-10-28T00:00:00+01:00");
    }
    let offsets =
        "t,x\n2026-10-25T01:00+02:00,1\n2026-10-25T02:00+02:00,2\n2026-10-25T02:00+01:00,3\n2026-10-25T03:00+01:00,4\n";
    check_even(&series(offsets, &Options::default()), "1h", 4, "2026-10-25T03:00:00Z");
    check_even(&series(offsets, &berlin()), "1h", 4, "2026-10-25T04:00:00+01:00");
}

#[test]
fn rows_that_are_there_twice_are_no_change_of_clocks() {
    // At noon, and in every night.
    let noon = "t,x\n2026-10-25 11:00,1\n2026-10-25 12:00,2\n2026-10-25 12:00,4\n2026-10-25 13:00,5\n";
    check_merged(
        &series(noon, &Options::default()),
        "1 sample is averaged with another one of the same step: that of 2026-10-25T12:00:00Z",
    );
    let all = (0..96).map(|n| format!("2026-10-{} {:02}:00", 24 + n / 48, n / 2 % 24));
    check_merged(
        &series(&table("t,x", all), &Options::default()),
        "48 samples are averaged with others of the same step, the first of them that of 2026-10-24T00:00:00Z",
    );
    let days = "t,x\n2026-10-24,1\n2026-10-25,2\n2026-10-25,4\n2026-10-26,5\n";
    check_merged(
        &series(days, &Options::default()),
        "1 sample is averaged with another one of the same step: that of 2026-10-25T00:00:00Z",
    );
}

#[test]
fn no_hour_is_missing_in_spring_in_its_zone() {
    let hours = (0..48).filter(|n| *n != 26).map(|n| format!("2026-03-{} {:02}:00", 28 + n / 24, n % 24));
    let text = table("t,x", hours);
    check_even(&series(&text, &berlin()), "1h", 47, "2026-03-30T00:00:00+02:00");
    assert_eq!(series(&text, &Options::default()).n_gaps(), 1);
    check_refused(
        "t,x\n2026-03-29 01:00,1\n2026-03-29 02:00,2\n",
        &berlin(),
        "line 3, column 1: `2026-03-29 02:00` is skipped where clocks are set forward in this time zone, \
         so the file is of another zone",
    );
    let days = table("t,x", (26..=31).map(|day| format!("2026-03-{day}")));
    check_even(&series(&days, &berlin()), "1d", 6, "2026-04-01T00:00:00+02:00");
    let means = Options {
        resample: Some((Duration::from_secs(86_400), Resampling::Last { age_max: Duration::ZERO })),
        ..berlin()
    };
    check_even(&series(&text, &means), "1d", 2, "2026-03-30T00:00:00+02:00");
}

#[test]
fn a_leap_second_is_averaged_with_the_second_before_it_and_counted() {
    let text = "t,x\n2016-12-31T23:59:58Z,1\n2016-12-31T23:59:59Z,2\n2016-12-31T23:59:60Z,4\n2017-01-01T00:00:00Z,5\n";
    let series = series(text, &Options::default());
    assert_eq!(series.samples(), [1.0, 3.0, 5.0]);
    check_merged(&series, "1 sample is averaged with another one of the same step: that of 2016-12-31T23:59:59Z");
}

#[test]
fn a_time_out_of_range_is_named_with_the_range() {
    for label in
        ["1677-09-20", "1500-01-01T00:00:00Z", "2262-04-12", "9999-12-31 00:00", "1500-01", "2300Q1", "12000-01-01"]
    {
        check_refused(
            &format!("t,x\n2024-01-01,1\n{label},2\n"),
            &Options::default(),
            &format!(
                "line 3, column 1: `{label}` is out of range; times are from 1677-09-21 to 2262-04-11, \
                 so leave out the rows before and after"
            ),
        );
    }
    check_even(
        &series(&table("t,x", 1..=3).replace("t,", "time,"), &Options::default()),
        "1s",
        3,
        "1970-01-01T00:00:04Z",
    );
}

#[test]
fn a_column_called_time_holds_numbers_since_1970() {
    for header in ["time,x", "ts,x", "Timestamp,x", "date,x"] {
        for unit in [1_i64, 1_000, 1_000_000, 1_000_000_000] {
            let text = table(header, (0..5).map(|n| (1_700_000_000 + 10 * n) * unit));
            check_even(&series(&text, &Options::default()), "10s", 5, "2023-11-14T22:14:10Z");
        }
    }
    let second = "x,time\n5,1700000000\n6,1700000060\n";
    check_even(&series(second, &Options::default()), "1m", 2, "2023-11-14T22:15:20Z");
    let samples = Options { column: Some(Column::Name("time".into())), ..Options::default() };
    assert_eq!(series("x,time\n5,17\n6,18\n", &samples).samples(), [17.0, 18.0]);
    assert_eq!(series("time\n5\n6\n", &Options::default()).samples(), [5.0, 6.0]);
    // A clock without a date is no time, and the column is left alone.
    let load = Options { column: Some(Column::Name("load".into())), ..Options::default() };
    assert!(series("time,load\n12:00:01,5\n12:00:02,6\n", &load).grid().is_none());
}
