//! Estimates of what a method would save on given data: the bytes that it would send, by its own encoder, and nothing
//! sent.

mod chunks;
mod method;
mod sprung;

use std::fmt;

use crate::encoder::{Encoder, Settings, Tally};
use crate::flow::Flow;
use crate::history::{MemoryHistory, RunId};
use crate::literals::{Packer, Packing};
use crate::segmenter::Segmenter;
use crate::spring::Spring;

use chunks::Chunks;
use sprung::Sprung;

pub use method::{Method, UnknownMethod};

/// An estimate under way.
pub struct Estimator(Inner);

/// Memory that is enough for the redundancy within a gigabyte or so: a default.
pub const MEMORY_BYTES: usize = 1 << 30;

/// Number of bytes over which `auto` compares methods.
const N_TRIAL: u64 = 8 << 20;

/// Pictures, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    width: usize,
    height: usize,
    unit: usize,
}

/// A method for pixels without their shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{method}` cuts pictures: say how many pixels their rows have")]
pub struct NoShape {
    /// The method.
    pub method: Method,
}

enum Inner {
    Spring(Box<Sprung>),
    Auto(Vec<Estimator>),
    Anchors { encoder: Box<Encoder>, history: Box<MemoryHistory>, flow: Flow, wire: Vec<u8> },
    Chunks(Box<Chunks>),
}

/// The result of an estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Bytes given, known and sent.
    pub tally: Tally,
    /// Number of entries of the index in the end.
    pub n_entries: u64,
    /// Whether the oldest data were forgotten for want of memory, so that their repetitions count as new.
    pub has_forgotten: bool,
}

impl Shape {
    /// Pictures of so many pixels, of so many bytes each; `None` if any of them is zero, or a picture has 2^30 bytes or
    /// more.
    #[must_use]
    pub fn new(width: u32, height: u32, pixel_bytes: u32) -> Option<Self> {
        let n_bytes = u64::from(width).checked_mul(u64::from(height))?.checked_mul(u64::from(pixel_bytes))?;
        let [width, height, unit] = [width, height, pixel_bytes].map(|number| number as usize);
        (1..1 << 30).contains(&n_bytes).then_some(Self { width, height, unit })
    }

    fn n_bytes(self) -> usize {
        self.width * self.height * self.unit
    }
}

impl fmt::Debug for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Estimator").field("tally", &self.tally()).finish_non_exhaustive()
    }
}

impl Estimator {
    /// Begins with nothing known. New bytes are packed as `packing` says. Methods for pixels need their shape. What is
    /// remembered takes at most `n_memory` bytes with its index, beside the queue of `fifo` and the window of zstd,
    /// whose names state their size; the oldest is forgotten.
    ///
    /// # Errors
    /// When a method for pixels gets no shape.
    pub fn new(method: Method, packing: Packing, shape: Option<Shape>, n_memory: usize) -> Result<Self, NoShape> {
        if method.is_of_pixels() && shape.is_none() {
            return Err(NoShape { method });
        }
        let chunks = |segmenter: Option<Box<dyn Segmenter + Send>>| {
            let shape = shape.filter(|_| method.is_of_pixels());
            Inner::Chunks(Box::new(Chunks::new(segmenter, shape, Packer::new(packing), n_memory)))
        };
        let spring = |spring| Inner::Spring(Box::new(Sprung::new(spring, Packer::new(packing))));
        Ok(Self(match method {
            Method::Anchors { bits } => {
                let settings = Settings { anchor_bits: bits, packing, ..Settings::default() };
                // The table of anchors takes up to 96 bytes for each while it grows.
                let n_run_max = (((n_memory as u128) << bits) / (96 + (1 << bits))) as usize;
                let mut history = Box::new(MemoryHistory::new(settings.gear()).with_limit(n_run_max));
                let encoder = Box::new(Encoder::new(settings, &mut *history, RunId([0; 16])));
                Inner::Anchors { encoder, history, flow: Flow::default(), wire: Vec::new() }
            }
            Method::Spring { n_bytes } => spring(Spring::adapted(n_bytes as usize, n_memory)),
            Method::Fifo { n_mib } => spring(Spring::original((n_mib as usize) << 20)),
            Method::None => chunks(None),
            Method::Zstd { window_log } => {
                Inner::Chunks(Box::new(Chunks::new(None, None, Packer::long(packing, window_log), n_memory)))
            }
            Method::Auto => {
                let compared = if shape.is_some() { &Method::OF_PIXELS[..] } else { &Method::COMPARED[..] };
                let looking = compared.iter().filter(|method| !matches!(method, Method::Zstd { .. }));
                let all: Result<Vec<Self>, _> =
                    looking.map(|&method| Self::new(method, packing, shape, n_memory)).collect();
                Inner::Auto(all?)
            }
            _ => chunks(method.segmenter()),
        }))
    }

