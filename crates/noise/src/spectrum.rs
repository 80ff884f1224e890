//! Spectrum of lost time: what comes at a steady pace stands out as a peak at that pace, and at multiples of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use statistics::{StatisticError, median, periodogram};

use super::detour::Detour;

/// Bins of time that are transformed; with more, several are taken together.
const N_BINS_MAX: usize = 1 << 19;
/// Points of a spectrum that are kept: the highest within equal steps of the logarithm of frequency.
const N_POINTS: usize = 800;
/// Chance that a spectrum without any pace shows a peak.
const FALSE_ALARM: f64 = 0.01;
/// Frequencies around a peak whose median is the floor that it stands on: a fortieth of all, and no fewer than this.
const N_FLOOR_MIN: usize = 64;
/// Peaks told of.
const N_PEAKS_MAX: usize = 8;

/// Power by frequency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spectrum {
    /// Step of the series that was transformed, in nanoseconds.
    pub step_ns: f64,
    /// Hertz and power, the latter in squared nanoseconds lost per step.
    pub points: Vec<(f64, f64)>,
    /// The highest first.
    pub peaks: Vec<Peak>,
}

/// A pace at which time is lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// The lowest frequency of its row of multiples.
    pub frequency_hz: f64,
    /// Half the distance between two frequencies that a run of this length tells apart.
    pub within_hz: f64,
    /// One by the frequency, in nanoseconds.
    pub period_ns: f64,
    /// Height of the peak as a multiple of the floor around it.
    pub over_floor: f64,
    /// Multiples of this frequency that stand out as well.
    pub n_harmonics: usize,
}

/// Time lost in each of equal steps: each detour is spread over the steps that it took, from where its quantum began.
#[must_use]
pub(crate) fn losses(detours: &[Detour], start_ns: u64, end_ns: u64, step: Duration) -> (Vec<f64>, f64) {
    let span_ns = end_ns.saturating_sub(start_ns) as f64;
    let step_ns = (step.as_nanos() as f64).max(span_ns / N_BINS_MAX as f64).max(1.0);
    let mut losses = vec![0.0; (span_ns / step_ns) as usize];
    for detour in detours {
        let mut at = detour.at_ns.saturating_sub(start_ns) as f64;
        let mut left = detour.length_ns;
        while left > 0.0 {
            let bin = (at / step_ns) as usize;
            let Some(loss) = losses.get_mut(bin) else { break };
            let here = left.min((bin + 1) as f64 * step_ns - at).max(1.0);
            *loss += here;
            left -= here;
            at += here;
        }
    }
    (losses, step_ns)
}

/// Sums as many neighbours of a series as leave no more than can be transformed. Returns the sums and their step.
#[must_use]
pub(crate) fn merged(losses: &[f64], step_ns: f64) -> (Vec<f64>, f64) {
    let n_together = losses.len().div_ceil(N_BINS_MAX).max(1);
    (losses.chunks_exact(n_together).map(|together| together.iter().sum()).collect(), n_together as f64 * step_ns)
}

impl Spectrum {
    /// Computes the spectrum of time lost in steps of `step_ns`.
    ///
    /// # Errors
    /// Fewer than 4 steps, or nothing lost in any, or the same in all.
    pub(crate) fn of(losses: &[f64], step_ns: f64) -> Result<Self, StatisticError> {
        let spectrum = periodogram(losses)?;
        let per_second = 1e9 / step_ns / std::f64::consts::TAU;
        let frequencies: Vec<f64> = spectrum.frequencies.iter().map(|radians| radians * per_second).collect();
        let peaks = peaks(&frequencies, &spectrum.powers, losses.len() as f64 * step_ns);
        Ok(Self { step_ns, points: thinned(&frequencies, &spectrum.powers), peaks })
    }
}

/// Finds the peaks of the power, with multiples put to the lowest of their row.
fn peaks(frequencies: &[f64], powers: &[f64], span_ns: f64) -> Vec<Peak> {
    let n = powers.len();
    let floors = floors(powers);
    // The power of noise is exponential about its floor.
    let needed = (n as f64 / FALSE_ALARM).ln();
    let within_hz = 0.5e9 / span_ns;
    let mut peaks: Vec<Peak> = Vec::new();
    for idx in 0..n {
        let around = &powers[idx.saturating_sub(2)..(idx + 3).min(n)];
        let is_highest = around.iter().all(|power| *power <= powers[idx]);
        let over_floor = powers[idx] / floors[idx];
        if !is_highest || over_floor.is_nan() || over_floor < needed {
            continue;
        }
        match peaks.iter_mut().find(|peak| is_multiple(frequencies[idx], peak)) {
            Some(peak) => {
                peak.n_harmonics += 1;
                peak.over_floor = peak.over_floor.max(over_floor.min(f64::MAX));
            }
            None => peaks.push(Peak {
                frequency_hz: frequencies[idx],
                within_hz,
                period_ns: 1e9 / frequencies[idx],
                over_floor: over_floor.min(f64::MAX),
                n_harmonics: 0,
            }),
        }
    }
    // A row of multiples is surer than a single peak, of which chance makes one now and then.
    peaks.sort_by(|a, b| {
        (b.n_harmonics + 1).min(4).cmp(&(a.n_harmonics + 1).min(4)).then(b.over_floor.total_cmp(&a.over_floor))
    });
    peaks.truncate(N_PEAKS_MAX);
    peaks
}

