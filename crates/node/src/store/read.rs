//! Reading: what is there at start, and ranges of it later.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};
use signal::{Family, Kind, Range, Signal, Unit};
use units::Timestamp;

use super::{MINUTE, minute_of};
use crate::engine::about::{About, Origin, family_of};
use crate::schedule::times;

/// Some samples in one: their mean over a stretch of time that begins at `time`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mean {
    pub(crate) time: Timestamp,
    pub(crate) mean: f64,
    pub(crate) n: u32,
}

/// A remembered forecast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Recalled {
    pub(crate) target: Timestamp,
    pub(crate) mean: f64,
    pub(crate) standard_error: f64,
}

/// Every series that is not removed. One whose family no longer exists is left out.
pub(crate) fn series(connection: &Connection) -> rusqlite::Result<Vec<About>> {
    let mut statement = connection.prepare(
        "SELECT series, id, source, family, label, unit, sentence, step_ns, model, created_ns, feed, kind, labels
         FROM series WHERE removed = 0 ORDER BY series",
    )?;
    let rows = statement.query_map([], about)?;
    rows.filter_map(Result::transpose).collect()
}

fn about(row: &SqlRow<'_>) -> rusqlite::Result<Option<About>> {
    let origin = if row.get::<_, String>("source")? == "sensor" {
        let Some(signal) = signal(row)? else { return Ok(None) };
        Origin::Sensor { signal, feed: row.get("feed")? }
    } else {
        let model = row.get::<_, Option<Arc<str>>>("model")?.unwrap_or_else(|| "LAST".into());
        Origin::Pushed { unit: row.get("unit")?, sentence: row.get("sentence")?, model }
    };
    Ok(Some(About {
        key: row.get("series")?,
        id: row.get("id")?,
        origin,
        step: Duration::from_nanos(row.get::<_, i64>("step_ns")?.unsigned_abs()),
        created: Timestamp::from_nanos(row.get("created_ns")?),
    }))
}

/// What a sensor's series measures; `None` for a family that the table had once.
fn signal(row: &SqlRow<'_>) -> rusqlite::Result<Option<Signal>> {
    let pattern: String = row.get::<_, Option<_>>("family")?.unwrap_or_default();
    let Some(labels) = row.get::<_, Option<String>>("labels")? else {
        let label = row.get("label")?;
        return Ok(family_of(&pattern).map(|family| Signal::listed(family, label)));
    };
    let Ok(labels) = serde_json::from_str(&labels) else { return Ok(None) };
    let is_rate = row.get::<_, Option<String>>("kind")?.as_deref() == Some(Kind::Rate.as_str());
    let family = Family {
        unit: Unit::Named(row.get("unit")?),
        kind: if is_rate { Kind::Rate } else { Kind::Gauge },
        sentence: row.get::<_, String>("sentence")?.into(),
        // Another host's signals are described by the table, too.
        range: family_of(&pattern).map_or(Range { min: None, max: None }, |row| row.range),
        pattern: pattern.into(),
        alias: None,
    };
    Ok(Some(Signal::made(family.into(), row.get("id")?, labels)))
}

/// A key above all that were ever given.
pub(crate) fn next_key(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT coalesce(max(series), 0) + 1 FROM series", [], |row| row.get(0))
}

/// The latest label of a sample of the host itself.
pub(crate) fn last_label(connection: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    let sql = "SELECT t_ns FROM sample WHERE series IN
               (SELECT series FROM series WHERE source = 'sensor' AND feed IS NULL) ORDER BY t_ns DESC LIMIT 1";
    Ok(connection.query_row(sql, [], |row| row.get(0)).optional()?.map(Timestamp::from_nanos))
}

/// The latest label of one series. Its last whole minute is found at once, and little comes after that.
pub(crate) fn last_label_of(connection: &Connection, key: i64) -> rusqlite::Result<Option<Timestamp>> {
    let until: i64 = connection.query_row("SELECT minutes_until_ns FROM progress", [], |row| row.get(0))?;
    let recent = "SELECT max(t_ns) FROM sample WHERE t_ns >= ?1 AND series = ?2";
    let recent: Option<i64> = connection.prepare_cached(recent)?.query_row([until, key], |row| row.get(0))?;
    if let Some(recent) = recent {
        return Ok(Some(Timestamp::from_nanos(recent)));
    }
    let minute: Option<i64> = connection
        .prepare_cached("SELECT max(t_ns) FROM minute WHERE series = ?1")?
        .query_row([key], |row| row.get(0))?;
    let Some(minute) = minute.map(Timestamp::from_nanos) else { return Ok(None) };
    let last: Option<i64> = connection
        .prepare_cached("SELECT max(t_ns) FROM sample WHERE t_ns >= ?1 AND t_ns < ?2 AND series = ?3")?
        .query_row(params![minute.as_nanos(), (minute + MINUTE).as_nanos(), key], |row| row.get(0))?;
    // With its samples gone, the end of the minute is as late as they can have been.
    Ok(Some(last.map_or(minute + MINUTE - Duration::from_nanos(1), Timestamp::from_nanos)))
}

