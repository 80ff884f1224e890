//! Ranks as threads: what they get does not depend on the protocol, nor on how many run at a time.

use std::num::NonZero;

use mpi_sim::machine::{Description, Machine};
use mpi_sim::{Futexes, Mode, Rank, Settings, Stopped, Switch, Taken, Wanted, World};
use units::{SimDuration, SimTime};

pub const PROTOCOLS: [&str; 8] =
    ["sequential", "quantum=1us", "nmp", "cep", "nmp+cep", "nmp+det", "cep+det", "nmp+cep+det"];

/// `more` is what the machine's only site has beside its nodes.
pub fn machine(n_ranks: u32, more: &str) -> Machine {
    let text = format!(
        "format = 1\npoll = '50ns'\n[[site]]\nname = 'here'\nnodes = {n_ranks}\ncores = 1\n{more}\n\
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
    let settings = Settings {
        protocol: protocol.parse().unwrap(),
        n_workers: NonZero::new(n_workers).unwrap(),
        has_unique_tags: false,
    };
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

pub const ANY: Wanted = Wanted { source: None, context: 0, tag: None };

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

/// Seeded chance that every rank can draw for every other.
struct Chance(u64);

impl Chance {
    fn draw(&self, whose: u32, step: u32, what: u32) -> u64 {
        let mut x = self.0 ^ (u64::from(whose) << 32) ^ (u64::from(step) << 8) ^ u64::from(what);
        for _ in 0..3 {
            x = (x ^ (x >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
        }
        x
    }

    /// To whom, in which context, with which tag a rank sends in a step.
    fn message(&self, whose: u32, step: u32, n_ranks: u32) -> (u32, Wanted) {
        let to = (whose + 1 + (self.draw(whose, step, 1) % u64::from(n_ranks - 1)) as u32) % n_ranks;
        let (context, tag) = (self.draw(whose, step, 2) % 2, self.draw(whose, step, 3) % 2);
        (to, Wanted { source: Some(whose), context: context as u32, tag: Some(tag as i32) })
    }
}

/// What a rank of a random program heard, in order, and when.
struct Heard(u64);

impl Heard {
    fn note(&mut self, word: u64, now: SimTime) {
        self.0 = self.0.rotate_left(5).wrapping_mul(31) ^ word ^ now.as_nanos() << 20;
    }

    fn hear<S: Switch>(&mut self, rank: &mut Rank<'_, S>, handle: mpi_sim::Handle) {
        if let Taken::Received(envelope, bytes) = rank.take(handle) {
            let word = u64::from(envelope.source) ^ (bytes.len() as u64) << 8 ^ (envelope.tag as u64) << 7;
            self.note(word, rank.now());
        }
    }
}

/// Seeded programs: every rank sends to some others in all modes, and receives as much as it gets, by name or not, with
/// probes and polls. A receive that takes what another is waiting for may end in a deadlock, which is a result like
/// others.
pub fn random<S: Switch>(rank: &mut Rank<'_, S>, seed: u64) -> u64 {
    let mut heard = Heard(0);
    let ended = wander(rank, &Chance(seed), &mut heard);
    heard.note(u64::from(ended.is_err()), rank.now());
    heard.0
}

fn wander<S: Switch>(rank: &mut Rank<'_, S>, chance: &Chance, heard: &mut Heard) -> Result<(), Stopped> {
    const N_STEPS: u32 = 12;
    let (me, n_ranks) = (rank.me(), rank.n_ranks());
    let all: Vec<u32> = (0..n_ranks).collect();
    rank.declare(1, &all, false);
    for step in 0..N_STEPS {
        let draw = |what| chance.draw(me, step, what);
        rank.compute(SimDuration::from_nanos(draw(10) % 5_000));
        let n_bytes = if draw(11) % 4 == 0 { 3_000 } else { draw(12) % 900 } as usize;
        let mode = [Mode::Standard, Mode::Synchronous, Mode::Buffered, Mode::Ready][(draw(13) % 4) as usize];
        let (to, sent) = chance.message(me, step, n_ranks);
        let sent = rank.send(to, sent.context, sent.tag.unwrap(), mode, vec![1; n_bytes].into());
        let expected = all.iter().filter_map(|source| {
            let (to, wanted) = chance.message(*source, step, n_ranks);
            (to == me && *source != me).then_some(wanted)
        });
        let mut handles = vec![sent];
        for (idx, named) in (20..).step_by(2).zip(expected) {
            let unnamed = Wanted { source: None, ..named };
            let wanted = [named, named, unnamed, Wanted { tag: None, ..named }, Wanted { tag: None, ..unnamed }];
            let wanted = wanted[(draw(idx) % 5) as usize];
            match draw(idx + 1) % 6 {
                0 => {
                    let envelope = rank.probe(wanted)?;
                    heard.note(envelope.n_bytes, rank.now());
                    handles.push(rank.receive(wanted));
                }
                1 => {
                    let found = rank.take_probed(wanted)?;
                    handles.push(rank.receive_probed(found));
                }
                2 => {
                    let mut n_polls = 0;
                    while rank.probe_now(wanted)?.is_none() && n_polls < 50 {
                        n_polls += 1;
                    }
                    heard.note(n_polls, rank.now());
                    handles.push(rank.receive(wanted));
                }
                _ => handles.push(rank.receive(wanted)),
            }
        }
        let never = rank.receive(Wanted { tag: Some(99), ..ANY });
        match draw(14) % 3 {
            0 => {
                rank.wait_all(&handles)?;
                handles.drain(..).for_each(|handle| heard.hear(rank, handle));
            }
            1 => {
                while !handles.is_empty() {
                    let idx = rank.wait_any(&handles)?;
                    heard.hear(rank, handles.remove(idx));
                }
            }
            _ => {
                let mut n_polls = 0;
                while !handles.is_empty() && n_polls < 200 {
                    n_polls += 1;
                    let complete = rank.test(&handles)?;
                    for idx in (0..handles.len()).rev().filter(|idx| complete[*idx]) {
                        heard.hear(rank, handles.remove(idx));
                    }
                }
                rank.wait_all(&handles)?;
                handles.drain(..).for_each(|handle| heard.hear(rank, handle));
            }
        }
        assert!(rank.cancel(never)?);
        rank.take(never);
    }
    Ok(())
}

#[test]
fn results_are_the_same_under_every_protocol_and_with_any_number_of_workers() {
    let links = "network = { topology = 'crossbar', latency = '300ns', bandwidth = '2Gbit/s' }";
    for (seed, more) in (0..12).zip(["", links].into_iter().cycle()) {
        let machine = machine(5, more);
        let expected = run(&machine, "sequential", 1, |rank| random(rank, seed));
        for protocol in PROTOCOLS {
            for n_workers in [1, 3] {
                let got = run(&machine, protocol, n_workers, |rank| random(rank, seed));
                assert_eq!(got, expected, "seed {seed}, {protocol}, {n_workers} workers, {more}");
            }
        }
    }
}

#[test]
fn a_cancelled_receive_leaves_its_message_to_the_next() {
    for protocol in PROTOCOLS {
        for n_workers in [1, 2] {
            let ended = run(&machine(2, ""), protocol, n_workers, |rank| {
                if rank.me() == 0 {
                    rank.compute(SimDuration::from_nanos(5_000));
                    rank.send(1, 0, 1, Mode::Standard, Box::default());
                    return (false, false);
                }
                let early = rank.receive(from(0, 1));
                let is_back = rank.cancel(early).unwrap();
                let late = rank.receive(from(0, 1));
                rank.compute(SimDuration::from_nanos(10_000));
                (is_back, rank.cancel(late).unwrap())
            });
            assert_eq!(ended[1].0, (true, false), "{protocol} {n_workers}");
        }
    }
}
