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
use crate::segmenter::{Anchoring, Area, FastCdc, Field, Grid, Lbfs, Manber, Segmenter, Squares, Static, Tiles, Varg};
use crate::spring::{Spring, Token};
use crate::two_level;

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
    /// Manber's windows at selected fingerprints, one in as many bytes as they have.
    Manber {
        /// The window in bytes, a power of two.
        n_bytes: u32,
    },
    /// The chunks of LBFS.
    Lbfs {
        /// Their average size in bytes, a power of two.
        n_bytes: u32,
    },
    /// Spring and Wetherall's matches, from segments around selected fingerprints, as adapted to a cache of segments.
    Spring {
        /// The size of a segment in bytes.
        n_bytes: u32,
    },
    /// Spring and Wetherall's matches as they were, from one queue of bytes.
    Fifo {
        /// How many MiB the queue has.
        n_mib: u32,
    },
    /// Tiles of one size.
    Grid {
        /// Their side in pixels.
        side: u32,
    },
    /// Columns of a fixed width with rows that the content chooses, or the same sideways.
    Varg {
        /// The width in pixels.
        width: u32,
    },
    /// Large tiles with content that chooses columns and rows.
    Tiles {
        /// Their side in pixels.
        side: u32,
    },
    /// Squares at selected hashes, wherever they are.
    Squares {
        /// Their side in pixels.
        side: u32,
    },
    /// Each of those that are compared over the beginning, and then the one that sent least.
    Auto,
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
    "`{text}` is no segmenter; there are anchors-N (N of 4 to 16), static-BYTES, fastcdc-BYTES (256 to 1048576), manber-BYTES and lbfs-BYTES (powers of two), \
     spring-BYTES, fifo-MIB, zstd-N (zstd alone, with a window of 2^N bytes, N of 20 to 30), auto and none; for pixels grid-SIDE, varg-WIDTH, tiles-SIDE and squares-SIDE"
)]
pub struct UnknownMethod {
    /// What was given.
    pub text: String,
}

/// An estimate under way.
pub struct Estimator(Inner);

/// How many bytes `auto` compares methods over.
const N_TRIAL: u64 = 8 << 20;
/// Sides of tiles, squares and columns.
const SIDES: std::ops::RangeInclusive<u32> = 1..=1024;

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

    /// The same for pictures.
    pub const OF_PIXELS: [Self; 7] = [
        Self::Anchors { bits: 8 },
        Self::FastCdc { n_bytes: 1024 },
        Self::Grid { side: 16 },
        Self::Varg { width: 16 },
        Self::Tiles { side: 64 },
        Self::Squares { side: 16 },
        Self::None,
    ];

    fn is_of_pixels(self) -> bool {
        matches!(self, Self::Grid { .. } | Self::Varg { .. } | Self::Tiles { .. } | Self::Squares { .. })
    }

    /// What cuts, for methods that only cut.
    fn segmenter(self) -> Option<Box<dyn Segmenter + Send>> {
        let anchoring = Anchoring::default();
        Some(match self {
            Self::Static { n_bytes } => Box::new(Static { n_bytes: n_bytes as usize }),
            Self::FastCdc { n_bytes } => Box::new(FastCdc::new(n_bytes)?),
            Self::Manber { n_bytes } => Box::new(Manber { n_bytes: n_bytes as usize, bits: n_bytes.ilog2() }),
            Self::Lbfs { n_bytes } => Box::new(Lbfs::new(n_bytes)?),
            Self::Grid { side } => Box::new(Grid { side: side as usize }),
            Self::Varg { width } => Box::new(Varg::new(width as usize, anchoring)),
            Self::Tiles { side } => Box::new(Tiles { side: side as usize, anchoring }),
            // As many squares as would tile the picture, twice: about one pixel in seven stays uncovered.
            Self::Squares { side } => {
                let bits = (side * side / 2).max(2).ilog2();
                Box::new(Squares { side: side as usize, bits })
            }
            Self::Anchors { .. }
            | Self::Spring { .. }
            | Self::Fifo { .. }
            | Self::Auto
            | Self::None
            | Self::Zstd { .. } => {
                return None;
            }
        })
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anchors { bits } => write!(f, "anchors-{bits}"),
            Self::Static { n_bytes } => write!(f, "static-{n_bytes}"),
            Self::FastCdc { n_bytes } => write!(f, "fastcdc-{n_bytes}"),
            Self::Manber { n_bytes } => write!(f, "manber-{n_bytes}"),
            Self::Lbfs { n_bytes } => write!(f, "lbfs-{n_bytes}"),
            Self::Spring { n_bytes } => write!(f, "spring-{n_bytes}"),
            Self::Fifo { n_mib } => write!(f, "fifo-{n_mib}"),
            Self::Grid { side } => write!(f, "grid-{side}"),
            Self::Varg { width } => write!(f, "varg-{width}"),
            Self::Tiles { side } => write!(f, "tiles-{side}"),
            Self::Squares { side } => write!(f, "squares-{side}"),
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::Zstd { window_log } => write!(f, "zstd-{window_log}"),
        }
    }
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(text: &str) -> Result<Self, UnknownMethod> {
        let unknown = || UnknownMethod { text: text.to_owned() };
        match text {
            "none" => return Ok(Self::None),
            "auto" => return Ok(Self::Auto),
            _ => {}
        }
        let (name, number) = text.split_once('-').ok_or_else(unknown)?;
        let number: u32 = number.parse().map_err(|_| unknown())?;
        match name {
            "anchors" if (4..=16).contains(&number) => Ok(Self::Anchors { bits: number }),
            "static" if (16..=1 << 20).contains(&number) => Ok(Self::Static { n_bytes: number }),
            "zstd" if (20..=30).contains(&number) => Ok(Self::Zstd { window_log: number }),
            "manber" if (16..=4096).contains(&number) && number.is_power_of_two() => {
                Ok(Self::Manber { n_bytes: number })
            }
            "lbfs" if Lbfs::new(number).is_some() => Ok(Self::Lbfs { n_bytes: number }),
            "spring" if (64..=558).contains(&number) => Ok(Self::Spring { n_bytes: number }),
            "fifo" if (1..=1 << 16).contains(&number) => Ok(Self::Fifo { n_mib: number }),
            "grid" if SIDES.contains(&number) => Ok(Self::Grid { side: number }),
            "varg" if SIDES.contains(&number) => Ok(Self::Varg { width: number }),
            "tiles" if SIDES.contains(&number) => Ok(Self::Tiles { side: number }),
            "squares" if SIDES.contains(&number) => Ok(Self::Squares { side: number }),
            "fastcdc" if FastCdc::AVERAGES.contains(&number) => Ok(Self::FastCdc { n_bytes: number }),
            _ => Err(unknown()),
        }
    }
}

