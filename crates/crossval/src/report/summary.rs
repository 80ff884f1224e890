//! The figures of a report, for programs.

use serde::Serialize;

use super::recommend::Recommendation;
use super::residuals::Kept;
use super::verdict::Verdict;
use crate::results::Results;

/// The summary of a report. Numbers that are not there are null.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The model to use; none where none was judged on most of its windows.
    pub recommended: Option<String>,
    /// The model of the template that it is of.
    pub recommended_of: Option<String>,
    /// Cases in the results.
    pub n_cases: usize,
    /// The models by lead.
    pub leads: Vec<LeadSummary>,
    /// The test results for the errors one step ahead, by model, in the template's order.
    pub residuals: Vec<ResidualSummary>,
    /// The reasons why cases failed.
    pub failures: Vec<FailureSummary>,
}

/// The models at a lead, the best first.
#[derive(Clone, Debug, Serialize)]
pub struct LeadSummary {
    /// Steps ahead.
    pub lead: usize,
    /// The results of each model.
    pub models: Vec<ModelSummary>,
}

/// Results of a model of the template at a lead.
#[derive(Clone, Debug, Serialize)]
pub struct ModelSummary {
    /// The model as the template has it, or a peer's name.
    pub model: String,
    /// The share of comparisons on the same window that it won, ties counting half.
    pub win_share: f64,
    /// Median loss over that of MEAN.
    pub over_mean: f64,
    /// Median squared error over that of LAST.
    pub over_last: f64,
    /// Shares of samples inside the 50, 80 and 95 % intervals.
    pub coverage: [f64; 3],
}

/// Test results for the errors one step ahead.
#[derive(Clone, Debug, Serialize)]
pub struct ResidualSummary {
    /// The model as the template has it, or a peer's name.
    pub model: String,
    /// The shares of cases that pass.
    #[serde(flatten)]
    pub kept: Kept,
}

/// Cases of a model that failed for one reason.
#[derive(Clone, Debug, Serialize)]
pub struct FailureSummary {
    /// The model as the template has it, or a peer's name.
    pub model: String,
    /// Why.
    pub reason: String,
    /// The number of cases.
    pub n_cases: u64,
}

pub(super) fn summary(results: &Results, verdicts: &[Verdict], recommendation: Option<&Recommendation>) -> Summary {
    let name = |family_idx: usize| results.families[family_idx].clone();
    let lead = |verdict: &Verdict| LeadSummary {
        lead: verdict.lead,
        models: verdict
            .standings
            .iter()
            .map(|standing| ModelSummary {
                model: name(standing.family_idx),
                win_share: standing.win_share,
                over_mean: standing.over_mean,
                over_last: standing.over_last,
                coverage: standing.coverage,
            })
            .collect(),
    };
    let residuals = |family_idx: usize| {
        let records = results.records.iter().filter(|record| record.family_idx == family_idx);
        ResidualSummary { model: name(family_idx), kept: Kept::of(records) }
    };
    let failure = |((family_idx, reason), n_cases): (&(usize, String), &u64)| FailureSummary {
        model: name(*family_idx),
        reason: reason.clone(),
        n_cases: *n_cases,
    };
    Summary {
        recommended: recommendation.map(|recommendation| recommendation.model.clone()),
        recommended_of: recommendation.map(|recommendation| name(recommendation.family_idx)),
        n_cases: results.records.len(),
        leads: verdicts.iter().map(lead).collect(),
        residuals: (0..results.families.len()).map(residuals).collect(),
        failures: results.failures.iter().map(failure).collect(),
    }
}
