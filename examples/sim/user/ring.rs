//! Each rank passes KiBs on around a ring, so many times, as `ring.c` does; then all add up what they got.
//!
//! ```text
//! rustc --edition 2024 --crate-type cdylib -C panic=abort -O -o ring.so examples/sim/user/ring.rs
//! foretop sim kernel -n 16384 --machine examples/sim/torus.toml -- ./ring.so 100
//! ```
#![no_std]

mod mpi;

kernel!(ring);

const BYTES: usize = 1024;

fn ring(world: &mpi::World, arguments: &mpi::Arguments) -> i32 {
    let (me, n, n_times) = (world.rank(), world.n_ranks(), arguments.number(1, 100));
    let before = (me + n - 1) % n;
    let mut total = [0_u64];
    for time in 0..n_times {
        let (sent, mut received) = ([(me + time) as u8; BYTES], [0_u8; BYTES]);
        let receive = world.begin_to_receive(&mut received, before as i32, 0);
        let send = world.begin_to_send(&sent, (me + 1) % n, 0);
        world.wait(send);
        world.wait(receive);
        if received[BYTES - 1] != (before + time) as u8 {
            return 1;
        }
        total[0] += 1;
    }
    world.allreduce(&mut total, mpi::Op::Sum);
    i32::from(total[0] != (n * n_times) as u64)
}
