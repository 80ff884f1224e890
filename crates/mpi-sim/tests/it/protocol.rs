//! What protocols cost, and where one is wrong.

use std::num::NonZero;
use std::sync::Mutex;

use mpi_sim::user::{self, Contexts};
use mpi_sim::{Counts, Mode, Rank, Settings, Stopped, Taken, Wanted, World};
use units::SimDuration;

use crate::world::{ANY, from, machine};

fn counts<K>(n_ranks: u32, protocol: &str, kernel: K) -> Counts
where
    K: Fn(&mut Rank<'_, Contexts>) -> Result<(), Stopped> + Sync,
{
    let settings =
        Settings { protocol: protocol.parse().unwrap(), n_workers: NonZero::<u32>::MIN, has_unique_tags: false };
    let world = World::new(machine(n_ranks, ""), settings);
    user::run(&world, user::STACK_BYTES, kernel).unwrap();
    let world = world.hold();
    assert_eq!(world.stopped(), None);
    world.counts()
}

/// Everybody sends to rank 0, which takes what `wanted` says.
fn gather(rank: &mut Rank<'_, Contexts>, wanted: impl Fn(u32) -> Wanted) -> Result<(), Stopped> {
    for source in 1..rank.n_ranks() {
        let handle = match rank.me() {
            0 => rank.receive(wanted(source)),
            me if me == source => {
                rank.compute(SimDuration::from_nanos(u64::from(me) * 3_000));
                rank.send(0, 0, me as i32, Mode::Standard, Box::default())
            }
            _ => continue,
        };
        rank.wait_all(&[handle])?;
        rank.take(handle);
    }
    Ok(())
}

#[test]
fn whoever_names_sources_or_tags_of_one_source_needs_no_rounds() {
    let all: Vec<u32> = (0..5).collect();
    for told in ["nmp", "cep", "nmp+cep"] {
        let with = format!("{told}+det");
        let named =
            |protocol: &str| counts(5, protocol, |rank| gather(rank, |source| from(source, source as i32))).n_rounds;
        assert!(named(told) > 0 && named(&with) == 0, "{told}");
        let tagged = |has_unique_tags| {
            let wanted = |source: u32| Wanted { tag: Some(source as i32), ..ANY };
            let ran = counts(5, &with, |rank| {
                rank.declare(0, &all, has_unique_tags);
                gather(rank, wanted)
            });
            ran.n_rounds
        };
        assert!(tagged(false) > 0 && tagged(true) == 0, "{told}");
    }
}

#[test]
fn members_of_a_communicator_ask_only_each_other() {
    let asked = |members: &[u32]| {
        counts(8, "nmp", |rank| {
            rank.declare(0, members, false);
            if rank.me() < 3 { ping(rank) } else { Ok(()) }
        })
        .n_null_messages
    };
    fn ping(rank: &mut Rank<'_, Contexts>) -> Result<(), Stopped> {
        let handle =
            if rank.me() == 0 { rank.receive(ANY) } else { rank.send(0, 0, 1, Mode::Standard, Box::default()) };
        rank.wait_all(&[handle])
    }
    let all: Vec<u32> = (0..8).collect();
    assert!(asked(&[0, 1, 2]) < asked(&all), "{} of {}", asked(&[0, 1, 2]), asked(&all));
}

/// The source that a wildcard gets where rank 1 answers rank 0 early and rank 2 sends late.
fn first_heard(protocol: &str) -> u32 {
    let heard = Mutex::new(0);
    counts(3, protocol, |rank| {
        let span = SimDuration::from_nanos;
        match rank.me() {
            0 => {
                rank.send(1, 0, 1, Mode::Standard, Box::default());
                let handle = rank.receive(ANY);
                rank.wait_all(&[handle])?;
                let Taken::Received(envelope, _) = rank.take(handle) else { panic!("no message") };
                *heard.lock().unwrap() = envelope.source;
            }
            1 => {
                let handle = rank.receive(ANY);
                rank.wait_all(&[handle])?;
                rank.send(0, 0, 1, Mode::Standard, Box::default());
            }
            _ => {
                rank.compute(span(3_000));
                rank.send(0, 0, 1, Mode::Standard, Box::default());
            }
        }
        Ok(())
    });
    heard.into_inner().unwrap()
}

#[test]
fn a_quantum_longer_than_the_latency_orders_a_case_wrongly() {
    for protocol in ["sequential", "quantum=1us", "nmp", "cep+det"] {
        assert_eq!(first_heard(protocol), 1, "{protocol}");
    }
    // Within one window rank 0 goes first, and rank 2's message is all that is there.
    assert_eq!(first_heard("quantum=20us"), 2);
}

#[test]
fn a_later_message_leaves_the_receive_to_an_earlier_one_that_a_wildcard_may_take() {
    for protocol in ["sequential", "cep", "nmp+cep+det"] {
        let heard = Mutex::new((0, 0));
        counts(3, protocol, |rank| {
            match rank.me() {
                0 => {
                    let wild = rank.receive(Wanted { tag: Some(1), ..ANY });
                    let named = rank.receive(Wanted { source: Some(1), ..ANY });
                    // Both messages of rank 1 are there before rank 2 sends the one that comes first.
                    rank.compute(SimDuration::from_nanos(50_000));
                    rank.wait_all(&[wild, named])?;
                    let tag = |taken| match taken {
                        Taken::Received(envelope, _) => (envelope.source, envelope.tag),
                        _ => panic!("no message"),
                    };
                    let (wild, named) = (tag(rank.take(wild)), tag(rank.take(named)));
                    *heard.lock().unwrap() = (wild.0, named.1);
                    let left = rank.receive(ANY);
                    rank.wait_all(&[left])?;
                }
                1 => {
                    rank.compute(SimDuration::from_nanos(10_000));
                    for tag in [1, 2] {
                        rank.send(0, 0, tag, Mode::Standard, Box::default());
                    }
                }
                _ => {
                    rank.send(0, 0, 1, Mode::Standard, Box::default());
                }
            }
            Ok(())
        });
        assert_eq!(heard.into_inner().unwrap(), (2, 1), "{protocol}");
    }
}
