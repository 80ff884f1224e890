//! What a result file shows, written for people: which model to use, for which lead, and how sure that is.

pub(crate) mod blocks;
mod charts;
mod document;
mod recommend;
mod sections;
pub(crate) mod verdict;

use crate::results::Results;
use document::{Block, to_html, to_markdown};

const TITLE: &str = "Which model predicts this signal";

/// Differences that chance would make this often count as found.
pub(crate) const SIGNIFICANCE: f64 = 0.05;

/// A report on a campaign.
#[derive(Clone, Debug)]
pub struct Report {
    blocks: Vec<Block>,
    recommended: Option<String>,
}

impl Report {
    /// Compares and tests everything that results show. The work grows with cases times models.
    #[must_use]
    pub fn new(results: &Results) -> Self {
        let verdicts = verdict::verdicts(results);
        let recommendation = recommend::recommend(results, &verdicts);
        let blocks = sections::all(TITLE, results, &verdicts, recommendation.as_ref());
        Self { blocks, recommended: recommendation.map(|recommendation| recommendation.model) }
    }

    /// The model to use; `None` of results without a case.
    #[must_use]
    pub fn recommended(&self) -> Option<&str> {
        self.recommended.as_deref()
    }

    /// One file that needs nothing else.
    #[must_use]
    pub fn to_html(&self) -> String {
        to_html(TITLE, &self.blocks)
    }

    /// The same words and tables, without the pictures.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        to_markdown(&self.blocks)
    }
}
