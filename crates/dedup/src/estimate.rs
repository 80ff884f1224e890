//! What a method would save on given data: the bytes that it would send, by its own encoder, and nothing sent.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use crate::encoder::{Encoder, Settings, Tally};
use crate::flow::Flow;
use crate::gear::Key;
use crate::group::HASH_BYTES;
use crate::history::{MemoryHistory, RunId};
use crate::literals::{Packer, Packing};
use crate::segmenter::{Area, FastCdc, Field, Segmenter, Static};
use crate::varint;

/// How redundancy is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Anchors, one in 2^n bytes, grown both ways.
    Anchors {
        /// The n.
        bits: u32,
    },
    /// Whole chunks of a size.
    Static {
        /// The size in bytes.
        n_bytes: u32,
    },
    /// Whole chunks that end where the content says.
    FastCdc {
        /// Their average size in bytes.
        n_bytes: u32,
    },
    /// Nothing is looked for: only packing.
    None,
    /// zstd by itself, with long-distance matching.
    Zstd {
        /// The binary logarithm of its window, which is in memory at both ends.
        window_log: u32,
    },
}

/// Text that names no method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no segmenter; there are anchors-N (N of 4 to 16), static-BYTES, fastcdc-BYTES (256 to 1048576), zstd-N (zstd alone, with a window of 2^N bytes, N of 20 to 30) and none"
)]
pub struct UnknownMethod {
    /// What was given.
    pub text: String,
}

/// An estimate under way.
pub struct Estimator(Inner);

enum Inner {
    Anchors { encoder: Box<Encoder>, history: Box<MemoryHistory>, flow: Flow, wire: Vec<u8> },
    Chunks(Box<Chunks>),
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Bytes given, known and sent.
    pub tally: Tally,
    /// How many entries the index has in the end.
    pub n_entries: u64,
}

impl Method {
    /// Those that an estimate compares unless it is told which.
    pub const COMPARED: [Self; 6] = [
        Self::Anchors { bits: 8 },
        Self::FastCdc { n_bytes: 1024 },
        Self::FastCdc { n_bytes: 8192 },
        Self::Static { n_bytes: 1024 },
        Self::Zstd { window_log: 27 },
        Self::None,
    ];
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anchors { bits } => write!(f, "anchors-{bits}"),
            Self::Static { n_bytes } => write!(f, "static-{n_bytes}"),
            Self::FastCdc { n_bytes } => write!(f, "fastcdc-{n_bytes}"),
            Self::None => f.write_str("none"),
            Self::Zstd { window_log } => write!(f, "zstd-{window_log}"),
        }
    }
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(text: &str) -> Result<Self, UnknownMethod> {
        let unknown = || UnknownMethod { text: text.to_owned() };
        if text == "none" {
            return Ok(Self::None);
        }
        let (name, number) = text.split_once('-').ok_or_else(unknown)?;
        let number: u32 = number.parse().map_err(|_| unknown())?;
        match name {
            "anchors" if (4..=16).contains(&number) => Ok(Self::Anchors { bits: number }),
            "static" if (16..=1 << 20).contains(&number) => Ok(Self::Static { n_bytes: number }),
            "zstd" if (20..=30).contains(&number) => Ok(Self::Zstd { window_log: number }),
            "fastcdc" if FastCdc::AVERAGES.contains(&number) => Ok(Self::FastCdc { n_bytes: number }),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Debug for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Estimator").field("tally", &self.tally()).finish_non_exhaustive()
    }
}

impl Estimator {
    /// Begins with nothing known. New bytes are packed as `packing` says.
    #[must_use]
    pub fn new(method: Method, packing: Packing) -> Self {
        let chunks = |segmenter| Inner::Chunks(Box::new(Chunks::new(segmenter, Packer::new(packing))));
        Self(match method {
            Method::Anchors { bits } => {
                let settings = Settings { anchor_bits: bits, packing, ..Settings::default() };
                let mut history = Box::new(MemoryHistory::new(settings.gear()));
                let encoder = Box::new(Encoder::new(settings, &mut *history, RunId([0; 16])));
                Inner::Anchors { encoder, history, flow: Flow::default(), wire: Vec::new() }
            }
            Method::Static { n_bytes } => chunks(Some(Box::new(Static { n_bytes: n_bytes as usize }))),
            Method::FastCdc { n_bytes } => {
                chunks(Some(Box::new(FastCdc::new(n_bytes).expect("a method has a size that FastCDC has"))))
            }
            Method::None => chunks(None),
            Method::Zstd { window_log } => {
                Inner::Chunks(Box::new(Chunks::new(None, Packer::long(packing, window_log))))
            }
        })
    }

