//! Times in cells: those that [`Timestamp`] reads, and days with points, `21.11.2026` and `21.11.2026 09:00`.

use units::{Timestamp, TimestampError};

/// A time. Days with points begin with the day of the month wherever they are used; days with slashes may begin with the
/// month, and are refused.
pub(super) fn read(cell: &str) -> Result<Timestamp, TimestampError> {
    match iso(cell) {
        Some(iso) => iso.parse(),
        None => cell.parse(),
    }
    .map_err(|_: TimestampError| TimestampError { given: cell.to_owned() })
}

/// Whether a cell is meant as a date, readable or not: `2026-11-21`, `21.11.2026`, `11/21/26`.
pub(super) fn is_meant_as_date(cell: &str) -> bool {
    let day = cell.split([' ', 'T']).next().unwrap_or_default();
    let has_parts = |mark| {
        let parts: Vec<&str> = day.split(mark).collect();
        let are_digits = parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        are_digits && matches!(lengths[..], [2 | 4, 1 | 2, 1 | 2] | [1 | 2, 1 | 2, 2 | 4])
    };
    ['-', '/', '.'].into_iter().any(has_parts)
}

/// `2026-11-21 09:00` of `21.11.2026 09:00`.
fn iso(cell: &str) -> Option<String> {
    let (day, time) = cell.split_at(cell.find([' ', 'T']).unwrap_or(cell.len()));
    let mut parts = day.split('.');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    (parts.next().is_none() && year.len() == 4).then(|| format!("{year}-{month:0>2}-{day:0>2}{time}"))
}
