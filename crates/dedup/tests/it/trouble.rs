//! Histories that lost bytes or hold others, groups that are damaged, peers that answer wrongly.

use dedup::{Decoded, GroupError, History, MemoryHistory, Packing, RepairError, Settings};
use proptest::prelude::*;

use crate::world::{RUN, World, noise, repair};

fn plain() -> Settings {
    Settings { packing: Packing::Plain, ..Settings::default() }
}

/// A world in which `data` was sent once.
fn knowing(data: &[u8]) -> World {
    let mut world = World::new(plain());
    world.check(data, 1 << 14);
    world
}

#[test]
fn a_receiver_that_forgot_all_asks_for_all() {
    let data = noise(1, 100_000);
    let mut world = knowing(&data);
    world.received = MemoryHistory::new(plain().gear());
    world.received.run(RUN);
    let group = world.encode(&data[..50_000]);
    let decoded = world.decoder.decode(&mut world.received, &mut world.inbound, &group).unwrap();
    let Decoded::Lacking(lacking) = decoded else { panic!("nothing was missing") };
    assert_eq!(lacking.ranges().iter().collect::<Vec<_>>(), [&(0..50_000)]);
    assert!(!lacking.is_collision());
    let mended = world.decoder.repair(&mut world.received, &mut world.inbound, lacking, &data[..50_000]).unwrap();
    assert!(matches!(mended, Decoded::Whole(bytes) if bytes == data[..50_000]));
}

#[test]
fn other_bytes_than_the_senders_are_seen_by_the_hash_and_replaced() {
    let data = noise(2, 100_000);
    let mut world = knowing(&data);
    let run = world.received.run(RUN);
    world.received.lose(run);
    let group = world.encode(&data);
    let decoded = world.decoder.decode(&mut world.received, &mut world.inbound, &group).unwrap();
    let Decoded::Lacking(lacking) = decoded else { panic!("wrong bytes passed for right ones") };
    assert!(lacking.is_collision());
    let mended = world.decoder.repair(&mut world.received, &mut world.inbound, lacking, &data).unwrap();
    assert!(matches!(mended, Decoded::Whole(bytes) if bytes == data));
    let group = world.encode(&data);
    let decoded = world.decoder.decode(&mut world.received, &mut world.inbound, &group).unwrap();
    assert!(matches!(decoded, Decoded::Whole(_)), "it asks again for what it was given");
}

#[test]
fn a_peer_that_repairs_wrongly_is_told() {
    let data = noise(3, 100_000);
    for n_given in [0, 99_999, 100_000] {
        let mut world = knowing(&data);
        let run = world.received.run(RUN);
        world.received.lose(run);
        let group = world.encode(&data);
        let decoded = world.decoder.decode(&mut world.received, &mut world.inbound, &group).unwrap();
        let Decoded::Lacking(lacking) = decoded else { panic!("wrong bytes passed for right ones") };
        let wrong = vec![1; n_given];
        let error = world.decoder.repair(&mut world.received, &mut world.inbound, lacking, &wrong).unwrap_err();
        let expected =
            if n_given == 100_000 { RepairError::Hash } else { RepairError::Length { given: n_given, asked: 100_000 } };
        assert_eq!(error, expected);
    }
}

#[test]
fn a_group_of_gigabytes_gets_no_memory() {
    let mut world = World::new(plain());
    let mut group = vec![0, 0x80, 0x80, 0x80, 0x80, 0x10];
    group.extend([0; 16]);
    let error = world.decoder.decode(&mut world.received, &mut world.inbound, &group).unwrap_err();
    assert_eq!(error, GroupError::TooGreat { given: 1 << 32, max: 1 << 20 });
}

#[cfg(feature = "zstd")]
#[test]
fn a_bomb_is_not_unpacked() {
    let mut world = World::new(Settings::default());
    let bomb = world.encode(&vec![0; 1 << 20]);
    // The same body, said to be of 10 bytes.
    let at = bomb.len() - 16;
    let mut short = vec![4, 10, 10];
    short.extend_from_slice(&bomb[7..at]);
    short.extend([0; 16]);
    assert!(world.decoder.decode(&mut world.received, &mut world.inbound, &short).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_damaged_group_gives_an_error_or_is_asked_for(
        at in 0..2_000_usize,
        byte: u8,
        n_kept in 0..2_000_usize,
        is_plain: bool,
    ) {
        let packing = if is_plain { Packing::Plain } else { Settings::default().packing };
        let mut world = World::new(Settings { packing, ..Settings::default() });
        let data = noise(5, 5_000);
        world.check(&data, 4096);
        let mut later = data[..3000].to_vec();
        later.extend(noise(6, 1000));
        let mut group = world.encode(&later);
        if at < group.len() {
            group[at] ^= byte;
        }
        group.truncate(n_kept.max(1) + group.len() / 2);
        if let Ok(decoded) = world.decoder.decode(&mut world.received, &mut world.inbound, &group) {
            match decoded {
                Decoded::Whole(bytes) => prop_assert!(bytes == later),
                Decoded::Lacking(lacking) => {
                    let all = vec![0; 1 << 20];
                    let bytes = repair(&lacking, &all);
                    let mended = world.decoder.repair(&mut world.received, &mut world.inbound, lacking, &bytes);
                    prop_assert!(!matches!(mended, Ok(Decoded::Whole(bytes)) if bytes != later));
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_a_group_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut world = World::new(Settings::default());
        if let Ok(Decoded::Whole(data)) = world.decoder.decode(&mut world.received, &mut world.inbound, &bytes) {
            prop_assert!(data.is_empty(), "a hash was guessed");
        }
    }
}
