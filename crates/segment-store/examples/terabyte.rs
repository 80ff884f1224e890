//! Memory and opening time of the index of a great store: as many anchors and containers as that store would have, and
//! no data.
//!
//! `cargo run --release -p segment-store --example terabyte -- FOLDER TERABYTES`
//!
//! One anchor in 32 bytes is sparse here, where it is one in 8,192, and a container has 16 KiB, where it has 4 MiB: the
//! same numbers from a 256th of the data. The files of the containers are empty.
#![expect(clippy::print_stdout, reason = "it is a measurement")]

use std::io;
use std::path::Path;

use clock::Stopwatch;
use dedup::{Anchor, History, RunId};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use segment_store::{Folder, Settings, Storage, Store};

/// Factor by which there is less data.
const SCALE: f64 = 256.0;
const N_PIECE: usize = 1 << 20;
const N_STRANGE: u64 = 1_000_000;

/// Keeps the index, not the data.
struct Thin(Folder);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(terabytes)) =
        (arguments.next(), arguments.next().and_then(|text| text.parse::<f64>().ok()))
    else {
        panic!("give a folder and how many terabytes");
    };
    let settings = Settings {
        anchor_bits: 4,
        sparse_bits: 1,
        container_bytes: 16 << 10,
        disk_bytes: u64::MAX,
        memory_bytes: 64 << 20,
        ..Settings::default()
    };
    let open = || Store::open(Box::new(Thin(Folder::open(Path::new(&folder)).unwrap())), settings).unwrap();
    let mut store = open();
    let run = store.run(RunId([1; 16]));
    let mut chance = ChaCha8Rng::seed_from_u64(1);
    let mut piece = vec![0; N_PIECE];
    let (n_pieces, watch) = ((terabytes * 1e12 / SCALE / N_PIECE as f64) as u64, Stopwatch::start());
    for _ in 0..n_pieces {
        chance.fill(&mut piece[..]);
        store.append(run, &piece);
    }
    store.flush();
    say(&store, "grown", watch.elapsed().as_secs_f64());
    drop(store);
    let watch = Stopwatch::start();
    let mut store = open();
    say(&store, "opened", watch.elapsed().as_secs_f64());
    let watch = Stopwatch::start();
    // Sparse anchors that nobody wrote: their five highest bits are zero.
    for _ in 0..N_STRANGE {
        assert!(store.find(Anchor(chance.random::<u64>() >> 5)).is_none());
    }
    say(&store, "asked for a million strange anchors", watch.elapsed().as_secs_f64());
    let found = store.statistics();
    println!("the filter let {:.2} % of them pass", 100.0 * found.n_passed as f64 / N_STRANGE as f64);
}

fn say(store: &Store, what: &str, seconds: f64) {
    let found = store.statistics();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        line.trim_matches([' ', '\t', ':', 'k', 'B']).parse::<f64>().unwrap_or(f64::NAN) / 1e6
    };
    println!(
        "{what}: {seconds:.2} s; {} containers; index {:.2} GB, filters {:.3} GB of it; {} snapshots, {:.1} MB of the journal read, {} shards; resident {:.2} GB, at most {:.2} GB",
        found.n_containers,
        found.sparse_bytes as f64 / 1e9,
        found.filter_bytes as f64 / 1e9,
        found.n_snapshots,
        found.n_replayed as f64 / 1e6,
        found.n_shards_read,
        memory("VmRSS"),
        memory("VmHWM"),
    );
}

impl Storage for Thin {
    fn create(&mut self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        if name.ends_with(".segments") { self.0.create(name, &[]) } else { self.0.create(name, parts) }
    }

    fn read(&mut self, name: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read(name, offset, bytes)
    }

    fn size(&mut self, name: &str) -> io::Result<u64> {
        self.0.size(name)
    }

    fn cut(&mut self, name: &str, n_bytes: u64) -> io::Result<()> {
        self.0.cut(name, n_bytes)
    }

    fn rename(&mut self, name: &str, to: &str) -> io::Result<()> {
        self.0.rename(name, to)
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.0.append(name, bytes)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }

    fn names(&mut self) -> io::Result<Vec<String>> {
        self.0.names()
    }
}
