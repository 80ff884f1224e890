//! An ensemble of models of the latest samples, refitted in turns. At each lead, the members with the smallest recent
//! errors make the forecast.

use serde::{Deserialize, Serialize};

use super::cost::{self, Admitted};
use super::record::{LADDER, Record};
use crate::history::History;
use crate::model::Model;
use crate::outlook::UNBOUNDED;
use crate::predictor::Predictor;
use crate::spec::Spec;
use crate::task::{Done, Task, Ticket};

/// While there are fewer samples than a window, a member is fitted again when they have grown by one part in so many.
const GROWTH: usize = 2;

/// Steps between two tries to fit a member that could not be fitted.
const RETRY_EVERY: usize = 8;

/// Known samples that a first fit waits for, per coefficient: with fewer than five the fit follows the noise.
const SAMPLES_PER_COEFFICIENT: usize = 5;

/// The members, and how wrong they were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ensemble {
    every: usize,
    pub(super) history: History,
    pub(super) members: Vec<EnsembleMember>,
    pub(super) record: Record,
}

/// One of the models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EnsembleMember {
    pub(super) spec: Spec,
    patience: usize,
    pub(super) cost: u64,
    pub(super) predictor: Option<Predictor>,
    /// The step after which it is to be fitted next.
    pub(super) due: u64,
    pub(super) n_fits: u64,
    pub(super) n_failures: u64,
}

impl Ensemble {
    /// The members that a budget pays for, without a sample. `n_kept` samples are kept.
    pub(super) fn new(every: usize, window: usize, budget: u64, n_kept: usize) -> Self {
        let members: Vec<EnsembleMember> =
            cost::within(every, window, budget).into_iter().map(EnsembleMember::new).collect();
        let history = History::new(window, Vec::new()).keeping(n_kept);
        Self { every, history, record: Record::new(members.len()), members }
    }

    /// Takes a sample, NaN for a gap. Fits that are due, and [`Ensemble::note`] after them, are up to the caller.
    pub(super) fn take(&mut self, sample: f64) {
        self.record.score(sample);
        self.history.push(sample);
        self.members.iter_mut().filter_map(|one| one.predictor.as_mut()).for_each(|one| one.step(sample));
    }

    /// Makes the forecasts by which members are judged, and weighs the members. Returns the mean of each lead; none
    /// while no member was fitted.
    pub(super) fn note(&mut self, n_leads: usize) -> Vec<f64> {
        let n_judged = self.record.n_leads_due();
        let mut rows = vec![Vec::new(); self.members.len()];
        for (idx, member) in self.members.iter_mut().enumerate() {
            if let Some(predictor) = &member.predictor {
                predictor.means_into(n_judged.max(n_leads), &mut rows[idx]);
                if !rows[idx].iter().all(|mean| mean.is_finite()) {
                    member.predictor = None;
                    rows[idx].clear();
                }
            }
            self.record.note(idx, &rows[idx][..n_judged.min(rows[idx].len())]);
        }
        let members = &self.members;
        self.record.weigh(|idx| members[idx].predictor.is_some());
        self.record.note_combination();
        self.combined(n_leads, |idx, _, row| std::mem::swap(row, &mut rows[idx]))
    }

    /// Returns the mean of each lead; none while no member was fitted.
    pub(super) fn means(&self, n_leads: usize) -> Vec<f64> {
        self.combined(n_leads, |idx, n_weighed, row| match &self.members[idx].predictor {
            Some(predictor) => predictor.means_into(n_weighed, row),
            None => row.clear(),
        })
    }