impl Shape {
    /// Pictures of so many pixels, of so many bytes each; `None` if any of them is zero, or a picture has 2^30 bytes or more.
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
    /// Begins with nothing known. New bytes are packed as `packing` says. Methods for pixels need their shape.
    ///
    /// # Errors
    /// When a method for pixels gets no shape.
    pub fn new(method: Method, packing: Packing, shape: Option<Shape>) -> Result<Self, NoShape> {
        if method.is_of_pixels() && shape.is_none() {
            return Err(NoShape { method });
        }
        let chunks = |segmenter: Option<Box<dyn Segmenter + Send>>| {
            let shape = shape.filter(|_| method.is_of_pixels());
            Inner::Chunks(Box::new(Chunks::new(segmenter, shape, Packer::new(packing))))
        };
        let spring =
            |spring| Inner::Spring(Box::new(Sprung { spring, packer: Packer::new(packing), tally: Tally::default() }));
        Ok(Self(match method {
            Method::Anchors { bits } => {
                let settings = Settings { anchor_bits: bits, packing, ..Settings::default() };
                let mut history = Box::new(MemoryHistory::new(settings.gear()));
                let encoder = Box::new(Encoder::new(settings, &mut *history, RunId([0; 16])));
                Inner::Anchors { encoder, history, flow: Flow::default(), wire: Vec::new() }
            }
            Method::Spring { n_bytes } => spring(Spring::adapted(n_bytes as usize)),
            Method::Fifo { n_mib } => spring(Spring::original((n_mib as usize) << 20)),
            Method::None => chunks(None),
            Method::Zstd { window_log } => {
                Inner::Chunks(Box::new(Chunks::new(None, None, Packer::long(packing, window_log))))
            }
            Method::Auto => {
                let compared = if shape.is_some() { &Method::OF_PIXELS[..] } else { &Method::COMPARED[..] };
                let looking = compared.iter().filter(|method| !matches!(method, Method::Zstd { .. }));
                let all: Result<Vec<Self>, _> = looking.map(|&method| Self::new(method, packing, shape)).collect();
                Inner::Auto(all?)
            }
            _ => chunks(method.segmenter()),
        }))
    }

