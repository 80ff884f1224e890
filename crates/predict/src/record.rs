//! Recalibration of the probability of an event by the outcomes of earlier forecasts of it, and their reliability
//! diagram.

use crate::optimize::positive_definite::{cholesky, solve};

/// Probabilities of one question that futures gave, and whether they came true.
///
/// Futures are drawn from errors of all times of day and kinds of day alike, so that some questions are overstated
/// again and again. What is told is therefore corrected by what became of earlier answers ([`Record::worth`]), also in
/// the record: of each answer by those whose time was over.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Steps that an answer is about.
    n_leads: usize,
    /// Answers in the order of time.
    said: Vec<Said>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Said {
    /// The step after which it was said.
    at: usize,
    /// Probability by futures alone, by what such shares came to, and as it was stated.
    drawn: f64,
    fitted: f64,
    told: f64,
    came: bool,
}

/// Statements of about the same probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Number of statements.
    pub n: usize,
    /// The mean of what was stated.
    pub stated: f64,
    /// The share that came true.
    pub came: f64,
}

/// Calibration of a probability by futures: a logistic regression of what came on its log odds (Platt 1999), and on how
/// much more came true lately than was said, beside in all; drawn to the share that came true as far as that has been
/// closer (Bates and Granger 1969).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    intercept: f64,
    slope: f64,
    base: f64,
    weight_of_base: f64,
}

/// Fewer statements say nothing of what they are worth.
const N_MIN: usize = 20;

/// Expected values of intercept, slope and the coefficient of what came lately before there is a record, and their
/// standard deviations.
const EXPECTED: [f64; N_COEFFICIENTS] = [0.0, 1.0, 0.0];
const DEVIATIONS: [f64; N_COEFFICIENTS] = [1.0, 0.25, 3.0];
const N_COEFFICIENTS: usize = 3;

/// The base rate counts for nothing until the squares of what it differs by have come to about this.
const HELD: f64 = 1.0;

/// Share of what came lately that is left after the time that an answer is about.
const KEPT: f64 = 0.7;

/// A share of a few hundred futures is no nearer to 0 or 1.
const LEAST: f64 = 0.002;

/// Newton's method ends after so many steps, or when none of one that is halved so many times makes what came more
/// likely by this.
const N_NEWTON: usize = 30;
const N_HALVINGS: i32 = 20;
const GAIN_MIN: f64 = 1e-9;

impl Record {
    /// An empty one of a question about so many steps.
    #[must_use]
    pub fn new(n_leads: usize) -> Self {
        Self { n_leads, said: Vec::new() }
    }

    /// The step after which the last answer was given.
    #[must_use]
    pub fn last_at(&self) -> Option<usize> {
        self.said.last().map(|said| said.at)
    }

    /// Takes what futures said after step `at`, what that was worth by then, and what came.
    ///
    /// # Panics
    /// When `at` is before [`Record::last_at`], or `drawn` is no probability.
    pub fn add(&mut self, at: usize, drawn: f64, worth: Worth, came: bool) {
        assert!(self.last_at().is_none_or(|last| last <= at), "answers are taken in the order of time");
        assert!((0.0..=1.0).contains(&drawn), "{drawn} is no probability");
        self.said.push(Said { at, drawn, fitted: worth.fitted(drawn), told: worth.told(drawn), came });
    }

    /// Returns the calibration of an answer at step `at` by those whose time is over then. Long after the last of them,
    /// what came lately counts no more.
    #[must_use]
    pub fn worth(&self, at: usize) -> Worth {
        let n_over = |at: usize| self.said.partition_point(|said| said.at.saturating_add(self.n_leads) <= at);
        let over = &self.said[..n_over(at)];
        let (Some(first), Some(last)) = (over.first(), over.last()) else { return Worth::FULL };
        // Answers whose times overlap say nearly the same.
        let n_independent = 1.0 + (last.at - first.at) as f64 / self.n_leads as f64;
        let weight = (n_independent / over.len() as f64).min(1.0);
        let mut lately = Lately::new(self.n_leads);
        let mut lately_at = |at: usize| {
            over[lately.n_learned..n_over(at)].iter().for_each(|said| lately.learn(said));
            lately.at(at)
        };
        let row = |said: &Said| ([1.0, log_odds(said.drawn), lately_at(said.at)], f64::from(u8::from(said.came)));
        let rows: Vec<_> = over.iter().map(row).collect();
        let [intercept, slope, of_lately] = most_likely(&rows, weight);
        // What is said to be more probable is never told to be less.
        let slope = slope.max(0.0);
        let (base, weight_of_base) = self.base(over, weight);
        Worth { intercept: intercept + of_lately * lately_at(at), slope, base, weight_of_base }
    }

