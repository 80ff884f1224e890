//! What comes of an expression, from its signals.

use predict::{FoundSeason, Joint, Outlook, Paths};

use crate::expression::Expression;

/// Outlooks of the signals of an expression, whose futures are drawn together.
#[derive(Clone, Debug, PartialEq)]
pub struct Foresight {
    expression: Expression,
    series: Joint,
}

impl Foresight {
    /// From an outlook of each signal, in their order, that has no sample yet.
    ///
    /// # Panics
    /// Unless there is one for each, and all go equally far.
    #[must_use]
    pub fn new(expression: Expression, outlooks: Vec<Outlook>) -> Self {
        assert_eq!(outlooks.len(), expression.signals().len(), "an outlook for each signal");
        Self { expression, series: Joint::new(outlooks) }
    }

    /// What the expression is at each step.
    pub(crate) fn values(&self, rows: &[Vec<f64>]) -> Vec<f64> {
        rows.iter().map(|row| self.expression.value(row)).collect()
    }

    /// Takes the next sample of each signal, NaN for a gap; what it makes of the expression.
    ///
    /// # Panics
    /// Unless there is one for each.
    pub fn step(&mut self, samples: &[f64]) -> f64 {
        self.series.step(samples);
        self.expression.value(samples)
    }

    /// Whether there are samples enough to say anything.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.series.is_ready()
    }

    /// Futures of the expression; the same seed draws the same ones.
    #[must_use]
    pub fn paths(&self, n_paths: usize, n_leads: usize, seed: u64) -> Paths {
        let mut paths = self.series.paths(n_paths, n_leads, seed);
        match paths.pop() {
            Some(alone) if paths.is_empty() && self.expression.is_signal() => alone,
            last => {
                paths.extend(last);
                Paths::combined(&paths, |values| self.expression.value(values))
            }
        }
    }

    /// The seasons of its signals that were found, the one that explains most first.
    #[must_use]
    pub fn found(&self) -> Vec<FoundSeason> {
        let mut found: Vec<_> = self.series.outlooks().iter().flat_map(Outlook::found).collect();
        found.sort_by(|one, other| other.share.total_cmp(&one.share));
        found
    }
}
