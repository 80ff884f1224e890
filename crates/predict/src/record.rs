//! What became of earlier answers to the same question, and what the next one is worth by that.

/// Probabilities of one question that futures gave, and whether they came true.
///
/// Futures are drawn from errors of all times of day and kinds of day alike, so that some questions are overstated again and again. What is told
/// is therefore corrected by what became of earlier answers ([`Record::worth`]), also in the record: of each answer by those whose
/// time was over.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Steps that an answer is about.
    n_leads: usize,
    /// In the order of time.
    said: Vec<Said>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Said {
    /// The step after which it was said.
    at: usize,
    /// By futures alone, and as it was told.
    drawn: f64,
    told: f64,
    came: bool,
}

/// Statements of about the same probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// How many.
    pub n: usize,
    /// The mean of what was stated.
    pub stated: f64,
    /// The share that came true.
    pub came: f64,
}

/// What a probability by futures is worth: a logistic regression of what came on its log odds (Platt 1999).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    intercept: f64,
    slope: f64,
}

/// Fewer statements say nothing of what they are worth.
const N_MIN: usize = 20;

/// With fewer, none is corrected.
const N_WORTH_MIN: usize = 5;

/// Standard deviations of what is expected of intercept and slope, which are 0 and 1, before there is a record.
const INTERCEPT: f64 = 1.0;
const SLOPE: f64 = 0.25;

/// A share of a few hundred futures is no nearer to 0 or 1.
const LEAST: f64 = 0.002;

