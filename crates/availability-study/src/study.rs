//! A study that is made: from its settings and its folder to a full journal.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::mpsc::Receiver,
    time::Duration,
};

use crate::{
    Length, Outcome, Plan, Settings, StudyError, Test, TestProgram, Visit,
    host::Place,
    journal::{self, FORMAT, Header, Journal, Line, Lines},
    sitting::{Ended, Sitting},
};

/// The executables that a study starts.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Program of the load's processes.
    pub worker: workload::Worker,
    /// Program of the tests.
    pub test: TestProgram,
}

/// A study, begun or taken up again, that has not run yet.
#[derive(Debug)]
pub struct Study {
    settings: Settings,
    programs: Programs,
    plan: Plan,
    journal: Journal,
    seen: Seen,
    was_torn: bool,
}

/// End of a study when nothing failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Everything that was planned has been done.
    Complete,
    /// It was asked to stop.
    Interrupted,
}

/// Events of a study, for whoever shows progress.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// A visit begins; so many tests are planned in it.
    Visit {
        /// The visit.
        visit: &'a Visit,
        /// Number of tests of the visit.
        n_tests: usize,
    },
    /// A scenario cannot be made.
    Skipped {
        /// The visit.
        visit: &'a Visit,
        /// Why.
        reason: &'a str,
    },
    /// The sensors were read.
    Reading {
        /// Time that all that is planned still takes.
        left: Duration,
    },
    /// A test process was started.
    Started {
        /// Number of the test in the visit, from 1.
        number: usize,
        /// The test.
        test: Test,
    },
    /// A test process has ended.
    Ended {
        /// Number of the test in the visit, from 1.
        number: usize,
        /// The test.
        test: Test,
        /// Outcome of the test process.
        outcome: &'a Outcome,
    },
}

/// The part of the study that earlier runs have done.
#[derive(Clone, Debug, Default)]
struct Seen {
    by_visit: HashMap<(usize, String), Done>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Done {
    n_short: usize,
    n_long: usize,
    is_over: bool,
}

impl Study {
    /// Begins a study in the folder `dir`, or takes up the one that is there.
    ///
    /// `busy_before` is how busy the host is without the study's loads; see [`busy_share`](crate::busy_share).
    ///
    /// # Errors
    /// [`StudyError`] for settings that make no study, for a journal that cannot be used, and for one that was begun
    /// with other settings or on another host.
    pub fn open(dir: &Path, settings: Settings, programs: Programs, busy_before: f64) -> Result<Study, StudyError> {
        let place = Place::here()?;
        let plan = Plan::new(&settings, place.n_cores)?;
        let recorded = journal::read(dir)?;
        let n_bytes = recorded.as_ref().map_or(0, |lines| lines.n_whole_bytes);
        if let Some(lines) = &recorded {
            check_same(dir, &lines.header, &settings, &place)?;
        }
        let mut journal = Journal::open(dir, n_bytes)?;
        let time = clock::now();
        match &recorded {
            Some(_) => journal.commit(&Line::Resumed { time })?,
            None => {
                let Place { host, kernel, n_cores } = place;
                let version = env!("CARGO_PKG_VERSION").to_owned();
                let settings = settings.clone();
                let header = Header { format: FORMAT, version, host, kernel, n_cores, time, busy_before, settings };
                journal.commit(&Line::Header(Box::new(header)))?;
            }
        }
        let was_torn = recorded.as_ref().is_some_and(|lines| lines.is_torn);
        Ok(Study { settings, programs, plan, journal, seen: Seen::of(recorded), was_torn })
    }

    /// All that was planned, done or not.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether the journal had a last line that was torn, and has been dropped.
    #[must_use]
    pub fn was_torn(&self) -> bool {
        self.was_torn
    }

    /// Returns the time that what is not done yet takes.
    #[must_use]
    pub fn left(&self) -> Duration {
        let visits = self.plan.visits.iter();
        visits.map(|visit| self.settings.length_of(&self.seen.left_of(visit))).sum()
    }

    /// Makes it, until its end or until something arrives in `interrupted`.
    ///
    /// # Errors
    /// [`StudyError`] when the journal cannot be written or the host cannot be read. A scenario that cannot be made and
    /// a test that fails are noted in the journal and are no errors.
    pub fn run(mut self, interrupted: &Receiver<()>, observer: &mut dyn FnMut(&Event<'_>)) -> Result<End, StudyError> {
        let mut left = self.left();
        for visit in &self.plan.visits {
            let tests = self.seen.left_of(visit);
            if tests.is_empty() {
                continue;
            }
            left = left.saturating_sub(self.settings.length_of(&tests));
            observer(&Event::Visit { visit, n_tests: tests.len() });
            let sitting = Sitting {
                settings: &self.settings,
                programs: &self.programs,
                visit,
                tests,
                left_after: left,
                journal: &mut self.journal,
                observer: &mut *observer,
            };
            match sitting.hold(interrupted)? {
                Ended::Done => {}
                Ended::Interrupted => return Ok(End::Interrupted),
            }
        }
        Ok(End::Complete)
    }
}

fn check_same(dir: &Path, header: &Header, settings: &Settings, place: &Place) -> Result<(), StudyError> {
    let dir = PathBuf::from(dir);
    if let Some((name, recorded, given)) = header.settings.difference(settings) {
        return Err(StudyError::OtherSettings { dir, name, recorded, given });
    }
    let describe = |host: &str, kernel: &str, n_cores: u32| format!("{host} ({kernel}, {n_cores} cores)");
    let recorded = describe(&header.host, &header.kernel, header.n_cores);
    let given = describe(&place.host, &place.kernel, place.n_cores);
    if recorded != given {
        return Err(StudyError::OtherHost { dir, recorded, given });
    }
    Ok(())
}

impl Seen {
    fn of(recorded: Option<Lines>) -> Seen {
        let mut seen = Seen::default();
        let mut current = None;
        for line in recorded.into_iter().flat_map(|lines| lines.rest) {
            match line {
                Line::Visit(start) => current = Some((start.round, start.scenario)),
                Line::Skipped { .. } | Line::Resumed { .. } => current = None,
                Line::Test(test) => {
                    if let Some(done) = current.clone().map(|key| seen.by_visit.entry(key).or_default()) {
                        done.n_short += usize::from(test.length == Length::Short);
                        done.n_long += usize::from(test.length == Length::Long);
                    }
                }
                Line::VisitEnd => {
                    if let Some(key) = current.take() {
                        seen.by_visit.entry(key).or_default().is_over = true;
                    }
                }
                Line::Header(_) | Line::Reading(_) => {}
            }
        }
        seen
    }

    /// The tests of `visit` that were not made yet, with their places among its tests.
    fn left_of(&self, visit: &Visit) -> Vec<Test> {
        let done = self.by_visit.get(&(visit.round, visit.scenario.clone())).copied().unwrap_or_default();
        if done.is_over {
            return Vec::new();
        }
        let of = |length| visit.tests.iter().copied().filter(move |test| test.length == length);
        of(Length::Short).skip(done.n_short).chain(of(Length::Long).skip(done.n_long)).collect()
    }
}
