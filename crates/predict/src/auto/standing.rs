//! Standings of the models of an AUTO: the members of its ensemble, and its outlook.

use serde::Serialize;

use super::Auto;
use super::ensemble::EnsembleMember;
use super::record::{LADDER, LeadRecord};
use crate::cost::OF_OUTLOOK;
use crate::inference::Parameter;
use crate::model::Model;
use crate::model::seasonal;
use crate::spec::Spec;

/// A smaller weight would be shown as 0 %.
const WEIGHT_SHOWN: f64 = 0.005;

/// A model of an `AUTO`, its errors and its weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The model.
    pub spec: Spec,
    /// Cost of the model: multiplications with addition per sample, on average.
    pub cost: u64,
    /// Number of times that the model was fitted. One that was never fitted has no forecast yet.
    pub n_fits: u64,
    /// Number of the model's fits that failed.
    pub n_failed_fits: u64,
    /// Known samples that its last fit used; 0 before the first.
    pub n_samples: usize,
    /// The estimates of its last fit, as [`Model::parameters`] names them; empty before the first.
    pub parameters: Vec<Parameter>,
    /// Leads from 1 to 256.
    pub leads: Vec<LeadStanding>,
}

/// Standing of a model at one lead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeadStanding {
    /// Steps ahead.
    pub lead: usize,
    /// Recent mean squared error, in the squared unit of the series; `None` before any forecast came due, and for the
    /// outlook, which is judged by absolute errors.
    pub mean_squared_error: Option<f64>,
    /// Weight in the forecast, in [0, 1].
    pub weight: f64,
}

/// The season of an `AUTO`, and the worth of the outlook that has it beside models that do not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeasonStanding {
    /// The outlook as a model.
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
    /// Weight of the outlook's own candidates in the forecast, in [0, 1].
    #[serde(rename = "weight_ratio")]
    pub weight: f64,
    /// The member with the largest weight; members have no season.
    pub rival: Spec,
    /// Recent mean absolute error of the outlook's best candidate over that of the ensemble; below 1 if the season
    /// helps.
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
    /// One for each member, in the order in which the budget admitted them, and the outlook's, last.
    pub(crate) fn standings(&self) -> Vec<Standing> {
        let of_member = |(idx, member): (usize, &EnsembleMember)| Standing {
            spec: member.spec.clone(),
            cost: member.cost,
            n_fits: member.n_fits,
            n_failed_fits: member.n_failures,
            n_samples: member.model().map_or(0, Model::n_samples),
            parameters: member.model().map_or_else(Vec::new, Model::parameters),
            leads: self.leads(|lead, record| LeadStanding {
                lead,
                mean_squared_error: (record.n > 0.0).then(|| record.squares[idx]),
                weight: self.weight_of_ensemble(lead) * record.weights[idx],
            }),
        };
        let outlook = Standing {
            spec: self.outlook_spec(),
            cost: OF_OUTLOOK,
            n_fits: u64::from(self.outlook.is_begun()),
            n_failed_fits: 0,
            n_samples: self.outlook.n_known(),
            parameters: seasonal::parameters(&self.outlook)
                .into_iter()
                .map(|(name, value)| Parameter { name, value, standard_error: None })
                .collect(),
            leads: self.leads(|lead, _| LeadStanding {
                lead,
                mean_squared_error: None,
                weight: 1.0 - self.weight_of_ensemble(lead),
            }),
        };
        self.ensemble.members.iter().enumerate().map(of_member).chain([outlook]).collect()
    }

    /// The season and its worth, if one was given or found.
    pub(crate) fn season(&self) -> Option<SeasonStanding> {
        let spec = self.outlook_spec();
        let Spec::Seasonal { periods } = &spec else { return None };
        let periods: Vec<f64> = periods.steps().collect();
        if periods.is_empty() {
            return None;
        }
        let lead = |lead: usize| {
            let (rival, _) = self.ensemble_weights_at(lead).into_iter().next()?;
            let error_ratio = self.outlook.error_ratio(lead)?;
            Some(SeasonLead { lead, weight: 1.0 - self.weight_of_ensemble(lead), rival: rival.clone(), error_ratio })
        };
        let leads = LADDER.leads.into_iter().filter_map(lead).collect();
        Some(SeasonStanding { spec, periods, leads })
    }

    /// The models that have at least half a percent of the forecast of some lead; the heaviest at the next sample
    /// first.
    pub(crate) fn speakers(&self) -> Vec<Standing> {
        let mut speakers = self.standings();
        speakers.retain(|standing| standing.leads.iter().any(|at| at.weight >= WEIGHT_SHOWN));
        speakers.sort_by(|one, other| other.weight().total_cmp(&one.weight()));
        speakers
    }

    /// Returns the models that make the forecast for `lead` and their weights, which sum to 1; the heaviest first.
    /// Models with less than half a percent are left out.
    pub(crate) fn weights_at(&self, lead: usize) -> Vec<(Spec, f64)> {
        let of_ensemble = self.weight_of_ensemble(lead);
        let members = self.ensemble_weights_at(lead).into_iter();
        let members = members.map(|(spec, weight)| (spec.clone(), of_ensemble * weight));
        let mut weights: Vec<(Spec, f64)> = members.chain([(self.outlook_spec(), 1.0 - of_ensemble)]).collect();
        weights.retain(|(_, weight)| *weight >= WEIGHT_SHOWN);
        let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
        weights.iter_mut().for_each(|(_, weight)| *weight /= sum);
        weights.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        weights
    }

    /// The model with the largest weight at `lead`.
    pub(crate) fn leading(&self, lead: usize) -> Option<Spec> {
        self.weights_at(lead).into_iter().next().map(|(spec, _)| spec)
    }

    /// The most known samples that a model uses; 0 before the first fit.
    pub(crate) fn n_samples(&self) -> usize {
        let members = self.ensemble.members.iter().filter_map(EnsembleMember::model);
        members.map(Model::n_samples).chain([self.outlook.n_known()]).max().unwrap_or(0)
    }

    /// The outlook as a model of its own.
    fn outlook_spec(&self) -> Spec {
        Spec::Seasonal { periods: self.outlook.periods() }
    }

    /// Returns the weight of the ensemble in the forecast, which its members share.
    fn weight_of_ensemble(&self, lead: usize) -> f64 {
        if self.ensemble.is_ready() { self.outlook.weight_of_ensemble(lead) } else { 0.0 }
    }

    /// The members with weight in the ensemble's forecast for `lead`; the heaviest first.
    fn ensemble_weights_at(&self, lead: usize) -> Vec<(&Spec, f64)> {
        let place = LADDER.place(lead);
        let members = self.ensemble.members.iter().enumerate();
        let mut weights: Vec<(&Spec, f64)> =
            members.map(|(idx, one)| (&one.spec, self.ensemble.record.weight(idx, place))).collect();
        weights.retain(|(_, weight)| *weight > 0.0);
        weights.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        weights
    }

    fn leads(&self, of: impl Fn(usize, &LeadRecord) -> LeadStanding) -> Vec<LeadStanding> {
        LADDER.leads.into_iter().zip(self.ensemble.record.leads()).map(|(lead, record)| of(lead, record)).collect()
    }
}
