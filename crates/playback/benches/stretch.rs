//! What stretching a second of sound costs, by rate, tier and number of channels: noise under a tone, 48 kHz.
//!
//! Criterion prints the frames of input per second; divided by 48,000, that is how many times faster than real time it is.

use std::f64::consts::TAU;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use playback::stretch::{Format, Stretcher, Tier};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SAMPLE_RATE_HERTZ: u32 = 48_000;

/// What a player pushes at a time: 10 ms.
const BLOCK_FRAMES: usize = 480;

const N_BLOCKS: usize = 1_000;

fn sound(n_channels: usize) -> Vec<f32> {
    let mut chance = ChaCha8Rng::seed_from_u64(1);
    let tone = |frame: usize| (0.5 * (TAU * 150.0 * frame as f64 / f64::from(SAMPLE_RATE_HERTZ)).sin()) as f32;
    let sample = |idx: usize| tone(idx / n_channels) + chance.random_range(-0.1..0.1_f32);
    (0..N_BLOCKS * BLOCK_FRAMES * n_channels).map(sample).collect()
}

fn stretches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("stretch");
    group.throughput(Throughput::Elements((N_BLOCKS * BLOCK_FRAMES) as u64));
    for (name, n_channels, tier, rate) in [
        ("stereo_full_at_0.9", 2, Tier::Full, 0.9),
        ("stereo_full_at_0.5", 2, Tier::Full, 0.5),
        ("stereo_full_at_2", 2, Tier::Full, 2.0),
        ("stereo_coarse_at_0.9", 2, Tier::Coarse, 0.9),
        ("stereo_plain_at_0.9", 2, Tier::Plain, 0.9),
        ("stereo_none", 2, Tier::None, 0.9),
        ("mono_full_at_0.9", 1, Tier::Full, 0.9),
        ("8_channels_full_at_0.9", 8, Tier::Full, 0.9),
    ] {
        let sound = sound(n_channels);
        let format = Format { sample_rate_hertz: SAMPLE_RATE_HERTZ, n_channels: n_channels as u16 };
        let mut stretcher = Stretcher::new(format, tier).expect("a good format");
        let mut output = Vec::new();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for block in sound.chunks_exact(BLOCK_FRAMES * n_channels) {
                    output.clear();
                    stretcher.push(black_box(block), rate).expect("whole frames and a good rate");
                    stretcher.pull(&mut output);
                    black_box(&output);
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, stretches);
criterion_main!(benches);
