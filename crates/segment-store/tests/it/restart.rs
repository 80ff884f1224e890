//! What is known outlives the processes.

use dedup::{History, Key, RunId};
use segment_store::{Folder, FolderError, OpenError, Settings, Store};

use crate::world::{Connection, Disk, noise, open, small};

#[test]
fn the_same_content_after_a_restart_of_both_ends_costs_a_thousandth() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let data = noise(1, 4_000_000);
    for run in 1..4 {
        let [mut sender, mut receiver] = [0, 1].map(|i| open(folders[i].path(), small()));
        let mut connection = Connection::new(&mut sender, &mut receiver, run);
        let n_wire = connection.check(&data);
        assert_eq!(connection.n_asked, 0);
        assert!(run == 1 || n_wire < data.len() / 1000, "run {run} took {n_wire} bytes");
        sender.flush();
        receiver.flush();
    }
}

#[test]
fn what_was_not_flushed_is_lost_and_nothing_else() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let data = noise(2, 1_000_000);
    for run in 1..3 {
        // Nobody says goodbye: these stores are dropped as a process is that is killed.
        let [mut sender, mut receiver] = [0, 1].map(|i| open(folders[i].path(), small()));
        let mut connection = Connection::new(&mut sender, &mut receiver, run);
        let n_wire = connection.check(&data);
        let n_unflushed = sender.n_unflushed();
        assert!(n_unflushed < 1 << 18);
        assert!(run == 1 || n_wire < (1 << 18) + 1000, "run {run} took {n_wire} bytes");
    }
}

#[test]
fn a_receiver_that_was_emptied_asks_and_then_knows() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let data = noise(3, 1_000_000);
    let mut sender = open(folders[0].path(), small());
    let mut receiver = open(folders[1].path(), small());
    Connection::new(&mut sender, &mut receiver, 1).check(&data);
    let mut emptied = open(folders[2].path(), small());
    let mut connection = Connection::new(&mut sender, &mut emptied, 2);
    connection.check(&data);
    assert!(connection.n_asked > data.len() * 9 / 10);
    emptied.flush();
    drop(emptied);
    let mut emptied = open(folders[2].path(), small());
    let mut connection = Connection::new(&mut sender, &mut emptied, 3);
    connection.check(&data);
    assert_eq!(connection.n_asked, 0, "it asks again for what it was given");
}

#[test]
fn a_store_is_for_one_process_one_key_and_one_kind_of_anchors() {
    let folder = tempfile::tempdir().unwrap();
    let reopened = |settings: Settings| Store::open(Box::new(Folder::open(folder.path()).unwrap()), settings).map(drop);
    let mut store = open(folder.path(), small());
    let run = store.run(RunId([1; 16]));
    store.append(run, &noise(4, 1_000));
    assert!(matches!(Folder::open(folder.path()), Err(FolderError::Taken { .. })));
    store.flush();
    drop(store);
    assert!(reopened(small()).is_ok());
    let other = Settings { key: Key::of_tenant(b"a secret", "other"), ..small() };
    assert!(matches!(reopened(other), Err(OpenError::Key)));
    assert!(matches!(reopened(Settings { anchor_bits: 7, ..small() }), Err(OpenError::Anchors { bits: 8, .. })));
    std::fs::write(folder.path().join("journal"), "not a journal at all, but long enough").unwrap();
    assert!(matches!(reopened(small()), Err(OpenError::Format)));
}

/// Pieces of what came before, with a few new bytes between them: each end of a piece leads somewhere else than the
/// last time.
fn pieces() -> Vec<u8> {
    let mut data = noise(5, 300_000);
    for i in 0..400 {
        let at = i * 7_919 % 290_000;
        data.extend_from_within(at..at + 4_000);
        data.extend(noise(100 + i as u64, 40));
    }
    data
}

/// How many bytes it takes to send [`pieces`] again after a restart of both ends, before which `damage` was done to the
/// sender's folder.
fn n_wire_after_restart(damage: impl Fn(&std::path::Path)) -> usize {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut n_wire = 0;
    for run in 1..3 {
        let [mut sender, mut receiver] = [0, 1].map(|i| open(folders[i].path(), small()));
        n_wire = Connection::new(&mut sender, &mut receiver, run).check(&pieces());
        sender.flush();
        receiver.flush();
        drop(sender);
        damage(folders[0].path());
    }
    n_wire
}

#[test]
fn what_leads_a_sender_outlives_the_process() {
    let [mut sender, mut receiver] = [(); 2].map(|()| Store::open(Box::new(Disk::default()), small()).unwrap());
    let [_, without] = [1, 2].map(|run| Connection::new(&mut sender, &mut receiver, run).check(&pieces()));
    let after = n_wire_after_restart(|_| {});
    assert!(after < without + without / 20, "{after} bytes after a restart, {without} without one");
    // Wrong hints are none: more is sent, and the right bytes.
    let lost = n_wire_after_restart(|folder| std::fs::remove_file(folder.join("hints")).unwrap());
    let altered = n_wire_after_restart(|folder| {
        let mut bytes = std::fs::read(folder.join("hints")).unwrap();
        bytes[100] ^= 1;
        std::fs::write(folder.join("hints"), bytes).unwrap();
    });
    assert_eq!(lost, altered);
    assert!(lost > after + after / 2, "{lost} bytes without hints, {after} with them");
}
