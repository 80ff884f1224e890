//! Distribution of the time until a statement comes true, over steps of all lengths.

use std::time::Duration;

use units::span::{times, whole_steps};

use crate::ask::Answer;
use crate::question::Question;

/// Distribution of the time until a statement comes true (its first passage): the probability that it has come true by
/// each time.
///
/// Near and far are forecast in steps of different lengths. With the answers of shorter steps before it
/// ([`Self::after`]), the probability never falls from one step length to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstPassage {
    step: Duration,
    rises: Rises<Duration>,
}

/// Times at which the probability rises, and the probability from then on, both ascending.
pub(crate) type Rises<T> = Vec<(T, f64)>;

/// Returns the leads at which the probability rises, from the lead at which each path makes the question true, so that
/// it ends at `probability`. If no path does, it rises at the last lead.
pub(crate) fn rises(leads: Vec<Option<usize>>, question: &Question, probability: f64) -> Rises<usize> {
    let mut leads: Vec<usize> = leads.into_iter().flatten().collect();
    leads.sort_unstable();
    if leads.is_empty() {
        leads.push(question.n_leads);
    }
    let n = leads.len() as f64;
    leads.into_iter().zip(1..).map(|(lead, idx)| (lead, probability * f64::from(idx) / n)).collect()
}

/// Returns the first time from which on the probability is at least `probability`.
pub(crate) fn quantile<T: Copy>(rises: &[(T, f64)], probability: f64) -> Option<T> {
    rises.iter().find(|(_, by)| *by >= probability).map(|(time, _)| *time)
}

impl FirstPassage {
    /// Returns the distribution behind an answer to a question that was asked in steps of this length.
    #[must_use]
    pub fn of(answer: &Answer, question: &Question, step: Duration) -> Self {
        let rises = rises(question.of_paths(&answer.futures), question, answer.chance.probability);
        Self { step, rises: rises.into_iter().map(|(lead, by)| (times(step, lead as u64), by)).collect() }
    }

    /// Returns the distribution that is `nearer` up to the time `until`, and this one after it. What has come true by
    /// then has come true later as well: the probability stays as it is there until this distribution exceeds it.
    #[must_use]
    pub fn after(&self, nearer: &Self, until: Duration) -> Self {
        let so_far = nearer.by(until);
        let next = times(self.step, whole_steps(until, self.step) + 1);
        let near = nearer.rises.iter().copied().take_while(|(time, _)| *time <= until);
        let later = self.rises.iter().filter(|(_, by)| *by > so_far).map(|(time, by)| (next.max(*time), *by));
        Self { step: self.step, rises: near.chain(later).collect() }
    }

    /// Returns the probability that the statement has come true by a time.
    #[must_use]
    pub fn by(&self, time: Duration) -> f64 {
        let n = self.rises.partition_point(|(rise, _)| *rise <= time);
        n.checked_sub(1).map_or(0.0, |last| self.rises[last].1)
    }

    /// Returns the probability that it comes true in the time that was asked about.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.rises.last().map_or(0.0, |(_, by)| *by)
    }

    /// Returns the time by which it has come true with a probability; `None` if that is later than was asked about.
    #[must_use]
    pub fn quantile(&self, probability: f64) -> Option<Duration> {
        quantile(&self.rises, probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(step: u64, rises: &[(u64, f64)]) -> FirstPassage {
        let rises = rises.iter().map(|(time, by)| (Duration::from_secs(*time), *by)).collect();
        FirstPassage { step: Duration::from_secs(step), rises }
    }

    #[test]
    fn what_has_come_true_by_then_has_come_true_later() {
        let (near, until) = (passage(1, &[(2, 0.1), (5, 0.3), (9, 0.5)]), Duration::from_secs(6));
        for (far, expected) in [
            // Doubts of the longer steps do not take back what the shorter ones say.
            (vec![(4, 0.05), (8, 0.2), (12, 0.4)], vec![(2, 0.1), (5, 0.3), (12, 0.4)]),
            // What they take for sure comes with their first step.
            (vec![(4, 0.9), (12, 1.0)], vec![(2, 0.1), (5, 0.3), (8, 0.9), (12, 1.0)]),
            (vec![(4, 0.2)], vec![(2, 0.1), (5, 0.3)]),
        ] {
            assert_eq!(passage(4, &far).after(&near, until), passage(4, &expected), "{far:?}");
        }
    }

    #[test]
    fn times_and_probabilities_are_of_one_distribution() {
        let passage = passage(1, &[(2, 0.1), (5, 0.3)]);
        assert_eq!([1, 2, 4, 5, 60].map(|time| passage.by(Duration::from_secs(time))), [0.0, 0.1, 0.1, 0.3, 0.3]);
        assert_eq!(
            [0.05, 0.1, 0.2, 0.3, 0.31].map(|share| passage.quantile(share).map(|time| time.as_secs())),
            [Some(2), Some(2), Some(5), Some(5), None]
        );
    }
}