    /// Returns the weighted mean of the members at each lead. `means` swaps in those of a member, of so many leads at
    /// least as have weight.
    fn combined(&self, n_leads: usize, mut means: impl FnMut(usize, usize, &mut Vec<f64>)) -> Vec<f64> {
        let mut combined = vec![0.0; if self.is_ready() { n_leads } else { 0 }];
        let mut weights = vec![0.0; combined.len()];
        let mut row = Vec::new();
        for idx in 0..self.members.len() {
            let n_weighed = self.record.n_leads_weighed(idx).min(combined.len());
            if n_weighed == 0 {
                continue;
            }
            means(idx, n_weighed, &mut row);
            for (lead_idx, mean) in row.iter().take(n_weighed).enumerate() {
                let weight = self.record.weight(idx, LADDER.place(lead_idx + 1));
                if weight > 0.0 {
                    weights[lead_idx] += weight;
                    combined[lead_idx] += (mean - combined[lead_idx]) * weight / weights[lead_idx];
                }
            }
        }
        combined
    }

    /// The fit that is due first.
    pub(super) fn due(&self) -> Option<(usize, &EnsembleMember)> {
        let (clock, n_known) = (self.history.clock(), self.history.n_known());
        let is_due = |(_, member): &(usize, &EnsembleMember)| member.due <= clock && n_known >= member.n_needed();
        self.members.iter().enumerate().filter(is_due).min_by_key(|(_, member)| member.due)
    }

    /// The task of fitting a member to the window.
    pub(super) fn task(&self, model_idx: usize) -> Task {
        let ticket = Ticket { model_idx, clock: self.history.clock() };
        let spec = self.members[model_idx].spec.clone();
        Task { spec, samples: self.history.to_vec(), ticket, range: UNBOUNDED, limit: u64::MAX }
    }

    /// Takes the result of a fit, and runs the model over the samples since.
    pub(super) fn install(&mut self, Done { spec, result, ticket }: Done) {
        let Some(member) = self.members.get_mut(ticket.model_idx).filter(|member| member.spec == spec) else {
            return;
        };
        let wait = match result {
            Ok(model) => {
                let wait =
                    if self.history.is_full() { self.every } else { (model.n_samples() / GROWTH).clamp(1, self.every) };
                let mut predictor = model.predictor();
                self.history.since(ticket.clock).for_each(|sample| predictor.step(sample));
                member.predictor = Some(predictor);
                member.n_fits += 1;
                wait * member.patience
            }
            Err(_) => {
                member.n_failures += 1;
                RETRY_EVERY
            }
        };
        member.due = ticket.clock + wait as u64;
    }

    /// Has a member tried again later whose fit was given up.
    pub(super) fn give_up(&mut self, ticket: Ticket) {
        if let Some(member) = self.members.get_mut(ticket.model_idx) {
            member.due = ticket.clock + RETRY_EVERY as u64;
        }
    }

    /// Whether there is a member that was fitted.
    pub(super) fn is_ready(&self) -> bool {
        self.members.iter().any(|member| member.predictor.is_some())
    }

    /// Whether this can have become of `fresh`.
    pub(super) fn is_like(&self, fresh: &Self) -> bool {
        self.every == fresh.every
            && self.history.is_like(&fresh.history)
            && self.members.len() == fresh.members.len()
            && self.members.iter().zip(&fresh.members).all(|(one, fresh)| one.is_like(fresh))
            && self.record.is_sound(self.members.len())
    }
}

impl EnsembleMember {
    fn new(Admitted { spec, patience, cost }: Admitted) -> Self {
        Self { spec, patience, cost, predictor: None, due: 0, n_fits: 0, n_failures: 0 }
    }

    fn n_needed(&self) -> usize {
        (SAMPLES_PER_COEFFICIENT * self.spec.n_coefficients()).max(self.spec.n_samples_min())
    }

    /// Returns the model that the last fit found.
    pub(super) fn model(&self) -> Option<&Model> {
        self.predictor.as_ref().map(Predictor::model)
    }

    fn is_like(&self, fresh: &Self) -> bool {
        let is_of = |predictor: &Predictor| predictor.model().spec() == &self.spec && predictor.is_sound();
        (&self.spec, self.patience, self.cost) == (&fresh.spec, fresh.patience, fresh.cost)
            && self.predictor.as_ref().is_none_or(is_of)
    }
}
