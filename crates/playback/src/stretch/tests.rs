//! Properties of stretchers, for any input.

use std::f64::consts::TAU;

use proptest::prelude::*;

use super::*;

pub(super) const MONO: Format = Format { sample_rate_hertz: 48_000, n_channels: 1 };
pub(super) const STEREO: Format = Format { sample_rate_hertz: 48_000, n_channels: 2 };
const SEARCHING: [Tier; 3] = [Tier::Full, Tier::Coarse, Tier::Plain];

/// A sine of half the full scale in all channels.
pub(super) fn sine(format: Format, hertz: f64, seconds: f64) -> Vec<f32> {
    let rate_hertz = f64::from(format.sample_rate_hertz);
    let sample = |idx: usize| (0.5 * (TAU * hertz * idx as f64 / rate_hertz).sin()) as f32;
    let frame = |idx| std::iter::repeat_n(sample(idx), usize::from(format.n_channels));
    (0..(seconds * rate_hertz) as usize).flat_map(frame).collect()
}

/// Noise that is the same on every run, by xorshift.
pub(super) fn noise(n_samples: usize) -> Vec<f32> {
    let mut state = 0x9E37_79B9_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (f64::from(state) / f64::from(u32::MAX) - 0.5) as f32
    };
    (0..n_samples).map(|_| next()).collect()
}

/// Returns the output of pieces of input, each with a rate and a tier.
fn stretched<'a>(format: Format, pieces: impl IntoIterator<Item = (&'a [f32], f64, Tier)>) -> Vec<f32> {
    let mut stretcher = Stretcher::new(format, Tier::Full).expect("a good format");
    let mut output = Vec::new();
    for (samples, rate, tier) in pieces {
        stretcher.set_tier(tier);
        stretcher.push(samples, rate).expect("whole frames and a good rate");
        stretcher.pull(&mut output);
    }
    stretcher.finish();
    stretcher.pull(&mut output);
    output
}

fn largest_second_difference(samples: &[f32]) -> f32 {
    samples.windows(3).map(|of| (of[0] - 2.0 * of[1] + of[2]).abs()).fold(0.0, f32::max)
}

/// Upward crossings of zero per second, from the first to the last.
pub(super) fn pitch_hertz(samples: &[f32], sample_rate_hertz: u32) -> f64 {
    let crossing = |(idx, of): (usize, &[f32])| {
        (of[0] < 0.0 && of[1] >= 0.0).then(|| idx as f64 + f64::from(of[0] / (of[0] - of[1])))
    };
    let crossings: Vec<f64> = samples.windows(2).enumerate().filter_map(crossing).collect();
    (crossings.len() - 1) as f64 / (crossings[crossings.len() - 1] - crossings[0]) * f64::from(sample_rate_hertz)
}

#[test]
fn a_rate_of_one_and_no_tier_pass_every_sample() {
    let input = noise(96_000);
    assert_eq!(stretched(STEREO, [(&input[..], 1.0, Tier::Full)]), input);
    assert_eq!(stretched(STEREO, [(&input[..], 0.7, Tier::None)]), input);
}

#[test]
fn back_at_a_rate_of_one_input_passes_unchanged() {
    let input = noise(96_000);
    for rate in [0.5, 0.8, 1.25, 2.0] {
        let output = stretched(STEREO, [(&input[..48_000], rate, Tier::Full), (&input[48_000..], 1.0, Tier::Full)]);
        let n_same = output.iter().rev().zip(input.iter().rev()).take_while(|(out, sample)| out == sample).count();
        assert!(n_same as f64 > 48_000.0 - 2.0 * 0.04 * 48_000.0, "{rate}: the last {n_same} samples");
    }
}

#[test]
fn a_sine_keeps_its_pitch() {
    for sample_rate_hertz in [8_000, 44_100, 192_000] {
        for hertz in [55.0, 110.0, 440.0, 1_234.5] {
            for rate in [0.5, 0.8, 0.95, 1.1, 1.5, 2.0] {
                let format = Format { sample_rate_hertz, n_channels: 1 };
                let input = sine(format, hertz, 3.0);
                let output = stretched(format, [(&input[..], rate, Tier::Full)]);
                let cents = 1_200.0 * (pitch_hertz(&output, sample_rate_hertz) / hertz).log2();
                // A lag is a whole number of frames: at 8 kHz and 1,234.5 Hz, up to a thirteenth of a period off.
                let most = if sample_rate_hertz == 8_000 { 10.0 } else { 2.0 };
                assert!(cents.abs() < most, "{sample_rate_hertz} Hz, {hertz} Hz at {rate}: {cents} cents");
            }
        }
    }
}

