//! Sweeps: the same measurement for every combination of loads, sizes, patterns and numbers of applications.
//!
//! Each cell has a phase one of its own, moments before its run. What is whole in the result of a sweep that broke off
//! is not measured again.

use std::path::Path;

#[cfg(feature = "mpi")]
use clock::Stopwatch;
#[cfg(feature = "mpi")]
use mpi_run::{Ending, Session};
use mpi_run::{Header, Outcome, Writer};
use mpi_trace::Mode;
use program::Failure;
use serde_json::Value;
use units::ByteCount;

use crate::application::{Application, Applications, Load, Placement, Span};
use crate::pattern::Pattern;
use crate::plan::{Method, Plan};
#[cfg(feature = "mpi")]
use crate::record::SWEEP;
use crate::record::{ANOMALY, APPLICATION, Anomaly, Away, CELL, Cell, Part, Planned, RANK, RankResult, SweepResult};
use crate::sizes::Sizes;

/// Settings that are swept over, and those that are the same in all cells.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Patterns, the slowest to change.
    pub patterns: Vec<Pattern>,
    /// Numbers of applications.
    pub n_applications: Vec<u32>,
    /// Sizes of messages.
    pub sizes: Vec<ByteCount>,
    /// Shares of communication.
    pub loads: Vec<Load>,
    /// Runs with the same settings, the fastest to change.
    pub repetitions: u32,
    /// Mode in which messages between two ranks are sent; collectives have no mode.
    pub mode: Mode,
    /// Placement of applications on the ranks.
    pub placement: Placement,
    /// Cycles of each run.
    pub iterations: Option<std::num::NonZeroU64>,
    /// Target length of each run, instead.
    pub time: Option<Span>,
    /// Waits for all ranks before the exchange of every so many cycles; 0 for never.
    pub synchronize_every: u32,
    /// Method of measurement and prediction, the same in all cells.
    pub method: Method,
}

impl Sweep {
    /// Whether so many ranks can run all cells, without measuring anything.
    ///
    /// # Errors
    /// What does not fit, and what would.
    pub fn check(&self, n_ranks: u32) -> Result<(), Failure> {
        self.cells().iter().try_for_each(|cell| self.plan(cell).check(n_ranks).map(drop))
    }

    /// Begins the result of a sweep, or goes on with one that is there, after its last whole cell.
    ///
    /// # Errors
    /// When the file is the result of something else, or cannot be read or written.
    pub fn writer(path: Option<&Path>, header: &Header) -> Result<Writer, Failure> {
        let Some(there) = path.filter(|path| path.exists()) else {
            return Writer::create(path, header).map_err(Failure::of);
        };
        let before = Outcome::read(there).map_err(Failure::of)?;
        if let Some(difference) = difference(&before.header, header) {
            return Err(Failure::usage(format!(
                "{} has a sweep with {difference}; give the same settings to continue it, or another file",
                there.display()
            )));
        }
        Writer::resume(there, CELL).map_err(Failure::of)
    }

    /// Runs and records all cells that are not whole in rank 0's `writer`. Collective. `tell` hears what is done, how
    /// far it is, and of how much.
    ///
    /// # Errors
    /// On all ranks: what does not fit, or what failed on one of them.
    #[cfg(feature = "mpi")]
    pub fn run(
        &self,
        session: &Session,
        clock: &Stopwatch,
        writer: &mut Writer,
        tell: &mut dyn FnMut(&str, u64, u64),
    ) -> Result<(), Ending> {
        let cells = self.cells();
        let n_whole = session.first_finds(|| Ok(n_whole(writer.outcome())))?;
        for cell in cells.iter().skip(n_whole) {
            tell("cells", u64::from(cell.cell), cells.len() as u64);
            let n_before = writer.outcome().records.len();
            crate::run(session, &self.plan(cell), clock, writer, &mut |_, _, _| {})?;
            let recorded = if session.is_first() { record(cell, n_before, writer) } else { Ok(()) };
            session.agree(recorded)?;
        }
        Ok(())
    }

