//! Samples from text: CSV with or without times and a header, or a number a line, as programs and spreadsheets write
//! it.
//!
//! An empty line is a gap in a text of one column, wherever it stands, because R and pandas write a missing value so.
//! It means nothing in a text of several columns. A line is a comment if it is `#` alone or begins with `#` and a
//! blank, `##` or `#!`: `#N/A` is a cell, and `#time,load` a header. The last comment above the first row is the header
//! if it has as many cells as that row, more than one, and the row is no header itself.

mod encoding;
mod line;
mod number;
mod separator;
mod time;

use std::io::{self, Read};
use std::time::Duration;

use csv::{ReaderBuilder, StringRecord, Trim};
use jiff::civil::{DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use units::Timestamp;

use self::encoding::Utf8;
use self::line::Lines;
pub use self::number::DecimalMark;
use self::number::{Numbers, Unreadable, is_gap, is_meant_as_number, is_number};
use self::time::{CellTime, NoTime, NumberForm, is_meant_as_date};
use crate::{GridError, Resampling, Series};

/// Greatest number of samples that a file gives: 800 MB of them.
const N_SAMPLES_MAX: usize = 100_000_000;

/// Rows that are searched for dates, in case the first ones have none.
const N_ROWS_SEARCHED: usize = 8;

/// Headers of columns of times, in lower case. A column that is called otherwise holds times if it holds dates.
const TIME_NAMES: [&str; 6] = ["time", "ts", "timestamp", "date", "datetime", "year"];

/// Clocks are set back by an hour, in the night, and not again within half of this.
const HOUR: Duration = Duration::from_secs(3600);
const CHANGES_APART: Duration = Duration::from_secs(200 * 86_400);

/// A column, by its place or by its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Number of the column, from 1.
    Number(usize),
    /// Name of the column, as in the header.
    Name(String),
}

/// Options for reading.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The column of samples; `None` takes the only one that is neither the times nor a first column without a name,
    /// where R and pandas write the names of rows.
    pub column: Option<Column>,
    /// The column of times; `None` takes the first one if it holds dates, else the one that is called `time`, `ts`,
    /// `timestamp`, `date`, `datetime` or `year`.
    pub time_column: Option<Column>,
    /// The time zone of times without an offset, and of the calendar; `None` is UTC, and refuses an hour that comes
    /// twice.
    pub zone: Option<TimeZone>,
    /// The ASCII character between cells; `None` takes the tab or semicolon that the first lines have, else the comma.
    pub separator: Option<u8>,
    /// The decimal mark; `None` takes the point between commas, else the one that the numbers show.
    pub decimal_mark: Option<DecimalMark>,
    /// Read this many rows and no more.
    pub n_rows_max: Option<usize>,
    /// The step to bring the samples to, and how; `None` takes the one that the times suggest.
    pub resample: Option<(Duration, Resampling)>,
}

