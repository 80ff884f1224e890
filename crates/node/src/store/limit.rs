//! The most that the store may take: when it is full, the oldest samples are left as means of minutes, the oldest
//! minutes as means of hours, and the oldest hours go last.

use std::time::Duration;

use rusqlite::Connection;
use units::{ByteCount, Timestamp};

use super::age::{HOUR, MEANS_KEPT};
use super::block::STRETCH;
use super::thin;

/// Room is made when this share of the file is taken, so that what is written meanwhile fits.
const FULL_RATIO: (u64, u64) = (15, 16);

/// Samples of this long stay, whatever the limit: a restart goes on from them, and they are not all packed yet.
const SAMPLES_KEPT: Duration = Duration::from_secs(1800);

/// Minute means of this long stay.
const MINUTES_KEPT: Duration = Duration::from_secs(3 * 3600);

/// Pages that are given back to the file system after a transaction: 4 MB a second at most, which holds nobody up.
const PAGES_FREED: u64 = 1000;

/// Free pages that stay for what is written next.
const PAGES_SPARE: u64 = 2048;

/// Limit of the file's size.
#[derive(Debug)]
pub(super) struct Limit {
    size_max: ByteCount,
    /// It was said that the store is full.
    was_full: bool,
}

/// Kinds of history that there can be too much of, in the order in which they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Samples,
    Minutes,
    Hours,
}

impl Limit {
    pub(super) fn new(size_max: ByteCount) -> Self {
        Self { size_max, was_full: false }
    }

    /// Makes some room, if there is too little. Says whether it did.
    pub(super) fn work(&mut self, connection: &mut Connection, newest: Timestamp) -> rusqlite::Result<bool> {
        let size = Size::of(connection)?;
        if size.n_free > PAGES_SPARE.max(size.n_pages / 16) {
            give_back(connection, PAGES_FREED.min(size.n_free - PAGES_SPARE))?;
        }
        if size.n_bytes_used() < self.size_max.bytes() / FULL_RATIO.1 * FULL_RATIO.0 {
            return Ok(false);
        }
        let Some((kind, oldest)) = first_to_go(connection, newest)? else { return Ok(false) };
        if !self.was_full {
            tracing::info!(size_max = %self.size_max, "the store is full; what is oldest is thinned from here on");
            self.was_full = true;
        }
        match kind {
            Kind::Samples => thin::delete_stretch(connection, oldest)?,
            Kind::Minutes => thin::make_hours(connection, oldest.floor_to(HOUR) + HOUR)?,
            Kind::Hours => thin::delete_hours(connection, oldest + HOUR)?,
        }
        Ok(true)
    }
}

/// Makes the file shorter by so many free pages. Does nothing on a file of an earlier version, which stays as long as
/// it was.
fn give_back(connection: &Connection, n_pages: u64) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({n_pages})"))?;
    let mut pages = statement.query([])?;
    while pages.next()?.is_some() {}
    Ok(())
}

/// Returns the kind that goes first, and the moment of the oldest of it: what is too old by the shares that samples,
/// minutes and hours have of the past without a limit, each [`MEANS_KEPT`] times as long as the one before.
fn first_to_go(connection: &Connection, newest: Timestamp) -> rusqlite::Result<Option<(Kind, Timestamp)>> {
    let share = u128::from(MEANS_KEPT);
    let candidates = [
        (Kind::Samples, thin::oldest_stretch(connection)?, SAMPLES_KEPT + STRETCH, share * share),
        (Kind::Minutes, thin::oldest_mean(connection, "minute")?, MINUTES_KEPT + HOUR, share),
        (Kind::Hours, thin::oldest_mean(connection, "hour")?, Duration::ZERO, 1),
    ];
    let mut first: Option<(u128, Kind, Timestamp)> = None;
    for (kind, oldest, kept, weight) in candidates {
        let Some(oldest) = oldest.filter(|oldest| *oldest + kept <= newest) else { continue };
        let age = newest.saturating_since(oldest).as_nanos() * weight;
        if first.is_none_or(|(greatest, ..)| age > greatest) {
            first = Some((age, kind, oldest));
        }
    }
    Ok(first.map(|(_, kind, oldest)| (kind, oldest)))
}

/// Length of the file, and the part of it that holds something.
struct Size {
    n_pages: u64,
    n_free: u64,
    page_bytes: u64,
}

impl Size {
    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get(0));
        Ok(Self { n_pages: pragma("page_count")?, n_free: pragma("freelist_count")?, page_bytes: pragma("page_size")? })
    }

    fn n_bytes_used(&self) -> u64 {
        (self.n_pages - self.n_free) * self.page_bytes
    }
}
