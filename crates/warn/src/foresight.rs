//! Futures of an expression, from its signals.

use predict::{FoundSeason, Joint, Outlook, Paths};

use crate::expression::Expression;
use crate::question::Question;
use crate::statement::Comparison;

/// Outlooks of the signals of an expression, whose futures are drawn together.
#[derive(Clone, Debug, PartialEq)]
pub struct Foresight {
    expression: Expression,
    series: Joint,
}

impl Foresight {
    /// Builds the foresight from an outlook of each signal, in the signals' order, that has no sample yet.
    ///
    /// # Panics
    /// Unless there is one for each, and all go equally far.
    #[must_use]
    pub fn new(expression: Expression, outlooks: Vec<Outlook>) -> Self {
        assert_eq!(outlooks.len(), expression.signals().len(), "an outlook for each signal");
        Self { expression, series: Joint::new(outlooks) }
    }

    /// Returns the value of the expression at each step.
    pub(crate) fn values(&self, rows: &[Vec<f64>]) -> Vec<f64> {
        rows.iter().map(|row| self.expression.value(row)).collect()
    }

    /// Takes the next sample of each signal, NaN for a gap; returns the value of the expression.
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

    /// Whether `question` may be as probable as this; `true` where that is not known. It draws no futures: where each
    /// lead is beyond the line with less than `probability / n_leads`, some lead is with less than `probability`
    /// (Boole's inequality).
    #[must_use]
    pub fn may_come(&self, question: &Question, probability: f64) -> bool {
        let [outlook] = self.series.outlooks() else { return true };
        if !self.expression.is_signal() || !question.is_of_one() {
            return true;
        }
        let share = probability / question.n_leads as f64;
        let end = match question.comparison {
            Comparison::Above | Comparison::AtLeast => 1.0 - share,
            Comparison::Below | Comparison::AtMost => share,
        };
        outlook
            .quantiles(question.n_leads, end)
            .iter()
            .any(|value| question.comparison.holds(outlook.nearest(*value), question.line))
    }

    /// The seasons of its signals that were found, the one that explains most first.
    #[must_use]
    pub fn found(&self) -> Vec<FoundSeason> {
        let mut found: Vec<_> = self.series.outlooks().iter().flat_map(Outlook::found).collect();
        found.sort_by(|one, other| other.share.total_cmp(&one.share));
        found
    }
}

#[cfg(test)]
mod tests {
    use predict::{Outlook, Periods, Worth};

    use super::*;
    use crate::ask::{Chance, futures};
    use crate::statement::Subject;

    #[test]
    fn what_may_not_come_by_quantiles_is_as_improbable_by_paths() {
        let outlook = Outlook::new(Periods::new(&[24.0]).unwrap(), 12);
        let mut foresight = Foresight::new(Expression::from("load"), vec![outlook]);
        let samples =
            (0_u32..400).map(|t| (f64::from(t) / 24.0 * std::f64::consts::TAU).sin() + f64::from(t * 37 % 11) / 20.0);
        samples.for_each(|sample| _ = foresight.step(&[sample]));
        let futures = futures(&foresight, 12, 1).unwrap();
        let (mut n_left_out, mut n_close) = (0, 0);
        for tenths in -20..30 {
            for comparison in [Comparison::Above, Comparison::Below] {
                let line = f64::from(tenths) / 10.0;
                let question = Question { subject: Subject::Any, comparison, line, n_leads: 12, n_sustained: 1 };
                let chance = Chance::of(&futures, &question, Worth::FULL).probability;
                let may_come = foresight.may_come(&question, 0.8);
                assert!(may_come || chance < 0.8, "{question:?} has {chance}");
                n_left_out += usize::from(!may_come);
                n_close += usize::from(may_come && chance < 0.8);
            }
        }
        assert!(n_left_out > 4 * n_close, "{n_left_out} are left out, {n_close} are drawn in vain");
    }
}
