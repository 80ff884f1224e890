//! Intervals of alpha and beta of each segment, by a bootstrap of what sizes are off their lines.
//!
//! Errors are in units of each size's own scatter. A segment of few sizes draws from the errors of all, since its own
//! are too few to tell how wide they are. They are drawn with either sign (the wild bootstrap's, Liu 1988): times that
//! were held up are off upward only, and would else shift an interval off its own line.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statistics::{Interval, N_RESAMPLES, quantile_of_sorted, sorted};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use units::Confidence;

use crate::cost::Size;
use crate::line::Line;

/// Sizes of a segment that draws from its own errors.
const OWN_SIZES_MIN: usize = 8;

/// Returns alpha's and beta's interval for each part.
pub(crate) fn intervals(
    sizes: &[Size],
    parts: &[Range<usize>],
    lines: &[Line],
    confidence: Confidence,
    seed: u64,
) -> Vec<[Interval; 2]> {
    let fitted: Vec<(&[Size], Line)> =
        parts.iter().zip(lines).map(|(part, line)| (&sizes[part.clone()], *line)).collect();
    let common = errors(&fitted, confidence);
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let of_part = |part: &(&[Size], Line)| {
        let own = (part.0.len() >= OWN_SIZES_MIN).then(|| errors(&[*part], confidence));
        of_line(*part, own.as_ref().unwrap_or(&common), confidence, &mut chance)
    };
    fitted.iter().map(of_part).collect()
}

fn of_line(
    (sizes, line): (&[Size], Line),
    errors: &[f64],
    confidence: Confidence,
    chance: &mut ChaCha8Rng,
) -> [Interval; 2] {
    let mut drawn = sizes.to_vec();
    let mut found = [Vec::with_capacity(N_RESAMPLES), Vec::with_capacity(N_RESAMPLES)];
    for _ in 0..N_RESAMPLES {
        for (drawn, size) in drawn.iter_mut().zip(sizes) {
            let error = errors[chance.random_range(0..errors.len())];
            let signed = if chance.random() { error } else { -error };
            drawn.span = line.near(size) * (signed * size.scatter).exp();
        }
        let line = Line::fit(&drawn);
        found[0].push(line.alpha_ns);
        found[1].push(line.beta_ns_per_byte);
    }
    found.map(|values| middle(&values, confidence))
}

/// Returns the errors of sizes off their lines, widened for the parameters that were fitted to them and for how few
/// they are.
fn errors(parts: &[(&[Size], Line)], confidence: Confidence) -> Vec<f64> {
    let off = |(sizes, line): &(&[Size], Line)| -> Vec<f64> {
        sizes.iter().map(|size| line.off(size) / size.scatter).collect()
    };
    let errors: Vec<f64> = parts.iter().flat_map(off).collect();
    let n_free: usize = parts.iter().map(|(_, line)| line.n_free()).sum();
    // A part has four sizes or more and two parameters at most, so that something is left.
    let freedom = errors.len().saturating_sub(n_free).max(1) as f64;
    let widened = (errors.len() as f64 / freedom).sqrt() * small_sample(freedom, confidence);
    errors.iter().map(|error| error * widened).collect()
}

/// Returns the factor by which Student's interval is wider than the normal one.
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
    Interval { lower: at(tail), upper: at(1.0 - tail) }
}