    /// The same with table 18's messages on the wire, as published: a type before each id, a number and a length before
    /// each segment, nothing packed. `None` for methods that do not send segments by ids.
    #[must_use]
    pub fn on_paper(mut self) -> Option<Self> {
        match &mut self.0 {
            Inner::Chunks(chunks) => chunks.count_published().then_some(self),
            _ => None,
        }
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
            Inner::Spring(sprung) => sprung.add(data),
            Inner::Auto(all) => {
                all.iter_mut().for_each(|estimator| estimator.add(data));
                if all.len() > 1 && all[0].tally().n_given >= N_TRIAL {
                    let best = (0..all.len()).min_by_key(|&i| all[i].tally().n_wire).expect("there are several");
                    *all = vec![all.swap_remove(best)];
                }
            }
        }
    }

    /// Returns the estimate for all of the data.
    #[must_use]
    pub fn finish(mut self) -> Estimate {
        let (n_entries, has_forgotten) = match &mut self.0 {
            Inner::Anchors { history, .. } => (history.n_anchors(), history.has_forgotten()),
            Inner::Chunks(chunks) => {
                chunks.add(&[], true);
                (chunks.known.len(), chunks.known.has_forgotten())
            }
            Inner::Spring(sprung) => (sprung.n_entries(), sprung.has_forgotten()),
            Inner::Auto(all) => {
                let all = std::mem::take(all).into_iter().map(Self::finish);
                return all.min_by_key(|estimate| estimate.tally.n_wire).expect("there is one at least");
            }
        };
        Estimate { tally: self.tally(), n_entries: n_entries as u64, has_forgotten }
    }

    fn tally(&self) -> Tally {
        match &self.0 {
            Inner::Anchors { encoder, .. } => encoder.tally(),
            Inner::Chunks(chunks) => chunks.tally,
            Inner::Spring(sprung) => sprung.tally,
            Inner::Auto(all) => all.first().map(Self::tally).unwrap_or_default(),
        }
    }
}

/// Returns the number of bytes that these take, packed if that pays.
fn packed(packer: &mut Packer, body: &[u8]) -> u64 {
    let mut wire = Vec::new();
    if packer.pack(body, &mut wire) { wire.len() as u64 } else { body.len() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gear::Key;

    pub(super) const ALL: [Method; 6] = [
        Method::Manber { n_bytes: 32 },
        Method::Lbfs { n_bytes: 1024 },
        Method::Spring { n_bytes: 256 },
        Method::Fifo { n_mib: 1 },
        Method::Static { n_bytes: 4096 },
        Method::Auto,
    ];

    /// Sends 204,800 bytes twice, and gives what the two take.
    fn twice(method: Method, shape: Option<Shape>) -> Tally {
        let mut bytes = vec![0; 204_800];
        Key::OPEN.hasher().finalize_xof().fill(&mut bytes);
        let mut estimator = Estimator::new(method, Packing::Plain, shape, MEMORY_BYTES).unwrap();
        for _ in 0..2 {
            bytes.chunks(16_384).for_each(|chunk| estimator.add(chunk));
        }
        let Estimate { tally, .. } = estimator.finish();
        assert_eq!(tally.n_given, 409_600);
        tally
    }

    #[test]
    fn what_is_there_twice_is_sent_once_by_all_methods_that_look() {
        for method in Method::COMPARED {
            let tally = twice(method, None);
            let n_most = if matches!(method, Method::None | Method::Zstd { .. }) { 415_000 } else { 245_000 };
            assert!((204_800..=n_most).contains(&tally.n_wire), "{method}: {tally:?}");
        }
        for method in ALL {
            let tally = twice(method, None);
            // Windows of 32 bytes, one in 32, leave 37 % of the bytes to be sent twice; 12,800 ids take some 100,000.
            let n_most = if matches!(method, Method::Manber { .. }) { 395_000 } else { 255_000 };
            assert!((204_800..=n_most).contains(&tally.n_wire), "{method}: {tally:?}");
        }
        let shape = Shape::new(160, 320, 4);
        for method in Method::OF_PIXELS {
            let tally = twice(method, shape);
            let n_most = match method {
                Method::None => 415_000,
                Method::Squares { .. } => 290_000,
                _ => 265_000,
            };
            assert!((204_800..=n_most).contains(&tally.n_wire), "{method}: {tally:?}");
        }
    }

    #[test]
    fn memory_has_a_limit_beyond_which_the_oldest_is_new_again() {
        // The queue of `fifo` has its own size, and `auto` may choose to look for nothing.
        let own = |method: &Method| !matches!(method, Method::Fifo { .. } | Method::Auto);
        let anchors = [4, 8].map(|bits| Method::Anchors { bits });
        for method in ALL.into_iter().filter(own).chain(anchors) {
            let sent = |n_memory| {
                let mut estimator = Estimator::new(method, Packing::Plain, None, n_memory).unwrap();
                let mut bytes = vec![0; 1 << 22];
                Key::OPEN.hasher().finalize_xof().fill(&mut bytes);
                for _ in 0..2 {
                    bytes.chunks(16_384).for_each(|chunk| estimator.add(chunk));
                }
                estimator.finish()
            };
            let (scarce, ample) = (sent(1 << 14), sent(MEMORY_BYTES));
            assert!(scarce.has_forgotten && !ample.has_forgotten, "{method}");
            assert!(scarce.tally.n_matched < ample.tally.n_matched / 8, "{method}: {:?}", scarce.tally);
            assert!(scarce.n_entries <= 1 << 10, "{method}: {}", scarce.n_entries);
        }
    }

    #[test]
    fn pixels_need_a_shape_and_may_end_anywhere() {
        let method = Method::Varg { width: 16 };
        let refused = Estimator::new(method, Packing::Plain, None, MEMORY_BYTES).unwrap_err();
        assert!(refused.to_string().contains("varg-16"));
        for n_bytes in [0, 1, 99, 1000, 1001, 2999] {
            let mut estimator = Estimator::new(method, Packing::Plain, Shape::new(10, 10, 3), MEMORY_BYTES).unwrap();
            estimator.add(&vec![1; n_bytes]);
            assert_eq!(estimator.finish().tally.n_given, n_bytes as u64);
        }
        assert_eq!(Shape::new(0, 1, 1), None);
    }
}
