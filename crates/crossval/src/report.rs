//! Report on a result file, written for people: the model to use, for which lead, and how sure that is.

pub(crate) mod blocks;
mod charts;
mod figure;
mod recommend;
pub(crate) mod residuals;
mod sections;
mod summary;
pub(crate) mod verdict;

use crate::results::Results;
use document::{Block, to_html, to_markdown};

pub use residuals::Kept;
pub use summary::{FailureSummary, LeadSummary, ModelSummary, ResidualSummary, Summary};

/// Differences that chance would make this often count as found.
pub(crate) const SIGNIFICANCE: f64 = 0.05;

/// A report on a campaign.
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
    blocks: Vec<Block>,
    summary: Summary,
}

/// The title of a report, and the parts that it leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportSettings {
    /// Its first line.
    pub title: String,
    /// Whether it says how long models take.
    pub costs: Costs,
}

/// Whether a report says how long models take, which is not the same from run to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Costs {
    /// The costs are in a section of their own.
    Shown,
    /// The report is then the same to the byte wherever the results are.
    LeftOut,
}

impl Default for ReportSettings {
    fn default() -> Self {
        Self { title: "Which model predicts this signal".to_owned(), costs: Costs::Shown }
    }
}

impl Report {
    /// Compares and tests everything that results show. The work grows with cases times models.
    #[must_use]
    pub fn new(results: &Results, settings: &ReportSettings) -> Self {
        let verdicts = verdict::verdicts(results);
        let recommendation = recommend::recommend(results, &verdicts);
        let blocks = sections::all(settings, results, &verdicts, recommendation.as_ref());
        let summary = summary::summary(results, &verdicts, recommendation.as_ref());
        Self { title: settings.title.clone(), blocks, summary }
    }

    /// The model to use; `None` where none was judged on most of its windows.
    #[must_use]
    pub fn recommended(&self) -> Option<&str> {
        self.summary.recommended.as_deref()
    }

    /// The figures alone.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// One file that needs nothing else.
    #[must_use]
    pub fn to_html(&self) -> String {
        to_html(&self.title, &self.blocks)
    }

    /// The same words and tables, without the pictures.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        to_markdown(&self.blocks)
    }
}
