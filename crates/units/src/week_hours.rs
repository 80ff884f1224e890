//! Hours of the week as people write them: `22:00-06:00`, `Sat Sun`, `Mon-Fri 22:00-06:00`.
//!
//! They are hours on the clock of a time zone: where clocks are changed, a range from 22:00 to 06:00 lasts seven or
//! nine hours in that night.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Span, Timestamp as JiffTimestamp};
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Names of the days, from Monday on.
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// Days in a row from which on they are written as a range.
const RUN_MIN: usize = 3;

/// Hours on some days of each week. Hours over midnight belong to the day on which they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HourRange {
    /// The days on which the hours begin, from Monday on; at least one.
    days: [bool; 7],
    /// Minutes from the beginning of the day to the first of the range, below [`DAY`].
    from: u16,
    /// Minutes from the beginning of the day to the end of the range, above 0 and at most [`DAY`]; on the next day
    /// unless above `from`.
    to: u16,
}

/// Several ranges of hours, never all of the week. As JSON it is a list of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct WeekHours(Vec<HourRange>);

/// The reason why a text has no hours of the week.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WeekHoursError {
    /// It is no range.
    #[error(
        "`{}` are no hours of the week: write days, hours or both, as in Sat Sun, 22:00-06:00 or Mon-Fri 22:00-06:00",
        given.escape_debug()
    )]
    Range {
        /// The text, as it was given.
        given: String,
    },
    /// More ranges than there may be.
    #[error("there are {given} ranges of hours; 50 is the most")]
    TooMany {
        /// Number of ranges that there are.
        given: usize,
    },
    /// No hour is left out.
    #[error("`{given}` is all of the week; leave some hours out")]
    AllWeek {
        /// The ranges.
        given: String,
    },
}

impl HourRange {
    /// Returns the civil time at which the hours end that contain this one; `None` if it is outside.
    fn end(&self, local: DateTime) -> Option<DateTime> {
        let day = usize::try_from(local.weekday().to_monday_zero_offset()).expect("days count from 0");
        let minute = u16::try_from(local.hour()).ok()? * 60 + u16::try_from(local.minute()).ok()?;
        let n_days = match self.from < self.to {
            true => (self.days[day] && (self.from..self.to).contains(&minute)).then_some(0),
            false if minute < self.to => self.days[(day + 6) % 7].then_some(0),
            false => (self.days[day] && minute >= self.from).then_some(1),
        }?;
        let minutes = i64::from(n_days * DAY + self.to);
        local.date().to_datetime(Time::midnight()).checked_add(Span::new().minutes(minutes)).ok()
    }

    /// Returns whether it contains the moment at which some hours end that begin on a day, from Monday on.
    fn contains_end(&self, day: usize, of: &Self) -> bool {
        let monday = jiff::civil::date(2024, 1, 1).to_datetime(Time::midnight());
        let next = if of.from < of.to { 0 } else { usize::from(DAY) };
        let minutes = day * usize::from(DAY) + next + usize::from(of.to);
        self.end(monday + Span::new().minutes(minutes as i64)).is_some()
    }
}

impl WeekHours {
    /// The most ranges.
    const N_MAX: usize = 50;

