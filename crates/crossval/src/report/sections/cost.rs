//! Cost of a model, and the error that is left.

use std::collections::BTreeMap;

use super::order;
use crate::report::charts;
use crate::report::figure::figure;
use crate::report::verdict::{Verdict, median, over_leads};
use crate::results::Results;
use document::{Block, heading, paragraph, table};

pub(super) fn cost(results: &Results, verdicts: &[Verdict]) -> Vec<Block> {
    let mut blocks = vec![heading(2, "Cost against accuracy")];
    if results.hosts.is_empty() {
        blocks.push(paragraph("Unknown: the file of timings is not beside the results."));
        return blocks;
    }
    let mut by_family: BTreeMap<usize, Vec<(f32, f32)>> = BTreeMap::new();
    for record in results.records.iter().filter(|record| !record.has_failed) {
        by_family.entry(record.family_idx).or_default().push(record.timing);
    }
    let error = |family_idx: usize| over_leads(verdicts, family_idx, |standing| standing.over_mean);
    let mut points = Vec::new();
    let mut rows = Vec::new();
    for family_idx in order(results, verdicts) {
        let Some(times) = by_family.get(&family_idx) else { continue };
        let (fit, step) = (
            1e6 * median(times.iter().map(|time| time.0.into())),
            1e6 * median(times.iter().map(|time| time.1.into())),
        );
        let name = &results.families[family_idx];
        points.push((name.clone(), step, error(family_idx)));
        rows.push(vec![format!("`{name}`"), figure(fit), figure(step), figure(error(family_idx))]);
    }
    blocks.push(Block::Picture {
        picture: charts::costs(
            "What a step costs, and what is left of the error",
            "error over MEAN, mean of leads",
            &points,
        ),
        words: "Cost of a step against error for all models, as in the table below".to_owned(),
    });
    blocks.push(table(&["model", "fit, µs", "step, µs", "error over MEAN, mean of leads"], rows));
    blocks.push(paragraph(format!(
        "Medians over cases. A step takes a sample, refits if that is due, forecasts all leads, and scores them. Measured on {}.",
        results.hosts.iter().map(|host| format!("`{host}`")).collect::<Vec<_>>().join(", ")
    )));
    blocks
}
