//! The sections of a report, from what was found to what was done.

use std::collections::BTreeMap;

use super::SIGNIFICANCE;
use super::blocks::Window;
use super::charts::{self, Line};
use super::document::{Block, heading, paragraph, table};
use super::recommend::{Choice, Recommendation};
use super::verdict::{Standing, Verdict, mean, median, standings};
use crate::results::{Record, Results};
use crate::statistics::critical_difference;

pub(crate) fn all(
    title: &str,
    results: &Results,
    verdicts: &[Verdict],
    recommendation: Option<&Recommendation>,
) -> Vec<Block> {
    let mut blocks = vec![heading(1, title)];
    blocks.extend(recommended(results, verdicts, recommendation));
    blocks.extend(winners(results, verdicts));
    blocks.extend(accuracy(results, verdicts));
    blocks.extend(ranks(results, verdicts));
    blocks.extend(cost(results, verdicts));
    blocks.extend(calibration(results, verdicts));
    blocks.extend(by_trace(results));
    blocks.extend(failures(results));
    blocks.extend(method(results));
    blocks
}

fn recommended(results: &Results, verdicts: &[Verdict], recommendation: Option<&Recommendation>) -> Vec<Block> {
    let Some(Recommendation { family_idx, model, win_share, choice }) = recommendation else {
        return vec![paragraph("There is no case in these results, and nothing to recommend.")];
    };
    let family = &results.families[*family_idx];
    let won = format!("`{family}` won {} of its comparisons with other models, over all leads", percent(*win_share));
    let how = match choice {
        Choice::Only => String::new(),
        Choice::WithinOneError { best, n_within, n } => format!(
            " Of the {n} of its models that were judged often enough, `{best}` had the least error; {n_within} were within one standard \
             error of it, and `{model}` has the fewest coefficients of these."
        ),
        Choice::NumberByNumber => format!(
            " Its models are too many for each to be judged; in `{model}` each number is the middle of the range of its values in which \
             errors were least."
        ),
    };
    let at_leads = verdicts.iter().filter_map(|verdict| {
        let standing = verdict.standings.iter().find(|standing| standing.family_idx == *family_idx)?;
        let n_others = results.families.len() - 1;
        let n_beaten = (0..results.families.len())
            .filter_map(|other| verdict.pair(*family_idx, other))
            .filter(|pair| pair.ratio < 1.0 && pair.p_adjusted < SIGNIFICANCE)
            .count();
        Some(vec![
            verdict.lead.to_string(),
            figure(standing.over_mean),
            figure(standing.over_last),
            percent(standing.win_share),
            format!("{n_beaten} of {n_others}"),
        ])
    });
    let header = ["lead", "error over MEAN", "squared error over LAST", "comparisons won", "better beyond chance than"];
    vec![
        paragraph(format!("Use `{model}`. {won}.{how}")),
        table(&header, at_leads.collect()),
        paragraph(alternatives(results, verdicts, *family_idx)),
    ]
}

