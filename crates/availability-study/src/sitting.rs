//! One visit to a scenario: the load runs, the sensors are read without a break, and one test follows the other.

use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use sensor::Host;
use signal::Readings;
use workload::{Inside, Load};

use crate::{
    Event, Length, Outcome, Programs, Reading, Settings, StudyError, Test, TestDone, Visit, VisitStart,
    draw::Draw,
    gate::Gate,
    journal::{Journal, Line},
    test_process::{Assignment, Running},
};

/// Demands are drawn between these shares of what the test would get by the sensor's word.
const DEMAND_SHARES: (f64, f64) = (0.1, 0.8);

/// A sensor that says less is not believed, so that a demand is never next to nothing.
const SAID_MIN: f64 = 0.05;

/// End of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Done,
    Interrupted,
}

/// A visit that has not begun.
pub(crate) struct Sitting<'a> {
    pub settings: &'a Settings,
    pub programs: &'a Programs,
    pub visit: &'a Visit,
    /// The tests that are left to be made.
    pub tests: Vec<Test>,
    /// Time that everything after this visit takes.
    pub left_after: Duration,
    pub journal: &'a mut Journal,
    pub observer: &'a mut dyn FnMut(&Event<'_>),
}

/// A test whose process runs.
struct Current {
    number: usize,
    test: Test,
    started_at: Duration,
    demand: Duration,
    process: Result<Running, String>,
}

/// A visit that goes on.
struct Watch<'a> {
    // Fields are dropped in this order: a control group can only go when the test and this process have left it.
    current: Option<Current>,
    _inside: Option<Inside>,
    load: Load,
    sitting: Sitting<'a>,
    host: Host,
    readings: Readings,
    said: BTreeMap<String, f64>,
    gate: Gate,
    upcoming: VecDeque<(usize, Test)>,
    length: Duration,
}

impl<'a> Sitting<'a> {
    /// Makes the visit.
    ///
    /// # Errors
    /// When the journal cannot be written or the host cannot be read.
    pub(crate) fn hold(self, interrupted: &Receiver<()>) -> Result<Ended, StudyError> {
        let Visit { round, scenario, .. } = self.visit;
        let seed = Draw::new(self.settings.seed, &format!("the load of {scenario}, round {round}")).next();
        let started = workload::find(scenario).map(|scenario| scenario.start(seed, &self.programs.worker));
        let load = match started {
            Some(Ok(load)) => load,
            Some(Err(error)) => return self.skip(&text::with_causes(&error)),
            None => return self.skip("there is no such scenario"),
        };
        // This process as well as the tests, because the sensors speak of a process that is started by this one.
        let entered = load.group().map(workload::ControlGroup::enter).transpose();
        let inside = match entered {
            Ok(inside) => inside,
            Err(error) => return self.skip(&text::with_causes(&error)),
        };
        let time = clock::now();
        self.journal.add(&Line::Visit(VisitStart { round: *round, scenario: scenario.clone(), time }))?;
        Watch::new(self, load, inside)?.run(interrupted)
    }

    fn skip(self, reason: &str) -> Result<Ended, StudyError> {
        let Visit { round, scenario, .. } = self.visit;
        (self.observer)(&Event::Skipped { visit: self.visit, reason });
        let line = Line::Skipped { round: *round, scenario: scenario.clone(), reason: reason.to_owned() };
        self.journal.commit(&line)?;
        Ok(Ended::Done)
    }
}

impl<'a> Watch<'a> {
    fn new(sitting: Sitting<'a>, load: Load, inside: Option<Inside>) -> Result<Watch<'a>, StudyError> {
        // Opened anew for each visit: the sensors of availability ask which control group they are in.
        let mut host = Host::open(Path::new("/"))?;
        host.start_hybrid(sitting.settings.hybrid())?;
        Ok(Watch {
            current: None,
            _inside: inside,
            load,
            host,
            readings: Readings::default(),
            said: BTreeMap::new(),
            gate: Gate::new(sitting.settings),
            upcoming: (1..).zip(sitting.tests.iter().copied()).collect(),
            length: sitting.settings.length_of(&sitting.tests),
            sitting,
        })
    }

    fn run(mut self, interrupted: &Receiver<()>) -> Result<Ended, StudyError> {
        let (start, step) = (clock::instant(), self.sitting.settings.step);
        let mut due = Duration::ZERO;
        while self.current.is_some() || !self.upcoming.is_empty() {
            match interrupted.recv_timeout(due.saturating_sub(start.elapsed())) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(Ended::Interrupted),
            }
            self.read(start.elapsed())?;
            self.hear(start.elapsed())?;
            self.start_next(start)?;
            // A reading that comes late is followed by the next one that is due; those between are left out.
            let n_passed = start.elapsed().as_nanos() / step.as_nanos();
            due = step * u32::try_from(n_passed + 1).unwrap_or(u32::MAX);
        }
        self.sitting.journal.commit(&Line::VisitEnd)?;
        Ok(Ended::Done)
    }

