//! How far a run is, for whoever looks while it runs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::campaign::Campaign;
use crate::evaluate::CaseResult;

/// Counters that workers turn and that anybody may read.
#[derive(Debug)]
pub struct Progress {
    n_done: AtomicU64,
    n_failed: AtomicU64,
    standings: Mutex<Vec<Sum>>,
}

/// How a model of the template has done in the cases of this sitting.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// As the template has it, or a peer's name.
    pub family: String,
    /// Cases that count.
    pub n: u64,
    /// Geometric mean over cases and leads of the mean squared error over that of the mean of the samples fitted to.
    pub relative_error: f64,
}

/// What the counters came to, for those of another process.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// Cases done.
    pub n_done: u64,
    /// Those of them in which no model could be fitted.
    pub n_failed: u64,
    /// For each model, the cases that count, and the sum of the logarithms of their relative errors.
    pub sums: Vec<(u64, f64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    n: u64,
    logarithms: f64,
}

impl Progress {
    /// Nothing done yet.
    #[must_use]
    pub fn new(campaign: &Campaign) -> Self {
        let standings = vec![Sum::default(); campaign.families().len()];
        Self { n_done: AtomicU64::new(0), n_failed: AtomicU64::new(0), standings: Mutex::new(standings) }
    }

    /// Cases done in this sitting.
    #[must_use]
    pub fn n_done(&self) -> u64 {
        self.n_done.load(Ordering::Relaxed)
    }

    /// Those of them in which no model could be fitted.
    #[must_use]
    pub fn n_failed(&self) -> u64 {
        self.n_failed.load(Ordering::Relaxed)
    }

    /// Models that have a case that counts, the best first.
    #[must_use]
    pub fn standings(&self, campaign: &Campaign) -> Vec<Standing> {
        let sums = self.standings.lock().expect("nobody panics with the lock held").clone();
        let standing = |(sum, family): (Sum, String)| {
            let relative_error = (sum.logarithms / sum.n as f64).exp();
            (sum.n > 0).then_some(Standing { family, n: sum.n, relative_error })
        };
        let mut standings: Vec<Standing> = sums.into_iter().zip(campaign.families()).filter_map(standing).collect();
        standings.sort_by(|a, b| a.relative_error.total_cmp(&b.relative_error));
        standings
    }

    /// All counters as they are.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let sums = self.standings.lock().expect("nobody panics with the lock held");
        let sums = sums.iter().map(|sum| (sum.n, sum.logarithms)).collect();
        Tally { n_done: self.n_done(), n_failed: self.n_failed(), sums }
    }

    /// Counts what was counted elsewhere, of the same campaign.
    pub fn add(&self, tally: &Tally) {
        self.n_done.fetch_add(tally.n_done, Ordering::Relaxed);
        self.n_failed.fetch_add(tally.n_failed, Ordering::Relaxed);
        let mut sums = self.standings.lock().expect("nobody panics with the lock held");
        for (sum, (n, logarithms)) in sums.iter_mut().zip(&tally.sums) {
            sum.n += n;
            sum.logarithms += logarithms;
        }
    }

    /// Counts a case.
    pub fn note(&self, result: &CaseResult) {
        self.n_done.fetch_add(1, Ordering::Relaxed);
        let Ok(scored) = &result.outcome else {
            self.n_failed.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let ratio = |(score, naive): (&predict::LeadScore, &crate::NaiveErrors)| {
            Some((score.errors?.mean_squared / naive.mean_squared_of_mean).ln()).filter(|ratio| ratio.is_finite())
        };
        let ratios: Vec<f64> = scored.leads.iter().zip(&result.window.naive).filter_map(ratio).collect();
        if !ratios.is_empty() {
            let mut standings = self.standings.lock().expect("nobody panics with the lock held");
            let sum = &mut standings[result.case.family_idx];
            sum.n += 1;
            sum.logarithms += ratios.iter().sum::<f64>() / ratios.len() as f64;
        }
    }
}
