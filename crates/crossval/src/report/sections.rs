//! The sections of a report, from what was found to what was done.

mod cost;
mod leads;
mod ranks;
mod recommended;
mod residuals;

use std::collections::BTreeMap;

use super::blocks::Window;
use super::figure::{code, dash, figure, p_value, percent};
use super::recommend::Recommendation;
use super::verdict::{Verdict, over_leads, standings};
use super::{Costs, ReportSettings, SIGNIFICANCE};
use crate::results::Results;
use document::{Block, heading, paragraph, table};

pub(crate) fn all(
    settings: &ReportSettings,
    results: &Results,
    verdicts: &[Verdict],
    recommendation: Option<&Recommendation>,
) -> Vec<Block> {
    let mut blocks = vec![heading(1, &settings.title)];
    blocks.extend(recommended::recommended(results, verdicts, recommendation));
    blocks.extend(winners(results, verdicts));
    blocks.extend(leads::accuracy(results, verdicts));
    blocks.extend(leads::over_last(results, verdicts));
    blocks.extend(ranks::ranks(results, verdicts));
    if settings.costs == Costs::Shown {
        blocks.extend(cost::cost(results, verdicts));
    }
    blocks.extend(leads::calibration(results, verdicts));
    blocks.extend(residuals::residuals(results, verdicts));
    blocks.extend(by_trace(results));
    blocks.extend(failures(results));
    blocks.extend(method(results));
    blocks
}

fn winners(results: &Results, verdicts: &[Verdict]) -> Vec<Block> {
    let row = |verdict: &Verdict| {
        let [best, second, ..] = &verdict.standings[..] else { return None };
        let pair = verdict.pair(best.family_idx, second.family_idx)?;
        let p = format!("{} ({})", p_value(pair.p_adjusted), pair.test.n);
        let is_shown = if pair.p_adjusted < SIGNIFICANCE { "yes" } else { "not shown" };
        Some(vec![
            verdict.lead.to_string(),
            code(results, best),
            percent(best.win_share),
            code(results, second),
            percent(second.win_share),
            figure(pair.ratio),
            p,
            is_shown.to_owned(),
        ])
    };
    let header = ["lead", "winner", "won", "next", "won", "error ratio", "p (windows)", "beyond chance"];
    vec![
        heading(2, "Who wins, by how much, and whether that matters"),
        table(&header, verdicts.iter().filter_map(row).collect()),
        paragraph(
            "Won is the share of comparisons with other models on the same window. The error ratio is the geometric mean of the winner's \
             error over the next one's. The p-value is that of a signed-rank test over windows whose test parts do not overlap, \
             adjusted by Holm's method for all pairs of models at the lead.",
        ),
    ]
}

fn by_trace(results: &Results) -> Vec<Block> {
    let mut by_trace: BTreeMap<usize, Vec<Window<'_>>> = BTreeMap::new();
    for window in Window::all(&results.records) {
        by_trace.entry(window.place().trace_idx).or_default().push(window);
    }
    let row = |(trace_idx, windows): (&usize, &Vec<Window<'_>>)| {
        let best = |lead_idx: usize| {
            let standings = standings(windows, lead_idx, results.families.len());
            let best = standings.first();
            best.map_or_else(dash, |best| format!("{} {}", code(results, best), figure(best.over_mean)))
        };
        let n_cases: usize = windows.iter().map(|window| window.cases.len()).sum();
        let name = format!("`{}` ({n_cases} cases)", results.identity.traces[*trace_idx].name);
        std::iter::once(name).chain((0..results.leads.len()).map(best)).collect()
    };
    vec![
        heading(2, "By trace"),
        leads::lead_table("trace", results.leads.iter().copied(), by_trace.iter().map(row).collect()),
        paragraph("The model that won most comparisons on the trace, and its median error over that of MEAN."),
    ]
}

fn failures(results: &Results) -> Vec<Block> {
    let n_unscored = results
        .records
        .iter()
        .filter(|record| !record.has_failed && record.scores.iter().all(|score| score.loss.is_nan()))
        .count();
    let n_failed: u64 = results.failures.values().sum();
    let sentence = format!(
        "{n_failed} of {} cases failed, and {n_unscored} had nothing to be scored on. A failure counts as an error beyond any other.",
        results.records.len()
    );
    let mut blocks = vec![heading(2, "Failures"), paragraph(sentence)];
    if n_failed > 0 {
        let row = |((family_idx, reason), n): (&(usize, String), &u64)| {
            vec![format!("`{}`", results.families[*family_idx]), reason.clone(), n.to_string()]
        };
        blocks.push(table(&["model", "reason", "cases"], results.failures.iter().map(row).collect()));
    }
    blocks
}

fn method(results: &Results) -> Vec<Block> {
    let identity = &results.identity;
    let traces = identity.traces.iter().map(|trace| {
        vec![
            format!("`{}`", trace.name),
            trace.n_samples.to_string(),
            format!("`{}`", &trace.sha256.get(..16).unwrap_or_default()),
        ]
    });
    vec![
        heading(2, "How this was found"),
        paragraph(format!(
            "{} cases drawn with seed {} from the template below by Foretop {}. Each is a window of a trace and a model that is fitted to the \
             first part of it and then led over the rest, sample by sample, as a node would do it; models share windows. Errors are \
             judged by the {}.",
            results.n_cases,
            identity.seed,
            identity.version,
            results.metric.name()
        )),
        Block::Listing(identity.template.clone()),
        table(&["trace", "samples", "SHA-256 of the samples"], traces.collect()),
    ]
}

/// Models by the mean over leads of the share of comparisons won.
fn order(results: &Results, verdicts: &[Verdict]) -> Vec<usize> {
    let share = |family_idx: usize| over_leads(verdicts, family_idx, |standing| standing.win_share);
    let shares = (0..results.families.len()).map(|idx| (idx, share(idx)));
    let mut shares: Vec<(usize, f64)> = shares.filter(|(_, share)| !share.is_nan()).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares.into_iter().map(|(idx, _)| idx).collect()
}
