//! A host whose files are changed between ticks.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Duration,
};

use sensor::Host;
use signal::Readings;
use tempfile::TempDir;

/// What one tick gave, by the ids of the signals.
pub type Values = BTreeMap<String, f64>;

/// A host that was recorded under `testdata/sensor/`. Its root is a link that leads to one tick after the other.
pub struct Recorded {
    directory: TempDir,
    ticks: PathBuf,
    pub host: Host,
    readings: Readings,
}

impl Recorded {
    /// The host called `name`, opened on its first tick.
    pub fn open(name: &str) -> Recorded {
        let ticks = testdata().join(name);
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        symlink(ticks.join("0"), &root).unwrap();
        let host = Host::open(&root).unwrap();
        Recorded { directory, ticks, host, readings: Readings::default() }
    }

    /// Reads tick `tick_idx`, `at_s` seconds after some moment.
    pub fn read(&mut self, tick_idx: u32, at_s: u64) -> Values {
        let root = self.directory.path().join("root");
        fs::remove_file(&root).unwrap();
        symlink(self.ticks.join(tick_idx.to_string()), &root).unwrap();
        read(&mut self.host, &mut self.readings, at_s)
    }

    /// Reads three ticks that are `apart_s` seconds apart.
    pub fn read_three(&mut self, apart_s: u64) -> [Values; 3] {
        [0, 1, 2].map(|tick_idx| self.read(tick_idx, 100 + u64::from(tick_idx) * apart_s))
    }
}

/// A host whose files are written by the test.
pub struct Written {
    root: TempDir,
}

impl Written {
    pub fn new(files: &[(&str, &[u8])]) -> Written {
        let written = Written { root: tempfile::tempdir().unwrap() };
        for (file, text) in files {
            written.write(file, text);
        }
        written
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn write(&self, file: &str, text: &[u8]) {
        let path = self.root().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Some file systems wait for the disk when a file is cut to nothing and written anew.
        if path.exists() {
            fs::remove_file(&path).unwrap();
        }
        fs::write(path, text).unwrap();
    }

    pub fn remove(&self, file: &str) {
        fs::remove_file(self.root().join(file)).unwrap();
    }
}

/// Reads `host` at `at_s` seconds.
///
/// # Panics
/// When a signal is read twice, or its value is not in the range of its family.
#[track_caller]
pub fn read(host: &mut Host, readings: &mut Readings, at_s: u64) -> Values {
    host.read(Duration::from_secs(at_s), readings);
    let mut values = Values::new();
    for (signal, value) in &*readings {
        let range = signal.range();
        let is_within = range.min.is_none_or(|min| min <= value) && range.max.is_none_or(|max| value <= max);
        assert!(value.is_finite() && is_within, "{} is {value}", signal.id());
        assert!(!signal.id().contains(char::is_control), "{:?}", signal.id());
        let is_twice = values.insert(signal.id().to_string(), value).is_some();
        assert!(!is_twice, "{} was read twice", signal.id());
    }
    values
}

pub fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sensor")
}

/// Claims that the signal `id` was read, and what it said.
///
/// The tolerance is for the few roundings of a sum and a quotient.
#[track_caller]
pub fn check(values: &Values, id: &str, expected: f64) {
    let found = *values.get(id).unwrap_or_else(|| panic!("{id} was not read"));
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{id} is {found}, not {expected}");
}

/// Claims that of the signals whose ids start with `prefix` exactly these were read, and what they said.
#[track_caller]
pub fn check_all(values: &Values, prefix: &str, expected: &[(&str, f64)]) {
    let found: BTreeSet<&str> = values.keys().map(String::as_str).filter(|id| id.starts_with(prefix)).collect();
    assert_eq!(found, expected.iter().map(|(id, _)| *id).collect());
    for (id, value) in expected {
        check(values, id, *value);
    }
}