#[test]
fn rates_that_change_at_every_block_do_not_click() {
    for tier in SEARCHING {
        for hertz in [60.0, 440.0, 3_000.0] {
            let input = sine(MONO, hertz, 4.0);
            let rates = [0.5, 1.0, 0.97, 2.0, 1.0, 0.8, 1.3, 0.5, 0.51].into_iter().cycle();
            let output = stretched(MONO, input.chunks(1_000).zip(rates).map(|(block, rate)| (block, rate, tier)));
            // Beside the sine's own curvature, that of a cross-fade between opposite phases of it.
            let most = largest_second_difference(&input) * 1.5 + 2e-4;
            let found = largest_second_difference(&output);
            assert!(found <= most, "{tier:?}, {hertz} Hz: {found} above {most}");
        }
    }
}

#[test]
fn rates_that_change_during_cross_fades_take_their_time_all_the_same() {
    let format = Format { sample_rate_hertz: 8_000, n_channels: 1 };
    let input = noise(48_000);
    for n_frames in [30, 100, 170, 300] {
        let rates = [2.0, 0.5].into_iter().cycle();
        let pieces = input.chunks(n_frames).zip(rates).map(|(block, rate)| (block, rate, Tier::Full));
        let expected: f64 = pieces.clone().map(|(block, rate, _)| block.len() as f64 / rate).sum();
        let output = stretched(format, pieces);
        // At each change, a part of a frame may be played by the rate before.
        let most = 0.04 * 8_000.0 + (48_000 / n_frames) as f64;
        assert!((output.len() as f64 - expected).abs() <= most, "{n_frames}: {} for {expected}", output.len());
    }
}

#[test]
fn what_is_not_finite_stays_where_it_is() {
    for tier in [Tier::Full, Tier::Coarse, Tier::Plain, Tier::None] {
        for rate in [0.5, 0.9, 1.0, 1.1, 2.0] {
            let mut input = noise(48_000);
            for (at, hostile) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e-45].into_iter().enumerate() {
                input[3_000 + 9_000 * at..][..1_000].fill(hostile);
            }
            let output = stretched(MONO, [(&input[..], rate, tier)]);
            let expected = if tier == Tier::None { 48_000.0 } else { 48_000.0 / rate };
            assert!((output.len() as f64 - expected).abs() <= 0.04 * 48_000.0, "{tier:?} {rate}: {}", output.len());
            let n_hostile = output.iter().filter(|sample| !sample.is_finite()).count() as f64;
            // A lag of 25 ms and two cross-fades of 10 ms can add to each of the three places at its ends.
            assert!(n_hostile <= 3_000.0 / rate.min(1.0) + 3.0 * 0.045 * 48_000.0, "{tier:?} {rate}: {n_hostile}");
            assert!(output[output.len() - 4_000..].iter().all(|sample| sample.is_finite()), "{tier:?} {rate}");
        }
    }
}

#[test]
fn all_formats_play() {
    for sample_rate_hertz in [8_000, 11_025, 44_100, 192_000] {
        for n_channels in [1, 3, 64] {
            let format = Format { sample_rate_hertz, n_channels };
            let input = noise(sample_rate_hertz as usize / 4 * usize::from(n_channels));
            for rate in [0.5, 2.0] {
                let n_frames = stretched(format, [(&input[..], rate, Tier::Full)]).len() / usize::from(n_channels);
                let seconds = n_frames as f64 / f64::from(sample_rate_hertz);
                assert!((seconds - 0.25 / rate).abs() <= 0.04, "{format:?} at {rate}: {seconds} s");
            }
        }
    }
}

#[test]
fn what_cannot_be_stretched_is_refused_by_name() {
    let format = |sample_rate_hertz, n_channels| Stretcher::new(Format { sample_rate_hertz, n_channels }, Tier::Full);
    let said = |error: Error| error.to_string();
    assert_eq!(
        format(7_999, 1).map_err(said).err().as_deref(),
        Some("cannot stretch sound of 7999 Hz: sample rates are from 8000 to 192000 Hz")
    );
    assert_eq!(format(192_001, 1).err(), Some(Error::SampleRate { sample_rate_hertz: 192_001 }));
    assert_eq!(
        format(48_000, 0).map_err(said).err().as_deref(),
        Some("cannot stretch sound of 0 channels: there may be from 1 to 64")
    );
    assert_eq!(format(48_000, 65).err(), Some(Error::Channels { n_channels: 65 }));
    let mut stretcher = Stretcher::new(STEREO, Tier::Full).expect("a good format");
    for rate in [0.0, -1.0, 0.49, 2.01, 50.0, f64::INFINITY] {
        assert_eq!(stretcher.push(&[0.0; 2], rate), Err(Error::Rate { rate }));
    }
    assert!(matches!(stretcher.push(&[0.0; 2], f64::NAN), Err(Error::Rate { .. })));
    assert_eq!(stretcher.push(&[0.0; 3], 1.0), Err(Error::PartialFrame { n_samples: 3, n_channels: 2 }));
    assert_eq!(stretcher.pull(&mut Vec::new()), 0);
    stretcher.finish();
    assert_eq!(stretcher.push(&[0.0; 2], 1.0), Err(Error::Finished));
    assert_eq!(stretcher.pull(&mut Vec::new()), 0);
}

