//! How the candidates of an AUTO stand.

use super::Auto;
use super::record::LADDER;
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
            leads: leads(idx),
        };
        self.candidates.iter().enumerate().map(standing).collect()
    }
}