    /// Reads ranges.
    ///
    /// # Errors
    /// When one is none, there are too many, or they are all of the week.
    pub fn parse(texts: &[String]) -> Result<Self, WeekHoursError> {
        if texts.len() > Self::N_MAX {
            return Err(WeekHoursError::TooMany { given: texts.len() });
        }
        let ranges = texts.iter().map(|text| text.parse()).collect::<Result<Vec<HourRange>, _>>()?;
        let ends = ranges.iter().flat_map(|range| (0..7).filter(|day| range.days[*day]).map(move |day| (day, range)));
        // Unless they are all of the week, one of them ends where none goes on.
        let goes_on = |(day, of)| ranges.iter().any(|range| range.contains_end(day, of));
        if !ranges.is_empty() && ends.into_iter().all(goes_on) {
            return Err(WeekHoursError::AllWeek { given: texts.join(", ") });
        }
        Ok(Self(ranges))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ranges as text.
    #[must_use]
    pub fn to_texts(&self) -> Vec<String> {
        self.0.iter().map(HourRange::to_string).collect()
    }

    /// Whether a moment is in one of them on the clock of a zone.
    #[must_use]
    pub fn contains(&self, moment: Timestamp, zone: &TimeZone) -> bool {
        let local = zone.to_datetime(moment.to_jiff());
        self.0.iter().any(|range| range.end(local).is_some())
    }

    /// Returns the first moment from this one on that is in none of them; `None` if this one is.
    #[must_use]
    pub fn end(&self, moment: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut end = None;
        loop {
            let at = end.unwrap_or(moment.to_jiff());
            let local = zone.to_datetime(at);
            // One range may begin before another ends.
            let ends = self.0.iter().filter_map(|range| range.end(local));
            match ends.max() {
                Some(local) => end = Some(first_at(local, at, zone)?),
                None => return end.map(Timestamp::from_jiff),
            }
        }
    }
}

/// Returns the first moment after another at which clocks show a time or, if they leave it out, a later one; `None`
/// beyond the years that there are.
fn first_at(local: DateTime, after: JiffTimestamp, zone: &TimeZone) -> Option<JiffTimestamp> {
    let moment = zone.to_ambiguous_timestamp(local);
    if let AmbiguousOffset::Gap { .. } = moment.offset() {
        return zone.following(after).next().map(|change| change.timestamp());
    }
    // What clocks show twice ends the hours each time.
    moment.earlier().ok().filter(|earlier| *earlier > after).or_else(|| moment.later().ok())
}

impl FromStr for HourRange {
    type Err = WeekHoursError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let mut words: Vec<&str> = text.split_whitespace().collect();
            let hours = words.pop_if(|word| word.starts_with(|first: char| first.is_ascii_digit()));
            if words.is_empty() && hours.is_none() {
                return None;
            }
            let (from, to) = hours.map_or(Some((0, DAY)), hours_of)?;
            let mut days = [words.is_empty(); 7];
            for word in words {
                let (first, last) = word.split_once('-').unwrap_or((word, word));
                let [first, last] = [day_of(first)?, day_of(last)?];
                (0..=(last + 7 - first) % 7).for_each(|nth| days[(first + nth) % 7] = true);
            }
            Some(Self { days, from, to })
        };
        read().ok_or_else(|| WeekHoursError::Range { given: text.to_owned() })
    }
}

fn day_of(name: &str) -> Option<usize> {
    DAYS.iter().position(|day| day.eq_ignore_ascii_case(name))
}

/// Reads `22:00-06:00`. Hours that end when they begin could be none or all of a day.
fn hours_of(text: &str) -> Option<(u16, u16)> {
    let (from, to) = text.split_once('-')?;
    let [from, to] = [minute_of(from)?, minute_of(to)?];
    // Midnight as an end is that of the same day.
    let to = if to == 0 { DAY } else { to };
    (from < DAY && from != to).then_some((from, to))
}

fn minute_of(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let are_digits = [hour, minute].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    if !are_digits || hour.len() > 2 || minute.len() != 2 {
        return None;
    }
    let [hour, minute] = [hour.parse::<u16>().ok()?, minute.parse::<u16>().ok()?];
    (minute < 60 && hour * 60 + minute <= DAY).then_some(hour * 60 + minute)
}

impl fmt::Display for HourRange {
    /// Writes what reads back to the same hours: `Mon-Fri 22:00-06:00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_whole_day = (self.from, self.to) == (0, DAY);
        let mut parts = Vec::new();
        if is_whole_day || self.days != [true; 7] {
            let mut day = 0;
            while day < 7 {
                let n = self.days[day..].iter().take_while(|is_in| **is_in).count();
                match n {
                    RUN_MIN.. => parts.push(format!("{}-{}", DAYS[day], DAYS[day + n - 1])),
                    _ => parts.extend(DAYS[day..day + n].iter().map(|&day| day.to_owned())),
                }
                day += n + 1;
            }
        }
        if !is_whole_day {
            let [from, to] = [self.from, self.to].map(|minute| format!("{:02}:{:02}", minute / 60, minute % 60));
            parts.push(format!("{from}-{to}"));
        }
        f.pad(&parts.join(" "))
    }
}

impl TryFrom<Vec<String>> for WeekHours {
    type Error = WeekHoursError;

    fn try_from(texts: Vec<String>) -> Result<Self, Self::Error> {
        Self::parse(&texts)
    }
}