    /// The next bytes, which are flushed: a receiver would have them. Chunks that are not complete wait for more.
    ///
    /// # Panics
    /// When there are more than 1 MiB of them.
    pub fn add(&mut self, data: &[u8]) {
        match &mut self.0 {
            Inner::Anchors { encoder, history, flow, wire } => {
                wire.clear();
                encoder.encode(&mut **history, flow, data, wire);
            }
            Inner::Chunks(chunks) => chunks.add(data, false),
        }
    }

    /// What was found in all of it.
    #[must_use]
    pub fn finish(mut self) -> Estimate {
        if let Inner::Chunks(chunks) = &mut self.0 {
            chunks.add(&[], true);
        }
        let n_entries = match &self.0 {
            Inner::Anchors { history, .. } => history.n_anchors(),
            Inner::Chunks(chunks) => chunks.known.len(),
        };
        Estimate { tally: self.tally(), n_entries: n_entries as u64 }
    }

    fn tally(&self) -> Tally {
        match &self.0 {
            Inner::Anchors { encoder, .. } => encoder.tally(),
            Inner::Chunks(chunks) => chunks.tally,
        }
    }
}

/// Whole chunks under two levels of fingerprints: an id of 40 bits and a length for each, a hash for each group.
struct Chunks {
    segmenter: Option<Box<dyn Segmenter>>,
    packer: Packer,
    /// What has not been cut yet.
    waiting: Vec<u8>,
    known: HashSet<[u8; 16]>,
    body: Vec<u8>,
    wire: Vec<u8>,
    tally: Tally,
}

impl Chunks {
    /// As many bytes are cut at a time: enough that few chunks are seen twice.
    const N_CUT: usize = 1 << 20;
    const ID_BYTES: usize = 5;
    /// How many chunks have a hash of their own.
    const GROUP: usize = 20;

    fn new(segmenter: Option<Box<dyn Segmenter>>, packer: Packer) -> Self {
        Self {
            segmenter,
            packer,
            waiting: Vec::new(),
            known: HashSet::new(),
            body: Vec::new(),
            wire: Vec::new(),
            tally: Tally::default(),
        }
    }

    fn add(&mut self, data: &[u8], is_end: bool) {
        self.tally.n_given += data.len() as u64;
        let Some(segmenter) = &self.segmenter else {
            self.body.extend_from_slice(data);
            self.send();
            return;
        };
        self.waiting.extend_from_slice(data);
        if self.waiting.len() < Self::N_CUT && !is_end {
            return;
        }
        let mut areas = segmenter.cut(&Field::line(&self.waiting));
        if !is_end {
            // The last one ended because the bytes did.
            areas.pop();
        }
        let n_cut = areas.last().map_or(0, |area| area.x + area.width);
        let waiting = std::mem::take(&mut self.waiting);
        for group in areas.chunks(Self::GROUP) {
            self.send_group(group, &waiting);
        }
        self.waiting.extend_from_slice(&waiting[n_cut..]);
    }

    fn send_group(&mut self, group: &[Area], bytes: &[u8]) {
        let mut head = Vec::new();
        for area in group {
            let chunk = &bytes[area.x..area.x + area.width];
            varint::put(&mut head, chunk.len() as u64);
            if self
                .known
                .insert(*Key::OPEN.hasher().update(chunk).finalize().as_bytes().first_chunk().expect("32 > 16"))
            {
                self.body.extend_from_slice(chunk);
            } else {
                self.tally.n_matched += chunk.len() as u64;
                self.tally.n_matches += 1;
            }
        }
        self.tally.n_wire += (head.len() + group.len() * Self::ID_BYTES + HASH_BYTES) as u64;
        self.send();
    }

    fn send(&mut self) {
        self.wire.clear();
        if !self.body.is_empty() && !self.packer.pack(&self.body, &mut self.wire) {
            self.wire.extend_from_slice(&self.body);
        }
        self.body.clear();
        self.tally.n_wire += self.wire.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_read_as_it_is_written() {
        for method in Method::COMPARED {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        for text in ["", "anchors", "anchors-3", "anchors-17", "static-1", "fastcdc-255", "chunks-7", "anchors--8"] {
            let refused = text.parse::<Method>().unwrap_err().to_string();
            assert!(refused.contains(text) && refused.contains("fastcdc-BYTES"), "{refused}");
        }
    }

    #[test]
    fn what_is_there_twice_is_sent_once_by_all_methods_that_look() {
        let mut bytes = vec![0; 204_800];
        Key::OPEN.hasher().finalize_xof().fill(&mut bytes);
        for method in Method::COMPARED {
            let mut estimator = Estimator::new(method, Packing::Plain);
            for _ in 0..2 {
                bytes.chunks(16_384).for_each(|chunk| estimator.add(chunk));
            }
            let Estimate { tally, .. } = estimator.finish();
            assert_eq!(tally.n_given, 409_600);
            let n_most = if matches!(method, Method::None | Method::Zstd { .. }) { 415_000 } else { 245_000 };
            assert!((204_800..=n_most).contains(&tally.n_wire), "{method}: {tally:?}");
        }
    }
}
