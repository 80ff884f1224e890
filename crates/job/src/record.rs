//! What a journal tells of a run: each time that it was begun or taken up, what was forecast, and who did what when.

use sched::simulate::Stretch;

use units::Confidence;

use crate::coordinator::held;
use crate::kept::{Given, Line};
use crate::run::Part;

/// A run as its journal tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// How many units there are.
    pub n_units: usize,
    /// Each time that it was begun or taken up.
    pub sessions: Vec<Session>,
}

/// From when a run was begun or taken up until it ended or was interrupted.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Who decided.
    pub policy: String,
    /// Units that were done before.
    pub n_before: usize,
    /// What was forecast in the beginning: the median of when all is done, in seconds.
    pub makespan: f64,
    /// The interval of that.
    pub interval: (f64, f64),
    /// How certain it was to be.
    pub confidence: f64,
    /// What each worker was given at first.
    pub shares: Vec<Given>,
    /// Units that were done, in order.
    pub done: Vec<Done>,
}

/// A unit that was done.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// When it ended, in seconds since the run was begun or taken up.
    pub t: f64,
    /// Who did it.
    pub worker: String,
    /// How long it took.
    pub seconds: f64,
    /// And how much processor time.
    pub cpu_seconds: f64,
    /// The probability with which it was forecast to take no longer.
    pub level: Option<f64>,
}

impl Record {
    /// Of a journal. Nothing is told of units before the first plan.
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
    /// When the last unit was done, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.done.iter().map(|done| done.t).fold(0.0, f64::max)
    }

    /// The share of units whose time lay in the interval of such a confidence; nothing where none was forecast.
    #[must_use]
    pub fn units_held(&self, confidence: Confidence) -> Option<f64> {
        held(&self.done.iter().filter_map(|done| done.level).collect::<Vec<_>>(), confidence)
    }

    /// Workers in the order of their names, and what each did.
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

    /// Who did a unit when: the positions are those of [`Session::parts`].
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