impl From<WeekHours> for Vec<String> {
    fn from(hours: WeekHours) -> Self {
        hours.to_texts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(texts: &[&str]) -> Result<WeekHours, WeekHoursError> {
        WeekHours::parse(&texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
    }

    /// Checks when the hours that contain a moment end in a zone of central Europe; "" for a moment outside.
    #[track_caller]
    fn check(texts: &[&str], moment: &str, end: &str) {
        let (zone, hours) = (TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap(), hours(texts).unwrap());
        let moment: Timestamp = moment.parse().unwrap();
        let found = hours.end(moment, &zone).map(|end| end.to_string());
        assert_eq!(found.as_deref().unwrap_or_default(), end);
        assert_eq!(hours.contains(moment, &zone), !end.is_empty());
    }

    #[test]
    fn what_is_written_reads_back() {
        for (given, written) in [
            ("22:00-06:00", "22:00-06:00"),
            ("Sat Sun", "Sat Sun"),
            (" mon-fri  9:00-17:30", "Mon-Fri 09:00-17:30"),
            ("Fri-Mon 00:00-24:00", "Mon Fri-Sun"),
            ("Sun-Sat", "Mon-Sun"),
            ("Mon Wed 22:00-00:00", "Mon Wed 22:00-24:00"),
        ] {
            let range: HourRange = given.parse().unwrap();
            assert_eq!(range.to_string(), written);
            assert_eq!(written.parse(), Ok(range));
        }
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for refused in [
            "",
            " ",
            "Mo",
            "Mon,Tue",
            "22-06",
            "22:00",
            "06:00-06:00",
            "24:00-06:00",
            "00:00-24:01",
            "22:60-23:00",
            "+9:00-10:00",
            "22:00-06:00 Mon",
            "Mon-Fri-Sun",
            "1:2:3-4:00",
            "Mon-",
            "99999:00-06:00",
        ] {
            let error = refused.parse::<HourRange>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{refused}`")), "{error}");
        }
        assert_eq!(hours(&["Sat"; 51]), Err(WeekHoursError::TooMany { given: 51 }));
    }

    #[test]
    fn hours_are_never_all_of_the_week() {
        for all in
            [&["Mon-Sun"][..], &["00:00-12:00", "12:00-24:00"], &["Sat Sun", "Sun-Fri 18:00-17:00", "17:00-18:00"]]
        {
            assert_eq!(hours(all), Err(WeekHoursError::AllWeek { given: all.join(", ") }));
        }
        for some in [&[][..], &["00:00-23:59"], &["Mon-Sat", "Sun 00:01-24:00"], &["Mon-Fri 00:00-23:00", "Sat Sun"]] {
            assert!(hours(some).is_ok(), "{some:?}");
        }
    }

    #[test]
    fn hours_over_midnight_belong_to_the_day_on_which_they_begin() {
        // 2026-11-27 is a Friday.
        check(&["Fri 22:00-06:00"], "2026-11-27T20:59:59Z", "");
        check(&["Fri 22:00-06:00"], "2026-11-27T21:00:00Z", "2026-11-28T05:00:00Z");
        check(&["Fri 22:00-06:00"], "2026-11-28T04:59:59Z", "2026-11-28T05:00:00Z");
        check(&["Fri 22:00-06:00"], "2026-11-28T05:00:00Z", "");
        check(&["Fri 22:00-06:00"], "2026-11-27T03:00:00Z", "");
        check(&["Sun 22:00-06:00"], "2026-11-30T03:00:00Z", "2026-11-30T05:00:00Z");
    }

    #[test]
    fn hours_that_follow_each_other_end_with_the_last() {
        let quiet = ["Mon-Fri 22:00-06:00", "Sat Sun"];
        check(&quiet, "2026-11-27T22:00:00Z", "2026-11-29T23:00:00Z");
        check(&quiet, "2026-11-26T22:00:00Z", "2026-11-27T05:00:00Z");
        check(&["22:00-04:00", "03:00-06:00", "Sat 00:00-01:00"], "2026-11-27T23:30:00Z", "2026-11-28T05:00:00Z");
        check(&[], "2026-11-27T22:00:00Z", "");
    }

    #[test]
    fn hours_follow_the_clocks_where_they_are_changed() {
        // From 2 to 3 o'clock on 2026-03-29, and from 3 to 2 on 2026-10-25.
        check(&["22:00-06:00"], "2026-03-28T21:00:00Z", "2026-03-29T04:00:00Z");
        check(&["22:00-06:00"], "2026-10-24T20:00:00Z", "2026-10-25T05:00:00Z");
        check(&["22:00-02:30"], "2026-03-28T21:00:00Z", "2026-03-29T01:00:00Z");
        check(&["02:00-02:30"], "2026-03-29T01:00:00Z", "");
        check(&["22:00-02:30"], "2026-10-24T20:00:00Z", "2026-10-25T00:30:00Z");
        check(&["22:00-02:30"], "2026-10-25T00:45:00Z", "");
        check(&["22:00-02:30"], "2026-10-25T01:15:00Z", "2026-10-25T01:30:00Z");
        check(&["22:00-03:00"], "2026-10-24T20:00:00Z", "2026-10-25T02:00:00Z");
    }
}
