//! The model to use, what it is worth at each lead, and which others might do as well.

use crate::report::SIGNIFICANCE;
use crate::report::figure::{figure, percent};
use crate::report::recommend::{Choice, Recommendation};
use crate::report::verdict::Verdict;
use crate::results::Results;
use document::{Block, paragraph, table};

pub(super) fn recommended(
    results: &Results,
    verdicts: &[Verdict],
    recommendation: Option<&Recommendation>,
) -> Vec<Block> {
    let Some(Recommendation { family_idx, model, win_share, choice }) = recommendation else {
        return vec![paragraph("No model was judged on most of its windows, so none is recommended.")];
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
        let standing = verdict.standing(*family_idx)?;
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
