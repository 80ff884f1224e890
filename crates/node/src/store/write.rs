//! One transaction: what some batches say, all of it or nothing.

use std::collections::HashSet;

use rusqlite::{CachedStatement, Connection, TransactionBehavior, params};
use units::Timestamp;

use super::block::stretch_of;
use super::inbox::{Batch, Row, Saved};
use super::{minute_of, programs, read};
use crate::engine::about::{About, Origin};

/// Writes `batches`. Samples before `minutes_until` are worked into the means of their minutes as well, which have been
/// made without them.
pub(super) fn write(connection: &mut Connection, batches: &[Batch], minutes_until: Timestamp) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for batch in batches {
        remove(&transaction, &batch.removed)?;
        add(&transaction, &batch.added)?;
        write_samples(&transaction, &batch.rows, minutes_until)?;
        remember(&transaction, batch)?;
        cancel(&transaction, &batch.cancelled)?;
        save(&transaction, &batch.states)?;
        programs::write(&transaction, &batch.programs)?;
    }
    transaction.commit()
}

fn cancel(connection: &Connection, cancelled: &[(i64, u64)]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached("INSERT OR IGNORE INTO cancelled (series, number) VALUES (?1, ?2)")?;
    cancelled.iter().try_for_each(|(key, number)| insert.execute(params![key, number.cast_signed()]).map(drop))
}

/// A state knows the fits that were cancelled before it. One of a series that was removed meanwhile is nobody's.
fn save(connection: &Connection, states: &[Saved]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT OR REPLACE INTO state (series, data) SELECT series, ?2 FROM series WHERE series = ?1 AND removed = 0",
    )?;
    let mut forget = connection.prepare_cached("DELETE FROM cancelled WHERE series = ?1 AND number < ?2")?;
    for Saved { key, number, state } in states {
        let packed = zstd::bulk::compress(state, zstd::DEFAULT_COMPRESSION_LEVEL);
        insert.execute(params![key, packed.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?])?;
        forget.execute(params![key, number.cast_signed()])?;
    }
    Ok(())
}

fn add(connection: &Connection, added: &[About]) -> rusqlite::Result<()> {
    for about in added {
        let columns = Columns::of(&about.origin)?;
        let step_ns = i64::try_from(about.step.as_nanos()).unwrap_or(i64::MAX);
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO series
                 (series, id, source, family, label, unit, sentence, step_ns, model, created_ns, feed, kind, labels)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            )?
            .execute(params![
                about.key,
                &*about.id,
                columns.source,
                columns.family,
                columns.label,
                about.unit(),
                about.sentence(),
                step_ns,
                columns.model,
                about.created.as_nanos(),
                about.feed(),
                columns.kind,
                columns.labels,
            ])?;
    }
    Ok(())
}

/// Columns that identify the source of a series. A family of the table is known by its pattern alone.
#[derive(Default)]
struct Columns<'a> {
    source: &'static str,
    family: Option<&'a str>,
    label: Option<&'a str>,
    model: Option<&'a str>,
    kind: Option<&'static str>,
    labels: Option<String>,
}

impl Columns<'_> {
    fn of(origin: &Origin) -> rusqlite::Result<Columns<'_>> {
        let signal = match origin {
            Origin::Pushed { model, .. } => {
                return Ok(Columns { source: "pushed", model: Some(model), ..Columns::default() });
            }
            Origin::Sensor { signal, .. } => signal,
        };
        let family = Some(&*signal.family().pattern);
        if signal.is_listed() {
            let label = signal.labels().first().map(|(_, value)| &**value);
            return Ok(Columns { source: "sensor", family, label, ..Columns::default() });
        }
        let labels = serde_json::to_string(signal.labels())
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        let kind = Some(signal.family().kind.as_str());
        Ok(Columns { source: "sensor", family, kind, labels: Some(labels), ..Columns::default() })
    }
}

fn remove(connection: &Connection, removed: &[i64]) -> rusqlite::Result<()> {
    for key in removed {
        connection.prepare_cached("UPDATE series SET removed = 1 WHERE series = ?1")?.execute([key])?;
        connection.prepare_cached("DELETE FROM state WHERE series = ?1")?.execute([key])?;
        connection.prepare_cached("DELETE FROM cancelled WHERE series = ?1")?.execute([key])?;
    }
    Ok(())
}

fn write_samples(connection: &Connection, rows: &[Row], minutes_until: Timestamp) -> rusqlite::Result<()> {
    // A label that is there already stays as it is. There is none, unless the file was changed by other hands.
    let mut insert =
        connection.prepare_cached("INSERT OR IGNORE INTO sample (t_ns, series, value) VALUES (?1, ?2, ?3)")?;
    let mut merge = merge_statement(connection)?;
    let mut sealed = Sealed::default();
    for row in rows {
        if row.time < minutes_until && sealed.has(connection, row)? {
            continue;
        }
        let n_written = insert.execute(params![row.time.as_nanos(), row.key, row.value])?;
        if n_written == 1 && row.time < minutes_until {
            merge.execute(params![row.key, minute_of(row.time).as_nanos(), row.value])?;
        }
    }
    Ok(())
}

/// The labels of the block that was looked at last, so that a history that comes in order unpacks each of them once.
#[derive(Default)]
struct Sealed {
    place: Option<(i64, Timestamp)>,
    labels: HashSet<i64>,
}

impl Sealed {
    /// Whether a block has a sample of this label already.
    fn has(&mut self, connection: &Connection, row: &Row) -> rusqlite::Result<bool> {
        let place = (row.key, stretch_of(row.time));
        if self.place != Some(place) {
            let parts = read::parts(connection, place.1, place.0)?;
            self.labels = parts.into_iter().flat_map(|(_, samples)| samples).map(|(t_ns, _)| t_ns).collect();
            self.place = Some(place);
        }
        Ok(self.labels.contains(&row.time.as_nanos()))
    }
}

fn merge_statement(connection: &Connection) -> rusqlite::Result<CachedStatement<'_>> {
    connection.prepare_cached(
        "INSERT INTO minute (series, t_ns, mean, min, max, n) VALUES (?1, ?2, ?3, ?3, ?3, 1)
         ON CONFLICT DO UPDATE SET mean = (mean * n + excluded.mean) / (n + 1), min = min(min, excluded.min),
             max = max(max, excluded.max), n = n + 1",
    )
}

fn remember(connection: &Connection, batch: &Batch) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT OR REPLACE INTO forecast (t_ns, series, lead_ns, mean, standard_error) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for said in &batch.said {
        let lead_ns = i64::try_from(said.lead.as_nanos()).unwrap_or(i64::MAX);
        insert.execute(params![said.target.as_nanos(), said.key, lead_ns, said.mean, said.standard_error])?;
    }
    Ok(())
}
