//! Content of a journal: visits, and in each the readings and the tests.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{
    Header, JournalError, Mark, Outcome, Reading, Settings, TestDone, VisitStart,
    journal::{self, FILE_NAME, Line, Lines},
};

/// The kernel's load average over a minute weighs what was this many seconds ago by `1 / e`.
const LOAD_MEMORY_SECONDS: f64 = 60.0;

/// The signal of the formula by the load average, and the load itself.
const BY_LOAD: &str = "cpu.availability.loadavg";
const LOAD: &str = "load.1m";

/// No visit lasts for longer, so a reading that says so is none, and no journal makes a series that fills the memory.
const VISIT_SECONDS_MAX: f64 = 1e6;

/// Everything that a study has found so far, or several that were made alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Header of the study: where and how it was made.
    pub header: Header,
    /// The headers of studies that were joined to this one, in their order.
    pub joined: Vec<Header>,
    /// The visits that were made, in their order, whole or broken off.
    pub segments: Vec<Segment>,
    /// Scenarios that could not be made, and why.
    pub skipped: BTreeMap<String, String>,
    /// Whether the journal had a last line that was torn, and is left out.
    pub is_torn: bool,
}

/// A stretch without a break: one visit.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Its scenario.
    pub start: VisitStart,
    /// Values of the sensors, oldest first.
    pub readings: Vec<Reading>,
    /// The tests that ended, in their order.
    pub tests: Vec<TestDone>,
}

impl Record {
    /// Reads the journal in the folder `dir`.
    ///
    /// # Errors
    /// [`JournalError`] when there is none, when it cannot be read, and for lines that are none.
    pub fn read(dir: &Path) -> Result<Record, JournalError> {
        let lines = journal::read(dir)?;
        lines.map(Record::from).ok_or_else(|| JournalError::Missing { path: dir.join(FILE_NAME) })
    }

    /// Reads the journals in these folders as one record. Rounds of later ones go on from those of earlier ones.
    ///
    /// Studies that are joined have tests, pauses, readings and probes of the same lengths, on hosts with as many
    /// cores: an hour here and an hour there then say what two hours would have.
    ///
    /// # Errors
    /// As [`Record::read`], and [`JournalError::Unlike`] for a study that was made in another way than the first.
    ///
    /// # Panics
    /// Without a folder.
    pub fn read_all(dirs: &[PathBuf]) -> Result<Record, JournalError> {
        let (first, others) = dirs.split_first().expect("a record is read from one folder or more");
        let mut record = Record::read(first)?;
        for dir in others {
            let other = Record::read(dir)?;
            if let Some((name, expected, given)) = record.header.difference(&other.header) {
                let path = dir.join(FILE_NAME);
                return Err(JournalError::Unlike { path, name, given, expected });
            }
            record.join(other);
        }
        Ok(record)
    }

    fn join(&mut self, other: Record) {
        let n_rounds = self.segments.iter().map(|segment| segment.start.round).max().unwrap_or(0);
        self.joined.push(other.header);
        self.skipped.extend(other.skipped);
        self.is_torn |= other.is_torn;
        self.segments.extend(other.segments.into_iter().map(|mut segment| {
            segment.start.round += n_rounds;
            segment
        }));
    }

    /// The headers of all studies in this record.
    pub(crate) fn headers(&self) -> impl Iterator<Item = &Header> {
        std::iter::once(&self.header).chain(&self.joined)
    }

    /// The segments of one scenario.
    pub(crate) fn of<'r>(&'r self, scenario: &str) -> impl Iterator<Item = &'r Segment> {
        self.segments.iter().filter(move |segment| segment.start.scenario == scenario)
    }

    /// Tests that failed, with their scenario.
    pub(crate) fn failures(&self) -> impl Iterator<Item = (&str, &str)> {
        self.segments.iter().flat_map(|segment| {
            segment.tests.iter().filter_map(|test| match &test.outcome {
                Outcome::Failed { reason } => Some((segment.start.scenario.as_str(), reason.as_str())),
                Outcome::Done(_) => None,
            })
        })
    }

    /// The availability signals that were read, `cpu.availability` first, then the others of one thread, then several.
    pub(crate) fn sensors(&self) -> Vec<String> {
        let readings = self.segments.iter().flat_map(|segment| &segment.readings);
        let mut seen: Vec<&String> = Vec::new();
        for id in readings.flat_map(|reading| reading.said.keys()) {
            if id != LOAD && !seen.contains(&id) {
                seen.push(id);
            }
        }
        let mut sensors: Vec<String> = seen.into_iter().cloned().collect();
        let known = ["cpu.availability", "cpu.availability.vmstat", BY_LOAD, "cpu.availability.hybrid"];
        let rank = |id: &String| known.iter().position(|known| known == id).unwrap_or(known.len());
        sensors.sort_by_key(|id| (rank(id), threads_of(id), id.clone()));
        sensors
    }
}

/// Returns the number of threads that a signal is for: 2 for `cpu.availability.2`, 1 for those without a number.
pub(crate) fn threads_of(id: &str) -> u32 {
    id.rsplit('.').next().and_then(|word| word.parse().ok()).filter(|n_threads| *n_threads > 0).unwrap_or(1)
}

