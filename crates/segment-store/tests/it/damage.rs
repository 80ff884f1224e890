//! Any part of a store may be cut, altered or gone: streams stay exact.

use segment_store::Store;

use crate::world::{Connection, Disk, noise, small};

/// Both ends after `data` was sent once, and their disks.
fn after(data: &[u8]) -> [Disk; 2] {
    let disks = [Disk::default(), Disk::default()];
    let [mut sender, mut receiver] = disks.clone().map(|disk| Store::open(Box::new(disk), small()).unwrap());
    Connection::new(&mut sender, &mut receiver, 1).check(data);
    sender.flush();
    receiver.flush();
    disks
}

#[track_caller]
fn check(damage: impl Fn(&str, &mut Vec<u8>)) {
    let data = noise(1, 1_000_000);
    for damaged in [0, 1] {
        let disks = after(&data);
        for (name, bytes) in disks[damaged].files.lock().unwrap().iter_mut() {
            damage(name, bytes);
        }
        let [mut sender, mut receiver] = disks.map(|disk| Store::open(Box::new(disk), small()).unwrap());
        for run in 2..4 {
            Connection::new(&mut sender, &mut receiver, run).check(&data);
        }
    }
}

#[test]
fn a_flipped_bit_in_each_container_is_seen() {
    for at in [0, 9, 13, 20, 70_000, 200_000] {
        check(|name, bytes| {
            if name.ends_with(".segments") {
                let at = at.min(bytes.len() - 1);
                bytes[at] ^= 4;
            }
        });
    }
}

#[test]
fn flipped_checksums_and_anchors_are_seen() {
    check(|name, bytes| {
        if name.ends_with(".segments") {
            let at = bytes.len() - 100;
            bytes[at] ^= 1;
        }
    });
}

#[test]
fn cut_and_empty_containers_are_seen() {
    for n_kept in [0, 10, 1000, 100_000] {
        check(|name, bytes| {
            if name.ends_with(".segments") {
                bytes.truncate(n_kept);
            }
        });
    }
}

#[test]
fn a_journal_that_ends_anywhere_is_read_until_there() {
    let data = noise(2, 600_000);
    let disks = after(&data);
    let whole = disks[0].files.lock().unwrap()["journal"].clone();
    for n_kept in (26..whole.len()).step_by(whole.len() / 40) {
        disks[0].files.lock().unwrap().insert("journal".to_owned(), whole[..n_kept].to_vec());
        let mut sender = Store::open(Box::new(disks[0].clone()), small()).unwrap();
        let mut receiver = Store::open(Box::new(disks[1].clone()), small()).unwrap();
        Connection::new(&mut sender, &mut receiver, 9).check(&data);
    }
}

#[test]
fn containers_that_vanish_while_they_are_read_are_asked_for() {
    let data = noise(3, 1_000_000);
    let disks = after(&data);
    let mut sender = Store::open(Box::new(disks[0].clone()), small()).unwrap();
    let mut receiver = Store::open(Box::new(disks[1].clone()), small()).unwrap();
    let mut connection = Connection::new(&mut sender, &mut receiver, 2);
    connection.check(&data[..300_000]);
    disks[1].files.lock().unwrap().retain(|name, _| !name.ends_with(".segments"));
    connection.check(&data[300_000..]);
    assert!(connection.n_asked > 300_000);
    assert!(receiver.statistics().n_lost > 0);
}

#[test]
fn a_full_disk_costs_memory_of_what_was_and_no_byte() {
    let data = noise(4, 1_000_000);
    let full = Disk { n_most: Some(400_000), ..Disk::default() };
    let mut sender = Store::open(Box::new(full.clone()), small()).unwrap();
    let mut receiver = Store::open(Box::new(full), small()).unwrap();
    let mut connection = Connection::new(&mut sender, &mut receiver, 1);
    connection.check(&data);
    connection.check(&data);
    assert!(sender.statistics().n_unwritten > 0);
}
