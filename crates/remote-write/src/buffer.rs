//! The buffer: chunks that the server has not taken yet, oldest first, in a file of SQLite or in memory.
//!
//! `docs/formats/remote-write.md` says how they lie in the file.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::error::BufferError;

/// `FTRW` in ASCII.
const APPLICATION_ID: i64 = 0x4654_5257;
const VERSION: i64 = 1;

/// Bytes of a row beside its body, about.
const ROW_BYTES: u64 = 32;

/// Size limit of SQLite's journal once it is written back.
const JOURNAL_BYTES_MAX: u64 = 4 << 20;

/// Place of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A buffer in memory: gone with the process.
    Memory,
    /// A buffer in this file, which nobody else has open.
    File(PathBuf),
}

/// Samples and bytes that wait in the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) n_samples: u64,
    pub(crate) n_bytes: u64,
}

/// A chunk as it lies in the buffer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) id: i64,
    pub(crate) n_samples: u64,
    /// Snappy around protobuf.
    pub(crate) body: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Buffer {
    path: PathBuf,
    bytes_max: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    connection: Connection,
    pending: Pending,
    /// Rows up to this one are on their way, so that they are not given up meanwhile.
    under_way: i64,
}

impl Place {
    fn path(&self) -> &Path {
        match self {
            Place::Memory => Path::new(":memory:"),
            Place::File(path) => path,
        }
    }
}

impl Buffer {
    /// Opens the buffer with what is in it, or makes it.
    pub(crate) fn open(place: &Place, bytes_max: u64) -> Result<Buffer, BufferError> {
        let path = place.path().to_owned();
        let failed = |source| BufferError::Sqlite { path: path.clone(), action: "open", source };
        if let Place::File(path) = place {
            own_file::prepare_database(path).map_err(|source| BufferError::File { path: path.clone(), source })?;
        }
        let connection = Connection::open(&path).map_err(failed)?;
        if !prepare(&connection).map_err(failed)? {
            return Err(BufferError::Foreign { path });
        }
        let pending = pending(&connection).map_err(failed)?;
        Ok(Buffer { path, bytes_max, state: Mutex::new(State { connection, pending, under_way: 0 }) })
    }

    pub(crate) fn pending(&self) -> Pending {
        self.lock().pending
    }

