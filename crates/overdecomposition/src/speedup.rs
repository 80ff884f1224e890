//! Speed-up of each ratio over 1:1, with an interval.

use mpi_run::Outcome;
use serde::{Deserialize, Serialize};
use statistics::Interval;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::SweepSettings;
use crate::record::{RunEnd, SweepRun};

/// Probability that the intervals of all ratios together hold.
const CONFIDENCE: f64 = 0.95;

/// Run time at one ratio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speedup {
    /// Ranks by processors.
    pub ratio: u32,
    /// Number of ranks.
    pub n_ranks: u32,
    /// Runs that count.
    pub n_runs: usize,
    /// Mean run time.
    pub mean_seconds: f64,
    /// Standard deviation of the run time; none with a single run.
    pub deviation_seconds: Option<f64>,
    /// Run time at 1:1 by that at this ratio, as the geometric mean over rounds with both.
    pub speedup: Option<f64>,
    /// Interval of the speed-up. With several ratios each interval is so wide that all of them together hold with
    /// 95 % (Bonferroni), because the best of several is picked.
    pub interval: Option<Interval>,
}

/// Returns the speed-up of each ratio with runs that count.
#[must_use]
pub fn speedups(settings: &SweepSettings, runs: &[SweepRun]) -> Vec<Speedup> {
    let n_compared = settings.ranks.len().saturating_sub(1).max(1);
    let good = good(runs);
    let of_ratio = |ratio: u32| good.iter().copied().filter(move |run| run.trial.ratio == ratio);
    let base: Vec<&SweepRun> = of_ratio(1).collect();
    let speedup = |(ratio, n_ranks): (u32, u32)| {
        let these: Vec<&SweepRun> = of_ratio(ratio).collect();
        let seconds: Vec<f64> = these.iter().map(|run| run.seconds()).collect();
        let (mean_seconds, deviation_seconds) = mean_and_deviation(&seconds)?;
        let logs: Vec<f64> = these.iter().filter_map(|run| log_ratio(&base, run)).collect();
        let (speedup, interval) = match ratio {
            1 => (None, None),
            _ => (mean_and_deviation(&logs).map(|(mean, _)| mean.exp()), interval(&logs, n_compared)),
        };
        Some(Speedup { ratio, n_ranks, n_runs: these.len(), mean_seconds, deviation_seconds, speedup, interval })
    };
    settings.ratios().into_iter().zip(settings.ranks.iter().copied()).filter_map(speedup).collect()
}

/// Returns the logarithm of the speed-up in one round.
fn log_ratio(base: &[&SweepRun], run: &SweepRun) -> Option<f64> {
    let before = base.iter().find(|base| base.trial.round == run.trial.round)?;
    Some((before.seconds() / run.seconds()).ln()).filter(|log| log.is_finite())
}

/// Returns Student's interval of a geometric mean, from its logarithms; none with a single one.
fn interval(logs: &[f64], n_compared: usize) -> Option<Interval> {
    let (mean, deviation) = mean_and_deviation(logs)?;
    let student = StudentsT::new(0.0, 1.0, (logs.len() - 1) as f64).ok()?;
    let tail = (1.0 - CONFIDENCE) / 2.0 / n_compared as f64;
    let half = student.inverse_cdf(1.0 - tail) * deviation? / (logs.len() as f64).sqrt();
    Some(Interval { lower: (mean - half).exp(), upper: (mean + half).exp() })
}

pub(crate) fn mean_and_deviation(values: &[f64]) -> Option<(f64, Option<f64>)> {
    let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())))
}

/// Returns the commonest answer at 1:1, which all others must equal; `None` if no answer was asked for.
pub(crate) fn right_answer(runs: &[SweepRun]) -> Option<&str> {
    let answers: Vec<&str> = runs
        .iter()
        .filter(|run| run.trial.ratio == 1 && run.end == RunEnd::Well)
        .filter_map(|run| run.answer.as_deref())
        .collect();
    let count = |answer: &str| answers.iter().filter(|other| **other == answer).count();
    // The first of several that are equally common.
    answers.iter().rev().max_by_key(|answer| count(answer)).copied()
}

/// Returns the runs that count: those that ended well, with the right answer.
pub(crate) fn good(runs: &[SweepRun]) -> Vec<&SweepRun> {
    let right = right_answer(runs);
    let is_right = |run: &&SweepRun| run.end == RunEnd::Well && (right.is_none() || run.answer.as_deref() == right);
    runs.iter().filter(is_right).collect()
}

/// Returns all runs of a result.
pub(crate) fn runs(outcome: &Outcome) -> Result<Vec<SweepRun>, mpi_run::MalformedRecord> {
    outcome.all(crate::record::kind::RUN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::settings;
    use crate::record::tests::run;

    #[test]
    fn drift_that_slows_whole_rounds_does_not_widen_the_interval() {
        let runs: Vec<SweepRun> = (0..5)
            .flat_map(|round| {
                let slow = 1.0 + f64::from(round);
                [run(1, round, 3.0 * slow), run(2, round, 2.0 * slow), run(4, round, 6.0 * slow)]
            })
            .collect();
        let found = speedups(&settings(5), &runs);
        assert_eq!(found.iter().map(|one| one.ratio).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!((found[0].speedup, found[0].interval, found[0].mean_seconds), (None, None, 9.0));
        let interval = found[1].interval.unwrap();
        assert!((found[1].speedup.unwrap() - 1.5).abs() < 1e-12);
        assert!((interval.upper - 1.5).abs() < 1e-9 && (interval.lower - 1.5).abs() < 1e-9);
        assert!((found[2].speedup.unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn intervals_are_students_and_wider_with_more_ratios_to_pick_from() {
        let logs = [0.1, 0.2, 0.3];
        let [one, two] = [1, 2].map(|n_compared| interval(&logs, n_compared).unwrap());
        // t at 0.975 with 2 degrees of freedom is 4.303, at 0.9875 it is 6.205.
        let half = |interval: Interval| (interval.upper / interval.lower).ln() / 2.0;
        assert!((half(one) - 4.303 * 0.1 / 3.0_f64.sqrt()).abs() < 1e-3);
        assert!((half(two) - 6.205 * 0.1 / 3.0_f64.sqrt()).abs() < 1e-3);
        assert_eq!(interval(&logs[..1], 1), None);
    }

    #[test]
    fn runs_that_failed_or_answer_differently_do_not_count() {
        let mut runs = vec![run(1, 0, 1.0), run(1, 1, 1.0), run(2, 0, 1.0), run(2, 1, 1.0), run(4, 0, 1.0)];
        for (run, answer) in runs.iter_mut().zip(["a", "a", "a", "b", "a"]) {
            run.answer = Some(answer.to_owned());
        }
        runs[4].end = RunEnd::Failed(3);
        let rounds: Vec<_> = good(&runs).iter().map(|run| (run.trial.ratio, run.trial.round)).collect();
        assert_eq!(rounds, [(1, 0), (1, 1), (2, 0)]);
        assert_eq!(right_answer(&runs), Some("a"));
        let found = speedups(&settings(2), &runs);
        assert_eq!(found.iter().map(|one| (one.ratio, one.n_runs)).collect::<Vec<_>>(), [(1, 2), (2, 1)]);
        assert_eq!(found[1].interval, None);
    }
}
