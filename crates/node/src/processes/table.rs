//! Tables of processes, as clients get them.

use std::collections::BTreeMap;
use std::time::Duration;

use sensor::{ProcessReading, ProcessScan, ProgramKey, ScanReport};
use units::{Moment, Timestamp};

use crate::api::{
    ProcessFigures, ProcessGrouping, ProcessOrder, ProcessRow, ProcessTable, ProgramCurve, ProgramHistory,
};
use crate::store::programs::{FoundMinute, ProgramMinute, StoredProgram, StoredUse};

/// A question about the processes of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessQuestion {
    pub(crate) by: ProcessGrouping,
    pub(crate) sort: ProcessOrder,
    /// Rows of the answer at most.
    pub(crate) limit: usize,
    /// The moment that is asked about; now if absent.
    pub(crate) at: Option<Moment>,
}

/// Returns the processes as they were read last.
pub(super) fn of_scan(
    scan: &ProcessScan,
    time: Timestamp,
    report: ScanReport,
    asked: &ProcessQuestion,
) -> ProcessTable {
    let rows = match asked.by {
        ProcessGrouping::Process => scan.processes().map(of_process).collect(),
        ProcessGrouping::Program => grouped(
            scan,
            |reading| &reading.program,
            |program| ProcessRow {
                unit: program.unit.clone(),
                container: program.container.clone(),
                ..row(&program.name)
            },
        ),
        ProcessGrouping::Cgroup => grouped(
            scan,
            |reading| &reading.group,
            |group| ProcessRow { unit: group.unit.clone(), container: group.container.clone(), ..row(&group.path) },
        ),
    };
    let n_measured = scan.processes().filter(|reading| reading.cpu_cores.is_some()).count();
    let Cut { rows, n_others, others } = cut(rows, asked);
    ProcessTable {
        time,
        span_seconds: None,
        by: asked.by,
        sort: asked.sort,
        rows,
        n_others,
        others,
        short_lived_cores: report.short_lived_cores,
        n_processes: report.n_processes as u64,
        n_measured: Some(n_measured as u64),
        n_left_out: report.n_left_out as u64,
        previous: None,
        next: None,
    }
}

/// Returns the programs of a minute of the store.
pub(crate) fn of_minute(found: FoundMinute, asked: &ProcessQuestion) -> ProcessTable {
    let FoundMinute { time, minute, previous, next } = found;
    let span = span_of(&minute);
    let rows = minute.programs.into_iter().map(|StoredProgram { name, unit, container, used }| ProcessRow {
        unit,
        container,
        figures: of_use(used, span),
        ..row(&name)
    });
    let Cut { rows, n_others, others } = cut(rows.collect(), asked);
    ProcessTable {
        time,
        span_seconds: Some(span),
        by: ProcessGrouping::Program,
        sort: asked.sort,
        rows,
        n_others: n_others + minute.n_others,
        others: others.plus(of_use(minute.others, span)),
        short_lived_cores: minute
            .short_lived_us
            .map(|micros| per_second(Duration::from_micros(micros).as_secs_f64(), span)),
        n_processes: minute.n_processes,
        n_measured: None,
        n_left_out: minute.n_left_out,
        previous,
        next,
    }
}

/// Returns the use of a resource by the programs of several minutes of the store, greatest sum first.
pub(crate) fn of_minutes(
    minutes: Vec<(Timestamp, ProgramMinute)>,
    first: Option<Timestamp>,
    sort: ProcessOrder,
    limit: usize,
) -> ProgramHistory {
    let times: Vec<Timestamp> = minutes.iter().map(|(time, _)| *time).collect();
    let mut curves: BTreeMap<ProgramKey, Vec<Option<f64>>> = BTreeMap::new();
    for (idx, (_, minute)) in minutes.into_iter().enumerate() {
        let span = span_of(&minute);
        for StoredProgram { name, unit, container, used } in minute.programs {
            let values = curves.entry(ProgramKey { name, unit, container }).or_insert_with(|| vec![None; times.len()]);
            values[idx] = of_use(used, span).by(sort);
        }
    }
    let curve = |(ProgramKey { name, unit, container }, values)| ProgramCurve { name, unit, container, values };
    let mut programs: Vec<ProgramCurve> = curves.into_iter().map(curve).collect();
    let sum = |curve: &ProgramCurve| curve.values.iter().flatten().sum::<f64>();
    programs.sort_by(|a, b| sum(b).total_cmp(&sum(a)));
    programs.truncate(limit);
    ProgramHistory { sort, first, minutes: times, programs }
}

