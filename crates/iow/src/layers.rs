//! Times of the same operations at two layers: what the application waits, and what the kernel's own layer takes.
//!
//! A layer below that answers early and slows down later keeps data in a buffer which nobody told of. One layer alone
//! misleads: a short file looks fast, dropping slow records as outliers looks faster, and the peak looks fastest.

use statistics::median;

/// A buffer below the lower layer.
#[derive(Clone, Debug, PartialEq)]
pub struct HiddenBuffer {
    /// The lower layer's median time of early records.
    pub early_ns: f64,
    /// The time that the application waited on top of it.
    pub gap_ns: f64,
    /// The lower layer's median time once the buffer is full.
    pub steady_ns: f64,
    /// The first record of the steady state.
    pub first_steady: usize,
}

/// Steady records take so many times as long as early ones, or there is no buffer worth the name.
const RATIO: f64 = 5.0;

/// The least number of records that make a state.
const RECORDS_MIN: usize = 4;

/// Finds one from the times of the same records at both layers.
#[must_use]
pub fn hidden_buffer(application_ns: &[f64], kernel_ns: &[f64]) -> Option<HiddenBuffer> {
    let n = application_ns.len().min(kernel_ns.len());
    // The split with the least absolute deviations of both parts from their medians, so that single slow records move
    // nothing.
    let cost =
        |part: &[f64]| median(part).map_or(0.0, |middle| part.iter().map(|time| (time.ln() - middle.ln()).abs()).sum());
    let splits = RECORDS_MIN..(n + 1).saturating_sub(RECORDS_MIN);
    let first_steady = splits.min_by(|a, b| {
        let at = |split: usize| cost(&kernel_ns[..split]) + cost(&kernel_ns[split..n]);
        at(*a).total_cmp(&at(*b))
    })?;
    let (early_ns, steady_ns) = (median(&kernel_ns[..first_steady])?, median(&kernel_ns[first_steady..n])?);
    let gaps: Vec<f64> = (0..first_steady).map(|i| application_ns[i] - kernel_ns[i]).collect();
    (steady_ns >= RATIO * early_ns).then_some(HiddenBuffer {
        early_ns,
        gap_ns: median(&gaps)?,
        steady_ns,
        first_steady,
    })
}