impl Segment {
    /// The series of one sensor: a value for each step since the visit began, NaN where there is none or where the
    /// sensor saw a test.
    ///
    /// A reading counts as disturbed from the start of a test until the sensors have settled after its end. The load
    /// average's memory is longer than any rest, so from its readings the part that is the tests' own is taken out,
    /// which is known exactly.
    pub(crate) fn series(&self, id: &str, header: &Header) -> Vec<f64> {
        let step_seconds = header.settings.step.as_secs_f64();
        let mut samples = Vec::new();
        for reading in &self.readings {
            let slot = (reading.at_seconds / step_seconds).round() as usize;
            if slot >= samples.len() {
                samples.resize(slot + 1, f64::NAN);
            }
            if !self.is_disturbed(reading.at_seconds, header) {
                samples[slot] = self.value(reading, id, header).unwrap_or(f64::NAN);
            }
        }
        samples
    }

    /// The slot of the last reading before a test, and what the sensor said there.
    pub(crate) fn before(&self, test: &TestDone, id: &str, header: &Header) -> Option<(usize, f64)> {
        let last = self.readings.iter().take_while(|reading| reading.at_seconds <= test.start_seconds).last()?;
        let slot = (last.at_seconds / header.settings.step.as_secs_f64()).round() as usize;
        self.value(last, id, header).map(|value| (slot, value))
    }

    fn may_follow(&self, reading: &Reading) -> bool {
        let last = self.readings.last().map_or(0.0, |last| last.at_seconds);
        (last..=VISIT_SECONDS_MAX).contains(&reading.at_seconds)
    }

    fn is_disturbed(&self, at_seconds: f64, header: &Header) -> bool {
        let settle_seconds = header.settings.settle().as_secs_f64();
        let disturbs =
            |test: &TestDone| at_seconds > test.start_seconds && at_seconds <= test.end_seconds + settle_seconds;
        self.tests.iter().any(disturbs)
    }

    fn value(&self, reading: &Reading, id: &str, header: &Header) -> Option<f64> {
        let said = reading.said.get(id).copied()?;
        let Some(load) = reading.said.get(LOAD).filter(|_| id == BY_LOAD) else { return Some(said) };
        let others = (load - self.own_load(reading.at_seconds)).max(0.0);
        Some((f64::from(header.n_cores) / (others + 1.0)).min(1.0))
    }

    /// Returns the part of the 1-minute load average that is tests of this visit that have ended or run: a moving
    /// average that forgets exponentially, of a number of tasks that is known.
    fn own_load(&self, at_seconds: f64) -> f64 {
        let kept = |since_seconds: f64| (-since_seconds.max(0.0) / LOAD_MEMORY_SECONDS).exp();
        let of = |test: &TestDone| {
            f64::from(test.n_threads) * (kept(at_seconds - test.end_seconds) - kept(at_seconds - test.start_seconds))
        };
        self.tests.iter().filter(|test| test.start_seconds <= at_seconds).map(of).sum()
    }
}

impl Header {
    /// Returns the difference that keeps a study from being joined to this one: a name, its value here and there. How
    /// long a study takes, which scenarios it visits, and what it draws may differ.
    fn difference(&self, other: &Header) -> Option<(String, String, String)> {
        if self.n_cores != other.n_cores {
            return Some(("n_cores".to_owned(), self.n_cores.to_string(), other.n_cores.to_string()));
        }
        let Settings { scenarios, seed, total, visit, rounds, long_share, .. } = self.settings.clone();
        let alike = Settings { scenarios, seed, total, visit, rounds, long_share, ..other.settings.clone() };
        self.settings.difference(&alike)
    }
}

impl TestDone {
    /// Returns the clock times of the test at the moment `wanted_seconds` at which it was to look at its clocks.
    pub(crate) fn mark(&self, wanted_seconds: f64) -> Option<Mark> {
        let Outcome::Done(spun) = &self.outcome else { return None };
        spun.marks.iter().copied().find(|mark| mark.wanted_seconds == wanted_seconds && mark.passed_seconds > 0.0)
    }
}

impl Mark {
    /// CPU clock over wall clock: cores, all threads together.
    pub(crate) fn got(self) -> f64 {
        self.used_seconds / self.passed_seconds
    }
}

impl From<Lines> for Record {
    fn from(lines: Lines) -> Record {
        let mut record = Record {
            header: *lines.header,
            joined: Vec::new(),
            segments: Vec::new(),
            skipped: BTreeMap::new(),
            is_torn: lines.is_torn,
        };
        let mut is_open = false;
        for line in lines.rest {
            match (line, record.segments.last_mut().filter(|_| is_open)) {
                (Line::Visit(start), _) => {
                    record.segments.push(Segment { start, readings: Vec::new(), tests: Vec::new() });
                    is_open = true;
                }
                (Line::Reading(reading), Some(segment)) if segment.may_follow(&reading) => {
                    segment.readings.push(reading);
                }
                (Line::Test(test), Some(segment)) => segment.tests.push(test),
                (Line::Skipped { scenario, reason, .. }, _) => {
                    record.skipped.insert(scenario, reason);
                    is_open = false;
                }
                (Line::VisitEnd | Line::Resumed { .. }, _) => is_open = false,
                // A second header, a reading between visits or out of order is nothing that a study writes.
                (Line::Header(_) | Line::Reading(_) | Line::Test(_), _) => {}
            }
        }
        record
    }
}
