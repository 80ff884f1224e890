//! Whether what models leave of the signal one step ahead is noise, and whether it is normal.

use super::order;
use crate::report::SIGNIFICANCE;
use crate::report::figure::{dash, figure, percent};
use crate::report::residuals::Kept;
use crate::report::verdict::Verdict;
use crate::results::Results;
use document::{Block, heading, paragraph, table};

pub(super) fn residuals(results: &Results, verdicts: &[Verdict]) -> Vec<Block> {
    let row = |family_idx: usize| {
        let kept = Kept::of(results.records.iter().filter(|record| record.family_idx == family_idx));
        let shares = [kept.ljung_box, kept.turning_points, kept.rises, kept.normality];
        let shares = shares.map(|share| if share.is_nan() { dash() } else { percent(share) });
        let name = std::iter::once(format!("`{}`", results.families[family_idx]));
        name.chain(shares).chain([figure(kept.r_squared)]).collect()
    };
    let header = ["model", "no memory (Ljung-Box)", "turning points", "rises", "normal", "R² of normal"];
    vec![
        heading(2, "Errors one step ahead"),
        table(&header, order(results, verdicts).into_iter().map(row).collect()),
        paragraph(format!(
            "Shares of cases in which a test at the level of {SIGNIFICANCE} finds errors one step ahead to be like noise: without \
             correlation, turning around and rising as often, and normally distributed; {} of noise pass. R² is the mean share of the \
             errors' variance on the line of the quantile-quantile plot. A model that passes seldom leaves something to be \
             predicted, or intervals that are not normal.",
            percent(1.0 - SIGNIFICANCE)
        )),
    ]
}
