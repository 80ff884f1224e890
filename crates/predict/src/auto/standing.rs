//! Standings of the candidates of an AUTO.

use serde::Serialize;

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
    /// Cost of the candidate: multiplications with addition per sample, on average.
    pub cost: u64,
    /// Number of times that the candidate was fitted. A candidate that was never fitted has no forecast yet.
    pub n_fits: u64,
    /// Number of the candidate's fits that failed.
    pub n_failed_fits: u64,
    /// Known samples that its last fit used; 0 before the first.
    pub n_samples: usize,
    /// The estimates of its last fit, as [`Model::parameters`] names them; empty before the first.
    pub parameters: Vec<Parameter>,
    /// Leads from 1 to 256.
    pub leads: Vec<LeadStanding>,
}

/// Standing of a candidate at one lead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeadStanding {
    /// Steps ahead.
    pub lead: usize,
    /// Mean squared error of late, in the squared unit of the series; `None` before any forecast came due.
    pub mean_squared_error: Option<f64>,
    /// The share that its word has in the forecast, in [0, 1].
    pub weight: f64,
}

/// The season that an `AUTO` found, and what the model that knows it is worth beside the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeasonStanding {
    /// The model, which is a candidate since.
    #[serde(rename = "model")]
    pub spec: Spec,
    /// The lengths of the season in steps: one, or two as of a day and a week.
    #[serde(rename = "period_steps")]
    pub periods: Vec<f64>,
    /// Leads from 1 to 256, as far as forecasts for them have been compared with what came.
    pub leads: Vec<SeasonLead>,
}

/// Value of knowing the season at one lead.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeasonLead {
    /// Steps ahead.
    #[serde(rename = "lead_steps")]
    pub lead: usize,
    /// The share that the season's model has in the forecast, in [0, 1].
    #[serde(rename = "weight_ratio")]
    pub weight: f64,
    /// The best of the models that know no season.
    pub rival: Spec,
    /// The root mean squared error of the season's model of late over that of the rival; below 1 where the season
    /// helps. A model that joined lately is taken to have erred as all together did before.
    pub error_ratio: f64,
}

impl SeasonStanding {
    /// The lead at which knowing the season helps most.
    #[must_use]
    pub fn best(&self) -> Option<&SeasonLead> {
        self.leads.iter().min_by(|one, other| one.error_ratio.total_cmp(&other.error_ratio))
    }
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

    /// The season and what it is worth, if one was found.
    pub(crate) fn season(&self) -> Option<SeasonStanding> {
        let seasonal = self.seasonal()?;
        let Spec::Seasonal { periods } = seasonal.spec else { return None };
        let season_idx = self.candidates.len() - 1;
        let lead = |(lead, record): (usize, &super::record::LeadRecord)| {
            let speaks = |(_, one): &(usize, &super::Candidate)| one.predictor.is_some() && lead <= one.reach;
            let rivals = self.candidates[..season_idx].iter().enumerate().filter(speaks);
            let (rival_idx, rival) =
                rivals.min_by(|(one, _), (other, _)| record.squares[*one].total_cmp(&record.squares[*other]))?;
            let [own, others] = [season_idx, rival_idx].map(|idx| record.squares[idx]);
            (record.n > 0.0 && others > 0.0).then(|| SeasonLead {
                lead,
                weight: record.weights[season_idx],
                rival: rival.spec.clone(),
                error_ratio: (own / others).sqrt(),
            })
        };
        let leads = LADDER.leads.into_iter().zip(self.record.leads()).filter_map(lead).collect();
        Some(SeasonStanding { spec: seasonal.spec.clone(), periods: periods.steps().collect(), leads })
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

    /// The candidates that have a word in the forecast for `lead` and their weights, which sum to 1; the heaviest
    /// first.
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
    /// Returns the model that the last fit found.
    fn model(&self) -> Option<&Model> {
        self.predictor.as_ref().map(Predictor::model)
    }
}
