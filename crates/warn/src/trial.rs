//! Trial of a rule: the warnings that it would have given over the past, and what came of them.

use predict::{Cancel, Record, Worth};

use crate::ask::History;
use crate::question::Question;

/// Futures drawn for each decision.
const N_PATHS: usize = 250;

/// Decisions within the time that a rule looks ahead, at most.
const N_DECISIONS: usize = 20;

/// Times, within that time, that it is looked what answers are worth.
const N_RENEWALS: usize = 5;

/// State of a warning with hysteresis: raised from one probability on, and cleared below another, lower one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alarm {
    raise: f64,
    clear: f64,
    stands: bool,
}

/// Outcome of a rule's warnings over a stretch of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    /// Steps that were looked at.
    pub n_steps: usize,
    /// Warnings that were raised, and whose time has passed.
    pub n_warned: usize,
    /// Those after which what they warned of came within the time that the rule looks ahead.
    pub n_right: usize,
    /// Those that were raised when it was there already, or had been within that time.
    pub n_late: usize,
    /// Number of times that it came, after having been away for as long as the rule looks ahead.
    pub n_events: usize,
    /// Number of steps before it came at which the warning was raised, at most as many as the rule looks ahead, for
    /// each time that a warning stood.
    pub leads: Vec<usize>,
}

impl Alarm {
    /// One that does not stand.
    ///
    /// # Panics
    /// Unless `clear` is at most `raise`.
    #[must_use]
    pub fn new(raise: f64, clear: f64) -> Self {
        assert!(clear <= raise, "a warning is taken back at {clear}, which is not below {raise}");
        Self { raise, clear, stands: false }
    }

    /// The same that stands already.
    #[must_use]
    pub fn raised(self) -> Self {
        Self { stands: true, ..self }
    }

    /// Whether it stands.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.stands
    }

    /// Updates the alarm with a probability; returns whether that has raised it (`Some(true)`) or had it taken back
    /// (`Some(false)`).
    pub fn update(&mut self, probability: f64) -> Option<bool> {
        let stands = if self.stands { probability >= self.clear } else { probability >= self.raise };
        (std::mem::replace(&mut self.stands, stands) != stands).then_some(stands)
    }
}

/// Runs a rule over the samples from `from` on, each decision by what was known then; `None` when they are too few for
/// any forecast, and when it is cancelled.
#[must_use]
pub fn trial(
    history: History<'_>,
    question: &Question,
    mut alarm: Alarm,
    from: usize,
    seed: u64,
    cancel: &Cancel,
) -> Option<Trial> {
    let mut foresight = history.foresight.clone();
    let rows: Vec<Vec<f64>> = history.steps().collect();
    let samples = foresight.values(&rows);
    let every = question.n_leads.div_ceil(N_DECISIONS);
    let mut trial = Trial { n_steps: samples.len().saturating_sub(from), ..Trial::default() };
    let (mut record, mut worth, mut raised) = (Record::new(question.n_leads), Worth::FULL, None::<usize>);
    let renewed_every = every * N_DECISIONS.div_ceil(N_RENEWALS);
    // An event is over when it has been for as long as the rule looks ahead: what flickers around a line is one.
    let mut n_off = question.n_leads;
    for (idx, row) in rows.iter().enumerate() {
        let is_on = !samples[idx].is_nan() && question.is_on(&samples, idx);
        let begins = is_on && n_off >= question.n_leads;
        n_off = if is_on { 0 } else { n_off + 1 };
        foresight.step(row);
        let is_tried = idx >= from;
        if begins && is_tried {
            trial.n_events += 1;
            trial.leads.extend(raised.map(|raised| (idx - raised).min(question.n_leads)));
        }
        // Before, answers are only to show what they are worth.
        if !idx.is_multiple_of(if is_tried { every } else { renewed_every }) || !foresight.is_ready() {
            continue;
        }
        if cancel.is_cancelled() {
            return None;
        }
        let paths = foresight.paths(N_PATHS, question.n_leads, seed.wrapping_add(idx as u64));
        let drawn = question.probability(&paths);
        if idx.is_multiple_of(renewed_every) {
            worth = record.worth(idx);
        }
        let (told, came) = (worth.told(drawn), question.of_samples(&samples[idx + 1..]));
        if let Some(came) = came {
            record.add(idx, drawn, worth, came.is_some());
        }
        if !is_tried {
            continue;
        }
        match alarm.update(told) {
            Some(true) => {
                raised = Some(idx);
                // Of the latest ones nobody knows yet.
                if let Some(came) = came {
                    let is_late = n_off < question.n_leads;
                    trial.n_warned += 1;
                    trial.n_late += usize::from(is_late);
                    trial.n_right += usize::from(!is_late && came.is_some());
                }
            }
            Some(false) => raised = None,
            None => {}
        }
    }
    foresight.is_ready().then_some(trial)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_stands_until_it_is_well_below() {
        let mut alarm = Alarm::new(0.8, 0.5);
        let changes = [0.7, 0.8, 0.6, 0.5, 0.49, 0.79, 0.9].map(|probability| alarm.update(probability));
        assert_eq!(changes, [None, Some(true), None, None, Some(false), None, Some(true)]);
        assert!(alarm.is_raised());
    }
}
