//! Mean ranks over windows that all models were judged on, and which of them chance could have told apart.

use statistics::critical_difference;

use crate::report::SIGNIFICANCE;
use crate::report::charts;
use crate::report::figure::p_value;
use crate::report::verdict::Verdict;
use crate::results::Results;
use document::{Block, heading, paragraph, table};

pub(super) fn ranks(results: &Results, verdicts: &[Verdict]) -> Vec<Block> {
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
