//! Errors and the coverage of intervals, by lead.

use super::order;
use crate::report::charts::{self, Line};
use crate::report::figure::{dash, figure};
use crate::report::verdict::Verdict;
use crate::results::Results;
use document::{Block, heading, paragraph};

pub(super) fn accuracy(results: &Results, verdicts: &[Verdict]) -> Vec<Block> {
    let order = order(results, verdicts);
    let of = |family_idx: usize, verdict: &Verdict| verdict.standing(family_idx).map(|standing| standing.over_mean);
    let row = |family_idx: &usize| {
        let cells = verdicts.iter().map(|verdict| of(*family_idx, verdict).map_or_else(dash, figure));
        std::iter::once(format!("`{}`", results.families[*family_idx])).chain(cells).collect()
    };
    let line = |family_idx: &usize| Line {
        name: results.families[*family_idx].clone(),
        points: verdicts
            .iter()
            .filter_map(|verdict| {
                Some((verdict.lead as f64, of(*family_idx, verdict).filter(|value| value.is_finite())?))
            })
            .collect(),
    };
    let lines: Vec<Line> = order.iter().map(line).collect();
    let name = results.metric.name();
    let caption = "Medians over cases; at 1 a model is as good as the mean of what it was fitted to.";
    vec![
        heading(2, "Errors by lead"),
        Block::Picture {
            picture: charts::over_leads(
                &format!("Error ({name}) over that of MEAN"),
                caption,
                "error over MEAN",
                &lines,
                1.0,
            ),
            words: "Median errors of all models over lead times, as in the table below".to_owned(),
        },
        lead_table("model", results.leads.iter().copied(), order.iter().map(row).collect()),
        paragraph(format!(
            "Medians over cases of the {name}, over that of the mean of the samples that the model was fitted to (for CRPS and interval \
             scores: over its mean absolute error). Models are in the order of comparisons won over all leads."
        )),
    ]
}

/// Builds the section on the errors of every model on the windows that it shares with LAST, so that easy and hard
/// windows do not matter.
pub(super) fn over_last(results: &Results, verdicts: &[Verdict]) -> Vec<Block> {
    let row = |family_idx: &usize| {
        let over_last = |verdict: &Verdict| verdict.standing(*family_idx).map(|standing| standing.over_last);
        let cells = verdicts.iter().map(|verdict| over_last(verdict).map_or_else(dash, figure));
        std::iter::once(format!("`{}`", results.families[*family_idx])).chain(cells).collect()
    };
    vec![
        heading(2, "Errors over LAST"),
        lead_table("model", results.leads.iter().copied(), order(results, verdicts).iter().map(row).collect()),
        paragraph(
            "Medians over cases of the mean squared error over that of LAST on the same window. Below 1 a model is better than LAST on most windows.",
        ),
    ]
}

pub(super) fn calibration(results: &Results, verdicts: &[Verdict]) -> Vec<Block> {
    let order = order(results, verdicts);
    let of = |family_idx: usize, verdict: &Verdict| verdict.standing(family_idx).map(|standing| standing.coverage);
    let line = |family_idx: &usize| Line {
        name: results.families[*family_idx].clone(),
        points: verdicts
            .iter()
            .filter_map(|verdict| Some((verdict.lead as f64, of(*family_idx, verdict)?[2])))
            .filter(|(_, share)| share.is_finite())
            .collect(),
    };
    let row = |family_idx: &usize| {
        let cells = verdicts.iter().map(|verdict| {
            of(*family_idx, verdict).map_or_else(dash, |shares| {
                let whole = shares.map(|share| format!("{:.0}", 100.0 * share));
                if shares[2].is_nan() { dash() } else { whole.join(" / ") }
            })
        });
        std::iter::once(format!("`{}`", results.families[*family_idx])).chain(cells).collect()
    };
    let lines: Vec<Line> = order.iter().map(line).collect();
    let caption = "Below the dashed line intervals are too narrow, above it too wide.";
    vec![
        heading(2, "Calibration"),
        Block::Picture {
            picture: charts::over_leads(
                "Share of samples inside 95 % intervals",
                caption,
                "share inside",
                &lines,
                0.95,
            ),
            words: "Coverage of 95 % intervals over lead times, as in the table below".to_owned(),
        },
        lead_table("model", results.leads.iter().copied(), order.iter().map(row).collect()),
        paragraph("Percent of samples inside the 50, 80 and 95 % intervals, means over cases."),
    ]
}

/// A table with a column for each lead.
pub(super) fn lead_table(first: &str, leads: impl Iterator<Item = usize>, rows: Vec<Vec<String>>) -> Block {
    let header = std::iter::once(first.to_owned()).chain(leads.map(|lead| format!("lead {lead}"))).collect();
    Block::Table { header, rows }
}
