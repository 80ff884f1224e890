//! A run as its journal records it: each time that it was begun or taken up, what was forecast, and who did what when.

use sched::simulate::Stretch;

use units::Confidence;

use crate::coordinator::held;
use crate::kept::{Given, Line};
use crate::run::Part;

/// A run as its journal records it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Number of units.
    pub n_units: usize,
    /// Sessions, one for each time that the run was begun or taken up.
    pub sessions: Vec<Session>,
}

/// A session: from when a run was begun or taken up until it ended or was interrupted.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// The policy that decided.
    pub policy: String,
    /// Units that were done before.
    pub n_before: usize,
    /// Forecast in the beginning: the median of the time until all is done, in seconds.
    pub makespan: f64,
    /// Interval of the makespan.
    pub interval: (f64, f64),
    /// Confidence that the interval was to have.
    pub confidence: f64,
    /// Share that each worker was given at first.
    pub shares: Vec<Given>,
    /// Units that were done, in order.
    pub done: Vec<Done>,
}

/// A unit that was done.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// Time of its end, in seconds since the run was begun or taken up.
    pub t: f64,
    /// The worker that did the unit.
    pub worker: String,
    /// Time that the unit took.
    pub seconds: f64,
    /// Processor time that the unit took.
    pub cpu_seconds: f64,
    /// Probability with which the unit was forecast to take no longer.
    pub level: Option<f64>,
}

impl Record {
    /// Builds the record of a journal. Units before the first plan are left out.
    #[must_use]
    pub fn new(lines: Vec<Line>) -> Self {
        let mut record = Self::default();
        for line in lines {
            match line {
                Line::Run { n_units, .. } => record.n_units = n_units,
                Line::Planned { policy, n_done, makespan, lower, upper, confidence, shares } => {
                    let (n_before, interval, done) = (n_done, (lower, upper), Vec::new());
                    record.sessions.push(Session { policy, n_before, makespan, interval, confidence, shares, done });
                }
                Line::Done { t, worker, seconds, cpu_seconds, level, .. } => {
                    if let Some(session) = record.sessions.last_mut() {
                        session.done.push(Done { t, worker, seconds, cpu_seconds, level });
                    }
                }
                Line::Decided { .. } | Line::Failed { .. } => {}
            }
        }
        record
    }
}

impl Session {
    /// Returns the time at which the last unit was done, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.done.iter().map(|done| done.t).fold(0.0, f64::max)
    }

    /// Returns the share of units whose time lay in the interval of such a confidence; `None` if none was forecast.
    #[must_use]
    pub fn units_held(&self, confidence: Confidence) -> Option<f64> {
        held(&self.done.iter().filter_map(|done| done.level).collect::<Vec<_>>(), confidence)
    }

    /// Returns the workers in the order of their names, and the part of each.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for Done { worker, seconds, cpu_seconds, .. } in &self.done {
            let at = parts.binary_search_by(|part| part.worker.as_str().cmp(worker)).unwrap_or_else(|at| {
                parts.insert(at, Part { worker: worker.clone(), ..Part::default() });
                at
            });
            let part = &mut parts[at];
            (part.n_units, part.seconds, part.cpu_seconds) =
                (part.n_units + 1, part.seconds + seconds, part.cpu_seconds + cpu_seconds);
        }
        parts
    }

    /// Returns the times at which units were done, and by whom: the positions are those of [`Session::parts`].
    #[must_use]
    pub fn stretches(&self) -> Vec<Stretch> {
        let parts = self.parts();
        let at = |worker: &str| parts.iter().position(|part| part.worker == worker).unwrap_or(0);
        let stretch = |done: &Done| Stretch {
            worker: at(&done.worker),
            from: (done.t - done.seconds).max(0.0),
            until: done.t,
            n_units: 1,
        };
        self.done.iter().map(stretch).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_tells_who_did_what_when() {
        let done = |t, unit, worker: &str| {
            let worker = worker.to_owned();
            Line::Done { t, unit, worker, seconds: 2.0, cpu_seconds: 1.0, level: Some(0.5 - 0.2 * t) }
        };
        let planned = |n_done| Line::Planned {
            policy: "EQUAL".to_owned(),
            n_done,
            makespan: 4.0,
            lower: 3.0,
            upper: 5.0,
            confidence: 0.8,
            shares: Vec::new(),
        };
        let first = Line::Run { format: 1, run: String::new(), job_sha256: String::new(), n_units: 4 };
        let lines = vec![first, planned(0), done(2.0, 0, "b"), done(2.5, 3, "a"), planned(2), done(2.0, 1, "a")];
        let record = Record::new(lines);
        let [begun, taken_up] = &record.sessions[..] else { panic!("{record:?}") };
        assert_eq!((record.n_units, taken_up.n_before, taken_up.done.len(), begun.seconds()), (4, 2, 1, 2.5));
        // 0.1 and 0.0.
        assert_eq!(
            (begun.units_held(Confidence::new(0.8).unwrap()), taken_up.units_held(Confidence::new(0.1).unwrap())),
            (Some(0.5), Some(0.0))
        );
        assert_eq!(begun.parts().iter().map(|part| &part.worker[..]).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(begun.stretches()[0], Stretch { worker: 1, from: 0.0, until: 2.0, n_units: 1 });
    }
}