/// The reason why text does not give a series. Lines count from 1, the header included.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CsvError {
    /// The text cannot be read.
    #[error("cannot read the samples")]
    Read(#[from] io::Error),
    /// The text is not CSV, or cannot be read.
    #[error("cannot read the samples")]
    Csv(#[source] csv::Error),
    /// The text is neither UTF-8 nor UTF-16.
    #[error("line {line}, column {column}: the text is not UTF-8; save the file as UTF-8 or UTF-16")]
    NotUtf8 {
        /// Line of the text.
        line: u64,
        /// Column from 1.
        column: usize,
    },
    /// Nothing but a header, or nothing at all.
    #[error("there are no samples in it")]
    Empty,
    /// A cell in the column of samples is no number.
    #[error("line {line}, column {column}: `{given}` is not a number; a missing sample is an empty cell or NaN")]
    NotANumber {
        /// Line of the text.
        line: u64,
        /// Column from 1.
        column: usize,
        /// The cell.
        given: String,
    },
    /// A cell is a number with a decimal point and another one with a decimal comma, or does not fit to those before
    /// it.
    #[error(
        "line {line}, column {column}: `{given}` is another number with a decimal point than with a decimal comma, and the decimal mark of this file is not known or differs"
    )]
    UnclearDecimalMark {
        /// Line of the text.
        line: u64,
        /// Column from 1.
        column: usize,
        /// The cell.
        given: String,
    },
    /// A cell in the column of times is no time.
    #[error(
        "line {line}, column {column}: `{given}` is no time such as 2026-11-21T09:00:00Z, 2026-11-21 09:00, 21.11.2026 09:00 or 2026-11"
    )]
    NotATime {
        /// Line of the text.
        line: u64,
        /// Column from 1.
        column: usize,
        /// The cell.
        given: String,
    },
    /// A time before or after those that a [`Timestamp`] holds.
    #[error(
        "line {line}, column {column}: `{given}` is out of range; times are from 1677-09-21 to 2262-04-11, so leave out the rows before and after"
    )]
    TimeOutOfRange {
        /// Line of the text.
        line: u64,
        /// Column from 1.
        column: usize,
        /// The cell.
        given: String,
    },
    /// A time on a clock that was set forward beyond it.
    #[error(
        "line {line}, column {column}: `{given}` is skipped where clocks are set forward in this time zone, so the file is of another zone"
    )]
    SkippedTime {
        /// Line of the text.
        line: u64,
        /// Column from 1.
        column: usize,
        /// The cell.
        given: String,
    },
    /// Times without an offset that come twice in the night, and nothing says which is the earlier one.
    #[error(
        "line {line}, column {column}: {} comes twice on {}, as at the end of summer time; the file needs offsets, such as {}+01:00, or a time zone",
        time.strftime("%H:%M"), time.date(), time.strftime("%Y-%m-%dT%H:%M:%S")
    )]
    RepeatedTime {
        /// Line of the text.
        line: u64,
        /// Column from 1.
        column: usize,
        /// The second time of the two.
        time: DateTime,
    },
    /// A line has more or fewer columns than the first one.
    #[error("line {line} has {given} columns, and the first one has {needed}")]
    Ragged {
        /// Line of the text.
        line: u64,
        /// Its columns.
        given: usize,
        /// Columns of the first line.
        needed: usize,
    },
    /// The column asked for is not there.
    #[error("there is no column {wanted}; there are: {known}")]
    NoSuchColumn {
        /// Column as asked for.
        wanted: String,
        /// Columns that are there.
        known: String,
    },
    /// Several columns could be the samples.
    #[error("there are several columns of samples ({known}); choose one with its name or number")]
    ManyColumns {
        /// Columns that could be the samples.
        known: String,
        /// Whether commas separate them, there is no header, and all of them begin with a number.
        are_numbers: bool,
    },
    /// The times do not make a series.
    #[error(transparent)]
    Times(Box<GridError>),
    /// The times do not make a series, and a line shows it.
    #[error("line {line}")]
    TimesAt {
        /// Line of the text.
        line: u64,
        /// The cause.
        source: Box<GridError>,
    },
    /// Samples without times have no step to be brought from.
    #[error("the samples have no times, so they cannot be brought to another step; say which column has the times")]
    NoTimes,
    /// More samples than fit.
    #[error("there are more than {N_SAMPLES_MAX} samples; read fewer rows")]
    TooMany,
}

impl CsvError {
    /// Returns a step to resample to, if the times are in order and suggest none.
    #[must_use]
    pub fn step_to_try(&self) -> Option<Duration> {
        match self {
            Self::TimesAt { source, .. } => source.step_to_try(),
            _ => None,
        }
    }
}

impl From<csv::Error> for CsvError {
    fn from(error: csv::Error) -> Self {
        match error.kind() {
            csv::ErrorKind::Utf8 { pos, err } => {
                Self::NotUtf8 { line: pos.as_ref().map_or(0, csv::Position::line), column: err.field() + 1 }
            }
            _ => Self::Csv(error),
        }
    }
}

