//! Ageing of history: samples become minute means, are packed into blocks, and go; minute means become hour means;
//! those go last. What a removed series leaves goes at once.
//!
//! Each piece of this work is short, because the samples of the next tick wait meanwhile.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use units::{ByteCount, Timestamp};

use super::block::stretch_of;
use super::limit::Limit;
use super::seal::seal_piece;
use super::{MINUTE, minute_of, thin};

/// Minute means are kept this many times as long as samples, and hour means this many times as long as those.
pub(super) const MEANS_KEPT: u32 = 10;

/// The length of the stretches that old minute means are thinned to.
pub(super) const HOUR: Duration = Duration::from_secs(3600);

/// Nothing is deleted for this long after a start or a jump of the clock, or for a tenth of the retention.
const HOLD_MAX: Duration = Duration::from_secs(3600);

/// A clock that moves by more than this from one tick to the next has jumped; no step is longer than 100 s.
const JUMP_MIN: Duration = Duration::from_secs(600);

/// Pieces of work after one transaction. Ordinary life needs one a minute; a backlog of old history is worked off at
/// this many minutes a second.
const N_PIECES: usize = 8;

/// Rows of a removed series that one piece looks at.
const N_SWEPT: i64 = 20_000;

/// State of the ageing between ticks.
#[derive(Debug)]
pub(super) struct Ageing {
    retention: Duration,
    /// Every sample before this is in `minute`.
    minutes_until: Timestamp,
    /// Time at the last tick, and when deleting may begin.
    clock: Option<(Timestamp, Timestamp)>,
    /// The minute in which means were thinned last.
    means_thinned: Option<Timestamp>,
    /// Everything before this is in blocks, but for what came later than others.
    sealed_until: Option<Timestamp>,
    /// The limit of the file's size.
    limit: Limit,
    /// Position from which the sweep after a removed series goes on.
    sweep: Sweep,
}

#[derive(Debug, PartialEq, Eq)]
enum Sweep {
    /// Nothing is removed.
    Clean,
    /// Perhaps there is something removed.
    Unknown,
    /// The series with this key, from this moment on.
    At(i64, i64),
}

impl Ageing {
    pub(super) fn load(connection: &Connection, retention: Duration, size_max: ByteCount) -> rusqlite::Result<Self> {
        let minutes_until = connection.query_row("SELECT minutes_until_ns FROM progress", [], |row| row.get(0))?;
        Ok(Self {
            retention,
            minutes_until: Timestamp::from_nanos(minutes_until),
            clock: None,
            means_thinned: None,
            sealed_until: None,
            limit: Limit::new(size_max),
            sweep: Sweep::Unknown,
        })
    }

    pub(super) fn minutes_until(&self) -> Timestamp {
        self.minutes_until
    }

    /// A series was removed.
    pub(super) fn note_removal(&mut self) {
        if self.sweep == Sweep::Clean {
            self.sweep = Sweep::Unknown;
        }
    }

    /// Does some of what is due, after the samples up to `newest` were written at `now`.
    pub(super) fn work(
        &mut self,
        connection: &mut Connection,
        newest: Timestamp,
        now: Timestamp,
    ) -> rusqlite::Result<()> {
        let may_delete = self.may_delete(now);
        for _ in 0..N_PIECES {
            let did_some = self.make_means(connection, minute_of(newest))?
                || self.seal(connection)?
                || may_delete && self.delete_stretch(connection, now)?
                || self.limit.work(connection, newest)?
                || self.sweep(connection)?;
            if !did_some {
                break;
            }
        }
        if may_delete && self.means_thinned != Some(minute_of(now)) {
            self.thin_means(connection, now)?;
            self.means_thinned = Some(minute_of(now));
        }
        Ok(())
    }

    /// Packs a stretch that is over, once a stretch: what comes late waits for the end of the next one, so that a
    /// block is not made anew for each sample.
    fn seal(&mut self, connection: &mut Connection) -> rusqlite::Result<bool> {
        let limit = stretch_of(self.minutes_until);
        if self.sealed_until == Some(limit) {
            return Ok(false);
        }
        let sealed = seal_piece(connection, limit)?;
        if !sealed {
            self.sealed_until = Some(limit);
        }
        Ok(sealed)
    }

    fn may_delete(&mut self, now: Timestamp) -> bool {
        let hold = HOLD_MAX.min(self.retention / 10);
        let allowed_from = match self.clock {
            Some((previous, allowed_from)) if now <= previous + JUMP_MIN => allowed_from,
            _ => now + hold,
        };
        self.clock = Some((now, allowed_from));
        now >= allowed_from
    }

