//! Progress of a run, readable while it runs.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::campaign::Campaign;
use crate::evaluate::CaseResult;
use crate::results::picked;

/// Reasons of failure that are counted one by one.
const N_REASONS_MAX: usize = 64;

/// Counters that workers turn and that anybody may read.
#[derive(Debug)]
pub struct Progress {
    n_done: AtomicU64,
    n_failed: AtomicU64,
    n_slots: usize,
    /// The leads that the report is on, as places among those of the template.
    leads: Vec<usize>,
    board: Mutex<Board>,
}

/// The results of the models so far.
#[derive(Debug)]
struct Board {
    sums: Vec<Sum>,
    /// The losses of the models that were judged on a window, by window, until all models were judged on it.
    open: BTreeMap<u64, Vec<(usize, Vec<f64>)>>,
    /// The number of cases of this process that failed, by reason.
    failures: BTreeMap<String, u64>,
}

/// Results of a model of the template in the cases of this sitting.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The model as the template has it, or a peer's name.
    pub family: String,
    /// Cases that count.
    pub n: u64,
    /// The share of comparisons with other models on the same window that it won, ties counting half: what the report
    /// ranks by.
    pub win_share: f64,
    /// Geometric mean over cases and leads of the mean squared error over that of the mean of the samples fitted to.
    pub relative_error: f64,
}

/// The values of the counters, for those of another process.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// Cases done.
    pub n_done: u64,
    /// Those of them in which no model could be fitted.
    pub n_failed: u64,
    /// The numbers for each model: the cases that count, the sum of the logarithms of their relative errors,
    /// comparisons with others, and those of them that it won.
    pub sums: Vec<(u64, f64, u64, f64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    n: u64,
    logarithms: f64,
    n_compared: u64,
    n_won: f64,
}

impl Progress {
    /// Nothing done yet.
    #[must_use]
    pub fn new(campaign: &Campaign) -> Self {
        let sums = vec![Sum::default(); campaign.families().len()];
        Self {
            n_done: AtomicU64::new(0),
            n_failed: AtomicU64::new(0),
            n_slots: campaign.n_slots(),
            leads: places(campaign.template().leads()),
            board: Mutex::new(Board { sums, open: BTreeMap::new(), failures: BTreeMap::new() }),
        }
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

    /// Returns the reasons why cases of this process failed, and the number of cases for each reason; those first that
    /// most failed for.
    #[must_use]
    pub fn failures(&self) -> Vec<(String, u64)> {
        let mut failures: Vec<(String, u64)> = self.board().failures.clone().into_iter().collect();
        failures.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        failures
    }

    /// Models that have a case that counts, the best first: by the share of comparisons won, as in the report, then by
    /// their errors.
    #[must_use]
    pub fn standings(&self, campaign: &Campaign) -> Vec<Standing> {
        let sums = self.board().sums.clone();
        let standing = |(sum, family): (Sum, String)| {
            let relative_error = (sum.logarithms / sum.n as f64).exp();
            let win_share = if sum.n_compared == 0 { 0.5 } else { sum.n_won / sum.n_compared as f64 };
            (sum.n > 0).then_some(Standing { family, n: sum.n, win_share, relative_error })
        };
        let mut standings: Vec<Standing> = sums.into_iter().zip(campaign.families()).filter_map(standing).collect();
        let by_error = |a: &Standing, b: &Standing| a.relative_error.total_cmp(&b.relative_error);
        standings.sort_by(|a, b| b.win_share.total_cmp(&a.win_share).then_with(|| by_error(a, b)));
        standings
    }

    /// All counters as they are.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let sums = self.board().sums.iter().map(|sum| (sum.n, sum.logarithms, sum.n_compared, sum.n_won)).collect();
        Tally { n_done: self.n_done(), n_failed: self.n_failed(), sums }
    }

    /// Counts what was counted elsewhere, of the same campaign.
    pub fn add(&self, tally: &Tally) {
        self.n_done.fetch_add(tally.n_done, Ordering::Relaxed);
        self.n_failed.fetch_add(tally.n_failed, Ordering::Relaxed);
        for (sum, (n, logarithms, n_compared, n_won)) in self.board().sums.iter_mut().zip(&tally.sums) {
            sum.n += n;
            sum.logarithms += logarithms;
            sum.n_compared += n_compared;
            sum.n_won += n_won;
        }
    }

    /// Counts a case.
    pub fn note(&self, result: &CaseResult) {
        self.n_done.fetch_add(1, Ordering::Relaxed);
        let scored = match &result.outcome {
            Ok(scored) => scored,
            Err(reason) => {
                self.n_failed.fetch_add(1, Ordering::Relaxed);
                self.board().count_failure(reason.to_string());
                return self.compare(result, vec![f64::INFINITY; self.leads.len()]);
            }
        };
        let loss = |lead_idx: &usize| {
            let errors = scored.leads.get(*lead_idx).and_then(|score| score.errors);
            errors.map_or(f64::NAN, |errors| errors.mean_squared)
        };
        self.compare(result, self.leads.iter().map(loss).collect());
        let ratio = |(score, naive): (&predict::LeadScore, &crate::NaiveErrors)| {
            Some((score.errors?.mean_squared / naive.mean_squared_of_mean).ln()).filter(|ratio| ratio.is_finite())
        };
        let ratios: Vec<f64> = scored.leads.iter().zip(&result.window.naive).filter_map(ratio).collect();
        if !ratios.is_empty() {
            let sum = &mut self.board().sums[result.case.family_idx];
            sum.n += 1;
            sum.logarithms += ratios.iter().sum::<f64>() / ratios.len() as f64;
        }
    }

    /// Compares a case with those on the same window that were counted before it, lead by lead.
    fn compare(&self, result: &CaseResult, losses: Vec<f64>) {
        let (window, family_idx) = (result.case.window.number, result.case.family_idx);
        let mut board = self.board();
        let Board { sums, open, .. } = &mut *board;
        let judged = open.entry(window).or_default();
        for (other_idx, others) in judged.iter() {
            for (loss, other) in losses.iter().zip(others).filter(|(loss, other)| !loss.is_nan() && !other.is_nan()) {
                let won = match loss.total_cmp(other) {
                    Less => 1.0,
                    Equal => 0.5,
                    Greater => 0.0,
                };
                for (idx, won) in [(family_idx, won), (*other_idx, 1.0 - won)] {
                    sums[idx].n_compared += 1;
                    sums[idx].n_won += won;
                }
            }
        }
        judged.push((family_idx, losses));
        if judged.len() == self.n_slots {
            open.remove(&window);
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().expect("nobody panics with the lock held")
    }
}

impl Board {
    fn count_failure(&mut self, reason: String) {
        let is_full = self.failures.len() >= N_REASONS_MAX && !self.failures.contains_key(&reason);
        *self.failures.entry(if is_full { "other reasons".to_owned() } else { reason }).or_default() += 1;
    }
}

/// Returns the places of the report's leads among `leads`.
fn places(leads: &[usize]) -> Vec<usize> {
    let picked = picked(leads);
    (0..leads.len()).filter(|idx| picked.contains(&leads[*idx])).collect()
}
