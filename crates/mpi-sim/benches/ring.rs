//! Cost of a message in the simulator: user-level ranks pass a KiB on around a ring, no time between calls.

use std::hint::black_box;
use std::num::NonZero;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpi_sim::machine::{Description, Machine};
use mpi_sim::user::{self, Contexts};
use mpi_sim::{Lock, Mode, Rank, Settings, Stopped, Wanted, World};

const MACHINE: &str = "format = 1\n[[site]]\nname = 'here'\nnodes = 1024\ncores = 16\n\
    [level.node]\nlatency = '300ns'\nbandwidth = '80Gbit/s'\n\
    [level.cluster]\nlatency = '1us'\nbandwidth = '10Gbit/s'\nsend-overhead = '200ns'\nreceive-overhead = '200ns'\n";
const N_MESSAGES: u32 = 200_000;

fn world(n_ranks: u32) -> Lock<World> {
    let machine = Machine::new(&Description::read(MACHINE).unwrap(), n_ranks).unwrap();
    World::new(
        machine,
        Settings { protocol: "sequential".parse().unwrap(), n_workers: NonZero::<u32>::MIN, has_unique_tags: false },
    )
}

fn pass_on(rank: &mut Rank<'_, Contexts>) -> Result<(), Stopped> {
    let (me, n_ranks) = (rank.me(), rank.n_ranks());
    let before = Wanted { source: Some((me + n_ranks - 1) % n_ranks), context: 0, tag: Some(0) };
    for _ in 0..N_MESSAGES / n_ranks {
        let received = rank.receive(before);
        let sent = rank.send((me + 1) % n_ranks, 0, 0, Mode::Standard, vec![1; 1024].into());
        rank.wait_all(&[received, sent])?;
        black_box(rank.take(received));
        rank.take(sent);
    }
    Ok(())
}

fn ring(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ring");
    group.sample_size(10);
    for n_ranks in [16, 256, 16_384] {
        group.throughput(Throughput::Elements(u64::from(N_MESSAGES / n_ranks * n_ranks)));
        group.bench_with_input(BenchmarkId::from_parameter(n_ranks), &n_ranks, |bencher, n_ranks| {
            let run = |world: Lock<World>| user::run(&world, user::STACK_BYTES, pass_on).unwrap();
            bencher.iter_batched(|| world(*n_ranks), run, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, ring);
criterion_main!(benches);
