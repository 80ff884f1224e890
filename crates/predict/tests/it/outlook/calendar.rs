//! Days and weeks as people count them: the clock on the wall, and holidays.

use std::time::Duration;

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use predict::{Calendar, Outlook, Periods};
use units::Timestamp;

use super::{DAY, Noise, daily};

/// Hourly samples of central Europe that follow the clock on the wall: busy from 8 to 17, but not on Sundays and
/// holidays.
fn offices(hour: i64) -> f64 {
    let local = zone().to_datetime(jiff::Timestamp::from_second(hour * 3600).unwrap());
    let is_off = local.weekday() == Weekday::Sunday || HOLIDAYS.iter().any(|date| local.date().to_string() == *date);
    if is_off || !(8..17).contains(&local.hour()) { 10.0 } else { 50.0 }
}

fn zone() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
}

const HOLIDAYS: [&str; 2] = ["2026-04-03", "2026-04-06"];

/// The mean absolute error of medians a day ahead, from the hour on, after eight weeks, by a calendar and without one.
fn errors_of_offices(from: &str, n_hours: i64) -> [f64; 2] {
    let from = from.parse::<Timestamp>().unwrap().as_nanos() / 3_600_000_000_000;
    let start = from - 8 * 168;
    let calendar = Calendar::new(zone(), HOLIDAYS.iter().map(|date| date.parse().unwrap()).collect());
    let hourly = || Outlook::new(Periods::new(&[24.0, 168.0]).unwrap(), 24).only_given();
    let at = Timestamp::from_nanos(start * 3_600_000_000_000);
    let mut outlooks = [hourly().in_days_of(&calendar, at, Duration::from_secs(3600)), hourly()];
    let (mut errors, mut noise) = ([0.0; 2], Noise(21));
    for hour in start..from + n_hours {
        if hour >= from {
            let came = offices(hour + 23);
            for (error, outlook) in errors.iter_mut().zip(&outlooks) {
                *error += (outlook.quantile(24, 0.5).unwrap() - came).abs() / n_hours as f64;
            }
        }
        let sample = offices(hour) + noise.next();
        outlooks.iter_mut().for_each(|outlook| outlook.step(sample));
    }
    errors
}

#[test]
fn days_of_a_time_zone_are_right_after_clocks_were_changed() {
    // The three days after either change, and the days before, to which there is no difference.
    for change in ["2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"] {
        let [by_calendar, by_steps] = errors_of_offices(change, 72);
        assert!(by_calendar < 3.0, "{change}: {by_calendar}");
        assert!(by_calendar < 0.6 * by_steps, "{change}: {by_calendar} is not much less than {by_steps}");
    }
    let [by_calendar, by_steps] = errors_of_offices("2026-02-16T00:00:00Z", 168);
    assert!((by_calendar - by_steps).abs() < 0.5, "{by_calendar} {by_steps}");
}

#[test]
fn holidays_are_sundays() {
    // Good Friday, as seen from the day before.
    let [by_calendar, by_steps] = errors_of_offices("2026-04-01T22:00:00Z", 24);
    assert!(by_calendar < 0.6 * by_steps, "{by_calendar} is not much less than {by_steps}");
}

/// Three weeks, and a week ahead with a holiday in it.
#[test]
fn a_trend_goes_on_at_every_lead_and_through_holidays() {
    let calendar = Calendar::new(TimeZone::UTC, ["2026-01-29".parse().unwrap()].into());
    let start = "2026-01-05T00:00:00Z".parse().unwrap();
    let of_day = 5.0;
    let disk = |t: usize| of_day * t as f64 / DAY as f64 + (std::f64::consts::TAU * t as f64 / DAY as f64).sin();
    let (week, n) = (7 * DAY, 21 * DAY);
    let mut outlook = daily(week).in_days_of(&calendar, start, Duration::from_secs(1800));
    let mut noise = Noise(22);
    (0..n).for_each(|t| outlook.step(disk(t) + 0.1 * noise.next()));
    for (lead, median) in (1..).zip(outlook.quantiles(week, 0.5)) {
        let error = median - disk(n + lead - 1);
        assert!(error.abs() < 0.2 * of_day, "{lead}: {error}");
    }
}

/// A load that rests at weekends, of which two are known, and a day and a half from the end of Friday on.
#[test]
fn a_third_weekend_is_forecast_as_one_whatever_the_weekday_of_the_first_sample() {
    for first in 0..7 {
        let load = |t: usize| {
            let hour = std::f64::consts::PI * ((t % 24) as f64 - 6.0) / 12.0;
            if (t / 24 + first) % 7 < 5 { 10.0 + 40.0 * hour.sin().max(0.0) } else { 10.0 }
        };
        let n = 24 * (14 + (12 - first) % 7);
        let mut outlook = Outlook::new(Periods::new(&[24.0, 168.0]).unwrap(), 48);
        let mut noise = Noise(first as u64 + 1);
        (0..n).for_each(|t| outlook.step(load(t) + noise.next()));
        let errors = outlook.quantiles(36, 0.5).into_iter().zip(n..).map(|(median, t)| (median - load(t)).abs());
        let errors: Vec<f64> = errors.collect();
        assert!(errors.iter().all(|error| *error < 5.0), "{first}: {errors:.1?}");
    }
}
