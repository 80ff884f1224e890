//! How the candidates of an AUTO stand.

use super::Auto;
use super::record::LADDER;
use crate::inference::Parameter;
use crate::model::Model;
use crate::predictor::Predictor;
use crate::spec::Spec;

/// A candidate of an `AUTO`, and how it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The model.
    pub spec: Spec,
    /// What it costs: multiplications with addition per sample, on average.
    pub cost: u64,
    /// How many times it was fitted. One that never was says nothing yet.
    pub n_fits: u64,
    /// How many of its fits failed.
    pub n_failed_fits: u64,
    /// Known samples that its last fit used; 0 before the first.
    pub n_samples: usize,
    /// The estimates of its last fit, as [`Model::parameters`] names them; empty before the first.
    pub parameters: Vec<Parameter>,
    /// Leads from 1 to 256.
    pub leads: Vec<LeadStanding>,
}

/// How a candidate stands at one lead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeadStanding {
    /// Steps ahead.
    pub lead: usize,
    /// Mean squared error of late, in the squared unit of the series; `None` before any forecast came due.
    pub mean_squared_error: Option<f64>,
    /// The share that its word has in the forecast, in [0, 1].
    pub weight: f64,
}

impl Standing {
    /// Its share in the forecast of the next sample, in [0, 1].
    #[must_use]
    pub fn weight(&self) -> f64 {
        self.leads.first().map_or(0.0, |next| next.weight)
    }
}

impl Auto {
    /// One for each candidate, in the order in which the budget took them in.
    pub(crate) fn standings(&self) -> Vec<Standing> {
        let leads = |candidate_idx: usize| {
            let lead = move |(lead, record): (usize, &super::record::LeadRecord)| LeadStanding {
                lead,
                mean_squared_error: (record.n > 0.0).then(|| record.squares[candidate_idx]),
                weight: record.weights[candidate_idx],
            };
            LADDER.leads.into_iter().zip(self.record.leads()).map(lead).collect()
        };
        let standing = |(idx, candidate): (usize, &super::Candidate)| Standing {
            spec: candidate.spec.clone(),
            cost: candidate.cost,
            n_fits: candidate.n_fits,
            n_failed_fits: candidate.n_failures,
            n_samples: candidate.model().map_or(0, Model::n_samples),
            parameters: candidate.model().map_or_else(Vec::new, Model::parameters),
            leads: leads(idx),
        };
        self.candidates.iter().enumerate().map(standing).collect()
    }

    /// Those that have a word in the forecast of some lead; the heaviest at the next sample first.
    pub(crate) fn speakers(&self) -> Vec<Standing> {
        let mut speakers = self.standings();
        // The last of those that weigh the same is the one that is said to speak.
        speakers.reverse();
        speakers.retain(|standing| standing.leads.iter().any(|at| at.weight > 0.0));
        speakers.sort_by(|one, other| other.weight().total_cmp(&one.weight()));
        speakers
    }

    /// The candidates that have a word in the forecast for `lead` and their weights, which sum to 1; the heaviest first.
    pub(crate) fn weights_at(&self, lead: usize) -> Vec<(&Spec, f64)> {
        let place = LADDER.place(lead);
        let weights =
            self.candidates.iter().enumerate().rev().map(|(idx, one)| (&one.spec, self.record.weight(idx, place)));
        let mut weights: Vec<(&Spec, f64)> = weights.filter(|(_, weight)| *weight > 0.0).collect();
        weights.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        weights
    }

    /// The most known samples that the last fit of a candidate used; 0 before the first.
    pub(crate) fn n_samples(&self) -> usize {
        self.candidates.iter().filter_map(super::Candidate::model).map(Model::n_samples).max().unwrap_or(0)
    }
}

impl super::Candidate {
    /// What its last fit found.
    fn model(&self) -> Option<&Model> {
        self.predictor.as_ref().map(Predictor::model)
    }
}
