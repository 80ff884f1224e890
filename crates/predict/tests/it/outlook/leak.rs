//! Disks that stand still and then fill.

use predict::{Outlook, Periods};

use super::Noise;

const DAY: usize = 288;
const SIX_HOURS: usize = 72;

/// The furthest that a median may be from the line, as a share of what the series moves by that lead.
const OFF_MAX: f64 = 0.3;

/// Checks that medians follow a disk that stands still for so many days and then loses `rate` a step, at each quarter
/// of an hour from 22 to 32 hours after the leak begins. `deviation` is that of the noise.
#[track_caller]
fn check_follows(periods: &[f64], n_days: usize, rate: f64, deviation: f64) {
    let (mut outlook, mut noise) = (Outlook::new(Periods::new(periods).unwrap(), SIX_HOURS), Noise(1));
    for t in 0..n_days * DAY + 384 {
        let n_leaking = t.saturating_sub(n_days * DAY);
        let sample = 336.0 - rate * n_leaking as f64 + deviation * noise.next();
        outlook.step(sample);
        if n_leaking < 264 || n_leaking % 3 > 0 {
            continue;
        }
        for lead in [1, 12, 36, SIX_HOURS] {
            let moves = rate * lead as f64;
            let off = (outlook.quantile(lead, 0.5).unwrap() - sample + moves).abs();
            // The last sample and the slope have noise as well.
            assert!(
                off < OFF_MAX * moves + 4.0 * deviation,
                "{periods:?} {n_leaking} steps, lead {lead}: off by {off}"
            );
        }
    }
}

#[test]
fn a_leak_is_followed_past_its_first_day() {
    for periods in [&[288.0][..], &[288.0, 2016.0], &[2016.0], &[]] {
        for (n_days, rate, deviation) in [(5, 1.0, 0.3), (2, 0.5, 0.02), (2, 1.0, 1.0), (5, 0.1, 0.1), (13, 1.0, 0.02)]
        {
            check_follows(periods, n_days, rate, deviation);
        }
    }
}

#[test]
fn a_line_without_a_past_is_followed_past_its_first_day() {
    for periods in [&[288.0][..], &[288.0, 2016.0]] {
        for deviation in [0.0, 0.02, 0.3] {
            let (mut outlook, mut noise) = (Outlook::new(Periods::new(periods).unwrap(), SIX_HOURS), Noise(2));
            for t in 0..320 {
                let sample = 336.0 - t as f64 + deviation * noise.next();
                outlook.step(sample);
                if t < 264 {
                    continue;
                }
                let medians = outlook.quantiles(SIX_HOURS, 0.5);
                assert!(medians.iter().all(|median| *median < sample + 1.0), "{periods:?} {t}: {medians:?}");
                let paths = outlook.paths(200, SIX_HOURS, 1);
                let n_low = (0..200).filter(|path| (1..=SIX_HOURS).any(|lead| paths.at(lead)[*path] < 20.0)).count();
                assert!(n_low >= 180, "{periods:?} {t}: {n_low} of 200");
            }
        }
    }
}
