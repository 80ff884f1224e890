//! Spikes and bursts: a forecast does not go far beyond everything that was ever seen.

use predict::{Outlook, Periods};

use super::Noise;

const DAY: usize = 288;
const SIX_HOURS: usize = 72;

/// The free gigabytes of a disk that a job of two hours takes 300 of every night.
fn nightly(t: usize) -> f64 {
    let taken = match t % DAY {
        phase @ ..24 => 12.5 * phase as f64,
        phase @ 24..30 => 50.0 * (30 - phase) as f64,
        _ => 0.0,
    };
    500.0 - taken
}

#[test]
fn no_end_is_farther_than_one_and_a_half_times_the_largest_error() {
    // A load of 2 with a sudden 185 that dies out, and twelve single samples of 900.
    let dies_out = |t: usize| if t < 1480 { 0.0 } else { 185.0 * (-((t - 1480) as f64) / 12.0).exp() };
    let single = |t: usize| if t % 125 == 100 && t < 1500 { 898.0 } else { 0.0 };
    for (spike, largest) in [(&dies_out as &dyn Fn(usize) -> f64, 186.0), (&single, 899.0)] {
        for range in [(f64::NEG_INFINITY, f64::INFINITY), (0.0, f64::INFINITY)] {
            let (mut outlook, mut noise) = (Outlook::new(Periods::NONE, 60).within(range.0, range.1), Noise(1));
            for t in 0..1800 {
                outlook.step(2.0 + 0.3 * noise.next() + spike(t));
                for lead in [1, 12, 30].iter().filter(|_| t > 1400) {
                    let [median, end] = [0.5, 0.975].map(|share| outlook.quantile(*lead, share).unwrap());
                    assert!(end - median <= 1.5 * largest, "{t}, lead {lead}: {median} to {end}");
                }
            }
        }
    }
}

#[test]
fn a_step_in_the_night_before_a_job_fills_no_disk() {
    for n_days in [5, 14] {
        for n_before in [6, 12, 20] {
            let (mut outlook, mut noise) =
                (Outlook::new(Periods::new(&[DAY as f64, 7.0 * DAY as f64]).unwrap(), SIX_HOURS), Noise(3));
            let night = n_days * DAY;
            for t in 0..night + 24 {
                let step = if t + n_before >= night { 120.0 } else { 0.0 };
                outlook.step(nightly(t) - step + noise.next());
                if t < night {
                    continue;
                }
                let median = outlook.quantile(SIX_HOURS, 0.5).unwrap();
                let paths = outlook.paths(200, SIX_HOURS, 1);
                let n_full = (0..200).filter(|path| (1..=SIX_HOURS).any(|lead| paths.at(lead)[*path] < 0.0)).count();
                let at = t - night;
                assert!((340.0..510.0).contains(&median), "{n_days} days, {n_before} before, {at}: {median}");
                assert!(n_full < 70, "{n_days} days, {n_before} before, {at}: {n_full} of 200 are full");
            }
        }
    }
}
