//! Reading: what is there at start, and ranges of it later.

use std::iter::successors;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};
use signal::{Family, Kind, Range, Signal, Unit};
use units::Timestamp;

use super::age::HOUR;
use super::block::{self, Line, STRETCH, Sample, stretch_of};
use super::seal::merged;
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

impl From<Line> for Recalled {
    fn from(Line { t_ns, mean, standard_error, .. }: Line) -> Self {
        Self { target: Timestamp::from_nanos(t_ns), mean, standard_error }
    }
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

/// Returns the signal that a sensor's series measures; `None` for a family that the table had once.
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

/// More than the state of any series takes.
const STATE_BYTES_MAX: usize = 256 << 20;

/// The saved state of a series; `None` where there is none, and for what cannot be unpacked.
pub(crate) fn state(connection: &Connection, key: i64) -> rusqlite::Result<Option<Vec<u8>>> {
    let packed: Option<Vec<u8>> = connection
        .prepare_cached("SELECT data FROM state WHERE series = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    Ok(packed.and_then(|packed| zstd::bulk::decompress(&packed, STATE_BYTES_MAX).ok()))
}

/// The numbers of the samples of a series after which fits were cancelled, since its state was saved.
pub(crate) fn cancelled(connection: &Connection, key: i64) -> rusqlite::Result<Vec<u64>> {
    let mut statement =
        connection.prepare_cached("SELECT number FROM cancelled WHERE series = ?1 ORDER BY number DESC LIMIT 256")?;
    let numbers = statement.query_map([key], |row| Ok(row.get::<_, i64>(0)?.cast_unsigned()))?;
    numbers.collect()
}

/// A key above all that were ever given.
pub(crate) fn next_key(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT coalesce(max(series), 0) + 1 FROM series", [], |row| row.get(0))
}

/// The latest label of a sample of the host itself. It is in a block if the host was silent while other series went
/// on.
pub(crate) fn last_label(connection: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    let hosts = "series IN (SELECT series FROM series WHERE source = 'sensor' AND feed IS NULL)";
    let last_row = |table| {
        let sql = format!("SELECT t_ns FROM {table} WHERE {hosts} ORDER BY t_ns DESC LIMIT 1");
        let last = connection.query_row(&sql, [], |row| row.get(0)).optional()?;
        Ok::<_, rusqlite::Error>(last.map(Timestamp::from_nanos))
    };
    let mut last = last_row("sample")?;
    let Some(start) = last_row("sample_block")?.filter(|start| last.is_none_or(|last| last < *start + STRETCH)) else {
        return Ok(last);
    };
    let mut statement =
        connection.prepare(&format!("SELECT DISTINCT series FROM sample_block WHERE t_ns = ?1 AND {hosts}"))?;
    for key in statement.query_map([start.as_nanos()], |row| row.get(0))? {
        let parts = parts(connection, start, key?)?;
        last = last
            .max(parts.last().and_then(|(_, samples)| samples.last()).map(|(t_ns, _)| Timestamp::from_nanos(*t_ns)));
    }
    Ok(last)
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
    let sealed = parts(connection, stretch_of(minute), key)?;
    let sealed = sealed.iter().filter_map(|(_, samples)| samples.last()).map(|(t_ns, _)| *t_ns).max();
    // With its samples gone, the end of the minute is as late as they can have been.
    Ok(Some(last.max(sealed).map_or(minute + MINUTE - Duration::from_nanos(1), Timestamp::from_nanos)))
}

/// The first label of one series: that of a sample, or of the minute or hour whose mean is all that is left of it.
pub(crate) fn first_label_of(connection: &Connection, key: i64) -> rusqlite::Result<Option<Timestamp>> {
    let first_in = |from: i64, to: i64| {
        let first = "SELECT min(t_ns) FROM sample WHERE t_ns >= ?1 AND t_ns < ?2 AND series = ?3";
        connection.prepare_cached(first)?.query_row([from, to, key], |row| row.get::<_, Option<i64>>(0))
    };
    let Some(minute) = first_minute(connection, key)? else {
        // Every sample before this is in a minute.
        let until = connection.query_row("SELECT minutes_until_ns FROM progress", [], |row| row.get(0))?;
        return Ok(first_in(until, i64::MAX)?.map(Timestamp::from_nanos));
    };
    let labels = minute.as_nanos()..(minute + MINUTE).as_nanos();
    let sealed = parts(connection, stretch_of(minute), key)?;
    let sealed = sealed.iter().flat_map(|(_, samples)| samples).map(|(t_ns, _)| *t_ns);
    let sealed = sealed.filter(|t_ns| labels.contains(t_ns)).min();
    let first = sealed.into_iter().chain(first_in(labels.start, labels.end)?).min();
    Ok(Some(first.map_or(minute, Timestamp::from_nanos)))
}

/// Hands out every sample from `from` on, of all series: moment, key, value. Those of a series are in no order, and
/// may come twice.
pub(crate) fn all_samples(
    connection: &Connection,
    from: Timestamp,
    mut take: impl FnMut(Timestamp, i64, f64),
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT t_ns, series, n, data FROM sample_block WHERE t_ns >= ?1")?;
    let mut rows = statement.query([stretch_of(from).as_nanos()])?;
    while let Some(row) = rows.next()? {
        let key = row.get(1)?;
        let samples = block::samples(Timestamp::from_nanos(row.get(0)?), row.get(2)?, row.get_ref(3)?.as_blob()?)?;
        let labelled = samples.into_iter().map(|(t_ns, value)| (Timestamp::from_nanos(t_ns), value));
        labelled.filter(|(time, _)| *time >= from).for_each(|(time, value)| take(time, key, value));
    }
    let mut statement = connection.prepare("SELECT t_ns, series, value FROM sample WHERE t_ns >= ?1")?;
    let mut rows = statement.query([from.as_nanos()])?;
    while let Some(row) = rows.next()? {
        take(Timestamp::from_nanos(row.get(0)?), row.get(1)?, row.get(2)?);
    }
    Ok(())
}

/// The samples of one series on the grid of `step`, oldest first.
pub(crate) fn samples(
    connection: &Connection,
    key: i64,
    step: Duration,
    range: std::ops::Range<Timestamp>,
) -> rusqlite::Result<Vec<Mean>> {
    let sealed: Vec<Sample> = stretches(connection, "sample_block", &range, |start| {
        Ok(parts(connection, start, key)?.into_iter().flat_map(|(_, samples)| samples).collect())
    })?;
    let late = single_samples(connection, key, step, range.clone())?;
    let all = if late.is_empty() { sealed } else { merged(sealed, late) };
    let labelled = all.into_iter().map(|(t_ns, mean)| Mean { time: Timestamp::from_nanos(t_ns), mean, n: 1 });
    Ok(labelled.filter(|sample| range.contains(&sample.time) && sample.time == sample.time.floor_to(step)).collect())
}

/// Reads the samples that are in no block yet. One look-up for each slot, because the table is clustered by time and
/// holds all series: to look at everything between would take much longer.
fn single_samples(
    connection: &Connection,
    key: i64,
    step: Duration,
    range: std::ops::Range<Timestamp>,
) -> rusqlite::Result<Vec<Sample>> {
    let mut statement = connection.prepare_cached("SELECT value FROM sample WHERE t_ns = ?1 AND series = ?2")?;
    let mut found = Vec::new();
    for time in slots(connection, "sample", step, &range)? {
        let value = statement.query_row([time.as_nanos(), key], |row| row.get(0)).optional()?;
        found.extend(value.map(|value| (time.as_nanos(), value)));
    }
    Ok(found)
}

/// The moments on the grid of `step` from the first row of `table` in `range` to its last.
fn slots(
    connection: &Connection,
    table: &str,
    step: Duration,
    range: &std::ops::Range<Timestamp>,
) -> rusqlite::Result<impl Iterator<Item = Timestamp> + use<>> {
    let (first, last) = ends(connection, table, range)?.unwrap_or((range.end, range.start));
    let first = ceil_to(range.start.max(first), step);
    Ok(successors(Some(first), move |time| Some(*time + step)).take_while(move |time| *time <= last))
}

/// The moments of the first and last row of `table` in `range`; nothing is to be looked up beyond them.
fn ends(
    connection: &Connection,
    table: &str,
    range: &std::ops::Range<Timestamp>,
) -> rusqlite::Result<Option<(Timestamp, Timestamp)>> {
    let end = |order| {
        let sql = format!("SELECT t_ns FROM {table} WHERE t_ns >= ?1 AND t_ns < ?2 ORDER BY t_ns {order} LIMIT 1");
        let bounds = [range.start.as_nanos(), range.end.as_nanos()];
        let end = connection.prepare_cached(&sql)?.query_row(bounds, |row| row.get(0)).optional()?;
        Ok::<_, rusqlite::Error>(end.map(Timestamp::from_nanos))
    };
    Ok(end("ASC")?.zip(end("DESC")?))
}

/// Returns the rows that `unpack` finds in the stretches of `range` that `table` has blocks of.
fn stretches<T>(
    connection: &Connection,
    table: &str,
    range: &std::ops::Range<Timestamp>,
    unpack: impl Fn(Timestamp) -> rusqlite::Result<Vec<T>>,
) -> rusqlite::Result<Vec<T>> {
    let mut found = Vec::new();
    for start in slots(connection, table, STRETCH, &(stretch_of(range.start)..range.end))? {
        found.append(&mut unpack(start)?);
    }
    Ok(found)
}

/// The parts of the block of one series and stretch, by their numbers.
pub(super) fn parts(connection: &Connection, start: Timestamp, key: i64) -> rusqlite::Result<Vec<(i64, Vec<Sample>)>> {
    let mut statement = connection
        .prepare_cached("SELECT part, n, data FROM sample_block WHERE t_ns = ?1 AND series = ?2 ORDER BY part")?;
    let rows = statement.query_map([start.as_nanos(), key], |row| {
        Ok((row.get(0)?, block::samples(start, row.get(1)?, row.get_ref(2)?.as_blob()?)?))
    })?;
    rows.collect()
}

/// The forecasts of the block of one series and stretch.
pub(super) fn lines(connection: &Connection, start: Timestamp, key: i64) -> rusqlite::Result<Vec<Line>> {
    let found = connection
        .prepare_cached("SELECT n, data FROM forecast_block WHERE t_ns = ?1 AND series = ?2")?
        .query_row([start.as_nanos(), key], |row| Ok(block::forecasts(start, row.get(0)?, row.get_ref(1)?.as_blob()?)?))
        .optional()?;
    Ok(found.unwrap_or_default())
}

/// The minute means of one series. Where only the mean of an hour is left, it stands for each of its minutes.
pub(crate) fn minutes(
    connection: &Connection,
    key: i64,
    range: std::ops::Range<Timestamp>,
) -> rusqlite::Result<Vec<Mean>> {
    let hours = means(connection, "hour", key, range.start.floor_to(HOUR)..range.end)?;
    let mut all: Vec<Mean> = hours.into_iter().flat_map(minutes_of).filter(|mean| range.contains(&mean.time)).collect();
    let n_before = all.len();
    all.extend(means(connection, "minute", key, range)?);
    // What came late is a minute in an hour that is thinned already.
    if n_before > 0 {
        all.sort_by_key(|mean| mean.time);
    }
    Ok(all)
}

/// Splits an hour into minutes with as many samples in all as the hour had.
fn minutes_of(hour: Mean) -> impl Iterator<Item = Mean> {
    const N: u64 = HOUR.as_secs() / MINUTE.as_secs();
    let n_until = move |minute: u64| u64::from(hour.n) * minute / N;
    let minutes = (0..N).map(move |minute| {
        let n = u32::try_from(n_until(minute + 1) - n_until(minute)).unwrap_or(u32::MAX);
        Mean { time: hour.time + times(MINUTE, minute), n, ..hour }
    });
    minutes.filter(|minute| minute.n > 0)
}

fn means(
    connection: &Connection,
    table: &str,
    key: i64,
    range: std::ops::Range<Timestamp>,
) -> rusqlite::Result<Vec<Mean>> {
    let sql = format!("SELECT t_ns, mean, n FROM {table} WHERE series = ?1 AND t_ns >= ?2 AND t_ns < ?3 ORDER BY t_ns");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([key, range.start.as_nanos(), range.end.as_nanos()], |row| {
        Ok(Mean { time: Timestamp::from_nanos(row.get(0)?), mean: row.get(1)?, n: row.get(2)? })
    })?;
    rows.collect()
}

/// The first minute of one series that has a mean, of a minute or of an hour.
pub(crate) fn first_minute(connection: &Connection, key: i64) -> rusqlite::Result<Option<Timestamp>> {
    let mut statement = connection.prepare_cached(
        "SELECT min(t) FROM (SELECT min(t_ns) AS t FROM minute WHERE series = ?1 UNION ALL SELECT min(t_ns) FROM hour WHERE series = ?1)",
    )?;
    let first: Option<i64> = statement.query_row([key], |row| row.get(0))?;
    Ok(first.map(Timestamp::from_nanos))
}

/// The moment from which on there are samples, and that up to which minute means are made.
pub(crate) fn extent(connection: &Connection) -> rusqlite::Result<(Option<Timestamp>, Timestamp)> {
    let until = connection.prepare_cached("SELECT minutes_until_ns FROM progress")?.query_row([], |row| row.get(0))?;
    let oldest = oldest(connection, "sample")?.into_iter().chain(oldest(connection, "sample_block")?).min();
    Ok((oldest, minute_of(Timestamp::from_nanos(until))))
}

/// The first moment in a table that is in the order of time.
pub(super) fn oldest(connection: &Connection, table: &str) -> rusqlite::Result<Option<Timestamp>> {
    let oldest = connection.prepare_cached(&format!("SELECT min(t_ns) FROM {table}"))?.query_row([], |row| row.get(0));
    oldest.map(|oldest: Option<i64>| oldest.map(Timestamp::from_nanos))
}

/// The remembered forecasts of one series and lead time, by the moments they were for.
pub(crate) fn forecasts(
    connection: &Connection,
    key: i64,
    lead: Duration,
    step: Duration,
    range: std::ops::Range<Timestamp>,
) -> rusqlite::Result<Vec<Recalled>> {
    let lead_ns = i64::try_from(lead.as_nanos()).unwrap_or(i64::MAX);
    let mut found: Vec<Recalled> = stretches(connection, "forecast_block", &range, |start| {
        let of_lead = lines(connection, start, key)?.into_iter().filter(|line| line.lead_ns == lead_ns);
        Ok(of_lead.map(Recalled::from).collect())
    })?;
    let mut statement = connection
        .prepare_cached("SELECT mean, standard_error FROM forecast WHERE t_ns = ?1 AND series = ?2 AND lead_ns = ?3")?;
    for time in slots(connection, "forecast", step, &range)? {
        let recalled = statement
            .query_row([time.as_nanos(), key, lead_ns], |row| {
                Ok(Recalled { target: time, mean: row.get(0)?, standard_error: row.get(1)? })
            })
            .optional()?;
        found.extend(recalled);
    }
    found.retain(|said| range.contains(&said.target) && said.target == said.target.floor_to(step));
    found.sort_by_key(|said| said.target);
    Ok(found)
}

/// The first whole multiple of `step` that is not before `time`.
pub(crate) fn ceil_to(time: Timestamp, step: Duration) -> Timestamp {
    let floor = time.floor_to(step);
    if floor == time { floor } else { floor + times(step, 1) }
}
