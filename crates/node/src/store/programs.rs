//! Use of programs, minute by minute: the greatest users of each resource, and all others as one.
//!
//! A minute is JSON with whole numbers, compressed by zstd. `docs/formats/store.md` describes it.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use units::Timestamp;

/// The most bytes that a minute takes: 20 MB a day.
const MINUTE_BYTES_MAX: usize = 14_000;

/// The most bytes that a minute unpacks to. Names are short, and there are at most four times ten of them.
const UNPACKED_BYTES_MAX: usize = 1 << 20;

/// Use of the resources by programs in a minute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProgramMinute {
    /// Length of time that was measured; less than a minute after a start.
    pub(crate) span_us: u64,
    /// The greatest users of each resource, in the order of their names.
    pub(crate) programs: Vec<StoredProgram>,
    /// Number of all other programs.
    pub(crate) n_others: u64,
    /// Sum over all other programs.
    pub(crate) others: StoredUse,
    /// CPU time that no program accounts for; `None` if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) short_lived_us: Option<u64>,
    /// Memory of the host that is not available at the end; `None` if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) memory_in_use: Option<u64>,
    /// Number of processes at the end.
    pub(crate) n_processes: u64,
    /// Number of processes that the last scan left out.
    pub(crate) n_left_out: u64,
}

/// A program, and its use of the resources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredProgram {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) container: Option<String>,
    #[serde(flatten)]
    pub(crate) used: StoredUse,
}

/// Use of the resources. Bytes of disks are `None` if those of some process may not be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredUse {
    pub(crate) cpu_us: u64,
    /// Resident memory at the end.
    pub(crate) memory: u64,
    pub(crate) read: Option<u64>,
    pub(crate) written: Option<u64>,
}

impl StoredUse {
    /// Use of nobody.
    pub(crate) const NONE: Self = Self { cpu_us: 0, memory: 0, read: Some(0), written: Some(0) };

    pub(crate) fn plus(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b));
        Self {
            cpu_us: self.cpu_us.saturating_add(other.cpu_us),
            memory: self.memory.saturating_add(other.memory),
            read: sum(self.read, other.read),
            written: sum(self.written, other.written),
        }
    }
}

/// A minute, packed.
#[derive(Clone, Debug)]
pub(crate) struct PackedMinute {
    pub(crate) time: Timestamp,
    data: Vec<u8>,
}

impl PackedMinute {
    /// Packs a minute; `None` if it takes more than [`MINUTE_BYTES_MAX`].
    pub(crate) fn new(time: Timestamp, minute: &ProgramMinute) -> Option<Self> {
        let text = serde_json::to_vec(minute).ok()?;
        let data = zstd::bulk::compress(&text, zstd::DEFAULT_COMPRESSION_LEVEL).ok()?;
        (data.len() <= MINUTE_BYTES_MAX).then_some(Self { time, data })
    }
}

/// A minute, and those beside it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundMinute {
    pub(crate) time: Timestamp,
    pub(crate) minute: ProgramMinute,
    pub(crate) previous: Option<Timestamp>,
    pub(crate) next: Option<Timestamp>,
}

/// Writes minutes. One that is there already stays as it is: the clock was set back.
pub(super) fn write(connection: &Connection, minutes: &[PackedMinute]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached("INSERT OR IGNORE INTO program_minute (t_ns, data) VALUES (?1, ?2)")?;
    minutes.iter().try_for_each(|minute| insert.execute(params![minute.time.as_nanos(), minute.data]).map(drop))
}

/// Returns the last minute that began at `at` or before.
pub(crate) fn minute_at(connection: &Connection, at: Timestamp) -> rusqlite::Result<Option<FoundMinute>> {
    let found = connection
        .prepare_cached("SELECT t_ns, data FROM program_minute WHERE t_ns <= ?1 ORDER BY t_ns DESC LIMIT 1")?
        .query_row([at.as_nanos()], |row| Ok((row.get::<_, i64>(0)?, unpacked(row.get_ref(1)?.as_blob()?)?)))
        .optional()?;
    let Some((t_ns, minute)) = found else { return Ok(None) };
    let beside = |sql: &str| {
        let beside: Option<i64> = connection.prepare_cached(sql)?.query_row([t_ns], |row| row.get(0))?;
        Ok::<_, rusqlite::Error>(beside.map(Timestamp::from_nanos))
    };
    Ok(Some(FoundMinute {
        time: Timestamp::from_nanos(t_ns),
        minute,
        previous: beside("SELECT max(t_ns) FROM program_minute WHERE t_ns < ?1")?,
        next: beside("SELECT min(t_ns) FROM program_minute WHERE t_ns > ?1")?,
    }))
}

