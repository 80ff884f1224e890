//! Ranks as threads: what they get does not depend on the protocol, nor on how many run at a time.

use std::num::NonZero;

use mpi_sim::machine::{Description, Machine};
use mpi_sim::{Futexes, Mode, Rank, Settings, Stopped, Switch, Taken, Wanted, World};
use units::{SimDuration, SimTime};

pub const PROTOCOLS: [&str; 8] =
    ["sequential", "quantum=1us", "nmp", "cep", "nmp+cep", "nmp+det", "cep+det", "nmp+cep+det"];

pub fn machine(n_ranks: u32, more: &str) -> Machine {
    let text = format!(
        "format = 1\npoll = '50ns'\n{more}\n[[site]]\nname = 'here'\nnodes = {n_ranks}\ncores = 1\n\
         [level.cluster]\nlatency = '1us'\nbandwidth = '8Gbit/s'\nsend-overhead = '200ns'\n\
         receive-overhead = '100ns'\neager-limit = '1KB'\n"
    );
    Machine::new(&Description::read(&text).unwrap(), n_ranks).unwrap()
}

/// Runs `program` on each rank; what each returns, and its clock.
pub fn run<R: Send>(
    machine: &Machine,
    protocol: &str,
    n_workers: u32,
    program: impl Fn(&mut Rank<'_, Futexes>) -> R + Sync,
) -> Vec<(R, SimTime)> {
    let n_ranks = machine.n_ranks();
    let settings = Settings { protocol: protocol.parse().unwrap(), n_workers: NonZero::new(n_workers).unwrap() };
    let world = World::new(machine.clone(), settings);
    let switch = Futexes::new(n_ranks);
    let first = world.hold().first();
    for rank in first {
        switch.wake(rank);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_ranks)
            .map(|me| {
                let (world, switch, program) = (&world, &switch, &program);
                scope.spawn(move || {
                    switch.wait(me);
                    let mut rank = Rank::new(world, switch, me);
                    let left = program(&mut rank);
                    let clock = rank.now();
                    rank.end();
                    (left, clock)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

pub fn from(source: u32, tag: i32) -> Wanted {
    Wanted { source: Some(source), context: 0, tag: Some(tag) }
}

const ANY: Wanted = Wanted { source: None, context: 0, tag: None };

#[test]
fn a_message_costs_what_the_machine_says() {
    let machine = machine(2, "");
    let ended = run(&machine, "sequential", 1, |rank| {
        if rank.me() == 0 {
            let sent = rank.send(1, 0, 7, Mode::Standard, vec![5; 1_000].into());
            rank.wait_all(&[sent]).unwrap();
            None
        } else {
            let handle = rank.receive(from(0, 7));
            rank.wait_all(&[handle]).unwrap();
            Some(rank.take(handle))
        }
    });
    assert_eq!(ended[0].1, SimTime::from_nanos(200));
    // 200 ns to send, 1 us on the way, 1 us for the bytes, 100 ns to receive.
    assert_eq!(ended[1].1, SimTime::from_nanos(2_300));
    let Some(Taken::Received(envelope, bytes)) = &ended[1].0 else { panic!("no message") };
    assert_eq!((envelope.source, envelope.tag, envelope.n_bytes), (0, 7, 1_000));
    assert_eq!(**bytes, [5; 1_000]);
}

#[test]
fn a_long_message_waits_for_its_receiver() {
    let machine = machine(2, "");
    let ended = run(&machine, "nmp+cep+det", 2, |rank| {
        let handle = if rank.me() == 0 {
            rank.send(1, 0, 7, Mode::Standard, vec![5; 10_000].into())
        } else {
            rank.compute(SimDuration::from_nanos(50_000));
            rank.receive(from(0, 7))
        };
        rank.wait_all(&[handle]).unwrap();
    });
    // The receiver asks at 50 us; its word takes 1 us, the data 1 + 10 us.
    assert_eq!(ended[0].1, SimTime::from_nanos(50_000 + 1_000 + 10_000));
    assert_eq!(ended[1].1, SimTime::from_nanos(50_000 + 1_000 + 11_000 + 100));
}

#[test]
fn a_wildcard_takes_the_earliest_arrival_not_the_first_to_be_sent() {
    let machine = machine(3, "");
    for protocol in PROTOCOLS {
        for n_workers in [1, 2, 3] {
            let ended = run(&machine, protocol, n_workers, |rank| {
                if rank.me() < 2 {
                    rank.compute(SimDuration::from_nanos(if rank.me() == 0 { 90_000 } else { 10_000 }));
                    let sent = rank.send(2, 0, 1, Mode::Standard, Box::default());
                    rank.wait_all(&[sent]).unwrap();
                    return Vec::new();
                }
                let mut sources = Vec::new();
                for _ in 0..2 {
                    let handle = rank.receive(ANY);
                    rank.wait_all(&[handle]).unwrap();
                    let Taken::Received(envelope, _) = rank.take(handle) else { panic!("no message") };
                    sources.push((envelope.source, rank.now().as_nanos()));
                }
                sources
            });
            assert_eq!(ended[2].0, [(1, 11_300), (0, 91_300)], "{protocol} {n_workers}");
        }
    }
}

#[test]
fn polling_advances_and_sees_what_has_arrived() {
    let machine = machine(2, "");
    for protocol in PROTOCOLS {
        let ended = run(&machine, protocol, 1, |rank| {
            if rank.me() == 0 {
                rank.compute(SimDuration::from_nanos(5_000));
                rank.send(1, 0, 1, Mode::Standard, Box::default());
                return 0;
            }
            let handle = rank.receive(from(0, 1));
            let mut n_polls = 1;
            while !rank.test(&[handle]).unwrap()[0] {
                n_polls += 1;
            }
            n_polls
        });
        // It arrives at 6.2 us; a poll takes 50 ns.
        assert_eq!(ended[1].0, 124, "{protocol}");
    }
}

#[test]
fn ranks_that_wait_for_each_other_are_told() {
    let machine = machine(3, "");
    for protocol in PROTOCOLS {
        for n_workers in [1, 2] {
            let ended = run(&machine, protocol, n_workers, |rank| {
                let handle = rank.receive(from((rank.me() + 1) % 3, 1));
                rank.wait_all(&[handle]).map_err(|stopped: Stopped| stopped.reason.to_string())
            });
            assert!(ended.iter().all(|(left, _)| left.as_ref().is_err_and(|reason| reason.contains("none can go on"))));
        }
    }
}

/// Seeded programs: every rank sends to some others, and receives as much as it gets, by name or not, with probes and polls.
pub fn random<S: Switch>(rank: &mut Rank<'_, S>, seed: u64) -> u64 {
    const N_STEPS: u64 = 12;
    let (me, n_ranks) = (rank.me(), rank.n_ranks());
    let draw = |whose: u32, step: u64, what: u64| {
        let mut x = seed ^ (u64::from(whose) << 32) ^ (step << 8) ^ what;
        for _ in 0..3 {
            x = (x ^ (x >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
        }
        x
    };
    let target = |whose: u32, step: u64| (whose + 1 + (draw(whose, step, 1) % u64::from(n_ranks - 1)) as u32) % n_ranks;
    let mut heard = 0_u64;
    let mut hear = |taken: Taken, now: SimTime| {
        if let Taken::Received(envelope, bytes) = taken {
            let word = u64::from(envelope.source) ^ (bytes.len() as u64) << 8 ^ now.as_nanos() << 16;
            heard = heard.rotate_left(5).wrapping_mul(31) ^ word;
        }
    };
    for step in 0..N_STEPS {
        rank.compute(SimDuration::from_nanos(draw(me, step, 2) % 5_000));
        let n_bytes = if draw(me, step, 3) % 4 == 0 { 3_000 } else { draw(me, step, 4) % 900 } as usize;
        let mode = [Mode::Standard, Mode::Synchronous, Mode::Buffered][(draw(me, step, 5) % 3) as usize];
        let sent = rank.send(target(me, step), 0, step as i32, mode, vec![1; n_bytes].into());
        let sources: Vec<u32> = (0..n_ranks).filter(|source| *source != me && target(*source, step) == me).collect();
        let is_named = draw(0, step, 6) % 2 == 0;
        let mut handles: Vec<_> = sources
            .iter()
            .map(|source| {
                let wanted = Wanted { source: is_named.then_some(*source), context: 0, tag: Some(step as i32) };
                rank.receive(wanted)
            })
            .collect();
        match draw(me, step, 7) % 3 {
            0 => {
                rank.wait_all(&handles).unwrap();
                for handle in handles.drain(..) {
                    let taken = rank.take(handle);
                    hear(taken, rank.now());
                }
            }
            1 => {
                while !handles.is_empty() {
                    let idx = rank.wait_any(&handles).unwrap();
                    let taken = rank.take(handles.remove(idx));
                    hear(taken, rank.now());
                }
            }
            _ => {
                while !handles.is_empty() {
                    let complete = rank.test(&handles).unwrap();
                    for idx in (0..handles.len()).rev().filter(|idx| complete[*idx]) {
                        let taken = rank.take(handles.remove(idx));
                        hear(taken, rank.now());
                    }
                }
            }
        }
        rank.wait_all(&[sent]).unwrap();
        rank.take(sent);
    }
    heard
}

#[test]
fn results_are_the_same_under_every_protocol_and_with_any_number_of_workers() {
    let machine = machine(5, "");
    for seed in 0..20 {
        let expected = run(&machine, "sequential", 1, |rank| random(rank, seed));
        for protocol in PROTOCOLS {
            for n_workers in [1, 3] {
                let got = run(&machine, protocol, n_workers, |rank| random(rank, seed));
                assert_eq!(got, expected, "seed {seed}, {protocol}, {n_workers} workers");
            }
        }
    }
}