/// Whether a frequency is a multiple of a peak's, as well as both are known; false beyond where that means nothing.
fn is_multiple(frequency: f64, peak: &Peak) -> bool {
    let times = (frequency / peak.frequency_hz).round();
    let uncertain = (times + 1.0) * peak.within_hz;
    times >= 2.0 && uncertain < 0.125 * peak.frequency_hz && (frequency - times * peak.frequency_hz).abs() <= uncertain
}

/// Returns the power of noise around each frequency: the median there, by that of an exponential of mean 1.
fn floors(powers: &[f64]) -> Vec<f64> {
    let width = (powers.len() / 40).max(N_FLOOR_MIN);
    let of_chunk = |chunk: &[f64]| vec![median(chunk).unwrap_or(0.0) / std::f64::consts::LN_2; chunk.len()];
    powers.chunks(width).flat_map(of_chunk).collect()
}

fn thinned(frequencies: &[f64], powers: &[f64]) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (frequencies.first(), frequencies.last()) else { return Vec::new() };
    let step = (last / first).ln().max(f64::MIN_POSITIVE) / N_POINTS as f64;
    let step_of = |idx: &usize| ((frequencies[*idx] / first).ln() / step) as usize;
    let idxs: Vec<usize> = (0..frequencies.len()).collect();
    let highest = |within: &[usize]| within.iter().copied().max_by(|a, b| powers[*a].total_cmp(&powers[*b]));
    let kept = idxs.chunk_by(|a, b| step_of(a) == step_of(b)).filter_map(highest);
    kept.map(|idx| (frequencies[idx], powers[idx])).collect()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const STEP: Duration = Duration::from_micros(100);

    fn detour(at_ns: u64, length_ns: f64) -> Detour {
        Detour { idx: 0, at_ns, within_ns: 1e5, length_ns }
    }

    fn noise(n: usize) -> Vec<Detour> {
        let mut chance = ChaCha8Rng::seed_from_u64(2);
        (0..n).map(|_| detour((5e9 * chance.random::<f64>()) as u64, 1e5 * chance.random::<f64>())).collect()
    }

    #[test]
    fn a_detour_is_spread_over_the_steps_that_it_took() {
        let (losses, step_ns) = losses(&[detour(150_000, 120_000.0), detour(990_000, 50_000.0)], 0, 1_000_000, STEP);
        assert_eq!(losses, [0.0, 50_000.0, 70_000.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10_000.0]);
        assert_eq!(step_ns, 1e5);
    }

    #[test]
    fn a_steady_pace_is_one_peak_with_its_multiples() {
        let mut detours = noise(500);
        detours.extend((0..500).map(|k| detour(k * 10_000_000 + 77, 1e5)));
        let (losses, step_ns) = losses(&detours, 0, 5_000_000_000, STEP);
        let spectrum = Spectrum::of(&losses, step_ns).unwrap();
        let peak = &spectrum.peaks[0];
        assert!((peak.frequency_hz - 100.0).abs() <= peak.within_hz, "{peak:?}");
        assert!((peak.period_ns / 1e7 - 1.0).abs() < 0.001 && peak.n_harmonics > 10, "{peak:?}");
        assert!(spectrum.points.len() <= N_POINTS + 1 && spectrum.points.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn noise_without_a_pace_has_no_peaks() {
        let (losses, step_ns) = losses(&noise(3_000), 0, 5_000_000_000, STEP);
        assert_eq!(Spectrum::of(&losses, step_ns).unwrap().peaks, []);
    }

    #[test]
    fn nothing_lost_has_no_spectrum() {
        assert!(Spectrum::of(&[0.0; 100], 1e5).is_err());
        assert!(Spectrum::of(&[], 1e5).is_err());
        assert_eq!(losses(&[], 5, 5, STEP).0, [0.0; 0]);
    }
}
