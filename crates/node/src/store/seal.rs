//! Sealing: what lies in the tables of single rows goes into blocks, a stretch of time after the other.
//!
//! Each piece is one transaction, so that a row is in its table or in a block, whatever ends the process.

use std::collections::BTreeMap;
use std::io;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use units::Timestamp;

use super::block::{Line, PART_SAMPLES_MAX, Packer, STRETCH, Sample, stretch_of};
use super::{MINUTE, minute_of, read};

/// The most samples that a piece takes, unless a single minute has more: 10 MB in memory.
const PIECE_SAMPLES_MAX: i64 = 600_000;

/// Packs the oldest stretch before `limit` that has single rows. Says whether there was one.
///
/// Samples that are in a block already stay as they are; of forecasts for the same moment the later word counts.
pub(super) fn seal_piece(connection: &mut Connection, limit: Timestamp) -> rusqlite::Result<bool> {
    let oldest = |sql| connection.prepare_cached(sql)?.query_row([], |row| row.get::<_, Option<i64>>(0));
    let samples = oldest("SELECT min(t_ns) FROM sample")?.map(Timestamp::from_nanos);
    let forecasts = oldest("SELECT min(t_ns) FROM forecast")?.map(Timestamp::from_nanos);
    let Some(oldest) = samples.into_iter().chain(forecasts).min().filter(|oldest| *oldest < limit) else {
        return Ok(false);
    };
    let start = stretch_of(oldest);
    let mut packer = Packer::new().map_err(not_packed)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let until = end_of_piece(&transaction, start, oldest)?;
    seal_samples(&transaction, &mut packer, start, until)?;
    if until == start + STRETCH {
        seal_forecasts(&transaction, &mut packer, start)?;
    }
    transaction.commit()?;
    Ok(true)
}

/// The end of the stretch, or that of an earlier minute where there are too many samples for one piece.
fn end_of_piece(connection: &Connection, start: Timestamp, oldest: Timestamp) -> rusqlite::Result<Timestamp> {
    let beyond: Option<i64> = connection
        .prepare_cached("SELECT t_ns FROM sample WHERE t_ns >= ?1 AND t_ns < ?2 ORDER BY t_ns LIMIT 1 OFFSET ?3")?
        .query_row(params![start.as_nanos(), (start + STRETCH).as_nanos(), PIECE_SAMPLES_MAX], |row| row.get(0))
        .optional()?;
    let cut = beyond.map(|beyond| minute_of(Timestamp::from_nanos(beyond)).max(minute_of(oldest) + MINUTE));
    Ok(cut.unwrap_or(start + STRETCH).min(start + STRETCH))
}

fn seal_samples(
    connection: &Connection,
    packer: &mut Packer,
    start: Timestamp,
    until: Timestamp,
) -> rusqlite::Result<()> {
    let range = [start.as_nanos(), until.as_nanos()];
    let mut by_series: BTreeMap<i64, Vec<Sample>> = BTreeMap::new();
    let mut select = connection
        .prepare_cached("SELECT series, t_ns, value FROM sample WHERE t_ns >= ?1 AND t_ns < ?2 ORDER BY t_ns")?;
    let mut rows = select.query(range)?;
    while let Some(row) = rows.next()? {
        by_series.entry(row.get(0)?).or_default().push((row.get(1)?, row.get(2)?));
    }
    drop(rows);
    for (key, samples) in by_series {
        add_samples(connection, packer, start, key, samples)?;
    }
    connection.prepare_cached("DELETE FROM sample WHERE t_ns >= ?1 AND t_ns < ?2")?.execute(range)?;
    Ok(())
}

/// Puts samples behind those of the block, or among them.
fn add_samples(
    connection: &Connection,
    packer: &mut Packer,
    start: Timestamp,
    key: i64,
    mut samples: Vec<Sample>,
) -> rusqlite::Result<()> {
    let mut known = read::parts(connection, start, key)?;
    let mut first_part = 0;
    if let Some((last_part, last)) = known.last() {
        first_part = last_part + 1;
        if last.last().map(|(t_ns, _)| t_ns) >= samples.first().map(|(t_ns, _)| t_ns) {
            samples = merged(known.drain(..).flat_map(|(_, samples)| samples).collect(), samples);
            first_part = 0;
            connection
                .prepare_cached("DELETE FROM sample_block WHERE t_ns = ?1 AND series = ?2")?
                .execute([start.as_nanos(), key])?;
        }
    }
    let mut insert = connection
        .prepare_cached("INSERT INTO sample_block (t_ns, series, part, n, data) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (part, samples) in (first_part..).zip(samples.chunks(PART_SAMPLES_MAX)) {
        let data = packer.samples(start, samples).map_err(not_packed)?;
        insert.execute(params![start.as_nanos(), key, part, samples.len(), data])?;
    }
    Ok(())
}

/// Merges samples by time; if both have a sample, that of `known` stays.
pub(super) fn merged(known: Vec<Sample>, late: Vec<Sample>) -> Vec<Sample> {
    let mut all = known;
    all.extend(late);
    // Stable, so that what was known stands before what came later.
    all.sort_by_key(|(t_ns, _)| *t_ns);
    all.dedup_by_key(|(t_ns, _)| *t_ns);
    all
}

fn seal_forecasts(connection: &Connection, packer: &mut Packer, start: Timestamp) -> rusqlite::Result<()> {
    let range = [start.as_nanos(), (start + STRETCH).as_nanos()];
    let mut by_series: BTreeMap<i64, BTreeMap<(i64, i64), Line>> = BTreeMap::new();
    let mut select = connection.prepare_cached(
        "SELECT series, lead_ns, t_ns, mean, standard_error FROM forecast WHERE t_ns >= ?1 AND t_ns < ?2",
    )?;
    let mut rows = select.query(range)?;
    while let Some(row) = rows.next()? {
        let line = Line { lead_ns: row.get(1)?, t_ns: row.get(2)?, mean: row.get(3)?, standard_error: row.get(4)? };
        by_series.entry(row.get(0)?).or_default().insert((line.lead_ns, line.t_ns), line.rounded());
    }
    drop(rows);
    let mut insert = connection
        .prepare_cached("INSERT OR REPLACE INTO forecast_block (t_ns, series, n, data) VALUES (?1, ?2, ?3, ?4)")?;
    for (key, mut lines) in by_series {
        for line in read::lines(connection, start, key)? {
            lines.entry((line.lead_ns, line.t_ns)).or_insert(line);
        }
        let lines: Vec<Line> = lines.into_values().collect();
        let data = packer.forecasts(start, &lines).map_err(not_packed)?;
        insert.execute(params![start.as_nanos(), key, lines.len(), data])?;
    }
    connection.prepare_cached("DELETE FROM forecast WHERE t_ns >= ?1 AND t_ns < ?2")?.execute(range)?;
    Ok(())
}

/// The compressor has no memory left.
fn not_packed(error: io::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(error.into())
}