/// Reads a series. The first line is a header if its cell in the column of samples is neither a number nor a gap.
///
/// # Errors
/// See [`CsvError`]. A file of which one cell is wrong gives nothing at all, rather than what came before it.
pub fn read(reader: impl Read, options: &Options) -> Result<Series, CsvError> {
    let (separator, text) = separator::find(Utf8::new(reader), options.separator)?;
    // No comments: `Lines` leaves them out.
    let mut rows = ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .from_reader(Lines::new(text, separator))
        .into_records();
    let mut n_empty = 0;
    let first = loop {
        match rows.next().transpose()? {
            Some(row) if is_empty_line(&row) => n_empty += 1,
            Some(row) => break row,
            None => return Err(CsvError::Empty),
        }
    };
    let comment = cells(rows.reader().get_ref().first_comment(), separator);
    let mut rows = rows.filter(|row| first.len() == 1 || !row.as_ref().is_ok_and(is_empty_line));
    let n_rows_max = options.n_rows_max.unwrap_or(usize::MAX);
    let ahead = rows.by_ref().take(N_ROWS_SEARCHED.min(n_rows_max)).collect::<Result<Vec<_>, _>>()?;
    let layout = Layout::of(&first, comment.as_ref(), &ahead, separator, options)?;
    let mut samples = Samples::new(Numbers::new(separator, options.decimal_mark), &layout, options.zone.clone());
    if !layout.has_header {
        let n_gaps = if first.len() == 1 { n_empty } else { 0 };
        samples.values.resize(n_gaps.min(N_SAMPLES_MAX), f64::NAN);
        samples.take(&first, &layout)?;
    }
    let mut rows = ahead.into_iter().map(Ok).chain(rows);
    while samples.values.len() < n_rows_max
        && let Some(row) = rows.next().transpose()?
    {
        samples.take(&row, &layout)?;
    }
    samples.into_series(&layout, n_rows_max, options.resample)
}

/// Returns the cells of one line; `None` if there are fewer than two, or it is not UTF-8.
fn cells(line: &[u8], separator: u8) -> Option<StringRecord> {
    let mut rows = ReaderBuilder::new().delimiter(separator).has_headers(false).trim(Trim::All).from_reader(line);
    rows.records().next()?.ok().filter(|row| row.len() > 1)
}

fn is_empty_line(row: &StringRecord) -> bool {
    row.len() == 1 && row[0].is_empty()
}

/// Positions of the times and the samples.
struct Layout {
    n_columns: usize,
    has_header: bool,
    /// Whether a blank within a cell cannot separate columns.
    has_blanks: bool,
    time_idx: Option<usize>,
    time_numbers: NumberForm,
    sample_idx: usize,
}

impl Layout {
    fn of(
        first: &StringRecord,
        comment: Option<&StringRecord>,
        ahead: &[StringRecord],
        separator: u8,
        options: &Options,
    ) -> Result<Self, CsvError> {
        let is_data = |cell: &str| is_number(cell) || is_meant_as_date(cell) || (is_gap(cell) && !cell.is_empty());
        let header = comment.filter(|comment| comment.len() == first.len() && first.iter().any(is_data));
        let names = header.unwrap_or(first);
        let find = |wanted: &Option<Column>| wanted.as_ref().map(|wanted| find(names, wanted)).transpose();
        let holds_dates = |idx: &usize| {
            first.len() > 1 && ahead.iter().chain([first]).any(|row| row.get(*idx).is_some_and(is_meant_as_date))
        };
        let data = || ahead.iter().chain(header.map(|_| first));
        let numbers_of = |idx| NumberForm::of(data().chain([first]).filter_map(|row| row.get(idx)));
        let wanted_idx = find(&options.column)?;
        let holds_times = |idx: &usize| {
            let is_named = TIME_NAMES.iter().any(|name| names[*idx].eq_ignore_ascii_case(name));
            let is_time = |row: &StringRecord| row.get(*idx).is_some_and(|cell| time::is_time(cell, numbers_of(*idx)));
            is_named && names.len() > 1 && wanted_idx != Some(*idx) && data().next().is_some() && data().all(is_time)
        };
        let time_idx = find(&options.time_column)?
            .or_else(|| Some(0).filter(holds_dates))
            .or_else(|| (0..names.len()).find(holds_times));
        let sample_idx = match wanted_idx {
            Some(idx) => idx,
            None => only_other(names, time_idx, separator)?,
        };
        let has_header = header.is_none()
            && first.get(sample_idx).is_some_and(|cell| !is_meant_as_number(cell) && !is_gap(cell))
            && first.iter().all(|cell| !is_number(cell));
        let has_blanks = first.len() > 1 || (has_header && !first[0].contains(' '));
        let time_numbers = time_idx.map_or(NumberForm::SinceEpoch, numbers_of);
        Ok(Self { n_columns: first.len(), has_header, has_blanks, time_idx, time_numbers, sample_idx })
    }
}

