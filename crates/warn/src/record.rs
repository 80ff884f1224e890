//! What became of earlier answers to the same question.

/// Probabilities that were stated, and whether they came true.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Probability, and whether it came true, in the order of time.
    said: Vec<(f64, bool)>,
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

/// Fewer statements say nothing of what they are worth.
const N_MIN: usize = 20;

impl Record {
    pub(crate) fn add(&mut self, probability: f64, came: bool) {
        self.said.push((probability, came));
    }

    /// How many statements there were.
    #[must_use]
    pub fn n(&self) -> usize {
        self.said.len()
    }

    /// How many came true.
    #[must_use]
    pub fn n_true(&self) -> usize {
        self.said.iter().filter(|(_, came)| *came).count()
    }

    /// Whether there are enough to say anything: 20, of which one came true and one did not.
    #[must_use]
    pub fn tells(&self) -> bool {
        self.n() >= N_MIN && (1..self.n()).contains(&self.n_true())
    }

    /// The mean squared difference between what was stated and what came (0 for false, 1 for true): 0 is perfect (Brier 1950).
    /// NaN without a statement.
    #[must_use]
    pub fn brier(&self) -> f64 {
        let square = |(probability, came): &(f64, bool)| (probability - f64::from(u8::from(*came))).powi(2);
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
            let within: Vec<&(f64, bool)> =
                self.said.iter().filter(|(probability, _)| ((probability * 10.0) as usize).min(9) == tenth).collect();
            let n = within.len();
            let stated = within.iter().map(|(probability, _)| probability).sum::<f64>() / n as f64;
            let came = within.iter().filter(|(_, came)| *came).count() as f64 / n as f64;
            (n > 0).then_some(Bin { n, stated, came })
        };
        (0..10).filter_map(of_tenth).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brier_scores_are_those_of_the_definition() {
        let mut record = Record::default();
        assert!(!record.tells() && record.brier().is_nan());
        for (probability, came) in [(0.9, true), (0.95, false), (0.0, false), (1.0, true)] {
            record.add(probability, came);
        }
        assert!((record.brier() - (0.01 + 0.9025) / 4.0).abs() < 1e-12);
        assert!((record.brier_of_base_rate() - 0.25).abs() < 1e-12);
        let bins = record.bins();
        assert_eq!(bins.len(), 2);
        assert_eq!((bins[1].n, bins[1].came), (3, 2.0 / 3.0));
        assert!(!record.tells(), "four are too few");
    }
}
