//! Any sound is stretched to the length that its rates say, the same however it is cut; rates and formats that cannot
//! be played are refused.

use arbitrary::{Result, Unstructured};
use playback::stretch::{CHANNELS, Format, RATES, SAMPLE_RATES_HERTZ, Stretcher, Tier};

/// Largest error of the output's length, and largest length of input that may wait for more, in seconds.
const LATENCY_SECONDS: f64 = 0.04;

/// Frames of a block, at most: longer than the latency at the lowest sample rate.
const N_FRAMES_MAX: u16 = 400;

/// Blocks that are tried.
const N_BLOCKS_MAX: usize = 8;

/// Sound that is made of few samples again and again.
struct Block {
    samples: Vec<f32>,
    rate: f64,
    tier: Tier,
    /// Frames of the pieces in which it is pushed.
    n_piece: usize,
}

/// A format, then blocks of sound. Returns whether all of it could be stretched.
///
/// # Panics
/// When a bad format or rate is taken or a good one refused, media time goes back or is lost, or the length or a sample
/// is not what it must be.
pub fn stretched_sound(bytes: &[u8]) -> bool {
    // Bytes that end too early do not err: what is missing is 0.
    stretched(&mut Unstructured::new(bytes)).unwrap_or(false)
}

fn stretched(input: &mut Unstructured<'_>) -> Result<bool> {
    let sample_rates = [8_000, 11_025, 48_000, 192_000, input.arbitrary()?];
    let numbers = [1, 2, 3, 64, input.arbitrary()?];
    let (sample_rate_hertz, n_channels) = (*input.choose(&sample_rates)?, *input.choose(&numbers)?);
    let format = Format { sample_rate_hertz, n_channels };
    let is_right = SAMPLE_RATES_HERTZ.contains(&sample_rate_hertz) && CHANNELS.contains(&n_channels);
    let made = Stretcher::new(format, Tier::Full);
    assert_eq!(made.is_ok(), is_right, "{format:?}");
    let Ok(mut streamed) = made else { return Ok(false) };
    let mut at_once = streamed.clone();
    let (n_channels, hertz) = (usize::from(n_channels), f64::from(sample_rate_hertz));
    let (mut pieces, mut expected, mut n_pushed, mut reached) = (Vec::new(), 0.0, 0, 0.0);
    let mut are_taken = true;
    for _ in 0..N_BLOCKS_MAX {
        if input.is_empty() {
            break;
        }
        let Block { samples, rate, tier, n_piece } = block(n_channels, input)?;
        at_once.set_tier(tier);
        streamed.set_tier(tier);
        let is_taken = at_once.push(&samples, rate).is_ok();
        assert_eq!(is_taken, RATES.contains(&rate), "a rate of {rate}");
        are_taken &= is_taken;
        for piece in samples.chunks(n_piece * n_channels) {
            assert_eq!(streamed.push(piece, rate).is_ok(), is_taken);
            streamed.pull(&mut pieces);
            n_pushed += if is_taken { piece.len() / n_channels } else { 0 };
            let media_seconds = streamed.media_seconds();
            assert!(media_seconds >= reached, "{media_seconds} s after {reached} s");
            assert!(n_pushed as f64 / hertz - media_seconds <= LATENCY_SECONDS, "{media_seconds} s of {n_pushed}");
            reached = media_seconds;
        }
        if is_taken {
            expected += (samples.len() / n_channels) as f64 / if tier == Tier::None { 1.0 } else { rate };
        }
    }
    let mut whole = Vec::new();
    for (stretcher, output) in [(&mut streamed, &mut pieces), (&mut at_once, &mut whole)] {
        stretcher.finish();
        stretcher.pull(output);
        assert_eq!(stretcher.media_seconds(), n_pushed as f64 / hertz);
    }
    let off_seconds = ((whole.len() / n_channels) as f64 - expected).abs() / hertz;
    assert!(off_seconds <= LATENCY_SECONDS, "{format:?}: {off_seconds} s off {expected} frames");
    let is_same = |(one, other): (&f32, &f32)| one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan();
    assert!(pieces.len() == whole.len() && pieces.iter().zip(&whole).all(is_same), "cut sound differs: {format:?}");
    Ok(are_taken && n_pushed > 0)
}

fn block(n_channels: usize, input: &mut Unstructured<'_>) -> Result<Block> {
    let usual: u8 = input.arbitrary()?;
    let rate = if usual == 255 { input.arbitrary()? } else { 0.5 + 1.5 * f64::from(usual) / 254.0 };
    let tier = *input.choose(&Tier::ALL)?;
    let n_frames = usize::from(input.int_in_range(0..=N_FRAMES_MAX)?);
    let n_piece = usize::from(input.int_in_range(1..=N_FRAMES_MAX)?);
    let mut few = vec![0.0; input.int_in_range(1..=24)?];
    for sample in &mut few {
        let usual: i8 = input.arbitrary()?;
        *sample = if usual == i8::MIN { f32::from_bits(input.arbitrary()?) } else { f32::from(usual) / 127.0 };
    }
    let samples = few.iter().copied().cycle().take(n_frames * n_channels).collect();
    Ok(Block { samples, rate, tier, n_piece })
}
