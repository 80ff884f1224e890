//! Opening the file: its lock, its tables, and the refusal of what is not ours.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

const APPLICATION_ID: i64 = 0x4654_5350;
pub(super) const VERSION: i64 = 5;
const FILE_NAME: &str = "foretop.db";
const LOCK_NAME: &str = "foretop.lock";

/// Digits of the longest process id.
const PID_WIDTH: usize = 10;

/// Time that a reader waits for the writer, and the other way round. In WAL mode neither has to.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The write-ahead log is cut back to this after a checkpoint.
const JOURNAL_BYTES_MAX: i64 = 16 << 20;

const TABLES: &str = "
    CREATE TABLE series (
        series INTEGER PRIMARY KEY, id TEXT NOT NULL, source TEXT NOT NULL, family TEXT, label TEXT, unit TEXT NOT NULL,
        sentence TEXT NOT NULL, step_ns INTEGER NOT NULL, model TEXT, created_ns INTEGER NOT NULL,
        removed INTEGER NOT NULL DEFAULT 0, feed TEXT, kind TEXT, labels TEXT
    ) STRICT;
    CREATE UNIQUE INDEX series_id ON series (id) WHERE removed = 0;
    CREATE TABLE sample (
        t_ns INTEGER NOT NULL, series INTEGER NOT NULL, value REAL NOT NULL, PRIMARY KEY (t_ns, series)
    ) WITHOUT ROWID, STRICT;
    CREATE TABLE minute (
        series INTEGER NOT NULL, t_ns INTEGER NOT NULL, mean REAL NOT NULL, min REAL NOT NULL, max REAL NOT NULL,
        n INTEGER NOT NULL, PRIMARY KEY (series, t_ns)
    ) WITHOUT ROWID, STRICT;
    CREATE TABLE forecast (
        t_ns INTEGER NOT NULL, series INTEGER NOT NULL, lead_ns INTEGER NOT NULL, mean REAL NOT NULL,
        standard_error REAL NOT NULL, PRIMARY KEY (t_ns, series, lead_ns)
    ) WITHOUT ROWID, STRICT;
    CREATE TABLE progress (minutes_until_ns INTEGER NOT NULL) STRICT;
    INSERT INTO progress VALUES (0);
";

/// Changes from version 2 to 3: blocks of what is older, and means of an hour. What is in the tables before is packed
/// as the store ages.
const FROM_2_TO_3: &str = "
    CREATE TABLE sample_block (
        t_ns INTEGER NOT NULL, series INTEGER NOT NULL, part INTEGER NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX sample_block_place ON sample_block (t_ns, series, part);
    CREATE TABLE forecast_block (
        t_ns INTEGER NOT NULL, series INTEGER NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX forecast_block_place ON forecast_block (t_ns, series);
    CREATE TABLE hour (
        series INTEGER NOT NULL, t_ns INTEGER NOT NULL, mean REAL NOT NULL, min REAL NOT NULL, max REAL NOT NULL,
        n INTEGER NOT NULL, PRIMARY KEY (series, t_ns)
    ) WITHOUT ROWID, STRICT;
";

/// Changes from version 3 to 4: the states of series, and the fits that a replay leaves out.
const FROM_3_TO_4: &str = "
    CREATE TABLE cancelled (series INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (series, number)) WITHOUT ROWID, STRICT;
    CREATE TABLE state (series INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
";

/// Change from version 4 to 5: the use of programs, minute by minute.
const FROM_4_TO_5: &str = "CREATE TABLE program_minute (t_ns INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;";

/// Changes from version 1 to 2: feeds beside the host, and signals that are not in the table of families.
const FROM_1_TO_2: &str = "
    ALTER TABLE series ADD COLUMN feed TEXT;
    ALTER TABLE series ADD COLUMN kind TEXT;
    ALTER TABLE series ADD COLUMN labels TEXT;
";

/// The reason why the store cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The data directory cannot be made or written.
    #[error("cannot write the data directory `{}`", path.display())]
    NotWritable {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another process uses the data directory.
    #[error(
        "the data directory `{}` is in use by another node{}; stop it, or give this one its own directory",
        path.display(),
        pid.as_ref().map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    Locked {
        /// The directory.
        path: PathBuf,
        /// The process, if it could be told.
        pid: Option<String>,
    },
    /// The file is damaged, or no store of ours.
    #[error("the store `{}` is damaged or no store of this program ({problem}); move it away, and a fresh one is made", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault of the file.
        problem: String,
    },
    /// A later version of this program made the file.
    #[error(
        "the store `{}` has format version {given}, and this program knows {VERSION}; use the program that made it, or move it away",
        path.display()
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        given: i64,
    },
    /// It cannot be opened for another reason, such as a full disk.
    #[error("cannot open the store `{}`", path.display())]
    Unopened {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// No thread can be made to write it.
    #[error("cannot start the thread that writes the store `{}`", path.display())]
    NoThread {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The place of the database.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    flags: OpenFlags,
    /// Locked for as long as it is open.
    _lock: Option<File>,
}

impl Place {
    /// Opens a place in a directory, which is made if it is not there, and locked.
    pub(super) fn directory(path: &Path) -> Result<Self, StoreError> {
        let not_writable = |source| StoreError::NotWritable { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(not_writable)?;
        let lock = match lock(path).map_err(not_writable)? {
            Lock::Ours(file) => file,
            Lock::Theirs { pid } => return Err(StoreError::Locked { path: path.to_owned(), pid }),
        };
        let database = path.join(FILE_NAME);
        own_file::prepare_database(&database).map_err(not_writable)?;
        Ok(Self { path: database, flags: OpenFlags::SQLITE_OPEN_NO_MUTEX, _lock: Some(lock) })
    }

    /// Returns a place in memory, shared by the connections of this place alone.
    pub(super) fn memory() -> Self {
        static N_PLACES: AtomicU64 = AtomicU64::new(0);
        let name = format!("file:/foretop-{}?vfs=memdb", N_PLACES.fetch_add(1, Ordering::Relaxed));
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        Self { path: name.into(), flags, _lock: None }
    }

    /// A connection that writes; makes the tables if there are none.
    pub(super) fn writer(&self) -> Result<Connection, StoreError> {
        let flags = self.flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let open = || {
            let connection = Connection::open_with_flags(&self.path, flags)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            Ok(connection)
        };
        let mut connection = open().map_err(|error| self.explain(error))?;
        self.check(&connection)?;
        prepare(&mut connection).map_err(|error| self.explain(error))?;
        Ok(connection)
    }

    /// A connection that only reads. To be opened after the writer.
    pub(super) fn reader(&self) -> Result<Connection, StoreError> {
        let open = || {
            let flags = self.flags | OpenFlags::SQLITE_OPEN_READ_ONLY;
            let connection = Connection::open_with_flags(&self.path, flags)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            Ok(connection)
        };
        open().map_err(|error| self.explain(error))
    }

    /// Checks that the file is empty, or ours and of a known version.
    fn check(&self, connection: &Connection) -> Result<(), StoreError> {
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let look = || Ok((pragma("application_id")?, pragma("user_version")?, n_tables(connection)?));
        match look().map_err(|error| self.explain(error))? {
            (0, 0, 0) | (APPLICATION_ID, 1..=VERSION, _) => Ok(()),
            (APPLICATION_ID, given, _) if given > VERSION => Err(StoreError::TooNew { path: self.path.clone(), given }),
            (id, version, _) => Err(self.damaged(format!("its application id is {id:#x} and its version {version}"))),
        }
    }

    /// Returns the meaning of an error of SQLite on this file.
    pub(super) fn explain(&self, error: rusqlite::Error) -> StoreError {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => self.damaged(message(&error)),
            Some(ErrorCode::SystemIoFailure) if self.is_short() => self.damaged("it is cut off".to_owned()),
            // A table or column that our version must have.
            Some(ErrorCode::Unknown) => self.damaged(message(&error)),
            _ => StoreError::Unopened { path: self.path.clone(), source: error },
        }
    }

    fn damaged(&self, problem: String) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), problem }
    }

    pub(super) fn no_thread(&self, source: io::Error) -> StoreError {
        StoreError::NoThread { path: self.path.clone(), source }
    }

    /// Shorter than the header of a database, and not empty.
    fn is_short(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|file| (1..100).contains(&file.len()))
    }
}

