//! Several series at once: futures whose errors at one time go together as those of past forecasts did.

use crate::optimize::positive_definite::cholesky;

use super::Outlook;
use super::drawing::Drawing;
use super::forecast::{Place, between};
use super::paths::{Paths, Shocks};
use super::rung::MEMORY;

/// Errors that have nothing to do with each other, as which a correlation counts until more are seen.
const N_APART: f64 = 4.0;

/// No two series go together by more: rounding would make the matrix of all of them none.
const CORRELATION_MAX: f64 = 0.999_9;

/// Shares of the correlations that are tried until they are a positive definite matrix, which those of a few series
/// that go together closely may not be.
const KEPT: [f64; 5] = [1.0, 0.99, 0.95, 0.5, 0.0];

/// Series with the same steps, and how their errors go together.
///
/// Each is forecast by its own [`Outlook`]; of futures the values at one lead are drawn together, by the correlation of
/// the errors of past forecasts made at the same time for the same lead (a Gaussian copula).
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    outlooks: Vec<Outlook>,
    /// Errors together, at each watched lead.
    together: Vec<Together>,
}

/// Means of the products of all errors with each other at one lead, row after row.
#[derive(Clone, Debug, PartialEq)]
struct Together {
    products: Vec<f64>,
    n: f64,
}

impl Joint {
    /// Series that have no sample yet.
    ///
    /// # Panics
    /// Without any, and when they are not to be forecast equally far.
    #[must_use]
    pub fn new(outlooks: Vec<Outlook>) -> Self {
        let n_rungs = outlooks.first().expect("there is a series").rungs.len();
        assert!(outlooks.iter().all(|outlook| outlook.rungs.len() == n_rungs), "series are forecast equally far");
        let none = Together { products: vec![0.0; outlooks.len().pow(2)], n: 0.0 };
        Self { together: vec![none; if outlooks.len() > 1 { n_rungs } else { 0 }], outlooks }
    }

    /// The series, in their order.
    #[must_use]
    pub fn outlooks(&self) -> &[Outlook] {
        &self.outlooks
    }

    /// Takes the next sample of each, NaN for a gap.
    ///
    /// # Panics
    /// Unless there is one for each.
    pub fn step(&mut self, samples: &[f64]) {
        assert_eq!(samples.len(), self.outlooks.len(), "a sample for each series");
        let clock = self.outlooks[0].clock;
        self.outlooks.iter_mut().zip(samples).for_each(|(outlook, sample)| outlook.step(*sample));
        for (idx, together) in self.together.iter_mut().enumerate() {
            let rungs = || self.outlooks.iter().map(|outlook| (&outlook.rungs[idx], outlook.period));
            let Some(errors) = rungs().map(|(rung, _)| rung.error_at(clock)).collect::<Option<Vec<f64>>>() else {
                continue;
            };
            let memory = rungs().map(|(rung, period)| rung.memory(MEMORY * period)).fold(f64::INFINITY, f64::min);
            together.learn(&errors, memory);
        }
    }

    /// Whether there are samples enough of each to say anything.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.outlooks.iter().all(Outlook::is_ready)
    }

    /// Futures drawn by chance, for each series as many: path `i` of one and path `i` of another are one future. None
    /// while there is no forecast. The same seed draws the same ones.
    #[must_use]
    pub fn paths(&self, n_paths: usize, n_leads: usize, seed: u64) -> Vec<Paths> {
        if let [alone] = &*self.outlooks {
            return vec![alone.paths(n_paths, n_leads, seed)];
        }
        if !self.is_ready() {
            return vec![Paths::new(n_paths, n_leads); self.outlooks.len()];
        }
        let n = self.outlooks.len();
        let mut shocks = Shocks::new(n_paths, seed);
        let mut drawings: Vec<Drawing<'_>> =
            self.outlooks.iter().map(|outlook| Drawing::new(outlook.view(&[]), n_paths, n_leads)).collect();
        for lead in 1..=n_leads {
            let factor = self.factor(self.outlooks[0].place(lead));
            // What lasts, and what passes.
            let [fresh, passing] = [(); 2].map(|()| {
                let own: Vec<Vec<f64>> = (0..n).map(|_| shocks.next().to_vec()).collect();
                mixed(&factor, &own)
            });
            for (idx, drawing) in drawings.iter_mut().enumerate() {
                drawing.go_on(&fresh[idx]);
                drawing.pass(&passing[idx]);
                drawing.push();
            }
        }
        drawings.into_iter().map(Drawing::into_paths).collect()
    }

    /// The lower factor of the correlations at a lead.
    fn factor(&self, Place { below, above, share }: Place) -> Vec<f64> {
        let n = self.outlooks.len();
        let correlation =
            |idx: usize, i: usize, j: usize| self.together[idx].correlation(self.n_under_way(idx), i, j, n);
        let mut matrix = vec![0.0; n * n];
        for kept in KEPT {
            for i in 0..n {
                for j in 0..i {
                    matrix[i * n + j] = kept * between(correlation(below, i, j), correlation(above, i, j), share);
                }
                matrix[i * n + i] = 1.0;
            }
            if cholesky(&mut matrix, n).is_some() {
                break;
            }
        }
        matrix
    }

    fn n_under_way(&self, idx: usize) -> f64 {
        self.outlooks[0].rungs[idx].n_under_way()
    }
}

impl Together {
    fn learn(&mut self, errors: &[f64], memory: f64) {
        self.n = (self.n + 1.0).min(memory.max(1.0));
        let pairs = errors.iter().flat_map(|one| errors.iter().map(move |other| one * other));
        for (product, news) in self.products.iter_mut().zip(pairs) {
            *product += (news - *product) / self.n;
        }
    }

    /// Returns the correlation of series `i` and `j` of `n`. As long as little is known, none.
    fn correlation(&self, n_under_way: f64, i: usize, j: usize, n: usize) -> f64 {
        let n_independent = self.n / n_under_way;
        let scale = (self.products[i * n + i] * self.products[j * n + j]).sqrt();
        let seen = if scale > 0.0 { self.products[i * n + j] / scale } else { 0.0 };
        let seen = seen.clamp(-CORRELATION_MAX, CORRELATION_MAX);
        // On Fisher's scale, so that a close correlation stays one.
        (n_independent / (N_APART + n_independent) * seen.atanh()).tanh()
    }
}

/// Rows of independent shocks, by the factor of their correlations.
fn mixed(factor: &[f64], own: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = own.len();
    let mix = |i: usize| {
        let mut row = vec![0.0; own[0].len()];
        for (share, shocks) in factor[i * n..=i * n + i].iter().zip(own) {
            row.iter_mut().zip(shocks).for_each(|(sum, shock)| *sum += share * shock);
        }
        row
    };
    (0..n).map(mix).collect()
}
