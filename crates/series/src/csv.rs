//! Samples from text: CSV with or without times and a header, or a number a line.
//!
//! In a text of one column an empty line is a gap, wherever it stands: so R and pandas write a missing value there.
//! In a text of several columns it is nothing.

mod empty_line;

use std::io::Read;
use std::time::Duration;

use csv::{ReaderBuilder, StringRecord, Trim};
use units::Timestamp;

use self::empty_line::EmptyLines;
use crate::{GridError, Resampling, Series};

/// No file gives more samples than this: 800 MB of them.
const N_SAMPLES_MAX: usize = 100_000_000;

/// What a missing sample may be written as, in any case.
const GAP_WORDS: [&str; 5] = ["", "nan", "na", "null", "-"];

/// Which column, by its place or by its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// From 1.
    Number(usize),
    /// As the header has it.
    Name(String),
}

/// What to read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The column of samples; `None` takes the only one that is neither the times nor a first column without a name,
    /// where R and pandas write the names of rows.
    pub column: Option<Column>,
    /// The column of times; `None` takes the first one if it holds dates. Plain numbers count as times only when
    /// their column is named here.
    pub time_column: Option<Column>,
    /// Read this many rows and no more.
    pub n_rows_max: Option<usize>,
    /// The step to bring the samples to, and how; `None` takes the one that the times suggest.
    pub resample: Option<(Duration, Resampling)>,
}