    /// The same with table 18's messages on the wire, as published: a type before each id, a number and a length before each segment, nothing
    /// packed. `None` for methods that do not send segments by ids.
    #[must_use]
    pub fn on_paper(mut self) -> Option<Self> {
        match &mut self.0 {
            Inner::Chunks(chunks) if chunks.segmenter.is_some() => chunks.is_on_paper = true,
            _ => return None,
        }
        Some(self)
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

    /// What was found in all of it.
    #[must_use]
    pub fn finish(mut self) -> Estimate {
        let n_entries = match &mut self.0 {
            Inner::Anchors { history, .. } => history.n_anchors(),
            Inner::Chunks(chunks) => {
                chunks.add(&[], true);
                chunks.known.len()
            }
            Inner::Spring(sprung) => sprung.spring.n_entries(),
            Inner::Auto(all) => {
                let all = std::mem::take(all).into_iter().map(Self::finish);
                return all.min_by_key(|estimate| estimate.tally.n_wire).expect("there is one at least");
            }
        };
        Estimate { tally: self.tally(), n_entries: n_entries as u64 }
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

/// Matches under a hash for each group.
struct Sprung {
    spring: Spring,
    packer: Packer,
    tally: Tally,
}

impl Sprung {
    fn add(&mut self, data: &[u8]) {
        let tokens = self.spring.encode(data);
        let mut body = Vec::new();
        for token in &tokens {
            match token {
                Token::Literal(bytes) => body.extend_from_slice(bytes),
                Token::Copy(copy) => {
                    self.tally.n_matches += 1;
                    self.tally.n_matched += copy.n_bytes() as u64;
                }
            }
        }
        self.tally.n_given += data.len() as u64;
        self.tally.n_wire +=
            (tokens.iter().map(|token| self.spring.head_bytes(token)).sum::<usize>() + HASH_BYTES) as u64;
        self.tally.n_wire += packed(&mut self.packer, &body);
    }
}

/// How many bytes these take, packed where that pays.
fn packed(packer: &mut Packer, body: &[u8]) -> u64 {
    let mut wire = Vec::new();
    if packer.pack(body, &mut wire) { wire.len() as u64 } else { body.len() as u64 }
}

/// Segments under two levels of fingerprints: an id of 40 bits and meta-data for each, a hash for each group.
struct Chunks {
    segmenter: Option<Box<dyn Segmenter + Send>>,
    shape: Option<Shape>,
    packer: Packer,
    /// What has not been cut yet.
    waiting: Vec<u8>,
    known: HashSet<[u8; 16]>,
    /// Whether table 18's messages are counted.
    is_on_paper: bool,
    tally: Tally,
}

/// What table 18's messages have beside ids, hashes and bytes.
mod paper {
    pub const TYPE: usize = 1;
    /// Type, number, length.
    pub const SEGMENT: usize = TYPE + 4 + 2;
    /// Type, length.
    pub const LITERAL: usize = TYPE + 2;
    /// Type, bytes, width, number of segments.
    pub const FIELD: usize = TYPE + 12;
}

impl Chunks {
    /// As many bytes are cut at a time: enough that few chunks are seen twice.
    const N_CUT: usize = 1 << 20;
    const ID_BYTES: usize = 5;
    /// How many segments have a hash of their own.
    const GROUP: usize = 20;

    fn new(segmenter: Option<Box<dyn Segmenter + Send>>, shape: Option<Shape>, packer: Packer) -> Self {
        let (waiting, known, tally) = Default::default();
        Self { segmenter, shape, packer, waiting, known, is_on_paper: false, tally }
    }

    fn add(&mut self, data: &[u8], is_end: bool) {
        self.tally.n_given += data.len() as u64;
        if self.segmenter.is_none() {
            self.tally.n_wire += packed(&mut self.packer, data);
            return;
        }
        self.waiting.extend_from_slice(data);
        let waiting = std::mem::take(&mut self.waiting);
        let n_cut = match self.shape {
            None if waiting.len() < Self::N_CUT && !is_end => 0,
            None => self.cut(&Field::line(&waiting), is_end),
            Some(shape) => {
                let mut n_cut = 0;
                for picture in waiting.chunks(shape.n_bytes()) {
                    if picture.len() == shape.n_bytes() || is_end {
                        self.cut_picture(shape, picture);
                        n_cut += picture.len();
                    }
                }
                n_cut
            }
        };
        self.waiting.extend_from_slice(&waiting[n_cut..]);
    }

    /// A picture, or the whole rows of one that ended early, and what is no row.
    fn cut_picture(&mut self, shape: Shape, picture: &[u8]) {
        let n_row = shape.width * shape.unit;
        let (rows, rest) = picture.split_at(picture.len() / n_row * n_row);
        if let Ok(field) = Field::rows(rows, n_row, shape.unit) {
            self.cut(&field, true);
        }
        self.tally.n_wire += match self.is_on_paper {
            true if rest.is_empty() => 0,
            true => (paper::LITERAL + rest.len()) as u64,
            false => packed(&mut self.packer, rest),
        };
    }

    /// Sends a field but for the last chunk of a line that goes on, and says how many bytes that is.
    fn cut(&mut self, field: &Field<'_>, is_end: bool) -> usize {
        let Some(segmenter) = &mut self.segmenter else {
            return 0;
        };
        let mut areas = segmenter.cut(field);
        let mut n_cut = field.bytes().len();
        if !is_end && let Some(last) = areas.last() {
            // The last chunk ended because the bytes did; behind the last window another may begin.
            let goes_on = last.x + last.width == n_cut;
            n_cut = if goes_on { last.x } else { (last.x + last.width).max(n_cut - Self::N_CUT / 2) };
            if goes_on {
                areas.pop();
            }
        }
        let mut is_covered = vec![false; field.bytes().len()];
        let mut last = Area::default();
        let (mut body, mut head, mut one) = (Vec::new(), Vec::new(), Vec::new());
        for group in areas.chunks(Self::GROUP) {
            head.clear();
            for &area in group {
                one.clear();
                field.take(area, &mut one);
                area.put_meta(last, self.shape.is_none(), &mut head);
                last = area;
                let hash = Key::OPEN.hasher().update(&one).finalize();
                let is_new = self.known.insert(*hash.as_bytes().first_chunk().expect("32 > 16"));
                if is_new && self.is_on_paper {
                    // A segment is sent whole.
                    self.tally.n_wire += (paper::SEGMENT + one.len()) as u64;
                    area.mark(&mut is_covered, field.width());
                } else if is_new {
                    // Bytes travel once, also those of several segments.
                    for y in area.y..area.y + area.height {
                        let at = y * field.width() + area.x;
                        let row = at..at + area.width;
                        body.extend(
                            field.bytes()[row.clone()]
                                .iter()
                                .zip(&is_covered[row])
                                .filter(|(_, c)| !**c)
                                .map(|(b, _)| b),
                        );
                    }
                    area.mark(&mut is_covered, field.width());
                } else {
                    self.tally.n_matched += area.mark(&mut is_covered, field.width()) as u64;
                    self.tally.n_matches += 1;
                }
            }
            let n_said = if self.is_on_paper {
                group.len() * (paper::TYPE + Self::ID_BYTES) + paper::TYPE + two_level::HASH_BYTES
            } else {
                group.len() * Self::ID_BYTES + HASH_BYTES
            };
            self.tally.n_wire += (head.len() + n_said) as u64;
            self.tally.n_wire += packed(&mut self.packer, &body);
            body.clear();
        }
        body.extend(field.bytes()[..n_cut].iter().zip(&is_covered).filter(|(_, c)| !**c).map(|(b, _)| b));
        if self.is_on_paper {
            let n_literals = body.len().div_ceil(usize::from(u16::MAX));
            self.tally.n_wire += (paper::FIELD + n_literals * paper::LITERAL + body.len()) as u64;
            return n_cut;
        }
        self.tally.n_wire += packed(&mut self.packer, &body);
        n_cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_read_as_it_is_written() {
        for method in Method::COMPARED.into_iter().chain(Method::OF_PIXELS).chain(ALL) {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        for text in ["", "anchors", "anchors-3", "anchors-17", "static-1", "fastcdc-255", "chunks-7", "anchors--8"] {
            let refused = text.parse::<Method>().unwrap_err().to_string();
            assert!(refused.contains(text) && refused.contains("fastcdc-BYTES"), "{refused}");
        }
    }

    const ALL: [Method; 6] = [
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
        let mut estimator = Estimator::new(method, Packing::Plain, shape).unwrap();
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
    fn pixels_need_a_shape_and_may_end_anywhere() {
        let method = Method::Varg { width: 16 };
        let refused = Estimator::new(method, Packing::Plain, None).unwrap_err();
        assert!(refused.to_string().contains("varg-16"));
        for n_bytes in [0, 1, 99, 1000, 1001, 2999] {
            let mut estimator = Estimator::new(method, Packing::Plain, Shape::new(10, 10, 3)).unwrap();
            estimator.add(&vec![1; n_bytes]);
            assert_eq!(estimator.finish().tally.n_given, n_bytes as u64);
        }
        assert_eq!(Shape::new(0, 1, 1), None);
    }
}
