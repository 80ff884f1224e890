//! What goes in comes out, and what is known costs little.

use dedup::{Effort, Packing, Settings};
use proptest::prelude::*;

use crate::world::{World, edited, noise};

fn plain() -> Settings {
    Settings { packing: Packing::Plain, ..Settings::default() }
}

#[test]
fn a_second_sight_costs_a_thousandth() {
    for settings in [plain(), Settings::default()] {
        let mut world = World::new(settings);
        let data = noise(1, 2_000_000);
        let first = world.check(&data, 1 << 16);
        assert!(first < 2_000_000 + 2_000_000 / 100, "random bytes took {first}");
        let again = world.check(&data, 1 << 16);
        assert!(again < 2_000, "the second time it took {again} bytes");
    }
}

#[test]
fn what_goes_by_untouched_is_remembered_and_found_on_the_second_sight() {
    let mut world = World::new(plain());
    world.encoder.set_effort(Effort::Bypass);
    let (other, data) = (noise(6, 3 << 16), noise(5, 4_000_000));
    world.check(&other, 1 << 16);
    let first = world.check(&data, 1 << 16);
    assert!(first < 4_000_000 + 4_000_000 / 1000, "random bytes took {first}");
    world.check(&other, 1 << 16);
    let again = world.check(&data, 1 << 16);
    // At most fifteen groups go by before one is searched; what follows is followed.
    assert!(again < 16 << 16, "the second time it took {again} bytes");
}

#[cfg(feature = "zstd")]
#[test]
fn the_effort_changes_between_any_two_groups() {
    let text: String = (0..60_000_u64).map(|i| format!("{i}: {}\n", (i * i) % 977)).collect();
    let efforts = [
        Effort::Search(Packing::Zstd(3)),
        Effort::Bypass,
        Effort::Search(Packing::Zstd(3)),
        Effort::Search(Packing::Zstd(9)),
        Effort::Search(Packing::Plain),
        Effort::Search(Packing::Zstd(1)),
        Effort::Search(Packing::Zstd(12)),
    ];
    let mut world = World::new(Settings::default());
    let (mut n_packed, n_part) = (0, text.len() / 40);
    for (part, effort) in text.as_bytes().chunks(n_part).zip(efforts.into_iter().cycle()) {
        world.encoder.set_effort(effort);
        let n_wire = world.check(part, 1 << 14);
        n_packed += usize::from(n_wire < n_part * 2 / 3);
    }
    assert!(n_packed > 20, "{n_packed} parts of forty were packed");
}

#[test]
fn what_is_known_is_not_remembered_again() {
    let mut world = World::new(plain());
    let data = noise(2, 1_000_000);
    world.check(&data, 1 << 14);
    let n_before = world.sent.n_bytes();
    world.check(&data, 1 << 14);
    assert!(world.sent.n_bytes() < n_before + 2_000, "{} bytes more", world.sent.n_bytes() - n_before);
}

#[test]
fn later_versions_cost_their_edits() {
    let mut world = World::new(plain());
    let mut version = noise(3, 1_000_000);
    world.check(&version, 1 << 14);
    for seed in 0..5 {
        version = edited(&version, 100, seed);
        let n_wire = world.check(&version, 1 << 14);
        // An edit is of 20 bytes on average; a group has some 20 more.
        assert!(n_wire < 100 * 80 + 62 * 30, "version {seed} took {n_wire} bytes");
    }
}

#[cfg(feature = "zstd")]
#[test]
fn a_stretch_of_one_byte_is_no_trouble() {
    let mut world = World::new(Settings::default());
    let mut data = vec![0; 3_000_000];
    data.extend(noise(4, 1000));
    data.extend(vec![255; 1_000_000]);
    assert!(world.check(&data, 1 << 16) < 10_000);
    assert!(world.check(&data, 1 << 13) < 20_000);
}

#[cfg(feature = "zstd")]
#[test]
fn text_is_packed_as_well() {
    let mut world = World::new(Settings::default());
    let text: String = (0..20_000).map(|i| format!("line {} of a log\n", i * i % 9973)).collect();
    let n_wire = world.check(text.as_bytes(), 1 << 14);
    assert!(n_wire < text.len() / 4, "{n_wire} bytes for {} of text", text.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_versions_in_any_groups_arrive(
        seed: u64,
        n_bytes in 1..40_000_usize,
        groups in prop::collection::vec(1..9_000_usize, 1..6),
        anchor_bits in 4..9_u32,
        is_plain: bool,
    ) {
        let packing = if is_plain { Packing::Plain } else { Settings::default().packing };
        let mut world = World::new(Settings { anchor_bits, packing, ..Settings::default() });
        let mut version = noise(seed, n_bytes);
        for (i, n_group) in groups.into_iter().enumerate() {
            world.check(&version, n_group);
            version = edited(&version, 5, seed ^ i as u64);
            if version.is_empty() {
                break;
            }
        }
    }
}
