//! What a journal tells of a run: what was forecast, who did what when, and how good that was.

use sched::simulate::Stretch;

use crate::coordinator::Part;
use crate::kept::{Given, Line};

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
    /// What was decided and what failed later, in order: seconds, and words.
    pub events: Vec<(f64, String)>,
    /// When units were done: seconds, worker, how long it took, processor time.
    pub done: Vec<(f64, String, f64, f64)>,
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
                    let interval = (lower, upper);
                    let (events, done) = (Vec::new(), Vec::new());
                    let session =
                        Session { policy, n_before: n_done, makespan, interval, confidence, shares, events, done };
                    record.sessions.push(session);
                }
                line => record.sessions.last_mut().into_iter().for_each(|session| session.add(&line)),
            }
        }
        record
    }

    /// Units that are done.
    #[must_use]
    pub fn n_done(&self) -> usize {
        self.sessions.last().map_or(0, |session| session.n_before + session.done.len())
    }
}

impl Session {
    fn add(&mut self, line: &Line) {
        match line {
            Line::Done { t, worker, seconds, cpu_seconds, .. } => {
                self.done.push((*t, worker.clone(), *seconds, *cpu_seconds));
            }
            Line::Decided { t, what, worker, from, to } => self.decided(*t, what, worker, to - from),
            Line::Failed { t, worker, why } => self.events.push((*t, format!("{worker} failed: {why}"))),
            Line::Run { .. } | Line::Planned { .. } => {}
        }
    }

    fn decided(&mut self, t: f64, what: &str, worker: &str, n_units: usize) {
        let units = if n_units == 1 { "1 unit".to_owned() } else { format!("{n_units} units") };
        let words = match what {
            "give_up" => format!("{worker} gives up {units}: it is forecast to end later than others could"),
            "twin" => format!("{worker} runs {units} once more: it is forecast to end before the first one does"),
            // What is given out at the start stands in the plan.
            _ if self.events.is_empty() && self.done.is_empty() => return,
            _ => format!("{worker} takes {units}: it had nothing to do"),
        };
        self.events.push((t, words));
    }

    /// When the last unit was done, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.done.iter().map(|(t, ..)| *t).fold(0.0, f64::max)
    }

    /// Workers in the order of their names, and what each did.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for (_, worker, seconds, cpu_seconds) in &self.done {
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
        let stretch = |(t, worker, seconds, _): &(f64, String, f64, f64)| Stretch {
            worker: at(worker),
            from: (t - seconds).max(0.0),
            until: *t,
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
        let run = |t: f64, what: &str, worker: &str, from, to| Line::Decided {
            t,
            what: what.to_owned(),
            worker: worker.to_owned(),
            from,
            to,
        };
        let done =
            |t, unit, worker: &str| Line::Done { t, unit, worker: worker.to_owned(), seconds: 2.0, cpu_seconds: 1.0 };
        let planned = Line::Planned {
            policy: "EQUAL".to_owned(),
            n_done: 0,
            makespan: 4.0,
            lower: 3.0,
            upper: 5.0,
            confidence: 0.8,
            shares: Vec::new(),
        };
        let first = Line::Run { format: 1, run: String::new(), job_sha256: String::new(), n_units: 4 };
        let record = Record::new(vec![
            first,
            planned,
            run(0.0, "run", "b", 0, 3),
            run(0.0, "run", "a", 3, 4),
            done(2.0, 0, "b"),
            done(2.5, 3, "a"),
            run(2.6, "give_up", "b", 2, 3),
            run(2.6, "run", "a", 2, 3),
        ]);
        let session = &record.sessions[0];
        assert_eq!((record.n_units, record.n_done(), session.seconds()), (4, 2, 2.5));
        assert_eq!(session.parts().iter().map(|part| &part.worker[..]).collect::<Vec<_>>(), ["a", "b"]);
        let first = Stretch { worker: 1, from: 0.0, until: 2.0, n_units: 1 };
        assert_eq!(session.stretches()[0], first);
        let words: Vec<&str> = session.events.iter().map(|(_, words)| &words[..]).collect();
        assert!(words.len() == 2 && words[0].starts_with("b gives up 1 unit:"), "{words:?}");
        assert!(words[1].starts_with("a takes 1 unit:"), "{words:?}");
    }
}