/// Newton's method ends after so many steps, or when none of one that is halved so many times makes what came more likely by this.
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

    /// Takes what futures said after step `at`, what was told of it, and what came.
    ///
    /// # Panics
    /// When `at` is before [`Record::last_at`], or a probability is none.
    pub fn add(&mut self, at: usize, drawn: f64, told: f64, came: bool) {
        assert!(self.last_at().is_none_or(|last| last <= at), "answers are taken in the order of time");
        assert!([drawn, told].iter().all(|share| (0.0..=1.0).contains(share)), "{drawn} or {told} is no probability");
        self.said.push(Said { at, drawn, told, came });
    }

    /// What answers are worth by those whose time is over at step `at`.
    #[must_use]
    pub fn worth(&self, at: usize) -> Worth {
        let over = &self.said[..self.said.partition_point(|said| said.at.saturating_add(self.n_leads) <= at)];
        let (Some(first), Some(last)) = (over.first(), over.last()) else { return Worth::FULL };
        if over.len() < N_WORTH_MIN {
            return Worth::FULL;
        }
        // Answers whose times overlap say nearly the same.
        let n_independent = 1.0 + (last.at - first.at) as f64 / self.n_leads as f64;
        let weight = (n_independent / over.len() as f64).min(1.0);
        Worth::of(over.iter().map(|said| (log_odds(said.drawn), f64::from(u8::from(said.came)))), weight)
    }

    /// How many statements there were.
    #[must_use]
    pub fn n(&self) -> usize {
        self.said.len()
    }

    /// How many came true.
    #[must_use]
    pub fn n_true(&self) -> usize {
        self.said.iter().filter(|said| said.came).count()
    }

    /// Whether there are enough to say anything, which is 20.
    #[must_use]
    pub fn tells(&self) -> bool {
        self.n() >= N_MIN
    }

    /// The mean squared difference between what was told and what came (0 for false, 1 for true): 0 is perfect (Brier 1950).
    /// NaN without a statement.
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
    /// That of a probability that is told as it was drawn.
    pub const FULL: Self = Self { intercept: 0.0, slope: 1.0 };

    /// What is told of a probability that futures gave. One that is worth its full odds stays as it is.
    #[must_use]
    pub fn told(self, drawn: f64) -> f64 {
        let odds = log_odds(drawn);
        let correction = logistic(self.intercept + self.slope * odds) - logistic(odds);
        (drawn + correction).clamp(0.0, 1.0)
    }

    /// The one that makes log odds and what came, each of which counts for `weight`, most likely, held to [`Worth::FULL`].
    fn of(said: impl Iterator<Item = (f64, f64)> + Clone, weight: f64) -> Self {
        let [of_intercept, of_slope] = [INTERCEPT, SLOPE].map(|deviation| deviation.powi(-2));
        let likelihood = |Self { intercept, slope }: Self| {
            let held = of_intercept * intercept.powi(2) + of_slope * (slope - 1.0).powi(2);
            let of_one = |(odds, came): (f64, f64)| {
                let odds = intercept + slope * odds;
                // The logarithm of the probability of what came.
                -(if came > 0.5 { -odds } else { odds }).exp().ln_1p()
            };
            weight * said.clone().map(of_one).sum::<f64>() - 0.5 * held
        };
        let mut worth = Self::FULL;
        let mut best = likelihood(worth);
        for _ in 0..N_NEWTON {
            let Self { intercept, slope } = worth;
            let (mut gradient, mut curvature) =
                ([-of_intercept * intercept, -of_slope * (slope - 1.0)], [of_intercept, 0.0, of_slope]);
            for (odds, came) in said.clone() {
                let expected = logistic(intercept + slope * odds);
                let (miss, bend) = (weight * (came - expected), weight * expected * (1.0 - expected));
                gradient[0] += miss;
                gradient[1] += miss * odds;
                curvature[0] += bend;
                curvature[1] += bend * odds;
                curvature[2] += bend * odds * odds;
            }
            // What is held to keeps this well away from 0.
            let determinant = curvature[0] * curvature[2] - curvature[1] * curvature[1];
            let step = [
                (curvature[2] * gradient[0] - curvature[1] * gradient[1]) / determinant,
                (curvature[0] * gradient[1] - curvature[1] * gradient[0]) / determinant,
            ];
            // Where nearly all was certain and wrong, a whole step goes too far.
            let shorter = (0..N_HALVINGS).map(|n_halved| 0.5_f64.powi(n_halved)).find_map(|share| {
                let next = Self { intercept: intercept + share * step[0], slope: slope + share * step[1] };
                let of_next = likelihood(next);
                (of_next > best + GAIN_MIN).then_some((next, of_next))
            });
            let Some(found) = shorter else { break };
            (worth, best) = found;
        }
        // What is said to be more probable is never told to be less.
        Self { slope: worth.slope.max(0.0), ..worth }
    }
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

    fn of(said: impl IntoIterator<Item = (f64, bool)>) -> Record {
        let mut record = Record::new(1);
        for (at, (drawn, came)) in said.into_iter().enumerate() {
            record.add(at, drawn, record.worth(at).told(drawn), came);
        }
        record
    }

    #[test]
    fn brier_scores_are_those_of_the_definition() {
        assert!(!Record::new(1).tells() && Record::new(1).brier().is_nan());
        let record = of([(0.9, true), (0.95, false), (0.0, false), (1.0, true)]);
        assert!((record.brier() - (0.01 + 0.9025) / 4.0).abs() < 1e-12);
        assert!((record.brier_of_base_rate() - 0.25).abs() < 1e-12);
        let bins = record.bins();
        assert_eq!(bins.len(), 2);
        assert_eq!((bins[1].n, bins[1].came), (3, 2.0 / 3.0));
        assert!(!record.tells(), "four are too few");
    }

    #[test]
    fn what_is_overstated_again_and_again_is_told_as_it_comes() {
        let record = of((0..200).map(|at| (0.99, at % 7 == 0)));
        let told = record.worth(300).told(0.99);
        assert!((told - 1.0 / 7.0).abs() < 0.06, "{told}");
        assert!(record.brier() < 0.2, "{}", record.brier());
        let never = of((0..200).map(|_| (1.0, false)));
        assert!(never.worth(300).told(1.0) < 0.1 && never.tells());
    }

    #[test]
    fn what_is_right_stays_and_is_ordered() {
        assert_eq!(Worth::FULL.told(0.0004), 0.0004);
        let record = of((0..400).map(|at| if at % 2 == 0 { (0.9, at % 20 > 0) } else { (0.1, at % 20 == 1) }));
        let worth = record.worth(500);
        assert!((worth.told(0.9) - 0.9).abs() < 0.02 && (worth.told(0.1) - 0.1).abs() < 0.02, "{worth:?}");
        let upside_down = of((0..400).map(|at| (if at % 2 == 0 { 0.9 } else { 0.1 }, at % 2 == 1))).worth(500);
        assert!(upside_down.told(0.9) >= upside_down.told(0.1));
    }

    #[test]
    fn nothing_is_learned_from_what_is_not_over() {
        let mut record = Record::new(50);
        (0..100).for_each(|at| record.add(at, 0.99, 0.99, false));
        assert_eq!(record.worth(52), Worth::FULL);
        // Answers about nearly the same time count for few.
        assert!(record.worth(149).told(0.99) > 0.5);
    }
}