/// SQLite's sentence without the wrapping that names its function.
pub(super) fn message(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(code, None) => code.to_string(),
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
        other => other.to_string(),
    }
}

/// The holder of the lock of a data directory.
enum Lock {
    /// This process, for as long as the file is open.
    Ours(File),
    Theirs {
        /// The process, if it could be told.
        pid: Option<String>,
    },
}

/// The lock goes with the process, however it ends. Its file is only ever overwritten by a line of one length, not
/// truncated.
fn lock(directory: &Path) -> io::Result<Lock> {
    let mut file = own_file::create(&directory.join(LOCK_NAME))?;
    match file.try_lock() {
        Ok(()) => {
            writeln!(file, "{:<PID_WIDTH$}", std::process::id())?;
            Ok(Lock::Ours(file))
        }
        Err(TryLockError::WouldBlock) => {
            let mut pid = [0; PID_WIDTH];
            let n_read = file.read(&mut pid).unwrap_or(0);
            let pid = str::from_utf8(&pid[..n_read]).unwrap_or_default().trim();
            Ok(Lock::Theirs { pid: Some(pid.to_owned()).filter(|pid| !pid.is_empty()) })
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn n_tables(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    let is_new = n_tables(connection)? == 0;
    if is_new {
        // So that the file gets shorter when its contents do. It can be chosen before there are tables only.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update_and_check(None, "journal_size_limit", JOURNAL_BYTES_MAX, |_| Ok(()))?;
    let from: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let steps: &[&str] = match from {
        _ if is_new => &[TABLES, FROM_2_TO_3, FROM_3_TO_4, FROM_4_TO_5],
        1 => &[FROM_1_TO_2, FROM_2_TO_3, FROM_3_TO_4, FROM_4_TO_5],
        2 => &[FROM_2_TO_3, FROM_3_TO_4, FROM_4_TO_5],
        3 => &[FROM_3_TO_4, FROM_4_TO_5],
        4 => &[FROM_4_TO_5],
        _ => return Ok(()),
    };
    if !is_new {
        tracing::info!(from, to = VERSION, "the store is brought up to date; earlier programs cannot open it then");
    }
    let transaction = connection.transaction()?;
    steps.iter().try_for_each(|step| transaction.execute_batch(step))?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}
