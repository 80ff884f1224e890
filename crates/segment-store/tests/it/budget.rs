//! What a store may take is all that it takes.

use segment_store::{Policy, Settings, Store};

use crate::world::{Connection, Disk, noise, small};

fn on_disk(disk: &Disk) -> u64 {
    let files = disk.files.lock().unwrap();
    files.iter().filter(|(name, _)| name.ends_with(".segments")).map(|(_, bytes)| bytes.len() as u64).sum()
}

#[test]
fn room_on_disk_is_reclaimed_and_the_latest_is_kept() {
    for policy in [Policy::LeastRecentlyUsed, Policy::Oldest] {
        let settings = Settings { disk_bytes: 2_000_000, policy, ..small() };
        let disks = [Disk::default(), Disk::default()];
        let [mut sender, mut receiver] = disks.clone().map(|disk| Store::open(Box::new(disk), settings).unwrap());
        let mut connection = Connection::new(&mut sender, &mut receiver, 1);
        connection.check(&noise(1, 5_000_000));
        let latest = noise(2, 1_000_000);
        connection.check(&latest);
        assert!(connection.check(&latest) < 2_000, "the latest was given up");
        for (disk, store) in disks.iter().zip([&sender, &receiver]) {
            assert!(on_disk(disk) <= settings.disk_bytes, "{} bytes are on disk", on_disk(disk));
            assert_eq!(on_disk(disk), store.statistics().disk_bytes);
            assert!(store.statistics().n_given_up > 10);
        }
        let reopened = Store::open(Box::new(disks[0].clone()), settings).unwrap();
        drop(sender);
        assert_eq!(reopened.statistics().disk_bytes, on_disk(&disks[0]));
    }
}

#[test]
fn what_is_used_stays_when_the_least_used_goes() {
    let settings = Settings { disk_bytes: 3_000_000, ..small() };
    let disks = [Disk::default(), Disk::default()];
    let [mut sender, mut receiver] = disks.map(|disk| Store::open(Box::new(disk), settings).unwrap());
    let mut connection = Connection::new(&mut sender, &mut receiver, 1);
    let liked = noise(1, 1_000_000);
    connection.check(&liked);
    for seed in 2..12 {
        connection.check(&noise(seed, 500_000));
        let n_wire = connection.check(&liked);
        assert!(n_wire < 2_000, "it took {n_wire} bytes after {seed}");
    }
}

#[test]
fn memory_stays_within_its_budget_and_what_left_it_is_found_on_disk() {
    let settings = Settings { memory_bytes: 2_000_000, ..small() };
    let disks = [Disk::default(), Disk::default()];
    let [mut sender, mut receiver] = disks.map(|disk| Store::open(Box::new(disk), settings).unwrap());
    let mut connection = Connection::new(&mut sender, &mut receiver, 1);
    let data = noise(1, 8_000_000);
    connection.check(&data);
    assert!(connection.check(&data) < data.len() / 500);
    assert_eq!(connection.n_asked, 0);
    for store in [&sender, &receiver] {
        let statistics = store.statistics();
        assert!(statistics.resident_bytes <= settings.memory_bytes, "{statistics:?}");
        // Most of it are shards of a few anchors: a terabyte has as many.
        assert!(statistics.sparse_bytes < 128 << 10);
    }
    assert!(sender.statistics().n_loaded > 20);
}

#[test]
fn ages_of_what_was_found_are_counted() {
    let disks = [Disk::default(), Disk::default()];
    let [mut sender, mut receiver] = disks.map(|disk| Store::open(Box::new(disk), small()).unwrap());
    let mut connection = Connection::new(&mut sender, &mut receiver, 1);
    let data = noise(1, 2_000_000);
    connection.check(&data);
    connection.check(&data[..100_000]);
    connection.check(&data[1_900_000..]);
    let statistics = sender.statistics();
    assert_eq!(statistics.n_found, statistics.ages.iter().sum::<u64>());
    assert!(statistics.ages[4] > 0, "2 MB ago: {:?}", statistics.ages);
}
