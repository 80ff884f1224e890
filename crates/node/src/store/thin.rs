//! Downsampling (rollup) of the oldest history of each kind, when its time is over or the file is full.

use rusqlite::{Connection, TransactionBehavior};
use units::Timestamp;

use super::age::HOUR;
use super::block::{STRETCH, stretch_of};
use super::read::oldest;

/// Tables of what goes with its stretch.
const BY_TIME: [&str; 5] = ["sample", "forecast", "sample_block", "forecast_block", "program_minute"];

/// The oldest stretch that there are samples, forecasts or programs of.
pub(super) fn oldest_stretch(connection: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    let mut found = None;
    for table in BY_TIME {
        found = oldest(connection, table)?.into_iter().chain(found).min();
    }
    Ok(found.map(stretch_of))
}

/// Deletes the samples, forecasts and programs of a stretch. The means of its minutes stay.
pub(super) fn delete_stretch(connection: &mut Connection, start: Timestamp) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for table in BY_TIME {
        let delete = format!("DELETE FROM {table} WHERE t_ns >= ?1 AND t_ns < ?2");
        transaction.prepare_cached(&delete)?.execute([start.as_nanos(), (start + STRETCH).as_nanos()])?;
    }
    transaction.commit()
}

/// The first moment in `minute` or `hour`, which are in the order of series.
pub(super) fn oldest_mean(connection: &Connection, table: &str) -> rusqlite::Result<Option<Timestamp>> {
    let sql = format!("SELECT min((SELECT min(t_ns) FROM {table} WHERE series = known.series)) FROM series AS known");
    let oldest: Option<i64> = connection.prepare_cached(&sql)?.query_row([], |row| row.get(0))?;
    Ok(oldest.map(Timestamp::from_nanos))
}

/// Puts the minutes before `limit`, a whole hour, into the means of their hours.
pub(super) fn make_hours(connection: &mut Connection, limit: Timestamp) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let bounds = [limit.as_nanos(), HOUR.as_nanos() as i64];
    transaction
        .prepare_cached(
            "INSERT INTO hour (series, t_ns, mean, min, max, n)
             SELECT series, t_ns - (t_ns % ?2 + ?2) % ?2 AS hour_ns, sum(mean * n) / sum(n), min(min), max(max), sum(n)
             FROM minute WHERE series IN (SELECT series FROM series) AND t_ns < ?1 GROUP BY series, hour_ns
             ON CONFLICT DO UPDATE SET mean = (mean * n + excluded.mean * excluded.n) / (n + excluded.n),
                 min = min(min, excluded.min), max = max(max, excluded.max), n = n + excluded.n",
        )?
        .execute(bounds)?;
    transaction
        .prepare_cached("DELETE FROM minute WHERE series IN (SELECT series FROM series) AND t_ns < ?1")?
        .execute([limit.as_nanos()])?;
    transaction.commit()
}

/// Deletes the hours before `limit`.
pub(super) fn delete_hours(connection: &Connection, limit: Timestamp) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM hour WHERE series IN (SELECT series FROM series) AND t_ns < ?1")?
        .execute([limit.as_nanos()])?;
    Ok(())
}
