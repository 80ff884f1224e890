//! Whittle's approximation of the Gaussian log-likelihood, from the periodogram (Whittle 1953; Fox and Taqqu 1986).
//!
//! Cheap, blind to the mean, and near the exact likelihood away from the unit circle: good to search with.

use std::f64::consts::TAU;

use statistics::transform::{Complex, periodogram};

use super::coordinates::Point;
use super::scoring::{Derivatives, Objective};
use crate::effort::spend;
use crate::model::linear::dot;

/// A periodogram, and what of the spectral density does not depend on coefficients.
pub(super) struct Whittle {
    /// Half the number of samples, for a log-likelihood in the units of all samples.
    weight: f64,
    periodogram: Vec<f64>,
    /// log |1 - exp(-i w)| at each frequency w.
    log_distance: Vec<f64>,
    /// (cos k w, sin k w) for k = 1, 2, …: one row of cosines and one of sines for each k.
    waves: Vec<(Vec<f64>, Vec<f64>)>,
    latest: Latest,
}

/// Parts of the last value that its derivatives need.
#[derive(Default)]
struct Latest {
    phi: Polynomial,
    theta: Polynomial,
    /// The periodogram over the fitted density, its mean being 1.
    ratio: Vec<f64>,
}

/// 1 - c(1) z - c(2) z^2 - … at z = exp(-i w), in its real and imaginary parts.
#[derive(Default)]
struct Polynomial {
    real: Vec<f64>,
    imaginary: Vec<f64>,
}

impl Whittle {
    /// Builds the objective of a row without gaps, for polynomials up to the given order.
    pub(super) fn new(row: &[f64], order_max: usize) -> Self {
        let periodogram = periodogram(row);
        let frequencies = (1..=periodogram.len()).map(|j| TAU * j as f64 / row.len() as f64);
        let log_distance = frequencies.clone().map(|frequency| (2.0 * (frequency / 2.0).sin()).ln()).collect();
        let first: Vec<Complex<f64>> = frequencies.map(Complex::cis).collect();
        let mut power = vec![Complex::from(1.0); first.len()];
        let mut next = |_| {
            power.iter_mut().zip(&first).for_each(|(power, first)| *power *= first);
            power.iter().map(|wave| (wave.re, wave.im)).unzip()
        };
        let waves = (1..=order_max).map(&mut next).collect();
        Self { weight: row.len() as f64 / 2.0, periodogram, log_distance, waves, latest: Latest::default() }
    }

    fn polynomial(&self, coefficients: &[f64], sign: f64) -> Polynomial {
        let n = self.periodogram.len();
        let (mut real, mut imaginary) = (vec![1.0; n], vec![0.0; n]);
        for (coefficient, (cos, sin)) in coefficients.iter().zip(&self.waves) {
            let coefficient = sign * coefficient;
            real.iter_mut().zip(cos).for_each(|(sum, cos)| *sum += coefficient * cos);
            imaginary.iter_mut().zip(sin).for_each(|(sum, sin)| *sum -= coefficient * sin);
        }
        Polynomial { real, imaginary }
    }

    /// 2 Re(z^k / c(z)) for each k, a row of frequencies for each: the slopes of -log |c|^2 by the coefficients.
    fn slopes(&self, polynomial: &Polynomial, order: usize, columns: &mut Vec<Vec<f64>>) {
        let Polynomial { real, imaginary } = polynomial;
        let scale: Vec<f64> = real.iter().zip(imaginary).map(|(re, im)| 2.0 / (re * re + im * im)).collect();
        for (cos, sin) in &self.waves[..order] {
            let value = |j: usize| (cos[j] * real[j] - sin[j] * imaginary[j]) * scale[j];
            columns.push((0..real.len()).map(value).collect());
        }
    }
}

impl Objective for Whittle {
    fn value(&mut self, at: &Point) -> Option<f64> {
        spend(self.periodogram.len() * (100 + 10 * at.n_parameters())).then_some(())?;
        let (phi, theta) = (self.polynomial(&at.phi, -1.0), self.polynomial(&at.theta, 1.0));
        let mut ratio = Vec::with_capacity(self.periodogram.len());
        let (mut log_density, mut sum) = (0.0, 0.0);
        for (j, power) in self.periodogram.iter().enumerate() {
            let short = norm(&theta, j) / norm(&phi, j);
            let long = -2.0 * at.d * self.log_distance[j];
            log_density += short.ln() + long;
            let quotient = power / (short * long.exp());
            sum += quotient;
            ratio.push(quotient);
        }
        let n = self.periodogram.len() as f64;
        let mean = sum / n;
        ratio.iter_mut().for_each(|quotient| *quotient /= mean);
        self.latest = Latest { phi, theta, ratio };
        Some(-self.weight * (mean.ln() + log_density / n)).filter(|value| value.is_finite())
    }

    fn derivatives(&mut self, at: &Point) -> Derivatives {
        let mut columns = Vec::with_capacity(at.n_parameters());
        self.slopes(&self.latest.phi, at.phi.len(), &mut columns);
        self.slopes(&self.latest.theta, at.theta.len(), &mut columns);
        columns.push(self.log_distance.iter().map(|log| -2.0 * log).collect());
        // The variance is fitted along, so that only what differs from the mean over frequencies counts.
        for column in &mut columns {
            let mean = column.iter().sum::<f64>() / column.len() as f64;
            column.iter_mut().for_each(|value| *value -= mean);
        }
        let scale = self.weight / self.periodogram.len() as f64;
        let gradient = columns.iter().map(|column| scale * dot(column, &self.latest.ratio)).collect();
        let information =
            columns.iter().flat_map(|one| columns.iter().map(move |other| scale * dot(one, other))).collect();
        Derivatives { gradient, information }
    }
}

fn norm(polynomial: &Polynomial, j: usize) -> f64 {
    polynomial.real[j] * polynomial.real[j] + polynomial.imaginary[j] * polynomial.imaginary[j]
}
