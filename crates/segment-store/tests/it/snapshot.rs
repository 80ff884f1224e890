//! The index on disk: little is read when a store is opened, and what is damaged is made again.

use segment_store::{Period, Settings, Store, Traffic};

use crate::world::{Connection, Disk, noise, small};

/// Snapshots after every few containers.
fn often() -> Settings {
    Settings { tail_bytes: 2_000, ..small() }
}

fn opened(disk: &Disk) -> Store {
    Store::open(Box::new(disk.clone()), often()).unwrap()
}

/// Both ends' disks after noise.
fn after(seed: u64, n_bytes: usize) -> [Disk; 2] {
    let disks = [Disk::default(), Disk::default()];
    let [mut sender, mut receiver] = disks.each_ref().map(opened);
    Connection::new(&mut sender, &mut receiver, 1).check(&noise(seed, n_bytes));
    sender.flush();
    receiver.flush();
    disks
}

fn n_bytes(disk: &Disk, name: &str) -> u64 {
    disk.files.lock().unwrap()[name].len() as u64
}

#[test]
fn a_store_reads_its_snapshot_and_the_journal_since() {
    let n_data = 8_000_000;
    let disks = after(1, n_data);
    let [mut sender, mut receiver] = disks.each_ref().map(opened);
    let statistics = sender.statistics();
    assert!(statistics.n_replayed < n_bytes(&disks[0], "journal") / 2, "{statistics:?}");
    assert_eq!((statistics.n_shards_read, statistics.n_ever), (0, n_data as u64));
    let n_wire = Connection::new(&mut sender, &mut receiver, 2).check(&noise(1, n_data));
    assert!(n_wire < n_data / 1000, "it took {n_wire} bytes");
    let statistics = sender.statistics();
    assert!(statistics.n_shards_read > 0 && statistics.n_rebuilt == 0, "{statistics:?}");
}

#[test]
fn snapshots_of_snapshots_that_were_read_in_part_know_everything() {
    let disks = after(1, 2_000_000);
    for seed in 2..6 {
        let [mut sender, mut receiver] = disks.each_ref().map(opened);
        Connection::new(&mut sender, &mut receiver, seed as u8).check(&noise(seed, 2_000_000));
        sender.flush();
        receiver.flush();
        assert!(sender.statistics().n_snapshots > 0);
    }
    let [mut sender, mut receiver] = disks.each_ref().map(opened);
    let mut connection = Connection::new(&mut sender, &mut receiver, 9);
    for seed in 1..6 {
        let n_wire = connection.check(&noise(seed, 2_000_000));
        assert!(n_wire < 3_000, "{n_wire} bytes for the data of seed {seed}");
    }
}

#[test]
fn a_damaged_snapshot_is_made_again() {
    let data = noise(1, 4_000_000);
    let disks = after(1, data.len());
    let [whole, journal] = ["index", "journal"].map(|name| disks[0].files.lock().unwrap()[name].clone());
    let n_index = whole.len();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let outline_at = u64::from_le_bytes(*whole[n_index - 28..].first_chunk().unwrap()) as usize;
    let shards = [&vec![7; outline_at], &whole[outline_at..]].concat();
    let other = after(2, 3_000_000)[1].files.lock().unwrap()["index"].clone();
    for (what, damaged) in [
        ("its shards", shards),
        ("a bit of the outline", flipped(n_index - 5_000)),
        ("a bit of the trailer", flipped(n_index - 10)),
        ("its end", whole[..n_index / 2].to_vec()),
        ("all", vec![0; 3]),
        ("it, for another store's", other),
    ] {
        {
            let mut files = disks[0].files.lock().unwrap();
            files.insert("index".to_owned(), damaged);
            files.insert("journal".to_owned(), journal.clone());
        }
        let [mut sender, mut receiver] = disks.each_ref().map(opened);
        let n_wire = Connection::new(&mut sender, &mut receiver, 2).check(&data);
        assert!(n_wire < data.len() / 1000, "without {what} it took {n_wire} bytes");
        assert_eq!(sender.statistics().n_rebuilt, 1, "{what}");
    }
}

#[test]
fn periods_outlive_the_process_and_the_journal() {
    let settings = Settings { disk_bytes: 1_000_000, ..often() };
    let disk = Disk::default();
    let traffic = |n: u64| Traffic { given_bytes: n, sent_bytes: n / 2, ..Traffic::default() };
    for round in 0..6 {
        let mut store = Store::open(Box::new(disk.clone()), settings).unwrap();
        assert_eq!(store.periods().len(), round);
        let mut other = Store::open(Box::new(Disk::default()), small()).unwrap();
        Connection::new(&mut store, &mut other, round as u8).check(&noise(round as u64, 2_000_000));
        let begin = round as i64;
        store.note((begin, begin + 1), traffic(round as u64));
    }
    let store = Store::open(Box::new(disk.clone()), settings).unwrap();
    let told: Vec<u64> = store.periods().iter().map(|period| period.traffic.given_bytes).collect();
    assert_eq!(told, [0, 1, 2, 3, 4, 5]);
    let Period { begin_ns, end_ns, appended_bytes, disk_bytes, .. } = store.periods()[5];
    assert_eq!((begin_ns, end_ns, appended_bytes), (5, 6, 2_000_000));
    assert!((1..=1_000_000).contains(&disk_bytes));
    assert!(n_bytes(&disk, "journal") < 20_000, "{} bytes of what is gone", n_bytes(&disk, "journal"));
}

#[test]
fn what_is_read_in_a_row_is_read_in_great_pieces() {
    let n_data = 8_000_000;
    let disks = after(1, n_data);
    let [mut sender, mut receiver] = disks.each_ref().map(opened);
    let n_before = disks[1].n_reads.load(std::sync::atomic::Ordering::Relaxed);
    Connection::new(&mut sender, &mut receiver, 2).check(&noise(1, n_data));
    let n_reads = disks[1].n_reads.load(std::sync::atomic::Ordering::Relaxed) - n_before;
    // 31 containers of four blocks: two reads for the outline of each, one or two for its data.
    assert!(n_reads < 4 * 31, "{n_reads} reads for {} blocks", n_data.div_ceil(segment_store::BLOCK_BYTES));
}
