//! Cost of playback: a decision, a forecast of arrival, a second of sound at another speed.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use playback::stretch::{Format, Stretcher, Tier};
use playback::{Arrival, Arrivals, Controller, Law, Limits, Situation};

const HERTZ: u32 = 48_000;

fn decisions(criterion: &mut Criterion) {
    let mut controller = Controller::new(Law::Restricted, Limits::default(), 1.0);
    let situation = Situation {
        buffer_seconds: 8.0,
        capacity_seconds: 30.0,
        start_seconds: 5.0,
        left_seconds: Some(600.0),
        arrival: Some(Arrival::steady(0.93)),
        does_sender_wait: true,
        decoding: None,
        live: None,
        requested_rate: 1.0,
    };
    criterion.bench_function("playback/step", |bencher| bencher.iter(|| controller.step(black_box(&situation), 0.1)));
}

fn forecasts(criterion: &mut Criterion) {
    let mut arrivals = Arrivals::new("AUTO".parse().expect("a model that is known"));
    let mut second = 0_u32;
    criterion.bench_function("playback/arrival_of_4_s", |bencher| {
        bencher.iter(|| {
            second += 1;
            arrivals.step(3.6 + 0.1 * f64::from(second % 7), 4.0, false);
        });
    });
}

/// Stereo noise through which a tone sounds, at 0.9.
fn stretching(criterion: &mut Criterion) {
    let mut noise = 1_u32;
    let sound: Vec<f32> = (0..2 * HERTZ)
        .map(|idx| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (idx as f32 * 0.02).sin() * 0.4 + (noise >> 16) as f32 / 65_536.0 * 0.2
        })
        .collect();
    let mut group = criterion.benchmark_group("playback/second_of_stereo");
    group.throughput(Throughput::Elements(u64::from(HERTZ)));
    for (name, tier) in [("full", Tier::Full), ("coarse", Tier::Coarse), ("plain", Tier::Plain)] {
        let format = Format { sample_rate_hertz: HERTZ, n_channels: 2 };
        let mut stretcher = Stretcher::new(format, tier).expect("a format of sound");
        let mut output = Vec::new();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                output.clear();
                for block in sound.chunks(1_920) {
                    stretcher.push(block, 0.9).expect("whole frames");
                    stretcher.pull(&mut output);
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, decisions, forecasts, stretching);
criterion_main!(benches);
