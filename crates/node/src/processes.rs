//! Processes of the host: scanned on a thread that no tick waits for, and summed up by program for each minute.

mod cause;
mod table;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clock::Clock;
use sensor::{ProcessReading, ProcessScan, ProgramKey, ProgramUsage, ScanReport, UsageInterval};
use units::Timestamp;
use watch::{OnPanic, Stop, Thread, Watch};

pub(crate) use self::cause::cause;
pub(crate) use self::table::{ProcessQuestion, of_minute, of_minutes};

use crate::api;
use crate::hub::Hub;
use crate::store::minute_of;
use crate::store::programs::{PackedMinute, ProgramMinute, StoredProgram, StoredUse};

/// Time between two scans.
const SCAN_EVERY: Duration = Duration::from_secs(2);

/// Number of scans after a start in which each process is read twice, so that its rates are known.
const N_FIRST: u32 = 16;

/// Time between these first scans.
const FIRST_EVERY: Duration = Duration::from_millis(200);

/// Processor time of a scan: one percent of a core at most.
const BUDGET: Duration = Duration::from_millis(20);

/// Programs that a minute has of each resource. If their names take too much room, it has fewer.
const N_GREATEST: [usize; 4] = [10, 5, 2, 0];

/// The processes of the host.
#[derive(Debug)]
pub(crate) struct HostProcesses(Mutex<State>);

#[derive(Debug)]
struct State {
    scan: ProcessScan,
    last: Option<LastScan>,
    /// Monotonic time from which on use is summed up.
    since: Duration,
}

/// The last scan, by both clocks.
#[derive(Clone, Copy, Debug)]
struct LastScan {
    at: Duration,
    time: Timestamp,
    report: ScanReport,
}

/// Use of the programs in a minute that is over.
#[derive(Debug)]
pub(crate) struct MeasuredMinute {
    time: Timestamp,
    span: Duration,
    usage: UsageInterval,
    report: ScanReport,
}

impl HostProcesses {
    /// Returns the processes of the host whose files are under `root`. Reads nothing yet.
    pub(crate) fn open(root: &Path) -> Self {
        Self::with_budget(root, BUDGET)
    }

    fn with_budget(root: &Path, budget: Duration) -> Self {
        let scan = ProcessScan::open(root, budget);
        Self(Mutex::new(State { scan, last: None, since: Duration::ZERO }))
    }

    /// Reads the processes whose turn it is. Returns the minute before, if this scan is the first of another one.
    pub(crate) fn scan(&self, clock: &dyn Clock) -> Option<MeasuredMinute> {
        let mut state = self.lock();
        let before = state.last;
        let LastScan { at, time, report } = state.read(clock);
        let minute = before.map(|before| minute_of(before.time)).filter(|minute| *minute != minute_of(time))?;
        let since = std::mem::replace(&mut state.since, at);
        let usage = state.scan.take_usage();
        Some(MeasuredMinute { time: minute, span: at.saturating_sub(since), usage, report })
    }

    /// Returns the processes as of the last scan; scans if there was none.
    pub(crate) fn now(&self, clock: &dyn Clock, asked: &ProcessQuestion) -> api::ProcessTable {
        let mut state = self.lock();
        let last = state.last.unwrap_or_else(|| state.read(clock));
        table::of_scan(&state.scan, last.time, last.report, asked)
    }

    /// Returns the number of a program's process, if it has exactly one.
    pub(crate) fn only_pid(&self, name: &str, unit: Option<&str>, container: Option<&str>) -> Option<u32> {
        let state = self.lock();
        let is_of_program = |reading: &&ProcessReading| {
            let ProgramKey { name: known, unit: of_unit, container: in_container } = &*reading.program;
            known == name && of_unit.as_deref() == unit && in_container.as_deref() == container
        };
        let mut pids = state.scan.processes().filter(is_of_program).map(|reading| reading.pid);
        pids.next().filter(|_| pids.next().is_none())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn read(&mut self, clock: &dyn Clock) -> LastScan {
        let (at, time) = (clock.monotonic(), clock.wall());
        let report = self.scan.scan(at);
        let last = LastScan { at, time, report };
        if self.last.replace(last).is_none() {
            self.since = at;
        }
        last
    }
}

impl MeasuredMinute {
    /// Packs it for the store, with as many programs as there is room for.
    pub(crate) fn packed(&self) -> Option<PackedMinute> {
        N_GREATEST.into_iter().find_map(|n_greatest| PackedMinute::new(self.time, &self.minute(n_greatest)))
    }