    /// The base rate of these answers, by Laplace's rule, and what it is to count for beside the regression: what made
    /// the least squared error.
    fn base(&self, over: &[Said], weight: f64) -> (f64, f64) {
        let rate = |n_true: usize, n: usize| (weight * n_true as f64 + 1.0) / (weight * n as f64 + 2.0);
        let (mut n_known, mut n_true) = (0, 0);
        let (mut product, mut square) = (0.0, 0.0);
        for said in over {
            while over[n_known].at.saturating_add(self.n_leads) <= said.at {
                n_true += usize::from(over[n_known].came);
                n_known += 1;
            }
            let apart = rate(n_true, n_known) - said.fitted;
            product += weight * apart * (f64::from(u8::from(said.came)) - said.fitted);
            square += weight * apart * apart;
        }
        n_true = over.iter().filter(|said| said.came).count();
        (rate(n_true, over.len()), (product / (square + HELD)).clamp(0.0, 1.0))
    }

    /// Returns the number of statements.
    #[must_use]
    pub fn n(&self) -> usize {
        self.said.len()
    }

    /// Returns the number of statements that came true.
    #[must_use]
    pub fn n_true(&self) -> usize {
        self.said.iter().filter(|said| said.came).count()
    }

    /// Whether there are enough to say anything, which is 20.
    #[must_use]
    pub fn tells(&self) -> bool {
        self.n() >= N_MIN
    }

    /// The mean squared difference between what was told and what came (0 for false, 1 for true): 0 is perfect (Brier
    /// 1950). NaN without a statement.
    #[must_use]
    pub fn brier(&self) -> f64 {
        let square = |said: &Said| (said.told - f64::from(u8::from(said.came))).powi(2);
        self.said.iter().map(square).sum::<f64>() / self.n() as f64
    }

    /// The same of whoever always states the share that came true in the end.
    #[must_use]
    pub fn brier_of_base_rate(&self) -> f64 {
        let rate = self.n_true() as f64 / self.n() as f64;
        rate * (1.0 - rate)
    }

    /// Statements by tenths of probability, without empty ones.
    #[must_use]
    pub fn bins(&self) -> Vec<Bin> {
        let of_tenth = |tenth: usize| {
            let within: Vec<&Said> =
                self.said.iter().filter(|said| ((said.told * 10.0) as usize).min(9) == tenth).collect();
            let n = within.len();
            let stated = within.iter().map(|said| said.told).sum::<f64>() / n as f64;
            let came = within.iter().filter(|said| said.came).count() as f64 / n as f64;
            (n > 0).then_some(Bin { n, stated, came })
        };
        (0..10).filter_map(of_tenth).collect()
    }
}

impl Worth {
    /// The calibration of a probability that is stated as it was drawn.
    pub const FULL: Self = Self { intercept: 0.0, slope: 1.0, base: 0.0, weight_of_base: 0.0 };

    /// Returns the probability that is stated for one that futures gave. One that is worth its full odds stays as it
    /// is.
    #[must_use]
    pub fn told(self, drawn: f64) -> f64 {
        let fitted = self.fitted(drawn);
        fitted + self.weight_of_base * (self.base - fitted)
    }

    /// The same by the regression alone.
    fn fitted(self, drawn: f64) -> f64 {
        let odds = log_odds(drawn);
        let correction = logistic(self.intercept + self.slope * odds) - logistic(odds);
        (drawn + correction).clamp(0.0, 1.0)
    }
}

/// Excess of what came true lately over what was said, beside the excess in all, of answers whose time is over.
struct Lately {
    n_leads: f64,
    lately: f64,
    in_all: f64,
    /// Number of independent answers that `lately` and `in_all` are means of.
    n: f64,
    n_learned: usize,
    last_at: usize,
}

