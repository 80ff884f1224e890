//! The candidate that knows the season, of a series that has one: when a season is looked for, how the candidate joins,
//! and when it leaves.
//!
//! A look is a task like the fit of another candidate, due after some step and made elsewhere where those are. One that
//! finds nothing changes nothing. The candidate learns with every sample and is never fitted again.

use serde::{Deserialize, Serialize};

use super::{Auto, Candidate};
use crate::cost::of_fit;
use crate::effort::spend;
use crate::fit::fit;
use crate::history::History;
use crate::model::Model;
use crate::outlook::{N_SEARCHED_MIN, Periods, periods_of};
use crate::spec::Spec;
use crate::task::{Task, Ticket};

/// Windows of samples that are kept to look for seasons in: with the usual window a day at five minutes comes six times
/// in them.
const N_WINDOWS: usize = 3;

/// No look is at more samples than these, three weeks of minutes: it takes as much time as samples.
const N_LOOKED_BACK: usize = 1 << 15;

/// Looks for a season, made and to come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Look {
    /// Cost of the candidate; `None` if the budget does not pay for the candidate, and no season is looked for.
    cost: Option<u64>,
    /// The step of the last look.
    last: u64,
}

/// The samples of an AUTO.
pub(super) fn history(window: usize) -> History {
    History::new(window, Vec::new()).keeping((N_WINDOWS * window).min(N_LOOKED_BACK))
}

impl Look {
    pub(super) fn new(cost: Option<u64>) -> Self {
        Self { cost, last: 0 }
    }

    pub(super) fn afresh(&self) -> Self {
        Self::new(self.cost)
    }

    pub(super) fn is_made(&mut self, clock: u64) {
        self.last = clock;
    }
}

impl Auto {
    /// The step after which a look was due, if one is: whenever the series is half as long again until as many samples
    /// are kept as ever, then once a window, as long as there is no seasonal candidate with a word at any lead.
    pub(super) fn look_due(&self) -> Option<u64> {
        self.look.cost?;
        let (last, n_kept) = (self.look.last, self.history.n_kept());
        let due = if self.is_settled() {
            last + self.history.window() as u64
        } else {
            (last + last / 2).max(N_SEARCHED_MIN as u64).min(n_kept as u64)
        };
        let is_needed = n_kept >= N_SEARCHED_MIN && !(self.is_settled() && self.has_seasonal_word());
        (is_needed && due <= self.history.clock()).then_some(due)
    }

    fn is_settled(&self) -> bool {
        self.look.last >= self.history.n_kept() as u64
    }

    fn has_seasonal_word(&self) -> bool {
        self.seasonal().is_some() && self.record.n_leads_heard(self.candidates.len() - 1) > 0
    }

    /// The candidate that knows the season; the last one.
    pub(super) fn seasonal(&self) -> Option<&Candidate> {
        self.candidates.last().filter(|candidate| candidate.is_seasonal())
    }

    /// The task of looking in the samples that are kept.
    pub(super) fn look(&self) -> Task {
        let ticket = Ticket { model_idx: Ticket::SEASON, clock: self.history.clock() };
        let spec = Spec::Seasonal { periods: Periods::NONE };
        let mut samples: Vec<f64> = self.history.kept().collect();
        samples.drain(..samples.len().saturating_sub(N_LOOKED_BACK));
        Task { spec, samples, ticket, limit: u64::MAX }
    }

    /// Takes what a look found after step `clock`. A candidate with the same season stays, for it has seen more.
    pub(super) fn take_season(&mut self, found: Option<Model>, clock: u64) {
        self.look.is_made(clock);
        let present =
            self.seasonal().filter(|candidate| candidate.predictor.is_some()).map(|candidate| &candidate.spec);
        if found.as_ref().map(Model::spec) == present {
            return;
        }
        if self.seasonal().is_some() {
            self.candidates.pop();
            self.record.leave();
        }
        if let Some(model) = found {
            self.join(&model, clock);
        }
        self.weigh();
    }

    /// Looks for a season in all of a history from whose end the last `n_run` samples will be run over, and learns it
    /// from those before.
    pub(super) fn look_back(&mut self, whole: &[f64], n_run: usize) {
        let whole = &whole[whole.len().saturating_sub(N_LOOKED_BACK)..];
        let before = &whole[..whole.len() - n_run];
        let cost = of_fit(&Spec::Seasonal { periods: Periods::NONE }, whole.len());
        if self.look.cost.is_none() || before.is_empty() || !spend(usize::try_from(cost).unwrap_or(usize::MAX)) {
            return;
        }
        self.look.is_made(whole.len().min(self.history.n_kept()) as u64);
        // Infinities are refused among the samples that are run over; before them they are gaps, as on line.
        let known: Vec<f64> = whole.iter().map(|sample| if sample.is_finite() { *sample } else { f64::NAN }).collect();
        let model =
            periods_of(&known).and_then(|periods| fit(&Spec::Seasonal { periods }, &known[..before.len()]).ok());
        if let Some(model) = model {
            self.join(&model, 0);
        }
    }

    fn join(&mut self, model: &Model, clock: u64) {
        let mut predictor = model.predictor();
        self.history.since(clock).for_each(|sample| predictor.step(sample));
        let fresh = Candidate::seasonal(model.spec().clone(), self.look.cost.unwrap_or(0));
        self.candidates.push(Candidate { predictor: Some(predictor), n_fits: 1, ..fresh });
        self.record.join();
    }

    /// Whether these candidates can have joined those of the specification.
    pub(super) fn is_season_sound(&self, joined: &[Candidate], fresh: &Look) -> bool {
        let is_sound = |one: &Candidate| {
            one.is_seasonal()
                && self.look.cost.is_some_and(|cost| one.is_sound(&Candidate::seasonal(one.spec.clone(), cost)))
        };
        self.look.cost == fresh.cost && self.look.last < 1 << 52 && joined.len() <= 1 && joined.iter().all(is_sound)
    }
}

impl Candidate {
    /// Never to be fitted again.
    fn seasonal(spec: Spec, cost: u64) -> Self {
        Self { spec, reach: usize::MAX, patience: 1, cost, predictor: None, due: u64::MAX, n_fits: 0, n_failures: 0 }
    }

    pub(super) fn is_seasonal(&self) -> bool {
        matches!(self.spec, Spec::Seasonal { .. })
    }
}