    /// Returns the minute with the greatest users of each resource, so many of each.
    fn minute(&self, n_greatest: usize) -> ProgramMinute {
        let all: Vec<StoredProgram> = self.usage.programs.iter().map(|(key, usage)| stored(key, *usage)).collect();
        let chosen = greatest(&all, n_greatest);
        let (mut programs, mut others, mut n_others) = (Vec::new(), StoredUse::NONE, 0);
        for (idx, program) in all.into_iter().enumerate() {
            if chosen.contains(&idx) {
                programs.push(program);
            } else {
                others = others.plus(program.used);
                n_others += 1;
            }
        }
        ProgramMinute {
            span_us: micros(self.span),
            programs,
            n_others,
            others,
            short_lived_us: self.usage.short_lived.map(micros),
            memory_in_use: self.usage.memory_in_use_bytes,
            n_processes: self.report.n_processes as u64,
            n_left_out: self.report.n_left_out as u64,
        }
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

fn stored(key: &ProgramKey, usage: ProgramUsage) -> StoredProgram {
    let ProgramUsage { cpu, memory_bytes: memory, read_bytes: read, written_bytes: written } = usage;
    StoredProgram {
        name: key.name.clone(),
        unit: key.unit.clone(),
        container: key.container.clone(),
        used: StoredUse { cpu_us: micros(cpu), memory, read, written },
    }
}

/// Returns the positions of the programs that use the most of some resource.
fn greatest(programs: &[StoredProgram], n_greatest: usize) -> BTreeSet<usize> {
    const FIGURES: [fn(&StoredUse) -> u64; 4] = [
        |used| used.cpu_us,
        |used| used.memory,
        |used| used.read.unwrap_or_default(),
        |used| used.written.unwrap_or_default(),
    ];
    let mut chosen = BTreeSet::new();
    for figure in FIGURES {
        let figure = |idx: &usize| figure(&programs[*idx].used);
        let mut users: Vec<usize> = (0..programs.len()).filter(|idx| figure(idx) > 0).collect();
        users.sort_by_key(|idx| Reverse(figure(idx)));
        chosen.extend(users.into_iter().take(n_greatest));
    }
    chosen
}

/// Starts the thread that scans.
///
/// # Errors
/// When the system has no thread to give.
pub(crate) fn start(hub: Arc<Hub>, watch: &Watch) -> io::Result<Thread> {
    let mut n_scans = 0_u32;
    let work = move |stop: &Stop| loop {
        hub.scan_processes();
        n_scans = n_scans.saturating_add(1);
        if stop.wait(if n_scans < N_FIRST { FIRST_EVERY } else { SCAN_EVERY }) {
            return;
        }
    };
    Thread::start(watch, "processes", OnPanic::BeginAgain, work)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// The minute of the recorded host, whose second tick is the first of the next minute.
    fn recorded() -> (HostProcesses, MeasuredMinute) {
        let directory = tempfile::tempdir().unwrap();
        let (root, testdata) = (directory.path().join("root"), "../../testdata/sensor/processes");
        let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join(testdata);
        let processes = HostProcesses::with_budget(&root, Duration::MAX);
        let clock = clock::Manual::at(Timestamp::from_nanos(119_000_000_000));
        symlink(testdata.join("0"), &root).unwrap();
        assert!(processes.scan(&clock).is_none());
        fs::remove_file(&root).unwrap();
        symlink(testdata.join("1"), &root).unwrap();
        clock.pass(Duration::from_secs(2));
        let minute = processes.scan(&clock).unwrap();
        (processes, minute)
    }

    #[test]
    fn however_few_are_named_the_sum_is_the_whole() {
        let (_, measured) = recorded();
        assert_eq!((measured.time, measured.span), (Timestamp::from_nanos(60_000_000_000), Duration::from_secs(2)));
        for n_greatest in [10, 2, 1, 0] {
            let minute = measured.minute(n_greatest);
            let sum = minute.programs.iter().fold(minute.others, |sum, program| sum.plus(program.used));
            // Two cores for two seconds.
            assert_eq!(sum.cpu_us + minute.short_lived_us.unwrap(), 4_000_000, "{minute:?}");
            assert_eq!(sum.read, None, "that of one may not be known");
            assert!(minute.programs.len() <= 4 * n_greatest);
        }
        let first = &measured.minute(1).programs[..];
        assert!(
            first.iter().any(|program| program.name == "postgres" && program.used.cpu_us == 1_400_000),
            "{first:?}"
        );
        assert!(measured.packed().is_some());
    }

    #[test]
    fn names_that_take_too_much_room_are_left_out() {
        let (_, mut measured) = recorded();
        let mut noise = 1_u64;
        let mut letter = |_: i32| {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from_u32(0x4e00 + (noise >> 50) as u32).unwrap()
        };
        for idx in 0..40 {
            let key = ProgramKey { name: (0..400).map(&mut letter).collect(), ..ProgramKey::default() };
            let cpu = Duration::from_secs(40 - idx);
            let usage = ProgramUsage { cpu, memory_bytes: idx + 1, ..ProgramUsage::default() };
            measured.usage.programs.push((Arc::new(key), usage));
        }
        assert!(PackedMinute::new(measured.time, &measured.minute(40)).is_none());
        assert!(measured.packed().is_some());
    }
}