impl Lately {
    fn new(n_leads: usize) -> Self {
        Self { n_leads: n_leads as f64, lately: 0.0, in_all: 0.0, n: 0.0, n_learned: 0, last_at: 0 }
    }

    fn learn(&mut self, said: &Said) {
        let since = if self.n_learned == 0 { 1.0 } else { (said.at - self.last_at) as f64 / self.n_leads };
        // An answer that overlaps with the one before counts for so much of one.
        let share = since.min(1.0);
        self.n += share;
        let more = f64::from(u8::from(said.came)) - said.drawn;
        let of_all = share / self.n;
        self.lately = self.in_all + self.at(said.at);
        self.lately += (more - self.lately) * of_all.max(1.0 - KEPT.powf(share));
        self.in_all += (more - self.in_all) * of_all;
        self.n_learned += 1;
        self.last_at = said.at;
    }

    /// Less and less once the time of the last answer is over.
    fn at(&self, at: usize) -> f64 {
        let n_times = at.saturating_sub(self.last_at) as f64 / self.n_leads;
        (self.lately - self.in_all) * KEPT.powf((n_times - 1.0).max(0.0))
    }
}

/// The coefficients that make what came (0 or 1) most likely by regressors, each row of which counts for `weight`, held
/// to what is expected.
fn most_likely(rows: &[([f64; N_COEFFICIENTS], f64)], weight: f64) -> [f64; N_COEFFICIENTS] {
    let odds = |row: &[f64; N_COEFFICIENTS], by: &[f64; N_COEFFICIENTS]| -> f64 {
        row.iter().zip(by).map(|(a, b)| a * b).sum()
    };
    let likelihood = |by: &[f64; N_COEFFICIENTS]| {
        let held = |idx: usize| ((by[idx] - EXPECTED[idx]) / DEVIATIONS[idx]).powi(2);
        // The logarithm of the probability of what came.
        let of_one = |(row, came): &([f64; N_COEFFICIENTS], f64)| {
            let odds = odds(row, by);
            -(if *came > 0.5 { -odds } else { odds }).exp().ln_1p()
        };
        weight * rows.iter().map(of_one).sum::<f64>() - 0.5 * (0..N_COEFFICIENTS).map(held).sum::<f64>()
    };
    let mut found = EXPECTED;
    let mut best = likelihood(&found);
    for _ in 0..N_NEWTON {
        let mut step: [f64; N_COEFFICIENTS] =
            std::array::from_fn(|idx| (EXPECTED[idx] - found[idx]) / DEVIATIONS[idx].powi(2));
        let mut curvature = [0.0; N_COEFFICIENTS * N_COEFFICIENTS];
        for (idx, deviation) in DEVIATIONS.iter().enumerate() {
            curvature[idx * (N_COEFFICIENTS + 1)] = deviation.powi(-2);
        }
        for (row, came) in rows {
            let expected = logistic(odds(row, &found));
            let (miss, bend) = (weight * (came - expected), weight * expected * (1.0 - expected));
            for i in 0..N_COEFFICIENTS {
                step[i] += miss * row[i];
                for j in 0..=i {
                    curvature[i * N_COEFFICIENTS + j] += bend * row[i] * row[j];
                }
            }
        }
        // What is held to what is expected keeps this well away from singular.
        if cholesky(&mut curvature, N_COEFFICIENTS).is_none() {
            break;
        }
        solve(&curvature, N_COEFFICIENTS, &mut step);
        // Where nearly all was certain and wrong, a whole step goes too far.
        let shorter = (0..N_HALVINGS).map(|n_halved| 0.5_f64.powi(n_halved)).find_map(|share| {
            let next = std::array::from_fn(|idx| found[idx] + share * step[idx]);
            let of_next = likelihood(&next);
            (of_next > best + GAIN_MIN).then_some((next, of_next))
        });
        let Some(better) = shorter else { break };
        (found, best) = better;
    }
    found
}

fn log_odds(probability: f64) -> f64 {
    let inner = probability.clamp(LEAST, 1.0 - LEAST);
    (inner / (1.0 - inner)).ln()
}