    /// All cells, in the order in which they are run.
    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &pattern in &self.patterns {
            for &n_applications in &self.n_applications {
                for size in &self.sizes {
                    for load in &self.loads {
                        for repetition in 0..self.repetitions {
                            cells.push(Cell {
                                cell: u32::try_from(cells.len()).unwrap_or(u32::MAX),
                                pattern,
                                mode: if pattern.is_collective() { Mode::Blocking } else { self.mode },
                                size_bytes: size.bytes(),
                                load_percent: load.percent(),
                                n_applications,
                                repetition,
                            });
                        }
                    }
                }
            }
        }
        cells
    }

    fn plan(&self, cell: &Cell) -> Plan {
        Plan { applications: self.applications(cell), method: self.method.clone(), cell: Some(cell.cell) }
    }

    /// The applications of a cell, called `a1`, `a2` and so on.
    fn applications(&self, cell: &Cell) -> Applications {
        let application = |number| Application {
            name: format!("a{number}"),
            ranks: None,
            pattern: cell.pattern,
            mode: cell.mode,
            size: Sizes::Fixed(ByteCount::new(cell.size_bytes)),
            load_percent: Load::new(cell.load_percent).expect("the load of a cell is one of the sweep's"),
            iterations: self.iterations,
            time: self.time,
            start_offset: Span::default(),
            synchronize_every: self.synchronize_every,
        };
        Applications { placement: self.placement, applications: (1..=cell.n_applications).map(application).collect() }
    }
}

/// Adds what the records since `n_before`, all of one cell, come to, and that the cell is whole.
#[cfg(feature = "mpi")]
fn record(cell: &Cell, n_before: usize, writer: &mut Writer) -> Result<(), Failure> {
    for result in results(cell, &writer.outcome().records[n_before..]) {
        writer.record(SWEEP, &result).map_err(Failure::of)?;
    }
    writer.record(CELL, cell).map_err(Failure::of)
}

/// Computes the results of one cell from its records, one for each of its applications.
fn results(cell: &Cell, records: &[(String, Value)]) -> Vec<SweepResult> {
    let plans: Vec<Planned> = of_kind(APPLICATION, records);
    let ranks: Vec<RankResult> = of_kind(RANK, records);
    let anomalies: Vec<Anomaly> = of_kind(ANOMALY, records);
    let result = |plan: &Planned| {
        let name = &plan.application.name;
        let own = || ranks.iter().filter(|rank| rank.application == *name);
        let last = own().max_by(|a, b| a.run_ns.total_cmp(&b.run_ns))?;
        let largest = |of: &dyn Fn(&RankResult) -> Option<f64>| own().filter_map(of).max_by(f64::total_cmp);
        let n_anomalous = |rank: &RankResult| -> u64 {
            let of_rank =
                |found: &&Anomaly| found.application == *name && found.rank == rank.rank && found.part != Part::Pair;
            anomalies.iter().filter(of_rank).map(|found| found.n_cycles).sum()
        };
        Some(SweepResult {
            key: cell.clone(),
            application: name.clone(),
            n_ranks: own().count() as u32,
            predicted_run_ns: plan.predicted.run_ns,
            run_ns: last.run_ns,
            error_percent: last.benchmarked_once.error_percent,
            forecast_error_percent: last.forecast_as_we_go.error_percent,
            communication_ratio: largest(&|rank| Some(rank.dispersion.communication_ratio)).unwrap_or(0.0),
            communication_to_benchmark: largest(&|rank| rank.dispersion.communication_to_benchmark),
            n_anomalous_cycles: own().map(n_anomalous).max().unwrap_or(0),
            away_ratio: largest(&|rank| rank.away.map(Away::worst_ratio)),
        })
    };
    plans.iter().filter_map(result).collect()
}

fn of_kind<T: serde::de::DeserializeOwned>(kind: &str, records: &[(String, Value)]) -> Vec<T> {
    let of_kind = records.iter().filter(|(found, _)| found == kind);
    of_kind
        .map(|(_, value)| serde_json::from_value(value.clone()).expect("what this run has recorded reads back"))
        .collect()
}