/// Returns the minutes that begin in a range, with their beginnings, in order.
pub(crate) fn minutes(
    connection: &Connection,
    range: Range<Timestamp>,
) -> rusqlite::Result<Vec<(Timestamp, ProgramMinute)>> {
    connection
        .prepare_cached("SELECT t_ns, data FROM program_minute WHERE t_ns >= ?1 AND t_ns < ?2 ORDER BY t_ns")?
        .query_map([range.start.as_nanos(), range.end.as_nanos()], |row| {
            Ok((Timestamp::from_nanos(row.get(0)?), unpacked(row.get_ref(1)?.as_blob()?)?))
        })?
        .collect()
}

/// Returns the beginnings of the first and of the last minute.
pub(crate) fn ends(connection: &Connection) -> rusqlite::Result<Option<(Timestamp, Timestamp)>> {
    let ends = connection
        .prepare_cached("SELECT min(t_ns), max(t_ns) FROM program_minute")?
        .query_row([], |row| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?)))?;
    Ok(ends.0.zip(ends.1).map(|(first, last)| (Timestamp::from_nanos(first), Timestamp::from_nanos(last))))
}

fn unpacked(data: &[u8]) -> rusqlite::Result<ProgramMinute> {
    let damaged = |error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::FromSqlConversionFailure(1, rusqlite::types::Type::Blob, error)
    };
    let text = zstd::bulk::decompress(data, UNPACKED_BYTES_MAX).map_err(|error| damaged(error.into()))?;
    serde_json::from_slice(&text).map_err(|error| damaged(error.into()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use units::ByteCount;
    use watch::Watch;

    use super::super::tests::{at, tick};
    use super::super::{Batch, MINUTE, Opened};
    use super::*;

    fn minute(n: u64) -> ProgramMinute {
        let used = StoredUse { cpu_us: n, memory: 4096, read: Some(0), written: None };
        let program = StoredProgram { name: "a\n\u{1}".to_owned(), unit: None, container: None, used };
        ProgramMinute { span_us: 60_000_000, programs: vec![program], short_lived_us: Some(7), ..Default::default() }
    }

    fn put(store: &super::super::Store, time: Timestamp, n: u64) {
        let programs = vec![PackedMinute::new(time, &minute(n)).unwrap()];
        store.put(Batch { programs, ..Batch::default() });
        store.flush().unwrap();
    }

    #[test]
    fn a_moment_has_the_last_minute_that_began_by_then() {
        let opened = Opened::open(None, MINUTE * 60, ByteCount::new(1 << 40)).unwrap();
        let (store, _running) = opened.run(&Watch::default()).unwrap();
        let found = |seconds| store.read(|sql| minute_at(sql, at(seconds))).unwrap();
        assert_eq!((found(0), store.read(ends).unwrap()), (None, None));
        // The node was off for an hour, and the clock was set back to a minute that is there.
        [(60, 1), (120, 2), (3600, 3), (120, 4)].iter().for_each(|(seconds, n)| put(&store, at(*seconds), *n));
        assert_eq!(found(59), None);
        let second = FoundMinute { time: at(120), minute: minute(2), previous: Some(at(60)), next: Some(at(3600)) };
        assert_eq!(found(120), Some(second.clone()));
        assert_eq!(found(3599), Some(second));
        assert_eq!(found(9000).unwrap().next, None);
        assert_eq!(store.read(ends).unwrap(), Some((at(60), at(3600))));
        let within = |from, to| store.read(|sql| minutes(sql, at(from)..at(to))).unwrap();
        assert_eq!(within(60, 3600), [(at(60), minute(1)), (at(120), minute(2))]);
        assert_eq!(within(121, 3600), []);
    }

    #[test]
    fn minutes_go_with_the_samples_of_their_time() {
        let retention = Duration::from_secs(600);
        let opened = Opened::open(None, retention, ByteCount::new(1 << 40)).unwrap();
        let (store, _running) = opened.run(&Watch::default()).unwrap();
        for seconds in (0..2400).step_by(60) {
            put(&store, at(seconds), 1);
            store.put(tick(seconds));
        }
        let first = testkit::wait_until("old minutes are deleted", testkit::PATIENCE, || {
            store.put(tick(2399));
            store.flush().unwrap();
            store.read(ends).unwrap().map(|(first, _)| first).filter(|first| *first >= at(1200))
        });
        assert_eq!(first, at(1200));
    }

    #[test]
    fn a_minute_by_its_bytes() {
        let text = serde_json::to_string(&minute(5)).unwrap();
        expect_test::expect![[r#"{"span_us":60000000,"programs":[{"name":"a\n\u0001","cpu_us":5,"memory":4096,"read":0,"written":null}],"n_others":0,"others":{"cpu_us":0,"memory":0,"read":null,"written":null},"short_lived_us":7,"n_processes":0,"n_left_out":0}"#]].assert_eq(&text);
    }
}