/// Why text does not give a series. Lines count from 1, the header included.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CsvError {
    /// The text is not CSV, is not UTF-8, or cannot be read.
    #[error("cannot read the samples")]
    Read(#[from] csv::Error),
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
    /// A cell in the column of times is no time.
    #[error("line {line}, column {column}: `{given}` is no time such as 2026-11-21T09:00:00Z")]
    NotATime {
        /// Line of the text.
        line: u64,
        /// Column from 1.
        column: usize,
        /// The cell.
        given: String,
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
        /// As asked for.
        wanted: String,
        /// Those that are there.
        known: String,
    },
    /// Several columns could be the samples.
    #[error("there are several columns of samples ({known}); choose one with its name or number")]
    ManyColumns {
        /// Those that could be.
        known: String,
    },
    /// The times do not make a series.
    #[error(transparent)]
    Times(Box<GridError>),
    /// The times do not make a series, and a line shows it.
    #[error("line {line}")]
    TimesAt {
        /// Line of the text.
        line: u64,
        /// Why not.
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
    /// A step to resample to, where the times are in order and suggest none.
    #[must_use]
    pub fn step_to_try(&self) -> Option<Duration> {
        match self {
            Self::TimesAt { source, .. } => source.step_to_try(),
            _ => None,
        }
    }
}

/// Reads a series. The first line is a header if its cell in the column of samples is neither a number nor a gap.
///
/// # Errors
/// See [`CsvError`]. A file of which one cell is wrong gives nothing at all, rather than what came before it.
pub fn read(reader: impl Read, options: &Options) -> Result<Series, CsvError> {
    let mut rows = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .trim(Trim::All)
        .from_reader(EmptyLines::shown(reader))
        .into_records();
    let mut n_empty = 0;
    let first = loop {
        match rows.next().transpose()? {
            Some(row) if is_empty_line(&row) => n_empty += 1,
            Some(row) => break row,
            None => return Err(CsvError::Empty),
        }
    };
    let mut rows = rows.filter(|row| first.len() == 1 || !row.as_ref().is_ok_and(is_empty_line)).peekable();
    let second = match rows.peek() {
        Some(Ok(second)) => Some(second),
        _ => None,
    };
    let layout = Layout::of(&first, second, options)?;
    let mut samples = Samples::default();
    if !layout.has_header {
        let n_gaps = if first.len() == 1 { n_empty } else { 0 };
        samples.values.resize(n_gaps.min(N_SAMPLES_MAX), f64::NAN);
        samples.take(&first, &layout)?;
    }
    let n_rows_max = options.n_rows_max.unwrap_or(usize::MAX);
    while samples.values.len() < n_rows_max
        && let Some(row) = rows.next().transpose()?
    {
        samples.take(&row, &layout)?;
    }
    samples.into_series(n_rows_max, options.resample)
}

fn is_empty_line(row: &StringRecord) -> bool {
    row.len() == 1 && row[0].is_empty()
}

/// Where the times and the samples are.
struct Layout {
    n_columns: usize,
    has_header: bool,
    time_idx: Option<usize>,
    sample_idx: usize,
}

impl Layout {
    fn of(first: &StringRecord, second: Option<&StringRecord>, options: &Options) -> Result<Self, CsvError> {
        let find = |wanted: &Option<Column>| wanted.as_ref().map(|wanted| find(first, wanted)).transpose();
        let data = second.unwrap_or(first);
        let holds_dates =
            |idx: &usize| data.get(*idx).is_some_and(|cell| !is_number(cell) && cell.parse::<Timestamp>().is_ok());
        let time_idx = find(&options.time_column)?.or_else(|| Some(0).filter(holds_dates));
        let sample_idx = match find(&options.column)? {
            Some(idx) => idx,
            None => only_other(first, time_idx)?,
        };
        let has_header = first.get(sample_idx).is_some_and(|cell| !is_number(cell) && !is_gap(cell))
            && first.iter().all(|cell| !is_number(cell) || cell.is_empty());
        Ok(Self { n_columns: first.len(), has_header, time_idx, sample_idx })
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

fn only_other(header: &StringRecord, time_idx: Option<usize>) -> Result<usize, CsvError> {
    let has_row_names = header[0].is_empty() && header.iter().skip(1).all(|cell| !is_number(cell) && !is_gap(cell));
    let n_passed_over = usize::from(has_row_names && header.len() > 1);
    let others: Vec<usize> = (n_passed_over..header.len()).filter(|idx| Some(*idx) != time_idx).collect();
    match others[..] {
        [] => Err(CsvError::Empty),
        [only] => Ok(only),
        _ => Err(CsvError::ManyColumns { known: listing(header, others) }),
    }
}

fn listing(header: &StringRecord, idxs: impl IntoIterator<Item = usize>) -> String {
    let named: Vec<String> =
        idxs.into_iter().map(|idx| format!("{} `{}`", idx + 1, header.get(idx).unwrap_or_default())).collect();
    named.join(", ")
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok_and(|number| !number.is_nan())
}

fn is_gap(cell: &str) -> bool {
    GAP_WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// What has been read so far.
#[derive(Default)]
struct Samples {
    times: Vec<Timestamp>,
    /// Of the times.
    lines: Vec<u64>,
    values: Vec<f64>,
}

impl Samples {
    fn take(&mut self, row: &StringRecord, layout: &Layout) -> Result<(), CsvError> {
        let line = row.position().map_or(0, csv::Position::line);
        if self.values.len() == N_SAMPLES_MAX {
            return Err(CsvError::TooMany);
        }
        if row.len() != layout.n_columns {
            return Err(CsvError::Ragged { line, given: row.len(), needed: layout.n_columns });
        }
        self.values.push(sample(row, layout.sample_idx, line)?);
        if let Some(idx) = layout.time_idx {
            let cell = row.get(idx).unwrap_or_default();
            let not_a_time = |_| CsvError::NotATime { line, column: idx + 1, given: cell.to_owned() };
            self.times.push(cell.parse().map_err(not_a_time)?);
            self.lines.push(line);
        }
        Ok(())
    }

    fn into_series(mut self, n_rows_max: usize, resample: Option<(Duration, Resampling)>) -> Result<Series, CsvError> {
        self.values.truncate(n_rows_max);
        if self.values.is_empty() {
            return Err(CsvError::Empty);
        }
        if self.times.is_empty() {
            return if resample.is_some() { Err(CsvError::NoTimes) } else { Ok(Series::untimed(self.values)) };
        }
        let timed: Vec<(Timestamp, f64)> = self.times.into_iter().zip(self.values).collect();
        let series = match resample {
            Some((step, how)) => Series::resampled(&timed, step, how),
            None => Series::from_timed(&timed),
        };
        series.map_err(|source| match source.idx() {
            Some(idx) => CsvError::TimesAt { line: self.lines[idx], source: Box::new(source) },
            None => CsvError::Times(Box::new(source)),
        })
    }
}

/// Infinity is no measurement, and no way to write a gap either.
fn sample(row: &StringRecord, idx: usize, line: u64) -> Result<f64, CsvError> {
    let cell = row.get(idx).unwrap_or_default();
    if is_gap(cell) {
        return Ok(f64::NAN);
    }
    match cell.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(CsvError::NotANumber { line, column: idx + 1, given: cell.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read_text(text: &str, options: &Options) -> Result<Series, CsvError> {
        read(text.as_bytes(), options)
    }

    #[track_caller]
    fn check_samples(text: &str, expected: &[f64]) {
        assert_eq!(read_text(text, &Options::default()).unwrap().samples(), expected);
    }

    #[track_caller]
    fn check_refused(text: &str, message: &str) {
        assert_eq!(read_text(text, &Options::default()).unwrap_err().to_string(), message);
    }

    #[test]
    fn a_number_a_line_needs_no_header() {
        check_samples("1\n2.5\n-3e2\n", &[1.0, 2.5, -300.0]);
        check_samples("load\n1\n2\n", &[1.0, 2.0]);
        check_samples("# recorded on db1\n1\n2\n", &[1.0, 2.0]);
    }

    #[track_caller]
    fn check_gaps(text: &str, expected: &[Option<f64>]) {
        let series = read_text(text, &Options::default()).unwrap();
        let samples: Vec<Option<f64>> = series.samples().iter().map(|x| (!x.is_nan()).then_some(*x)).collect();
        assert_eq!(samples, expected, "{text:?}");
    }

    #[test]
    fn an_empty_line_of_one_column_is_a_gap_wherever_it_stands() {
        check_gaps("1\n\n2\n", &[Some(1.0), None, Some(2.0)]);
        check_gaps("1\r\n\r\n2\r\n", &[Some(1.0), None, Some(2.0)]);
        check_gaps("\n\n1\n2", &[None, None, Some(1.0), Some(2.0)]);
        check_gaps("load\n\n1\n", &[None, Some(1.0)]);
        check_gaps("1\n\n\n", &[Some(1.0), None, None]);
        check_gaps("1\n# the sensor was off\n\n2\n", &[Some(1.0), None, Some(2.0)]);
        check_gaps("1\n\"\"\n2\n", &[Some(1.0), None, Some(2.0)]);
    }

    #[test]
    fn the_newline_of_the_last_line_and_empty_lines_before_a_header_are_no_gaps() {
        check_gaps("1\n2", &[Some(1.0), Some(2.0)]);
        check_gaps("1\n2\n", &[Some(1.0), Some(2.0)]);
        check_gaps("\nload\n1\n", &[Some(1.0)]);
        check_gaps("\"load\n\nof db1\"\n1\n", &[Some(1.0)]);
    }

    #[test]
    fn an_empty_line_of_several_columns_is_nothing() {
        let text = "time,cpu\n\n2014-02-14 14:30:00,1\n\n2014-02-14 14:31:00,2\n\n";
        check_samples(text, &[1.0, 2.0]);
    }

    #[test]
    fn a_line_after_empty_ones_is_named_by_its_own_number() {
        check_refused(
            "1\n\nthree\n",
            "line 3, column 1: `three` is not a number; a missing sample is an empty cell or NaN",
        );
    }

    #[test]
    fn names_of_rows_are_no_samples() {
        check_samples("\"\",\"x\"\n\"1\",5\n\"2\",6\n", &[5.0, 6.0]);
        check_samples(",x\n0,5.0\n1,6.0\n", &[5.0, 6.0]);
        check_refused(
            ",x,y\n0,5,1\n",
            "there are several columns of samples (2 `x`, 3 `y`); choose one with its name or number",
        );
        // Without a header the first column may have a gap.
        check_refused(
            ",5\n1,6\n",
            "there are several columns of samples (1 ``, 2 `5`); choose one with its name or number",
        );
    }

    #[test]
    fn dates_in_the_first_column_are_the_times() {
        let text = "timestamp,value\n2014-02-14 14:30:00,0.1\n2014-02-14 14:35:00,0.2\n2014-02-14 14:45:00,0.4\n";
        let series = read_text(text, &Options::default()).unwrap();
        assert_eq!(series.samples().len(), 4);
        assert_eq!(series.grid().map(|grid| grid.step.as_secs()), Some(300));
    }

    #[test]
    fn gaps_are_written_in_several_ways() {
        let series =
            read_text("a,b\n1,\n2,NaN\n3,7\n", &Options { column: Some(Column::Number(2)), ..Options::default() })
                .unwrap();
        assert_eq!(series.n_gaps(), 2);
    }

    #[test]
    fn a_word_among_numbers_is_refused_with_its_place() {
        check_refused(
            "1\n2\nthree\n",
            "line 3, column 1: `three` is not a number; a missing sample is an empty cell or NaN",
        );
        check_refused("1\ninf\n", "line 2, column 1: `inf` is not a number; a missing sample is an empty cell or NaN");
    }

    #[test]
    fn nothing_is_no_series() {
        check_refused("", "there are no samples in it");
        check_refused("load\n", "there are no samples in it");
        check_refused("\n\n", "there are no samples in it");
    }

    #[test]
    fn several_columns_need_a_choice() {
        check_refused(
            "time,cpu,net\n2014-02-14 14:30:00,1,2\n",
            "there are several columns of samples (2 `cpu`, 3 `net`); choose one with its name or number",
        );
        let named = Options { column: Some(Column::Name("net".into())), ..Options::default() };
        let text = "time,cpu,net\n2014-02-14 14:30:00,1,2\n2014-02-14 14:31:00,1,3\n";
        assert_eq!(read_text(text, &named).unwrap().samples(), [2.0, 3.0]);
    }

    #[test]
    fn an_absent_column_is_named_beside_those_there_are() {
        let options = Options { column: Some(Column::Name("disk".into())), ..Options::default() };
        let error = read_text("cpu,net\n1,2\n", &options).unwrap_err();
        assert_eq!(error.to_string(), "there is no column `disk`; there are: 1 `cpu`, 2 `net`");
    }

    #[test]
    fn plain_numbers_are_times_only_on_request() {
        let text = "0,5\n10,6\n20,7\n";
        let options = Options { time_column: Some(Column::Number(1)), ..Options::default() };
        assert_eq!(read_text(text, &options).unwrap().samples(), [5.0, 6.0, 7.0]);
        assert!(matches!(read_text(text, &Options::default()), Err(CsvError::ManyColumns { .. })));
    }

    #[test]
    fn uneven_times_are_refused_by_line_and_brought_to_a_step() {
        let text = "at,load\n0,1\n\n70,2\n90,4\n200,5\n310,6\n330,7\n470,8\n640,9\n";
        let with = |resample| Options { time_column: Some(Column::Name("at".into())), resample, ..Options::default() };
        let error = read_text(text, &with(None)).unwrap_err();
        assert_eq!((error.to_string(), error.step_to_try()), ("line 4".into(), Some(Duration::from_secs(110))));
        let step = Duration::from_secs(100);
        let series = read_text(text, &with(Some((step, Resampling::Mean)))).unwrap();
        // Of 0; of 70 and 90; of 200; of none; of 310 and 330; of 470; of none.
        let known: Vec<Option<f64>> = series.samples().iter().map(|x| (!x.is_nan()).then_some(*x)).collect();
        assert_eq!(known, [Some(1.0), Some(3.0), Some(5.0), None, Some(6.5), Some(8.0), None]);
        let no_times = Options { resample: Some((step, Resampling::Mean)), ..Options::default() };
        assert!(matches!(read_text("1\n2\n", &no_times), Err(CsvError::NoTimes)));
    }

    #[test]
    fn no_more_rows_are_read_than_asked_for() {
        let options = Options { n_rows_max: Some(2), ..Options::default() };
        assert_eq!(read_text("1\n2\nbroken\n", &options).unwrap().samples(), [1.0, 2.0]);
    }

    #[test]
    fn a_line_that_is_too_short_or_long_is_refused() {
        assert!(matches!(
            read_text("1,2\n3\n", &Options { column: Some(Column::Number(2)), ..Options::default() }),
            Err(CsvError::Ragged { line: 2, given: 1, needed: 2 })
        ));
    }
}