/// Returns the number of cells that are whole already.
fn n_whole(outcome: &Outcome) -> usize {
    outcome.records.iter().filter(|(kind, _)| kind == CELL).count()
}

/// Returns the difference of `there` from `here` that keeps cells of both from standing beside each other.
fn difference(there: &Header, here: &Header) -> Option<String> {
    let of_measurement = |arguments: &[String]| -> Vec<String> {
        arguments.iter().filter(|argument| !["-q", "--quiet"].contains(&argument.as_str())).cloned().collect()
    };
    if there.program != here.program || of_measurement(&there.arguments) != of_measurement(&here.arguments) {
        Some(format!("other arguments: {} {}", there.program, there.arguments.join(" ")))
    } else if there.ranks.len() != here.ranks.len() {
        Some(format!("{} ranks", there.ranks.len()))
    } else if there.mpi != here.mpi {
        Some(format!("another MPI: {}", there.mpi))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use units::Timestamp;

    use super::*;
    use crate::plan::Effort;
    use crate::record::Basis;

    fn sweep() -> Sweep {
        Sweep {
            patterns: vec![Pattern::Ring, Pattern::Alltoall],
            n_applications: vec![1, 2],
            sizes: vec!["1KiB".parse().unwrap()],
            loads: vec![Load::new(10.0).unwrap(), Load::new(80.0).unwrap()],
            repetitions: 3,
            mode: Mode::NonBlocking,
            placement: Placement::Blocked,
            iterations: None,
            time: None,
            synchronize_every: 1,
            method: Method {
                basis: Basis::Benchmark,
                forecast_model: "NWS".parse().unwrap(),
                seed: 1,
                effort: Effort::QUICK,
            },
        }
    }

    fn header(arguments: &[&str]) -> Header {
        Header {
            program: "ace".to_owned(),
            version: "0.1.0".to_owned(),
            started: Timestamp::from_system(std::time::UNIX_EPOCH),
            mpi: "none".to_owned(),
            transport: None,
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            seed: 1,
            ranks: Vec::new(),
            assumptions: Vec::new(),
        }
    }

    #[test]
    fn every_combination_is_a_cell() {
        let cells = sweep().cells();
        assert_eq!(cells.len(), 24);
        assert!((0..).zip(&cells).all(|(number, cell)| cell.cell == number));
        assert_eq!((cells[0].mode, cells[23].mode), (Mode::NonBlocking, Mode::Blocking));
        let applications = sweep().applications(&cells[6]);
        assert_eq!(applications.applications.len(), 2);
        applications.check().unwrap();
    }

    #[test]
    fn a_sweep_goes_on_after_its_last_whole_cell() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.jsonl");
        let header = header(&["sweep"]);
        let mut begun = Sweep::writer(Some(&path), &header).unwrap();
        let cells = sweep().cells();
        begun.record(CELL, &cells[0]).unwrap();
        begun.record(CELL, &cells[1]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        begun.record(APPLICATION, &cells[2]).unwrap();
        drop(begun);
        // As a run leaves it that is killed while it writes.
        let mut broken = std::fs::read(&path).unwrap();
        broken.extend(b"{\"kind\":\"ace.ra");
        std::fs::write(&path, broken).unwrap();

        let mut resumed = Sweep::writer(Some(&path), &header).unwrap();
        assert_eq!(n_whole(resumed.outcome()), 2);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        resumed.record(CELL, &cells[2]).unwrap();
        assert_eq!(n_whole(&Outcome::read(&path).unwrap()), 3);
    }

    #[test]
    fn a_sweep_with_other_arguments_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.jsonl");
        drop(Sweep::writer(Some(&path), &header(&["sweep", "--loads", "10"])).unwrap());
        let before = std::fs::read(&path).unwrap();
        let refused = Sweep::writer(Some(&path), &header(&["sweep", "--loads", "20"])).unwrap_err();
        assert!(refused.message.contains("other arguments: ace sweep --loads 10"), "{refused}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert!(Sweep::writer(Some(&path), &header(&["sweep", "--loads", "10", "-q"])).is_ok());
    }
}