fn logistic(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn of(said: impl IntoIterator<Item = (f64, bool)>) -> Record {
        let mut record = Record::new(1);
        for (at, (drawn, came)) in said.into_iter().enumerate() {
            record.add(at, drawn, record.worth(at), came);
        }
        record
    }

    #[test]
    fn brier_scores_are_those_of_the_definition() {
        assert!(!Record::new(1).tells() && Record::new(1).brier().is_nan());
        let mut record = Record::new(1);
        for (at, (drawn, came)) in [(0.9, true), (0.95, false), (0.0, false), (1.0, true)].into_iter().enumerate() {
            record.add(at, drawn, Worth::FULL, came);
        }
        assert!((record.brier() - (0.01 + 0.9025) / 4.0).abs() < 1e-12);
        assert!((record.brier_of_base_rate() - 0.25).abs() < 1e-12);
        let bins = record.bins();
        assert_eq!(bins.len(), 2);
        assert_eq!((bins[1].n, bins[1].came), (3, 2.0 / 3.0));
        assert!(!record.tells(), "four are too few");
    }

    #[test]
    fn what_is_overstated_again_and_again_is_told_as_it_comes() {
        let mut chance = Random::seeded(1);
        let record = of((0..200).map(|_| (0.99, chance.uniform() < 1.0 / 7.0)));
        let told = record.worth(300).told(0.99);
        assert!((told - 1.0 / 7.0).abs() < 0.06, "{told}");
        assert!(record.brier() < 0.2, "{}", record.brier());
        let never = of((0..200).map(|_| (1.0, false)));
        assert!(never.worth(300).told(1.0) < 0.1 && never.tells());
    }

    #[test]
    fn what_is_right_stays_and_is_ordered() {
        assert_eq!(Worth::FULL.told(0.0004), 0.0004);
        let mut chance = Random::seeded(1);
        let record = of((0..400).map(|at| [0.1, 0.9][at % 2]).map(|drawn| (drawn, chance.uniform() < drawn)));
        let worth = record.worth(500);
        assert!((worth.told(0.9) - 0.9).abs() < 0.03 && (worth.told(0.1) - 0.1).abs() < 0.03, "{worth:?}");
        let upside_down = of((0..400).map(|at| (if at % 2 == 0 { 0.9 } else { 0.1 }, at % 2 == 1))).worth(500);
        assert!(upside_down.told(0.9) >= upside_down.told(0.1));
    }

    #[test]
    fn what_futures_missed_lately_they_miss_for_a_while() {
        let spells = |at: usize| (at / 25) % 2 == 1;
        let record = of((0..475).map(|at| (0.5, spells(at))));
        let [now, later] = [475, 500].map(|at| record.worth(at).told(0.5));
        assert!(now < 0.15 && (later - 0.5).abs() < 0.2, "{now} {later}");
        assert!(record.brier() < 0.15 && record.brier_of_base_rate() > 0.24, "{}", record.brier());
    }

    #[test]
    fn what_is_worse_than_the_base_rate_is_drawn_to_it() {
        let base = |record: &Record| (record.worth(300).told(1.0), record.brier(), record.brier_of_base_rate());
        let mut chance = Random::seeded(2);
        let (told, brier, of_base) = base(&of((0..200).map(|_| (1.0, chance.uniform() < 0.5))));
        assert!((told - 0.5).abs() < 0.1 && brier < of_base + 0.03, "{told} {brier} {of_base}");
        // Whoever never was right is not believed for long.
        let (told, brier, _) = base(&of((0..20).map(|_| (1.0, false))));
        assert!(told < 0.1 && brier < 0.12, "{told} {brier}");
    }

    #[test]
    fn nothing_is_learned_from_what_is_not_over() {
        let mut record = Record::new(50);
        (0..100).for_each(|at| record.add(at, 0.99, Worth::FULL, false));
        assert_eq!(record.worth(49), Worth::FULL);
        // Answers about nearly the same time count for few.
        let mut apart = Record::new(1);
        (0..100).for_each(|at| apart.add(at, 0.99, Worth::FULL, false));
        assert!(record.worth(149).told(0.99) > 10.0 * apart.worth(149).told(0.99));
    }
}
