use std::f64::consts::TAU;

use super::*;

const STEREO: Format = Format { sample_rate_hertz: 48_000, n_channels: 2 };

fn sine(format: Format, hertz: f64, seconds: f64) -> Vec<f32> {
    let n_frames = (seconds * f64::from(format.sample_rate_hertz)) as usize;
    let phase = |idx: usize| TAU * hertz * idx as f64 / f64::from(format.sample_rate_hertz);
    (0..n_frames).flat_map(|idx| vec![(0.5 * phase(idx).sin()) as f32; usize::from(format.n_channels)]).collect()
}

/// What comes of the input at one rate.
fn stretched(format: Format, tier: Tier, input: &[f32], rate: f64) -> Vec<f32> {
    let mut stretcher = Stretcher::new(format, tier).expect("a good format");
    let mut output = Vec::new();
    stretcher.push(input, rate).expect("whole frames and a good rate");
    stretcher.pull(&mut output);
    stretcher.finish();
    stretcher.pull(&mut output);
    output
}

#[test]
fn a_rate_of_one_passes_every_sample() {
    let input = sine(STEREO, 440.0, 1.0);
    assert_eq!(stretched(STEREO, Tier::Full, &input, 1.0), input);
}

#[test]
fn a_sine_lasts_longer() {
    for rate in [0.5, 0.7, 0.9, 0.98, 1.02, 1.1, 1.5, 2.0] {
        let input = sine(STEREO, 440.0, 2.0);
        let n_frames = stretched(STEREO, Tier::Full, &input, rate).len() as f64 / 2.0;
        assert!((n_frames - 96_000.0 / rate).abs() <= 0.04 * 48_000.0, "{rate}: {n_frames}");
    }
}