    /// Puts a chunk in, and gives up the oldest ones that there is no room for. Returns the number of samples of those.
    ///
    /// # Errors
    /// When it cannot be written; then the buffer is as it was.
    pub(crate) fn push(&self, n_samples: u64, body: &[u8]) -> Result<u64, BufferError> {
        let mut state = self.lock();
        let State { connection, pending, under_way } = &mut *state;
        let n_bytes = body.len() as u64 + ROW_BYTES;
        let mut left = Pending { n_samples: pending.n_samples + n_samples, n_bytes: pending.n_bytes + n_bytes };
        let mut push = || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction
                .prepare_cached("INSERT INTO chunk (n_samples, body) VALUES (?1, ?2)")?
                .execute(params![n_samples, body])?;
            while left.n_bytes > self.bytes_max
                && let Some(given_up) = delete_oldest(&transaction, *under_way)?
            {
                left.n_samples -= given_up.n_samples;
                left.n_bytes -= given_up.n_bytes;
            }
            transaction.commit()
        };
        push().map_err(|source| self.failed("write", source))?;
        let n_given_up = pending.n_samples + n_samples - left.n_samples;
        *pending = left;
        Ok(n_given_up)
    }

    /// Returns the oldest chunks: at least one if there is any, at most `n_rows`, and no more once they have
    /// `n_samples` or half of what the buffer may hold. They are kept until [`Buffer::remove`] or [`Buffer::release`],
    /// however full the buffer becomes; the other half is for what comes meanwhile.
    pub(crate) fn oldest(&self, n_rows: usize, n_samples: u64) -> Result<Vec<Row>, BufferError> {
        let mut state = self.lock();
        let State { connection, under_way, .. } = &mut *state;
        let read = || {
            let mut statement =
                connection.prepare_cached("SELECT id, n_samples, body FROM chunk ORDER BY id LIMIT ?1")?;
            let mut found = statement.query([n_rows])?;
            let (mut rows, mut n, mut n_bytes) = (Vec::new(), 0, 0);
            while n < n_samples
                && n_bytes < self.bytes_max / 2
                && let Some(row) = found.next()?
            {
                let row = Row { id: row.get(0)?, n_samples: row.get(1)?, body: row.get(2)? };
                n += row.n_samples;
                n_bytes += row.body.len() as u64 + ROW_BYTES;
                rows.push(row);
            }
            Ok(rows)
        };
        let rows: Vec<Row> = read().map_err(|source| self.failed("read", source))?;
        *under_way = rows.last().map_or(0, |row| row.id);
        Ok(rows)
    }

    /// Releases the chunks that were on their way, because they did not arrive: they are the first to go again when
    /// there is no room.
    pub(crate) fn release(&self) {
        self.lock().under_way = 0;
    }

    /// Takes out the chunks up to this one.
    pub(crate) fn remove(&self, last: i64) -> Result<(), BufferError> {
        let mut state = self.lock();
        let State { connection, pending, under_way } = &mut *state;
        let mut remove = || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let (n_samples, n_bytes) = transaction
                .prepare_cached(
                    "SELECT coalesce(sum(n_samples), 0), coalesce(sum(length(body) + ?2), 0) FROM chunk WHERE id <= ?1",
                )?
                .query_row(params![last, ROW_BYTES], |row| Ok((row.get::<_, u64>(0)?, row.get::<_, u64>(1)?)))?;
            transaction.prepare_cached("DELETE FROM chunk WHERE id <= ?1")?.execute([last])?;
            transaction.commit()?;
            Ok(Pending { n_samples, n_bytes })
        };
        let removed: Pending = remove().map_err(|source| self.failed("write", source))?;
        pending.n_samples -= removed.n_samples;
        pending.n_bytes -= removed.n_bytes;
        *under_way = 0;
        Ok(())
    }

    fn failed(&self, action: &'static str, source: rusqlite::Error) -> BufferError {
        BufferError::Sqlite { path: self.path.clone(), action, source }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the table in an empty file. Returns whether the file is one of ours.
fn prepare(connection: &Connection) -> rusqlite::Result<bool> {
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update_and_check(None, "journal_size_limit", JOURNAL_BYTES_MAX as i64, |_| Ok(()))?;
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let n_tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (pragma("application_id")?, pragma("user_version")?, n_tables) {
        (0, 0, 0) => {
            connection.execute_batch(&format!(
                "BEGIN;
                 CREATE TABLE chunk (id INTEGER PRIMARY KEY AUTOINCREMENT, n_samples INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
                 PRAGMA application_id = {APPLICATION_ID};
                 PRAGMA user_version = {VERSION};
                 COMMIT;"
            ))?;
            Ok(true)
        }
        (APPLICATION_ID, VERSION, _) => Ok(true),
        _ => Ok(false),
    }
}

fn pending(connection: &Connection) -> rusqlite::Result<Pending> {
    let sql = "SELECT coalesce(sum(n_samples), 0), coalesce(sum(length(body) + ?1), 0) FROM chunk";
    connection.query_row(sql, [ROW_BYTES], |row| Ok(Pending { n_samples: row.get(0)?, n_bytes: row.get(1)? }))
}

/// Deletes the oldest chunk after `under_way`, and returns what it held; `None` when there is none.
fn delete_oldest(connection: &Connection, under_way: i64) -> rusqlite::Result<Option<Pending>> {
    connection
        .prepare_cached(
            "DELETE FROM chunk WHERE id = (SELECT min(id) FROM chunk WHERE id > ?1)
             RETURNING n_samples, length(body) + ?2",
        )?
        .query_row(params![under_way, ROW_BYTES], |row| Ok(Pending { n_samples: row.get(0)?, n_bytes: row.get(1)? }))
        .optional()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(buffer: &Buffer) -> Vec<i64> {
        let state = buffer.lock();
        let mut found = state.connection.prepare("SELECT id FROM chunk ORDER BY id").unwrap();
        found.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// Room for four chunks of 68 bytes.
    fn full(place: &Place) -> Buffer {
        let buffer = Buffer::open(place, 4 * (68 + ROW_BYTES)).unwrap();
        (0..4).for_each(|_| assert_eq!(buffer.push(10, &[7; 68]).unwrap(), 0));
        buffer
    }

    #[test]
    fn the_oldest_are_given_up_when_there_is_no_room() {
        let buffer = full(&Place::Memory);
        assert_eq!(buffer.push(5, &[7; 68]).unwrap(), 10);
        assert_eq!(buffer.push(5, &[7; 160]).unwrap(), 20);
        assert_eq!(buffer.pending(), Pending { n_samples: 20, n_bytes: 392 });
        assert_eq!(ids(&buffer), [4, 5, 6]);
    }

    #[test]
    fn what_is_under_way_is_kept_until_it_is_removed() {
        let buffer = full(&Place::Memory);
        assert_eq!(buffer.oldest(2, 1000).unwrap().len(), 2);
        assert_eq!(buffer.push(5, &[7; 68]).unwrap(), 10);
        buffer.remove(2).unwrap();
        assert_eq!(ids(&buffer), [4, 5]);
        assert_eq!(buffer.pending(), Pending { n_samples: 15, n_bytes: 200 });
    }

    #[test]
    fn what_did_not_arrive_gives_way_to_what_is_newer() {
        let buffer = full(&Place::Memory);
        assert_eq!(buffer.oldest(100, 1000).unwrap().len(), 2, "half of the buffer");
        let push = || buffer.push(5, &[7; 68]).unwrap();
        assert_eq!([push(), push(), push()], [10, 10, 5], "what is under way stays, whatever else goes");
        buffer.release();
        assert_eq!([push(), push()], [10, 10]);
        assert_eq!(ids(&buffer), [6, 7, 8, 9]);
    }

    #[test]
    fn a_batch_has_no_more_chunks_than_make_up_its_samples() {
        let buffer = Buffer::open(&Place::Memory, 1 << 20).unwrap();
        (0..4).for_each(|_| assert_eq!(buffer.push(10, &[7; 68]).unwrap(), 0));
        assert_eq!(buffer.oldest(100, 11).unwrap().len(), 2);
        assert_eq!(buffer.oldest(100, 1).unwrap().len(), 1);
        assert_eq!(buffer.oldest(3, 1000).unwrap().len(), 3);
    }

    #[test]
    fn a_file_keeps_what_it_holds_and_one_of_somebody_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::File(folder.path().join("buffer.db"));
        drop(full(&place));
        let buffer = Buffer::open(&place, 1 << 20).unwrap();
        assert_eq!(buffer.pending(), Pending { n_samples: 40, n_bytes: 400 });
        assert_eq!(ids(&buffer), [1, 2, 3, 4]);
        let other = folder.path().join("other.db");
        Connection::open(&other).unwrap().execute_batch("CREATE TABLE chunk (a)").unwrap();
        assert!(matches!(Buffer::open(&Place::File(other), 1 << 20), Err(BufferError::Foreign { .. })));
        let text = folder.path().join("text");
        std::fs::write(&text, "no database, but long enough to be looked at as if it were one".repeat(20)).unwrap();
        assert!(matches!(Buffer::open(&Place::File(text), 1 << 20), Err(BufferError::Sqlite { .. })));
    }
}
