//! Messages a second of PHOLD with 4,096 processes, by protocol.

#[path = "../tests/it/world.rs"]
#[allow(dead_code, reason = "the ring is for the tests")]
mod world;

use std::hint::black_box;
use std::num::NonZero;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use des::{Settings, run};
use units::SimTime;

use world::phold;

const N: u32 = 4_096;

fn protocols(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("phold");
    group.sample_size(10);
    for (protocol, n_workers) in [("sequential", 1), ("cep", 1), ("nmp+cep", 2)] {
        let settings = Settings {
            protocol: protocol.parse().expect("a protocol"),
            n_workers: NonZero::new(n_workers).unwrap_or(NonZero::<usize>::MIN),
            until: SimTime::from_nanos(20_000),
        };
        let n_taken = run(phold(N, 100, 1), &settings).counts.n_taken;
        group.throughput(Throughput::Elements(n_taken));
        group.bench_function(format!("{protocol} on {n_workers}"), |bencher| {
            bencher.iter_batched(
                || phold(N, 100, 1),
                |world| black_box(run(world, &settings)).counts,
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, protocols);
criterion_main!(benches);
