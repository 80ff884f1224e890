//! Ranks that are contexts of one process.

use std::num::NonZero;
use std::sync::Mutex;

use mpi_sim::user::{self, Contexts};
use mpi_sim::{Lock, Mode, Rank, Reason, Settings, Stopped, World};
use units::SimTime;

use crate::world::{PROTOCOLS, from, machine, random};

fn world(n_ranks: u32, protocol: &str, n_workers: u32) -> Lock<World> {
    let settings = Settings {
        protocol: protocol.parse().unwrap(),
        n_workers: NonZero::new(n_workers).unwrap(),
        has_unique_tags: false,
    };
    World::new(machine(n_ranks, ""), settings)
}

/// Passes `n_bytes` to the next rank of a ring so many times, and gets as much.
fn ring(rank: &mut Rank<'_, Contexts>, n_times: u32, n_bytes: usize) -> Result<(), Stopped> {
    let (me, n_ranks) = (rank.me(), rank.n_ranks());
    for _ in 0..n_times {
        let received = rank.receive(from((me + n_ranks - 1) % n_ranks, 0));
        let sent = rank.send((me + 1) % n_ranks, 0, 0, Mode::Standard, vec![0; n_bytes].into());
        rank.wait_all(&[received, sent])?;
        rank.take(received);
        rank.take(sent);
    }
    Ok(())
}

#[test]
fn contexts_get_what_threads_get() {
    for seed in 0..5 {
        let machine = machine(5, "");
        let expected = crate::world::run(&machine, "sequential", 1, |rank| random(rank, seed));
        for protocol in PROTOCOLS {
            for n_workers in [1, 2, 7] {
                let world = world(5, protocol, n_workers);
                let heard = Mutex::new(vec![0; 5]);
                user::run(&world, user::STACK_BYTES, |rank| {
                    let left = random(rank, seed);
                    heard.lock().unwrap()[rank.me() as usize] = left;
                    Ok(())
                })
                .unwrap();
                let heard = heard.into_inner().unwrap();
                let got: Vec<_> = (0..).zip(heard).map(|(rank, left)| (left, world.hold().clock(rank))).collect();
                assert_eq!(got, expected, "seed {seed}, {protocol}, {n_workers} workers");
            }
        }
    }
}

#[test]
fn twenty_thousand_ranks_pass_a_message_on() {
    let world = world(20_000, "sequential", 2);
    user::run(&world, 32 * 1024, |rank| ring(rank, 3, 100)).unwrap();
    // Overheads of 200 and 100 ns, 1 us on the way, 100 ns for the bytes; three times.
    assert_eq!(world.hold().clock(7), SimTime::from_nanos(3 * 1_400));
    assert_eq!(world.hold().stopped(), None);
}

#[test]
fn whoever_waits_for_ever_is_told_with_what_for() {
    let world = world(3, "sequential", 2);
    user::run(&world, user::STACK_BYTES, |rank| match rank.me() {
        0 => rank.probe(from(2, 8)).map(drop),
        1 => {
            let handle = rank.send(0, 0, 5, Mode::Synchronous, Box::default());
            rank.wait_all(&[handle])
        }
        _ => Ok(()),
    })
    .unwrap();
    let world = world.hold();
    assert_eq!(world.stopped().unwrap().reason, Reason::Deadlock);
    let told: Vec<_> = world.waits().iter().map(|wait| (wait.rank, wait.awaits.as_str())).collect();
    assert_eq!(told, [(0, "a message of rank 2 with tag 8"), (1, "rank 0 to receive a message")]);
}

#[test]
fn a_kernel_that_panics_stops_the_simulation() {
    for n_workers in [1, 2] {
        let world = world(3, "sequential", n_workers);
        user::run(&world, user::STACK_BYTES, |rank| {
            if rank.me() == 1 {
                panic!("no such thing");
            }
            ring(rank, 1, 0)
        })
        .unwrap();
        let stopped = world.hold().stopped().cloned().unwrap();
        assert_eq!(stopped.rank, 1);
        assert!(stopped.to_string().ends_with("its kernel panicked: no such thing"), "{stopped}");
    }
}

/// Goes down to `floor`, and asks there.
fn deep(rank: &mut Rank<'_, Contexts>, floor: usize) -> Result<u8, Stopped> {
    let room = std::hint::black_box([1_u8; 128]);
    if room.as_ptr().addr() < floor {
        return ring(rank, 1, 0).map(|()| room[0]);
    }
    Ok(deep(rank, floor)?.max(room[100]))
}

#[test]
fn a_stack_that_is_nearly_used_up_is_told() {
    const STACK_BYTES: usize = 256 * 1024;
    let world = world(2, "sequential", 1);
    user::run(&world, STACK_BYTES, |rank| {
        let here = std::hint::black_box([0_u8; 8]);
        // The first rank has to wait for the second.
        let used = if rank.me() == 0 { STACK_BYTES - 16 * 1024 } else { 0 };
        deep(rank, here.as_ptr().addr() - used).map(drop)
    })
    .unwrap();
    let stopped = world.hold().stopped().cloned().unwrap();
    assert_eq!(stopped.rank, 0);
    assert!(stopped.to_string().contains("stack is used up"), "{stopped}");
}