    /// Makes the means of the first minute with samples that has none and lies before `limit`.
    fn make_means(&mut self, connection: &mut Connection, limit: Timestamp) -> rusqlite::Result<bool> {
        if self.minutes_until >= limit {
            return Ok(false);
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let first = transaction
            .prepare_cached("SELECT t_ns FROM sample WHERE t_ns >= ?1 AND t_ns < ?2 ORDER BY t_ns LIMIT 1")?
            .query_row([self.minutes_until.as_nanos(), limit.as_nanos()], |row| row.get(0))
            .optional()?;
        let until = match first.map(|first| minute_of(Timestamp::from_nanos(first))) {
            None => limit,
            Some(minute) => {
                let until = minute + MINUTE;
                transaction
                    .prepare_cached(
                        "INSERT OR REPLACE INTO minute (series, t_ns, mean, min, max, n)
                         SELECT series, ?1, avg(value), min(value), max(value), count(*) FROM sample
                         WHERE t_ns >= ?1 AND t_ns < ?2 GROUP BY series",
                    )?
                    .execute([minute.as_nanos(), until.as_nanos()])?;
                until
            }
        };
        transaction.prepare_cached("UPDATE progress SET minutes_until_ns = ?1")?.execute([until.as_nanos()])?;
        transaction.commit()?;
        self.minutes_until = until;
        Ok(true)
    }

    /// Deletes the oldest stretch, if all of it is older than the retention.
    fn delete_stretch(&self, connection: &mut Connection, now: Timestamp) -> rusqlite::Result<bool> {
        let limit = stretch_of((now - self.retention).min(self.minutes_until));
        let Some(oldest) = thin::oldest_stretch(connection)?.filter(|oldest| *oldest < limit) else { return Ok(false) };
        thin::delete_stretch(connection, oldest)?;
        Ok(true)
    }

    /// Makes hours of minutes that are old enough, and deletes hours that are.
    fn thin_means(&self, connection: &mut Connection, now: Timestamp) -> rusqlite::Result<()> {
        let minutes_kept = self.retention.saturating_mul(MEANS_KEPT);
        thin::make_hours(connection, (now - minutes_kept).floor_to(HOUR))?;
        thin::delete_hours(connection, (now - minutes_kept.saturating_mul(MEANS_KEPT)).floor_to(HOUR))
    }

    /// Deletes some of the history of a removed series. Says whether there may be more to do.
    fn sweep(&mut self, connection: &mut Connection) -> rusqlite::Result<bool> {
        let (key, from) = match self.sweep {
            Sweep::Clean => return Ok(false),
            Sweep::At(key, from) => (key, from),
            Sweep::Unknown => {
                let removed = "SELECT series FROM series WHERE removed = 1 LIMIT 1";
                match connection.query_row(removed, [], |row| row.get(0)).optional()? {
                    Some(key) => (key, i64::MIN),
                    None => {
                        self.sweep = Sweep::Clean;
                        return Ok(false);
                    }
                }
            }
        };
        self.sweep = match sweep_from(connection, key, from)? {
            Some(next) => Sweep::At(key, next),
            None => Sweep::Unknown,
        };
        Ok(true)
    }
}

/// Gives where to go on, or `None` when nothing is left of the series.
fn sweep_from(connection: &mut Connection, key: i64, from: i64) -> rusqlite::Result<Option<i64>> {
    const TABLES: [&str; 4] = ["sample", "forecast", "sample_block", "forecast_block"];
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut next: Option<i64> = None;
    for table in TABLES {
        let sql = format!("SELECT t_ns FROM {table} WHERE t_ns >= ?1 ORDER BY t_ns LIMIT 1 OFFSET ?2");
        let beyond = transaction.prepare_cached(&sql)?.query_row([from, N_SWEPT], |row| row.get(0)).optional()?;
        next = next.into_iter().chain(beyond).min();
    }
    // Many rows can be of one moment, and it has to go on.
    let next = next.map(|next| next.max(from.saturating_add(1)));
    let until = next.unwrap_or(i64::MAX);
    for table in TABLES {
        let delete = format!("DELETE FROM {table} WHERE t_ns >= ?1 AND t_ns < ?2 AND series = ?3");
        transaction.prepare_cached(&delete)?.execute(params![from, until, key])?;
    }
    if next.is_none() {
        for table in ["minute", "hour", "series"] {
            transaction.execute(&format!("DELETE FROM {table} WHERE series = ?1"), [key])?;
        }
    }
    transaction.commit()?;
    Ok(next)
}
