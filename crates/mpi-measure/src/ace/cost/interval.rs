//! Where alpha and beta of each segment lie, by a bootstrap of what sizes are off their lines.
//!
//! All segments' errors, each in units of its own size's scatter, are one stock to draw from: a segment of four sizes has
//! only two degrees of freedom, too few to tell how wide its own are.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use units::Confidence;

use crate::statistics::{Interval, N_RESAMPLES, quantile_of_sorted, sorted};

use super::Size;
use super::line::Line;

/// For each part alpha's and beta's interval.
pub(super) fn intervals(
    sizes: &[Size],
    parts: &[Range<usize>],
    lines: &[Line],
    confidence: Confidence,
    seed: u64,
) -> Vec<[Interval; 2]> {
    let errors = errors(sizes, parts, lines, confidence);
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let of_part = |(part, line): (&Range<usize>, &Line)| {
        let mut drawn = sizes[part.clone()].to_vec();
        let mut found = [Vec::with_capacity(N_RESAMPLES), Vec::with_capacity(N_RESAMPLES)];
        for _ in 0..N_RESAMPLES {
            for (drawn, size) in drawn.iter_mut().zip(&sizes[part.clone()]) {
                let error = errors[chance.random_range(0..errors.len())];
                drawn.span = line.near(size) * (error * size.scatter).exp();
            }
            let line = Line::fit(&drawn);
            found[0].push(line.alpha);
            found[1].push(line.beta);
        }
        found.map(|values| middle(&values, confidence))
    };
    parts.iter().zip(lines).map(of_part).collect()
}

/// What all sizes are off their lines, widened for the parameters that were fitted to them and for how few they are.
fn errors(sizes: &[Size], parts: &[Range<usize>], lines: &[Line], confidence: Confidence) -> Vec<f64> {
    let off = |(part, line): (&Range<usize>, &Line)| -> Vec<f64> {
        sizes[part.clone()].iter().map(|size| line.off(size) / size.scatter).collect()
    };
    let errors: Vec<f64> = parts.iter().zip(lines).flat_map(off).collect();
    let n_free: usize = lines.iter().map(|line| line.n_free()).sum();
    // A part has four sizes or more and two parameters at most, so that something is left.
    let freedom = sizes.len().saturating_sub(n_free).max(1) as f64;
    let widened = (sizes.len() as f64 / freedom).sqrt() * small_sample(freedom, confidence);
    errors.iter().map(|error| error * widened).collect()
}

/// How much wider Student's interval is than the normal one.
fn small_sample(freedom: f64, confidence: Confidence) -> f64 {
    let at = 0.5 + 0.5 * confidence.probability();
    match (StudentsT::new(0.0, 1.0, freedom), Normal::new(0.0, 1.0)) {
        (Ok(student), Ok(normal)) => student.inverse_cdf(at) / normal.inverse_cdf(at),
        _ => 1.0,
    }
}

fn middle(values: &[f64], confidence: Confidence) -> Interval {
    let tail = 0.5 - 0.5 * confidence.probability();
    let sorted = sorted(values);
    let at = |share: f64| quantile_of_sorted(&sorted, share).unwrap_or(f64::NAN);
    Interval { low: at(tail), high: at(1.0 - tail) }
}
