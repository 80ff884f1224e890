//! Two campaigns against each other: the same models on the same windows, by another program, or another template.

use std::collections::HashMap;

use statistics::{holm, signed_rank};

use crate::report::Kept;
use crate::report::blocks::disjoint;
use crate::report::verdict::{log_ratio, mean};
use crate::results::{Place, Record, Results};

/// Differences between the cases that two campaigns have in common.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Comparison {
    /// Cases with the same model on the same window.
    pub n_common: usize,
    /// Those of them whose losses at the leads compared are the same to the last bit.
    pub n_identical: usize,
    /// The models of both templates by model and lead, in the order of the first campaign's template.
    pub rows: Vec<Compared>,
    /// The test results by model, for the errors one step ahead of the cases in common.
    pub residuals: Vec<ComparedResiduals>,
}

/// A model of both templates at one lead.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Compared {
    /// The model, as the templates have it.
    pub family: String,
    /// Steps ahead.
    pub lead: usize,
    /// Cases in common.
    pub n: usize,
    /// Geometric mean of the second one's loss over the first one's; NaN where no case has a loss above 0 in both.
    pub ratio: f64,
    /// Windows whose test parts do not overlap, and in which the losses differ: what the test is over.
    pub n_tested: usize,
    /// The p-value of a signed-rank test, adjusted by Holm's method for all rows.
    pub p_value: f64,
}

/// The errors one step ahead of a model of both templates.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ComparedResiduals {
    /// The model, as the templates have it.
    pub family: String,
    /// The test results in the first campaign.
    pub first: Kept,
    /// The test results in the second campaign.
    pub second: Kept,
}

/// The reason why two campaigns cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComparisonError {
    /// Other traces, windows, models or leads.
    #[error(
        "the two campaigns have no case in common: the same model on the same window of the same samples; use the same seed, traces and \
         lengths for both"
    )]
    NothingInCommon,
}

/// The key by which cases of two files are the same.
type Key<'r> = (&'r str, Place, &'r str);

impl Comparison {
    /// Compares campaigns that were read with the same metric.
    ///
    /// # Errors
    /// [`ComparisonError`] without a case in common.
    pub fn new(first: &Results, second: &Results) -> Result<Self, ComparisonError> {
        let others: HashMap<Key<'_>, &Record> =
            second.records.iter().map(|record| (key(second, record), record)).collect();
        let common: Vec<(&Record, &Record)> =
            first.records.iter().filter_map(|record| Some((record, *others.get(&key(first, record))?))).collect();
        let leads: Vec<(usize, usize)> = (0..first.leads.len())
            .filter_map(|idx| Some((idx, second.leads.iter().position(|lead| *lead == first.leads[idx])?)))
            .collect();
        if common.is_empty() || leads.is_empty() {
            return Err(ComparisonError::NothingInCommon);
        }
        let is_identical = |pair: &&(&Record, &Record)| {
            leads.iter().all(|(one, other)| pair.0.scores[*one].loss.to_bits() == pair.1.scores[*other].loss.to_bits())
        };
        let n_identical = common.iter().filter(is_identical).count();
        let (mut rows, mut residuals) = (Vec::new(), Vec::new());
        for (family_idx, family) in first.families.iter().enumerate() {
            let of_family = common.iter().filter(|(record, _)| record.family_idx == family_idx);
            if of_family.clone().next().is_some() {
                let (first, second) = (of_family.clone().map(|pair| pair.0), of_family.clone().map(|pair| pair.1));
                let family = family.clone();
                residuals.push(ComparedResiduals { family, first: Kept::of(first), second: Kept::of(second) });
            }
            for (one, other) in &leads {
                let losses = of_family.clone().map(|(a, b)| (&a.place, a.scores[*one].loss, b.scores[*other].loss));
                let losses: Vec<_> = losses.filter(|(_, a, b)| !a.is_nan() && !b.is_nan()).collect();
                if !losses.is_empty() {
                    rows.push(compared(family, first.leads[*one], losses));
                }
            }
        }
        let adjusted = holm(&rows.iter().map(|row| row.p_value).collect::<Vec<_>>());
        rows.iter_mut().zip(adjusted).for_each(|(row, p_value)| row.p_value = p_value);
        Ok(Self { n_common: common.len(), n_identical, rows, residuals })
    }
}

fn key<'r>(results: &'r Results, record: &Record) -> Key<'r> {
    // Which number a trace has is a matter of the file.
    let place = Place { trace_idx: 0, ..record.place };
    (&results.identity.traces[record.place.trace_idx].sha256, place, &results.models[record.model_idx])
}

fn compared(family: &str, lead: usize, losses: Vec<(&Place, f64, f64)>) -> Compared {
    let n = losses.len();
    let ratios = losses.iter().map(|(_, a, b)| log_ratio(*b, *a));
    let ratio = mean(ratios.map(|ratio| if ratio.is_finite() { ratio } else { f64::NAN })).exp();
    let separate = disjoint(losses.into_iter(), |(place, ..)| place);
    let test = signed_rank(&separate.into_iter().map(|(_, a, b)| log_ratio(b, a)).collect::<Vec<_>>());
    Compared { family: family.to_owned(), lead, n, ratio, n_tested: test.n, p_value: test.p_value }
}