fn find(header: &StringRecord, wanted: &Column) -> Result<usize, CsvError> {
    let idx = match wanted {
        Column::Number(number) => number.checked_sub(1).filter(|idx| *idx < header.len()),
        Column::Name(name) => header.iter().position(|cell| cell == name),
    };
    idx.ok_or_else(|| {
        let wanted = match wanted {
            Column::Number(number) => number.to_string(),
            Column::Name(name) => format!("`{name}`"),
        };
        CsvError::NoSuchColumn { wanted, known: listing(header, 0..header.len()) }
    })
}

fn only_other(header: &StringRecord, time_idx: Option<usize>, separator: u8) -> Result<usize, CsvError> {
    let has_row_names = header[0].is_empty() && header.iter().skip(1).all(|cell| !is_number(cell) && !is_gap(cell));
    let n_passed_over = usize::from(has_row_names && header.len() > 1);
    let others: Vec<usize> = (n_passed_over..header.len()).filter(|idx| Some(*idx) != time_idx).collect();
    match others[..] {
        [] => Err(CsvError::Empty),
        [only] => Ok(only),
        _ => {
            let are_numbers = separator == b',' && others.iter().all(|idx| is_number(&header[*idx]));
            Err(CsvError::ManyColumns { known: listing(header, others), are_numbers })
        }
    }
}

fn listing(header: &StringRecord, idxs: impl IntoIterator<Item = usize>) -> String {
    let named: Vec<String> =
        idxs.into_iter().map(|idx| format!("{} `{}`", idx + 1, header.get(idx).unwrap_or_default())).collect();
    named.join(", ")
}

/// Samples that have been read so far.
struct Samples {
    numbers: Numbers,
    times: Vec<Timestamp>,
    /// Lines of the times.
    lines: Vec<u64>,
    zone: Option<TimeZone>,
    /// Whether a time has no offset.
    has_local: bool,
    values: Vec<f64>,
}

impl Samples {
    fn new(mut numbers: Numbers, layout: &Layout, zone: Option<TimeZone>) -> Self {
        numbers.has_blanks = layout.has_blanks;
        Self { numbers, times: Vec::new(), lines: Vec::new(), zone, has_local: false, values: Vec::new() }
    }

    fn take(&mut self, row: &StringRecord, layout: &Layout) -> Result<(), CsvError> {
        let line = row.position().map_or(0, csv::Position::line);
        if self.values.len() == N_SAMPLES_MAX {
            return Err(CsvError::TooMany);
        }
        if row.len() != layout.n_columns {
            return Err(CsvError::Ragged { line, given: row.len(), needed: layout.n_columns });
        }
        let sample = self.sample(row, layout.sample_idx, line)?;
        self.values.push(sample);
        if let Some(idx) = layout.time_idx {
            let cell = row.get(idx).unwrap_or_default();
            let (column, given) = (idx + 1, || cell.to_owned());
            let time = time::read(cell, layout.time_numbers).and_then(|time| match time {
                CellTime::Moment(moment) => Ok(Some(moment)),
                CellTime::Local(local) => self.moment_of(local),
            });
            let time = time.map_err(|no_time| match no_time {
                NoTime::Unreadable => CsvError::NotATime { line, column, given: given() },
                NoTime::OutOfRange => CsvError::TimeOutOfRange { line, column, given: given() },
            })?;
            self.times.push(time.ok_or_else(|| CsvError::SkippedTime { line, column, given: given() })?);
            self.lines.push(line);
        }
        Ok(())
    }

    /// Returns the moment of a time on the clock of the zone; `None` if the clock skips it. Of two, it is the one after
    /// the time of the row before.
    fn moment_of(&mut self, local: DateTime) -> Result<Option<Timestamp>, NoTime> {
        self.has_local = true;
        let zone = self.zone.as_ref().unwrap_or(const { &TimeZone::UTC });
        let ambiguous = zone.to_ambiguous_timestamp(local);
        let moment = |moment: Result<jiff::Timestamp, jiff::Error>| {
            time::timestamp(moment.ok().map(jiff::Timestamp::as_nanosecond))
        };
        let earlier = moment(ambiguous.earlier())?;
        match ambiguous.offset() {
            // A day may begin at 01:00.
            AmbiguousOffset::Gap { .. } if local.time() != Time::midnight() => Ok(None),
            AmbiguousOffset::Fold { .. } if self.times.last().is_some_and(|last| *last >= earlier) => {
                moment(ambiguous.later()).map(Some)
            }
            AmbiguousOffset::Fold { .. } => Ok(Some(earlier)),
            _ => moment(ambiguous.compatible()).map(Some),
        }
    }

