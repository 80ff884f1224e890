//! Two ends, each with a store in a folder of its own, or on a disk that fails.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dedup::{Decoded, Decoder, Encoder, Flow, RunId};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use segment_store::{Folder, Settings, Storage, Store};

/// A connection: its two ends lose what they agreed on when it ends, and keep their stores.
pub struct Connection<'a> {
    pub sender: &'a mut Store,
    pub receiver: &'a mut Store,
    encoder: Encoder,
    decoder: Decoder,
    outbound: Flow,
    inbound: Flow,
    /// Bytes that were asked for.
    pub n_asked: usize,
}

/// A disk in memory, shared by whoever looks into it, with room for so many bytes.
#[derive(Clone, Default)]
pub struct Disk {
    pub files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    pub n_most: Option<usize>,
    /// How often something was read.
    pub n_reads: Arc<AtomicUsize>,
}

pub fn small() -> Settings {
    Settings { container_bytes: 1 << 18, ..Settings::default() }
}

pub fn open(folder: &Path, settings: Settings) -> Store {
    Store::open(Box::new(Folder::open(folder).unwrap()), settings).unwrap()
}

pub fn noise(seed: u64, n_bytes: usize) -> Vec<u8> {
    let mut bytes = vec![0; n_bytes];
    ChaCha8Rng::seed_from_u64(seed).fill(&mut bytes[..]);
    bytes
}

impl<'a> Connection<'a> {
    /// One whose run has a name of its own.
    pub fn new(sender: &'a mut Store, receiver: &'a mut Store, run: u8) -> Self {
        let (settings, run) = (dedup::Settings::default(), RunId([run; 16]));
        let encoder = Encoder::new(settings, sender, run);
        let decoder = Decoder::new(settings, receiver, run);
        Self { sender, receiver, encoder, decoder, outbound: Flow::default(), inbound: Flow::default(), n_asked: 0 }
    }

    /// Sends it, checks that it arrives, and gives how many bytes that took, without what was asked for.
    #[track_caller]
    pub fn check(&mut self, data: &[u8]) -> usize {
        let mut n_wire = 0;
        for part in data.chunks(1 << 16) {
            let mut group = Vec::new();
            self.encoder.encode(self.sender, &mut self.outbound, part, &mut group);
            n_wire += group.len();
            let mut decoded = self.decoder.decode(self.receiver, &mut self.inbound, &group).unwrap();
            while let Decoded::Lacking(lacking) = decoded {
                let repair: Vec<u8> = lacking.ranges().iter().flat_map(|range| part[range.clone()].to_vec()).collect();
                self.n_asked += repair.len();
                decoded = self.decoder.repair(self.receiver, &mut self.inbound, lacking, &repair).unwrap();
            }
            assert!(matches!(decoded, Decoded::Whole(bytes) if bytes == part), "other bytes arrived");
        }
        n_wire
    }
}

impl Storage for Disk {
    fn create(&mut self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        self.remove(name)?;
        self.append(name, &parts.concat())
    }

    fn read(&mut self, name: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.n_reads.fetch_add(1, Ordering::Relaxed);
        let files = self.files.lock().unwrap();
        let file = files.get(name).ok_or(io::ErrorKind::NotFound)?;
        let found = file.get(offset as usize..offset as usize + bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    fn size(&mut self, name: &str) -> io::Result<u64> {
        Ok(self.files.lock().unwrap().get(name).map_or(0, |bytes| bytes.len() as u64))
    }

    fn cut(&mut self, name: &str, n_bytes: u64) -> io::Result<()> {
        let mut files = self.files.lock().unwrap();
        files.get_mut(name).ok_or(io::ErrorKind::NotFound)?.truncate(n_bytes as usize);
        Ok(())
    }

    fn rename(&mut self, name: &str, to: &str) -> io::Result<()> {
        let mut files = self.files.lock().unwrap();
        let bytes = files.remove(name).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), bytes);
        Ok(())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.files.lock().unwrap();
        let n_all: usize = files.values().map(Vec::len).sum();
        if self.n_most.is_some_and(|n_most| n_all + bytes.len() > n_most) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        files.entry(name.to_owned()).or_default().extend_from_slice(bytes);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.files.lock().unwrap().remove(name);
        Ok(())
    }

    fn names(&mut self) -> io::Result<Vec<String>> {
        Ok(self.files.lock().unwrap().keys().cloned().collect())
    }
}
