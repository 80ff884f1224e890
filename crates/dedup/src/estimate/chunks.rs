//! Segments under two levels of fingerprints, as an estimate counts them: what is packed, or the published messages.

use super::{Shape, packed};
use crate::encoder::Tally;
use crate::gear::Key;
use crate::group::HASH_BYTES;
use crate::latest::LatestEntries;
use crate::literals::Packer;
use crate::segmenter::{Area, Field, Segmenter};
use crate::two_level;

/// Segments under two levels of fingerprints: an id of 40 bits and meta-data for each, a hash for each group.
pub(super) struct Chunks {
    segmenter: Option<Box<dyn Segmenter + Send>>,
    shape: Option<Shape>,
    packer: Packer,
    /// Bytes that have not been cut yet.
    waiting: Vec<u8>,
    pub known: LatestEntries<[u8; 16], ()>,
    /// Whether table 18's messages are counted.
    is_on_paper: bool,
    pub tally: Tally,
}

/// Sizes of the parts of table 18's messages beside ids, hashes and bytes.
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
    /// Number of bytes that are cut at a time: enough that few chunks are seen twice.
    const N_CUT: usize = 1 << 20;
    const ID_BYTES: usize = 5;
    /// Number of segments for each hash.
    const GROUP: usize = 20;
    /// Memory of a known chunk: a hash in a table that is half full, while the next table is filled.
    const ENTRY_BYTES: usize = 64;

    pub fn new(
        segmenter: Option<Box<dyn Segmenter + Send>>,
        shape: Option<Shape>,
        packer: Packer,
        n_memory: usize,
    ) -> Self {
        let (waiting, tally) = Default::default();
        let known = LatestEntries::new(n_memory / Self::ENTRY_BYTES);
        Self { segmenter, shape, packer, waiting, known, is_on_paper: false, tally }
    }

    /// Counts table 18's messages from here on; false where nothing is cut, and no ids are sent.
    pub fn count_published(&mut self) -> bool {
        self.is_on_paper = self.segmenter.is_some();
        self.is_on_paper
    }

    pub fn add(&mut self, data: &[u8], is_end: bool) {
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
                let is_new = self.known.insert(*hash.as_bytes().first_chunk().expect("32 > 16"), ());
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