/// Blocks of input: their frames, and the rate and the tier that they come with.
fn blocks() -> impl Strategy<Value = Vec<(usize, f64, Tier)>> {
    let rate = prop_oneof![Just(1.0), Just(0.9), 0.5..=2.0];
    let tier =
        prop_oneof![4 => Just(Tier::Full), 1 => Just(Tier::Coarse), 1 => Just(Tier::Plain), 1 => Just(Tier::None)];
    prop::collection::vec((1_usize..8_000, rate, tier), 1..12)
}

/// A voice of 120 Hz under noise, as long as the blocks.
fn voice(blocks: &[(usize, f64, Tier)]) -> Vec<f32> {
    let n_frames: usize = blocks.iter().map(|(n_frames, ..)| n_frames).sum();
    let tone = sine(MONO, 120.0, n_frames as f64 / 48_000.0 + 0.001);
    noise(n_frames).iter().zip(tone).map(|(noise, tone)| tone + 0.2 * noise).collect()
}

/// The input of each block.
fn of_blocks<'a>(
    blocks: &'a [(usize, f64, Tier)],
    input: &'a [f32],
    n_channels: usize,
) -> impl Iterator<Item = (&'a [f32], f64, Tier)> {
    blocks.iter().scan(input, move |left, &(n_frames, rate, tier)| {
        let (block, rest) = left.split_at(n_frames * n_channels);
        *left = rest;
        Some((block, rate, tier))
    })
}

proptest! {
    #[test]
    fn output_does_not_depend_on_how_input_is_cut(blocks in blocks(), cuts in prop::collection::vec(1_usize..3_000, 1..50)) {
        let input = voice(&blocks);
        let mut sizes = cuts.iter().cycle();
        let pieces = of_blocks(&blocks, &input, 1).flat_map(|(mut block, rate, tier)| {
            let mut pieces = Vec::new();
            while !block.is_empty() {
                let (piece, rest) = block.split_at(block.len().min(*sizes.next().expect("a cycle never ends")));
                pieces.push((piece, rate, tier));
                block = rest;
            }
            pieces
        });
        let streamed = stretched(MONO, pieces);
        let mut stretcher = Stretcher::new(MONO, Tier::Full).expect("a good format");
        for (samples, rate, tier) in of_blocks(&blocks, &input, 1) {
            stretcher.set_tier(tier);
            stretcher.push(samples, rate).expect("whole frames and a good rate");
        }
        stretcher.finish();
        let mut at_once = Vec::new();
        stretcher.pull(&mut at_once);
        prop_assert!(streamed == at_once);
    }

    #[test]
    fn media_time_keeps_up_and_output_is_as_long_as_the_rates_say(blocks in blocks()) {
        let input = voice(&blocks);
        let mut stretcher = Stretcher::new(MONO, Tier::Full).expect("a good format");
        prop_assert!(stretcher.latency_seconds() <= 0.04);
        let (mut output, mut pushed, mut expected, mut reached) = (Vec::new(), 0, 0.0, 0.0);
        for (samples, rate, tier) in of_blocks(&blocks, &input, 1) {
            stretcher.set_tier(tier);
            stretcher.push(samples, rate).expect("whole frames and a good rate");
            stretcher.pull(&mut output);
            pushed += samples.len();
            expected += samples.len() as f64 / if tier == Tier::None { 1.0 } else { rate };
            let media_seconds = stretcher.media_seconds();
            prop_assert!(media_seconds >= reached, "{} before {}", media_seconds, reached);
            prop_assert!(pushed as f64 / 48_000.0 - media_seconds <= 0.04, "{} of {}", media_seconds, pushed);
            reached = media_seconds;
        }
        stretcher.finish();
        stretcher.pull(&mut output);
        prop_assert_eq!(stretcher.media_seconds(), pushed as f64 / 48_000.0);
        prop_assert!((output.len() as f64 - expected).abs() <= 0.04 * 48_000.0, "{} for {}", output.len(), expected);
    }

    #[test]
    fn channels_keep_their_phase(blocks in blocks()) {
        let mono = voice(&blocks);
        let input: Vec<f32> = mono.iter().flat_map(|sample| [*sample, *sample, -sample]).collect();
        let format = Format { n_channels: 3, ..MONO };
        let output = stretched(format, of_blocks(&blocks, &input, 3));
        prop_assert!(output.chunks_exact(3).all(|frame| frame[0] == frame[1] && frame[0] == -frame[2]));
    }
}
