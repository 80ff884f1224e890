//! What is known outlives the processes.

use dedup::{History, Key, RunId};
use segment_store::{Folder, FolderError, OpenError, Settings, Store};

use crate::world::{Connection, noise, open, small};

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