    fn sample(&mut self, row: &StringRecord, idx: usize, line: u64) -> Result<f64, CsvError> {
        let cell = row.get(idx).unwrap_or_default();
        if is_gap(cell) {
            return Ok(f64::NAN);
        }
        let (column, given) = (idx + 1, || cell.to_owned());
        self.numbers.read(cell, line).map_err(|unreadable| match unreadable {
            Unreadable::NotANumber => CsvError::NotANumber { line, column, given: given() },
            Unreadable::UnclearMark => CsvError::UnclearDecimalMark { line, column, given: given() },
        })
    }

    fn into_series(
        mut self,
        layout: &Layout,
        n_rows_max: usize,
        resample: Option<(Duration, Resampling)>,
    ) -> Result<Series, CsvError> {
        self.values.truncate(n_rows_max);
        if self.values.is_empty() {
            return Err(CsvError::Empty);
        }
        if let Some((line, given)) = self.numbers.unclear() {
            return Err(CsvError::UnclearDecimalMark { line, column: layout.sample_idx + 1, given });
        }
        if self.times.is_empty() {
            return if resample.is_some() { Err(CsvError::NoTimes) } else { Ok(Series::untimed(self.values)) };
        }
        if self.has_local
            && self.zone.is_none()
            && let Some(idx) = repeated_hour(&self.times)
        {
            let column = layout.time_idx.map_or(0, |idx| idx + 1);
            let nanos = i128::from(self.times[idx].as_nanos());
            let moment = jiff::Timestamp::from_nanosecond(nanos).expect("64 bits of nanoseconds are in jiff's range");
            let time = TimeZone::UTC.to_datetime(moment);
            return Err(CsvError::RepeatedTime { line: self.lines[idx], column, time });
        }
        let timed: Vec<(Timestamp, f64)> = self.times.into_iter().zip(self.values).collect();
        let zone = self.zone.unwrap_or(TimeZone::UTC);
        let series = match resample {
            Some((step, how)) => Series::resampled(&timed, step, how, &zone),
            None => Series::from_timed_in(&timed, &zone),
        };
        series.map_err(|source| match source.idx() {
            Some(idx) => CsvError::TimesAt { line: self.lines[idx], source: Box::new(source) },
            None => CsvError::Times(Box::new(source)),
        })
    }
}

/// Returns the position of the first time of an hour that comes twice, as where clocks are set back: in the night, by
/// less than an hour or by as much as one step of an hour, and never again for months.
fn repeated_hour(times: &[Timestamp]) -> Option<usize> {
    let backs: Vec<usize> = (1..times.len()).filter(|idx| times[*idx] <= times[idx - 1]).collect();
    let is_alone = |at: usize| {
        let near = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|idx| backs.get(idx));
        let time = times[backs[at]];
        let apart = |other: &usize| times[*other].saturating_since(time).max(time.saturating_since(times[*other]));
        near.map(apart).all(|apart| apart >= CHANGES_APART / 2)
    };
    let is_change = |idx: usize| {
        let (time, before) = (times[idx], times[idx - 1]);
        let back = before.saturating_since(time);
        let is_step_of_hour =
            |idx: usize| idx > 0 && times.get(idx).is_some_and(|time| time.saturating_since(times[idx - 1]) == HOUR);
        let of_day = time.saturating_since(time.floor_to(24 * HOUR));
        let is_night = of_day < 4 * HOUR || of_day >= 23 * HOUR;
        is_night && back < HOUR && (!back.is_zero() || is_step_of_hour(idx + 1) || is_step_of_hour(idx - 1))
    };
    (0..backs.len()).find(|at| is_alone(*at) && is_change(backs[*at])).map(|at| backs[at])
}

#[cfg(test)]
mod tests;
