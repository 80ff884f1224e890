//! Reads a trace line by line, with bounds on everything.

use std::io::{self, BufRead, Read};
use std::str;

use units::Rank;

use crate::call::{Call, UnknownCall};
use crate::{N_RANKS_MAX, N_ROWS_MAX, Row, Trace};

/// The columns, in the order of [`Columns`].
const NAMES: [&str; 6] = ["rank", "start_ns", "end_ns", "call", "peer", "size_bytes"];
/// The longest line, its end included.
const LINE_BYTES_MAX: u64 = 1_024;

/// The reason why a trace cannot be read. Whoever opened the file says which it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// Failure to read on.
    #[error("cannot read a communication trace")]
    Read(#[source] io::Error),
    /// A line that is not one of a trace.
    #[error("line {line}: {fault}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// Fault of the line.
        fault: LineFault,
    },
    /// A trace without calls.
    #[error("there are no calls; write a line with the names of the columns, then one line per call")]
    Empty,
}

/// Fault of a line.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LineFault {
    /// A line that is not text.
    #[error("this is not UTF-8 text")]
    Text,
    /// Longer than a line may be.
    #[error("the line is longer than {LINE_BYTES_MAX} bytes")]
    TooLong,
    /// A column that the first line does not name.
    #[error("there is no column `{name}`; the first line must name {}", NAMES.join(", "))]
    ColumnMissing {
        /// Its name.
        name: &'static str,
    },
    /// A column named twice.
    #[error("there are two columns `{name}`")]
    ColumnTwice {
        /// Its name.
        name: &'static str,
    },
    /// Too few fields, or too many.
    #[error("the line has {found} fields, but the first line names {needed} columns")]
    Fields {
        /// Number of fields that there are.
        found: usize,
        /// Number of fields that there should be.
        needed: usize,
    },
    /// A field that is not a number of its range.
    #[error("`{given}` in column {column} is not a whole number from 0 to {max}")]
    Number {
        /// The column.
        column: &'static str,
        /// Text as given.
        given: String,
        /// Greatest number that is accepted.
        max: u64,
    },
    /// A field that is not a call.
    #[error(transparent)]
    Call(#[from] UnknownCall),
    /// A call that returned before it began.
    #[error("the call ends at {end_ns} ns, before it starts at {start_ns} ns")]
    Order {
        /// Time at which it began.
        start_ns: u64,
        /// Time at which it returned.
        end_ns: u64,
    },
    /// A send to nobody.
    #[error("a send needs the target rank in column peer; leave out sends to MPI_PROC_NULL")]
    Peer,
    /// More rows than a trace may have.
    #[error("a trace may have at most {N_ROWS_MAX} calls; record fewer cycles")]
    TooMany,
}

/// Positions of the columns.
struct Columns {
    positions: [usize; NAMES.len()],
    n_fields: usize,
}

impl Trace {
    /// Reads a trace to its end.
    ///
    /// # Errors
    /// [`TraceError`] with the first line that is wrong.
    pub fn read(mut text: impl BufRead) -> Result<Self, TraceError> {
        let mut columns = None;
        let mut rows = Vec::new();
        let mut buffer = Vec::new();
        for line in 1.. {
            buffer.clear();
            let n_bytes =
                Read::take(&mut text, LINE_BYTES_MAX).read_until(b'\n', &mut buffer).map_err(TraceError::Read)?;
            if n_bytes == 0 {
                break;
            }
            take_line(&buffer, &mut columns, &mut rows).map_err(|fault| TraceError::Line { line, fault })?;
        }
        if rows.is_empty() { Err(TraceError::Empty) } else { Ok(Self::of(rows)) }
    }
}

fn take_line(bytes: &[u8], columns: &mut Option<Columns>, rows: &mut Vec<Row>) -> Result<(), LineFault> {
    if bytes.len() as u64 == LINE_BYTES_MAX && bytes.last() != Some(&b'\n') {
        return Err(LineFault::TooLong);
    }
    let text = str::from_utf8(bytes).map_err(|_| LineFault::Text)?;
    // Spreadsheets put a mark of the byte order in front.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_end_matches(['\r', '\n']);
    if text.trim().is_empty() {
        return Ok(());
    }
    let fields: Vec<&str> = text.split(',').map(unquoted).collect();
    match columns {
        None => *columns = Some(Columns::of_names(&fields)?),
        Some(_) if rows.len() >= N_ROWS_MAX => return Err(LineFault::TooMany),
        Some(columns) => rows.push(columns.row(&fields)?),
    }
    Ok(())
}

/// Returns a field without the blanks and quotes around it. No field of a trace has a comma or a quote in it.
fn unquoted(field: &str) -> &str {
    let field = field.trim();
    field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(field).trim()
}

impl Columns {
    fn of_names(fields: &[&str]) -> Result<Self, LineFault> {
        let mut positions = [0; NAMES.len()];
        for (position, name) in positions.iter_mut().zip(NAMES) {
            let mut found = fields.iter().enumerate().filter(|(_, field)| **field == name);
            *position = found.next().ok_or(LineFault::ColumnMissing { name })?.0;
            if found.next().is_some() {
                return Err(LineFault::ColumnTwice { name });
            }
        }
        Ok(Self { positions, n_fields: fields.len() })
    }