/// Hands out every sample from `from` on, of all series, oldest first: moment, key, value.
pub(crate) fn all_samples(
    connection: &Connection,
    from: Timestamp,
    mut take: impl FnMut(Timestamp, i64, f64),
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT t_ns, series, value FROM sample WHERE t_ns >= ?1 ORDER BY t_ns")?;
    let mut rows = statement.query([from.as_nanos()])?;
    while let Some(row) = rows.next()? {
        take(Timestamp::from_nanos(row.get(0)?), row.get(1)?, row.get(2)?);
    }
    Ok(())
}

/// The samples of one series on the grid of `step`. One look-up for each slot, because the table is clustered by time
/// and holds all series: to look at everything between would take much longer.
pub(crate) fn samples(
    connection: &Connection,
    key: i64,
    step: Duration,
    range: std::ops::Range<Timestamp>,
) -> rusqlite::Result<Vec<Mean>> {
    let mut statement = connection.prepare_cached("SELECT value FROM sample WHERE t_ns = ?1 AND series = ?2")?;
    let mut found = Vec::new();
    let Some(first) = first_row(connection, range.start)? else { return Ok(found) };
    let mut time = ceil_to(range.start.max(first), step);
    while time < range.end {
        let value = statement.query_row([time.as_nanos(), key], |row| row.get(0)).optional()?;
        found.extend(value.map(|mean| Mean { time, mean, n: 1 }));
        time = time + step;
    }
    Ok(found)
}

/// Nothing is to be looked up before this.
fn first_row(connection: &Connection, from: Timestamp) -> rusqlite::Result<Option<Timestamp>> {
    let sql = "SELECT t_ns FROM sample WHERE t_ns >= ?1 ORDER BY t_ns LIMIT 1";
    let first = connection.prepare_cached(sql)?.query_row([from.as_nanos()], |row| row.get(0)).optional()?;
    Ok(first.map(Timestamp::from_nanos))
}

/// The minute means of one series.
pub(crate) fn minutes(
    connection: &Connection,
    key: i64,
    range: std::ops::Range<Timestamp>,
) -> rusqlite::Result<Vec<Mean>> {
    let mut statement = connection.prepare_cached(
        "SELECT t_ns, mean, n FROM minute WHERE series = ?1 AND t_ns >= ?2 AND t_ns < ?3 ORDER BY t_ns",
    )?;
    let rows = statement.query_map([key, range.start.as_nanos(), range.end.as_nanos()], |row| {
        Ok(Mean { time: Timestamp::from_nanos(row.get(0)?), mean: row.get(1)?, n: row.get(2)? })
    })?;
    rows.collect()
}

/// The moment of the oldest sample, and that up to which minute means are made.
pub(crate) fn extent(connection: &Connection) -> rusqlite::Result<(Option<Timestamp>, Timestamp)> {
    let oldest: Option<i64> =
        connection.prepare_cached("SELECT min(t_ns) FROM sample")?.query_row([], |row| row.get(0))?;
    let until = connection.prepare_cached("SELECT minutes_until_ns FROM progress")?.query_row([], |row| row.get(0))?;
    Ok((oldest.map(Timestamp::from_nanos), minute_of(Timestamp::from_nanos(until))))
}

/// The remembered forecasts of one series and lead time, by the moments they were for.
pub(crate) fn forecasts(
    connection: &Connection,
    key: i64,
    lead: Duration,
    step: Duration,
    range: std::ops::Range<Timestamp>,
) -> rusqlite::Result<Vec<Recalled>> {
    let mut statement = connection
        .prepare_cached("SELECT mean, standard_error FROM forecast WHERE t_ns = ?1 AND series = ?2 AND lead_ns = ?3")?;
    let lead_ns = i64::try_from(lead.as_nanos()).unwrap_or(i64::MAX);
    let first: Option<i64> = connection
        .prepare_cached("SELECT t_ns FROM forecast WHERE t_ns >= ?1 ORDER BY t_ns LIMIT 1")?
        .query_row([range.start.as_nanos()], |row| row.get(0))
        .optional()?;
    let Some(first) = first else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut time = ceil_to(range.start.max(Timestamp::from_nanos(first)), step);
    while time < range.end {
        let recalled = statement
            .query_row([time.as_nanos(), key, lead_ns], |row| {
                Ok(Recalled { target: time, mean: row.get(0)?, standard_error: row.get(1)? })
            })
            .optional()?;
        found.extend(recalled);
        time = time + step;
    }
    Ok(found)
}

/// The first whole multiple of `step` that is not before `time`.
pub(crate) fn ceil_to(time: Timestamp, step: Duration) -> Timestamp {
    let floor = time.floor_to(step);
    if floor == time { floor } else { floor + times(step, 1) }
}