/// Models that no test tells from the recommended one at any lead.
fn alternatives(results: &Results, verdicts: &[Verdict], family_idx: usize) -> String {
    let is_alike = |other: &usize| {
        let pairs: Vec<_> = verdicts.iter().filter_map(|verdict| verdict.pair(family_idx, *other)).collect();
        !pairs.is_empty() && pairs.iter().all(|pair| pair.p_adjusted >= SIGNIFICANCE)
    };
    let others = (0..results.families.len()).filter(|other| *other != family_idx);
    let alike: Vec<String> = others.filter(is_alike).map(|other| format!("`{}`", results.families[other])).collect();
    match &alike[..] {
        [] => "Every other model differs from it beyond chance at some lead.".to_owned(),
        alike => format!(
            "At no lead do these results tell it from {}: that is no proof that they are as good, and a reason to take the one that is \
             cheapest.",
            alike.join(", ")
        ),
    }
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

fn accuracy(results: &Results, verdicts: &[Verdict]) -> Vec<Block> {
    let order = order(results, verdicts);
    let of = |family_idx: usize, verdict: &Verdict| {
        verdict.standings.iter().find(|standing| standing.family_idx == family_idx).map(|standing| standing.over_mean)
    };
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

fn ranks(results: &Results, verdicts: &[Verdict]) -> Vec<Block> {
    let mut blocks = vec![heading(2, "Mean ranks")];
    for verdict in verdicts {
        let Some(found) = &verdict.friedman else { continue };
        let models: Vec<(String, f64)> =
            results.families.iter().cloned().zip(found.mean_ranks.iter().copied()).collect();
        let difference = critical_difference(models.len(), found.n, SIGNIFICANCE);
        blocks.push(heading(3, format!("Lead {}", verdict.lead)));
        blocks.push(paragraph(format!(
            "Over {} windows, Friedman's statistic is {:.1} ({}). Mean ranks farther apart than {difference:.2} differ at the level of {SIGNIFICANCE}.",
            found.n,
            found.statistic,
            p_value(found.p_value)
        )));
        blocks.push(Block::Picture {
            picture: charts::critical_difference(&models, difference),
            words: format!("Critical-difference diagram at lead {}, as in the table below", verdict.lead),
        });
        blocks.push(rank_table(models, difference));
    }
    if blocks.len() == 1 {
        blocks.push(paragraph(
            "There are none: fewer than two windows that do not overlap were given to all models. Without `models_per_window` in the \
             template every window is.",
        ));
    }
    blocks
}

fn rank_table(mut models: Vec<(String, f64)>, difference: f64) -> Block {
    models.sort_by(|a, b| a.1.total_cmp(&b.1));
    let groups = charts::groups(&models.iter().map(|(_, rank)| *rank).collect::<Vec<_>>(), difference);
    let letters = |idx: usize| {
        let within = groups.iter().enumerate().filter(|(_, (first, last))| (*first..=*last).contains(&idx));
        within.map(|(group, _)| char::from(b'a' + (group % 26) as u8)).collect::<String>()
    };
    let rows = models.iter().enumerate();
    let rows = rows.map(|(idx, (name, rank))| vec![format!("`{name}`"), format!("{rank:.2}"), letters(idx)]).collect();
    table(&["model", "mean rank", "not told apart"], rows)
}

fn cost(results: &Results, verdicts: &[Verdict]) -> Vec<Block> {
    let mut blocks = vec![heading(2, "Cost against accuracy")];
    if results.timings.is_empty() {
        blocks.push(paragraph("Unknown: the file of timings is not beside the results."));
        return blocks;
    }
    let mut by_family: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
    for record in results.records.iter().filter(|record| !record.has_failed) {
        if let Some(times) = results.timings.get(&record.case) {
            by_family.entry(record.family_idx).or_default().push(*times);
        }
    }
    let over_leads = |family_idx: usize| {
        let of_family = |standing: &&Standing| standing.family_idx == family_idx;
        mean(
            verdicts
                .iter()
                .filter_map(|verdict| verdict.standings.iter().find(of_family))
                .map(|standing| standing.over_mean),
        )
    };
    let mut points = Vec::new();
    let mut rows = Vec::new();
    for family_idx in order(results, verdicts) {
        let Some(times) = by_family.get(&family_idx) else { continue };
        let (fit, step) =
            (1e6 * median(times.iter().map(|time| time.0)), 1e6 * median(times.iter().map(|time| time.1)));
        let name = &results.families[family_idx];
        points.push((name.clone(), step, over_leads(family_idx)));
        rows.push(vec![format!("`{name}`"), figure(fit), figure(step), figure(over_leads(family_idx))]);
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
        "Medians over cases. A step takes in a sample, fits anew where that is due, forecasts all leads, and scores them. Measured on {}.",
        results.hosts.iter().map(|host| format!("`{host}`")).collect::<Vec<_>>().join(", ")
    )));
    blocks
}

fn calibration(results: &Results, verdicts: &[Verdict]) -> Vec<Block> {
    let order = order(results, verdicts);
    let of = |family_idx: usize, verdict: &Verdict| {
        verdict.standings.iter().find(|standing| standing.family_idx == family_idx).map(|standing| standing.coverage)
    };
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

fn by_trace(results: &Results) -> Vec<Block> {
    let mut by_trace: BTreeMap<usize, Vec<Record>> = BTreeMap::new();
    for record in &results.records {
        by_trace.entry(record.place.trace_idx).or_default().push(record.clone());
    }
    let row = |(trace_idx, records): (&usize, &Vec<Record>)| {
        let windows = Window::all(records);
        let best = |lead_idx: usize| {
            let standings = standings(records, &windows, lead_idx, results.families.len());
            let best = standings.first();
            best.map_or_else(dash, |best| format!("{} {}", code(results, best), figure(best.over_mean)))
        };
        let name = format!("`{}` ({} cases)", results.identity.traces[*trace_idx].name, records.len());
        std::iter::once(name).chain((0..results.leads.len()).map(best)).collect()
    };
    vec![
        heading(2, "By trace"),
        lead_table("trace", results.leads.iter().copied(), by_trace.iter().map(row).collect()),
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
    let share = |family_idx: usize| {
        let of_family = |standing: &&Standing| standing.family_idx == family_idx;
        mean(
            verdicts
                .iter()
                .filter_map(|verdict| verdict.standings.iter().find(of_family))
                .map(|standing| standing.win_share),
        )
    };
    let shares = (0..results.families.len()).map(|idx| (idx, share(idx)));
    let mut shares: Vec<(usize, f64)> = shares.filter(|(_, share)| !share.is_nan()).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares.into_iter().map(|(idx, _)| idx).collect()
}

/// A table with a column for each lead.
fn lead_table(first: &str, leads: impl Iterator<Item = usize>, rows: Vec<Vec<String>>) -> Block {
    let header = std::iter::once(first.to_owned()).chain(leads.map(|lead| format!("lead {lead}"))).collect();
    Block::Table { header, rows }
}

fn code(results: &Results, standing: &Standing) -> String {
    format!("`{}`", results.families[standing.family_idx])
}

fn dash() -> String {
    "–".to_owned()
}

/// Three significant digits.
fn figure(value: f64) -> String {
    match value.abs() {
        _ if value.is_nan() => dash(),
        _ if value.is_infinite() => "∞".to_owned(),
        0.0 => "0".to_owned(),
        size if (1e-3..1e5).contains(&size) => {
            let n_decimals = (2 - size.log10().floor() as i32).max(0) as usize;
            format!("{value:.n_decimals$}")
        }
        _ => format!("{value:.2e}"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn p_value(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}