    fn row(&self, fields: &[&str]) -> Result<Row, LineFault> {
        if fields.len() != self.n_fields {
            return Err(LineFault::Fields { found: fields.len(), needed: self.n_fields });
        }
        let field = |column: usize| fields[self.positions[column]];
        let number = |column: usize, max: u64| {
            let wrong = || LineFault::Number { column: NAMES[column], given: field(column).to_owned(), max };
            field(column).parse().ok().filter(|number| *number <= max).ok_or_else(wrong)
        };
        let rank = |column: usize| number(column, u64::from(N_RANKS_MAX - 1)).map(|rank| rank as Rank);
        let row = Row {
            rank: rank(0)?,
            start_ns: number(1, u64::MAX)?,
            end_ns: number(2, u64::MAX)?,
            call: field(3).parse()?,
            peer: if field(4).is_empty() { None } else { Some(rank(4)?) },
            size_bytes: if field(5).is_empty() { 0 } else { number(5, u64::MAX)? },
        };
        check(row)
    }
}

fn check(row: Row) -> Result<Row, LineFault> {
    if row.end_ns < row.start_ns {
        return Err(LineFault::Order { start_ns: row.start_ns, end_ns: row.end_ns });
    }
    if matches!(row.call, Call::Send(_)) && row.peer.is_none() {
        return Err(LineFault::Peer);
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Mode;

    const HEAD: &str = "rank,start_ns,end_ns,call,peer,size_bytes\n";

    fn parse(text: &[u8]) -> Result<Trace, TraceError> {
        Trace::read(text)
    }

    #[track_caller]
    fn check_refused(text: &str, told: &str) {
        let error = parse(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(error, told);
    }

    #[test]
    fn columns_may_come_in_any_order_with_others_between_and_in_quotes() {
        let text = "\u{feff}\"call\", size_bytes,communicator,rank,peer,end_ns,start_ns\r\n\"MPI_Ssend\",8,world,1,0,30,20\r\n\r\n";
        let trace = parse(text.as_bytes()).unwrap();
        let row = Row {
            rank: 1,
            start_ns: 20,
            end_ns: 30,
            call: Call::Send(Mode::Synchronous),
            peer: Some(0),
            size_bytes: 8,
        };
        assert_eq!((trace.calls(), trace.n_ranks()), (&[row][..], 2));
    }

    #[test]
    fn rows_are_put_in_order() {
        let trace = parse(format!("{HEAD}1,5,6,barrier,,\n0,9,9,barrier,,\n1,1,2,wait,,0").as_bytes()).unwrap();
        let order: Vec<_> = trace.calls().iter().map(|row| (row.rank, row.start_ns)).collect();
        assert_eq!(order, [(0, 9), (1, 1), (1, 5)]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        check_refused("", "there are no calls; write a line with the names of the columns, then one line per call");
        check_refused(HEAD, "there are no calls; write a line with the names of the columns, then one line per call");
        check_refused(
            "rank,start_ns,end_ns,call,peer,size\n",
            "line 1: there is no column `size_bytes`; the first line must name rank, start_ns, end_ns, call, peer, size_bytes",
        );
        check_refused(&format!("rank,{HEAD}"), "line 1: there are two columns `rank`");
        check_refused(
            &format!("{HEAD}0,1,2,barrier\n"),
            "line 2: the line has 4 fields, but the first line names 6 columns",
        );
        check_refused(
            &format!("{HEAD}0,1,2,barrier,,\n4096,1,2,barrier,,\n"),
            "line 3: `4096` in column rank is not a whole number from 0 to 4095",
        );
        check_refused(
            &format!("{HEAD}0,1.5,2,barrier,,\n"),
            "line 2: `1.5` in column start_ns is not a whole number from 0 to 18446744073709551615",
        );
        check_refused(&format!("{HEAD}0,3,2,barrier,,\n"), "line 2: the call ends at 2 ns, before it starts at 3 ns");
        check_refused(
            &format!("{HEAD}0,1,2,send,,8\n"),
            "line 2: a send needs the target rank in column peer; leave out sends to MPI_PROC_NULL",
        );
        let error = parse(format!("{HEAD}0,1,2,MPI_Init,,\n").as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("line 2: `MPI_Init` is not a call that moves data"), "{error}");
        assert!(parse(b"\xff\xfe\n").unwrap_err().to_string().contains("UTF-8"));
        check_refused(&"x".repeat(100_000), "line 1: the line is longer than 1024 bytes");
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..400), is_after_head in any::<bool>()) {
            let head = if is_after_head { HEAD.as_bytes() } else { b"" };
            let text = [head, &bytes].concat();
            if let Ok(trace) = parse(&text) {
                prop_assert!(trace.calls().iter().all(|row| row.end_ns >= row.start_ns && row.rank < trace.n_ranks()));
            }
        }
    }
}