    fn read(&mut self, at: Duration) -> Result<(), StudyError> {
        self.host.read(at, &mut self.readings);
        let recorded = self.readings.iter().filter(|(signal, _)| is_recorded(signal.id()));
        // A millionth of a core is less than any sensor can tell, and keeps the journal short.
        self.said = recorded.map(|(signal, value)| (signal.id().to_string(), (value * 1e6).round() / 1e6)).collect();
        let has_formulas =
            ["cpu.availability.loadavg", "cpu.availability.vmstat"].iter().all(|id| self.said.contains_key(*id));
        self.gate.read(at, has_formulas);
        let reading = Reading { at_seconds: rounded(at), said: self.said.clone() };
        self.sitting.journal.add(&Line::Reading(reading))?;
        let left = self.length.saturating_sub(at) + self.sitting.left_after;
        (self.sitting.observer)(&Event::Reading { left });
        Ok(())
    }

    /// Takes in what the test process says, if it has ended.
    fn hear(&mut self, at: Duration) -> Result<(), StudyError> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let outcome = match &mut current.process {
            Ok(process) => process.poll(),
            Err(reason) => Some(Outcome::Failed { reason: std::mem::take(reason) }),
        };
        let Some(mut outcome) = outcome else { return Ok(()) };
        // Without its load a test is one of another scenario.
        if let Err(error) = self.load.check() {
            outcome = Outcome::Failed { reason: format!("the load broke down: {}", text::with_causes(&error)) };
        }
        let Current { number, test, started_at, demand, .. } = *current;
        self.current = None;
        let ended_at = match &outcome {
            Outcome::Done(spun) => spun.marks.last().map_or(at, |mark| {
                let passed = Duration::try_from_secs_f64(mark.passed_seconds).unwrap_or_default();
                at.min(started_at.saturating_add(passed))
            }),
            Outcome::Failed { .. } => at,
        };
        self.gate.ended(ended_at);
        (self.sitting.observer)(&Event::Ended { number, test, outcome: &outcome });
        let done = TestDone {
            length: test.length,
            n_threads: test.n_threads,
            start_seconds: rounded(started_at),
            end_seconds: rounded(ended_at),
            demand_seconds: demand.as_secs_f64(),
            outcome,
        };
        Ok(self.sitting.journal.commit(&Line::Test(done))?)
    }

    /// Starts the next test, if its time has come: right after a reading, which is the one that it is compared with.
    fn start_next(&mut self, start: Instant) -> Result<(), StudyError> {
        let settings = self.sitting.settings;
        let may_start = |test: &Test| self.gate.may_start(start.elapsed(), settings.fit_of(test.length));
        if self.current.is_some() || !self.upcoming.front().is_some_and(|(_, test)| may_start(test)) {
            return Ok(());
        }
        let Some((number, test)) = self.upcoming.pop_front() else { return Ok(()) };
        let demand = self.demand(test);
        let marks = match test.length {
            Length::Short => vec![settings.short],
            // The first seconds of a long test are as good as a short one.
            Length::Long => vec![settings.short, settings.long],
        };
        let assignment = Assignment { marks, n_threads: test.n_threads, demand };
        let started_at = start.elapsed();
        let process = Running::start(&self.sitting.programs.test, &assignment);
        let process = process.map_err(|error| format!("cannot start the test process: {error}"));
        self.current = Some(Current { number, test, started_at, demand, process });
        (self.sitting.observer)(&Event::Started { number, test });
        Ok(())
    }

    /// The CPU time whose wall time the test is to note: mostly one that it will reach.
    fn demand(&self, test: Test) -> Duration {
        let Visit { round, scenario, tests } = self.sitting.visit;
        // Counted from the end, so that a visit that was broken off draws on what it would have drawn.
        let place = tests.len() - self.upcoming.len();
        let mut draw = Draw::new(self.sitting.settings.seed, &format!("demand {place} of {scenario}, round {round}"));
        let (low, high) = DEMAND_SHARES;
        let id = match test.n_threads {
            1 => "cpu.availability".to_owned(),
            n_threads => format!("cpu.availability.{n_threads}"),
        };
        let said = self.said.get(&id).map_or(1.0, |said| said.max(SAID_MIN));
        let seconds = draw.between(low, high) * said * self.sitting.settings.span_of(test.length).as_secs_f64();
        Duration::from_millis((seconds * 1e3) as u64)
    }
}

/// The signals that the tables are made of.
fn is_recorded(id: &str) -> bool {
    id == "load.1m" || (id.starts_with("cpu.availability") && !id.ends_with(".cost"))
}

/// Rounds to milliseconds, which is as good as a reading's moment is known.
fn rounded(at: Duration) -> f64 {
    at.as_millis() as f64 / 1e3
}