fn span_of(minute: &ProgramMinute) -> f64 {
    Duration::from_micros(minute.span_us).as_secs_f64()
}

/// Returns 0 over no time at all, because rates are finite.
fn per_second(amount: f64, span: f64) -> f64 {
    if span > 0.0 { amount / span } else { 0.0 }
}

fn of_use(used: StoredUse, span: f64) -> ProcessFigures {
    ProcessFigures {
        cpu_cores: Some(per_second(Duration::from_micros(used.cpu_us).as_secs_f64(), span)),
        memory_bytes: used.memory,
        read_bytes_per_sec: used.read.map(|bytes| per_second(bytes as f64, span)),
        written_bytes_per_sec: used.written.map(|bytes| per_second(bytes as f64, span)),
    }
}

/// A row of this name, with nothing in it.
fn row(name: &str) -> ProcessRow {
    ProcessRow {
        name: name.to_owned(),
        unit: None,
        container: None,
        pid: None,
        state: None,
        n_processes: None,
        figures: ProcessFigures::default(),
    }
}

fn of_process(reading: &ProcessReading) -> ProcessRow {
    ProcessRow {
        unit: reading.group.unit.clone(),
        container: reading.group.container.clone(),
        pid: Some(reading.pid),
        state: Some(reading.state.to_string()),
        figures: figures(reading),
        ..row(&reading.name)
    }
}

fn figures(reading: &ProcessReading) -> ProcessFigures {
    ProcessFigures {
        cpu_cores: reading.cpu_cores,
        memory_bytes: reading.memory_bytes,
        read_bytes_per_sec: reading.read_bytes_per_sec,
        written_bytes_per_sec: reading.written_bytes_per_sec,
    }
}

/// A row for each key, with the sums of its processes.
fn grouped<'a, K: Ord + 'a>(
    scan: &'a ProcessScan,
    key: impl Fn(&'a ProcessReading) -> &'a K,
    describe: impl Fn(&K) -> ProcessRow,
) -> Vec<ProcessRow> {
    let mut groups: BTreeMap<&K, (u64, ProcessFigures)> = BTreeMap::new();
    for reading in scan.processes() {
        let (n_processes, sum) = groups.entry(key(reading)).or_default();
        *n_processes += 1;
        *sum = sum.plus(figures(reading));
    }
    let described = |(key, (n_processes, figures)): (&K, (u64, ProcessFigures))| ProcessRow {
        n_processes: Some(n_processes),
        figures,
        ..describe(key)
    };
    groups.into_iter().map(described).collect()
}

/// The first rows, and the rest as one.
struct Cut {
    rows: Vec<ProcessRow>,
    n_others: u64,
    others: ProcessFigures,
}

fn cut(mut rows: Vec<ProcessRow>, asked: &ProcessQuestion) -> Cut {
    // What is not known comes last; equals keep their order, by name.
    let figure = |row: &ProcessRow| row.figures.by(asked.sort).unwrap_or(-1.0);
    rows.sort_by(|a, b| figure(b).total_cmp(&figure(a)));
    let rest = rows.split_off(asked.limit.min(rows.len()));
    let others = rest.iter().fold(ProcessFigures::NONE, |sum, row| sum.plus(row.figures));
    Cut { rows, n_others: rest.len() as u64, others }
}
