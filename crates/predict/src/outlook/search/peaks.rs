//! Periods that stand out of a periodogram.

use super::super::season::CLIP;

/// Bins on either side of a peak that its neighbourhood has, and those next to it that it has not.
const N_NEIGHBOURS: usize = 16;
const N_LEAKED: usize = 2;

/// The power of a peak over the median of its neighbourhood. Of noise, one bin in 4096 has it.
const PEAK_MIN: f64 = 12.0;

/// Peaks that are put to the test, and peaks whose differences are: the harmonics of a timer are as high as its
/// fundamental.
pub(super) const N_PEAKS: usize = 6;
pub(super) const N_BETWEEN: usize = 4;

/// Periods at which the periodogram of differences stands out, the clearest first, and those whose frequencies are the
/// differences of the clearest.
pub(super) fn peaks(samples: &[f64], n_between: usize) -> Vec<f64> {
    let changes = changes(samples);
    let Ok(statistics::Periodogram { powers, .. }) = statistics::periodogram(&changes) else { return Vec::new() };
    let is_peak = |idx: &usize| {
        let around = [idx.wrapping_sub(1), idx + 1].map(|idx| powers.get(idx).copied().unwrap_or(0.0));
        around.iter().all(|power| *power < powers[*idx])
    };
    let clear =
        |idx: usize| Some((idx, powers[idx] / neighbourhood(&powers, idx))).filter(|(_, ratio)| *ratio > PEAK_MIN);
    let mut peaks: Vec<(usize, f64)> = (0..powers.len()).filter(is_peak).filter_map(clear).collect();
    peaks.sort_by(|one, other| other.1.total_cmp(&one.1));
    peaks.truncate(N_PEAKS);
    // In cycles over all samples.
    let mut frequencies: Vec<f64> = peaks.iter().map(|(idx, _)| (idx + 1) as f64 + summit(&powers, *idx)).collect();
    let clearest = frequencies[..frequencies.len().min(n_between)].to_vec();
    for (idx, one) in clearest.iter().enumerate() {
        frequencies.extend(clearest[..idx].iter().map(|other| (one - other).abs()));
    }
    frequencies
        .into_iter()
        .filter(|frequency| *frequency > 1.0)
        .map(|frequency| samples.len() as f64 / frequency)
        .collect()
}

/// Returns the changes from each sample to the next, over gaps none, and none that is out of proportion.
pub(super) fn changes(samples: &[f64]) -> Vec<f64> {
    let mut last = None;
    let mut changes: Vec<f64> = samples
        .iter()
        .map(|sample| {
            // Over a gap there is no change.
            let known = (!sample.is_nan()).then_some(*sample);
            let change = known.zip(last).map_or(0.0, |(sample, last)| sample - last);
            last = known.or(last);
            change
        })
        .collect();
    let most = CLIP * changes.iter().map(|change| change.abs()).sum::<f64>() / changes.len() as f64;
    changes.iter_mut().for_each(|change| *change = change.clamp(-most, most));
    changes
}

/// The median of the bins around one.
fn neighbourhood(powers: &[f64], idx: usize) -> f64 {
    let below = idx.saturating_sub(N_NEIGHBOURS)..idx.saturating_sub(N_LEAKED);
    let above = (idx + N_LEAKED + 1).min(powers.len())..(idx + N_NEIGHBOURS + 1).min(powers.len());
    let around: Vec<f64> = powers[below].iter().chain(&powers[above]).copied().collect();
    statistics::median(&around).unwrap_or(f64::INFINITY)
}

/// Returns the distance of a peak from its bin, by the parabola through the logarithms of three.
fn summit(powers: &[f64], idx: usize) -> f64 {
    let at = |idx: usize| powers.get(idx).map_or(f64::NEG_INFINITY, |power| power.ln());
    let (left, middle, right) = (idx.checked_sub(1).map_or(f64::NEG_INFINITY, at), at(idx), at(idx + 1));
    let curve = left - 2.0 * middle + right;
    if curve.is_finite() && curve < 0.0 { (0.5 * (left - right) / curve).clamp(-0.5, 0.5) } else { 0.0 }
}
