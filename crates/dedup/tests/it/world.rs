//! A sender and a receiver, each with a history of its own.

use dedup::{Decoded, Decoder, Encoder, Flow, Lacking, MemoryHistory, RunId, Settings};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub const RUN: RunId = RunId([7; 16]);

pub struct World {
    pub sent: MemoryHistory,
    pub received: MemoryHistory,
    pub encoder: Encoder,
    pub decoder: Decoder,
    pub outbound: Flow,
    pub inbound: Flow,
}

impl World {
    pub fn new(settings: Settings) -> Self {
        let [mut sent, mut received] = [(); 2].map(|()| MemoryHistory::new(settings.gear()));
        let encoder = Encoder::new(settings, &mut sent, RUN);
        let decoder = Decoder::new(settings, &mut received, RUN);
        Self { sent, received, encoder, decoder, outbound: Flow::default(), inbound: Flow::default() }
    }

    /// The group for these bytes.
    pub fn encode(&mut self, data: &[u8]) -> Vec<u8> {
        let mut group = Vec::new();
        self.encoder.encode(&mut self.sent, &mut self.outbound, data, &mut group);
        group
    }

    /// The bytes of a group, with all that was asked for from `data`.
    pub fn decode(&mut self, group: &[u8], data: &[u8]) -> Vec<u8> {
        let mut decoded = self.decoder.decode(&mut self.received, &mut self.inbound, group).unwrap();
        loop {
            match decoded {
                Decoded::Whole(bytes) => return bytes,
                Decoded::Lacking(lacking) => {
                    let repair = repair(&lacking, data);
                    let mended = self.decoder.repair(&mut self.received, &mut self.inbound, lacking, &repair);
                    decoded = mended.unwrap();
                }
            }
        }
    }

    /// Sends it all in groups of so many bytes, checks that the same arrives, and gives how many bytes that took.
    #[track_caller]
    pub fn check(&mut self, data: &[u8], n_group: usize) -> usize {
        let mut n_wire = 0;
        for part in data.chunks(n_group) {
            let group = self.encode(part);
            n_wire += group.len();
            assert!(self.decode(&group, part) == part, "other bytes arrived");
        }
        assert_eq!(self.sent.n_bytes(), self.received.n_bytes(), "the histories differ");
        n_wire
    }
}

/// What was asked for.
pub fn repair(lacking: &Lacking, data: &[u8]) -> Vec<u8> {
    lacking.ranges().iter().flat_map(|range| data[range.clone()].to_vec()).collect()
}

pub fn chance(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub fn noise(seed: u64, n_bytes: usize) -> Vec<u8> {
    let mut bytes = vec![0; n_bytes];
    chance(seed).fill(&mut bytes[..]);
    bytes
}

/// The next version: some bytes replaced, inserted, left out, moved.
pub fn edited(bytes: &[u8], n_edits: usize, seed: u64) -> Vec<u8> {
    let mut chance = chance(seed);
    let mut bytes = bytes.to_vec();
    for _ in 0..n_edits {
        if bytes.is_empty() {
            break;
        }
        let at = chance.random_range(0..bytes.len());
        let n = chance.random_range(1..40).min(bytes.len() - at);
        match chance.random_range(0..4) {
            0 => chance.fill(&mut bytes[at..at + n]),
            1 => drop(bytes.splice(at..at, noise(chance.random(), n))),
            2 => drop(bytes.drain(at..at + n)),
            _ => {
                let to = chance.random_range(0..=bytes.len() - n);
                let part: Vec<u8> = bytes.drain(at..at + n).collect();
                drop(bytes.splice(to..to, part));
            }
        }
    }
    bytes
}
