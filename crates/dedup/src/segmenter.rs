//! Cutting data into segments, the one step that differs between methods: what is cut, where it lies, and how it is put
//! back.
//!
//! Data of one dimension is a field of a single row. Segments may overlap and leave gaps; what none of them covers
//! travels without an id.

mod chunks;
pub(crate) mod polynomial;
mod screen;
mod selected;

pub use chunks::{FastCdc, Static};
pub use screen::{Anchoring, Grid, Squares, Tiles, Varg};
pub use selected::{Lbfs, Manber};

use polynomial::Part;

use crate::varint;

/// Bytes with a shape.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    bytes: &'a [u8],
    width: usize,
    unit: usize,
}

/// A part of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// Bytes to the left of it.
    pub x: usize,
    /// Rows above it.
    pub y: usize,
    /// Bytes in each of its rows.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
}

/// A way to cut. Both ends need not agree on it: where segments lie travels with them, as [`Area::put_meta`] writes it.
pub trait Segmenter {
    /// The segments of a field, in the order in which they are sent. What one remembers of earlier fields may decide.
    /// Methods of one dimension take a single row.
    fn cut(&mut self, field: &Field<'_>) -> Vec<Area>;
}

/// A shape that does not fit the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{n_bytes} bytes are no rows of {width} bytes, each a multiple of {unit}")]
pub struct Misshapen {
    /// Number of bytes.
    pub n_bytes: usize,
    /// The bytes of a row.
    pub width: usize,
    /// The bytes of an element.
    pub unit: usize,
}

impl<'a> Field<'a> {
    /// A single row of bytes.
    #[must_use]
    pub fn line(bytes: &'a [u8]) -> Self {
        Self { bytes, width: bytes.len(), unit: 1 }
    }

    /// Rows of `width` bytes, of elements of `unit` bytes, such as pixels.
    ///
    /// # Errors
    /// When the bytes are not whole rows, or rows not whole elements.
    pub fn rows(bytes: &'a [u8], width: usize, unit: usize) -> Result<Self, Misshapen> {
        let fits = width > 0 && unit > 0 && bytes.len().is_multiple_of(width) && width.is_multiple_of(unit);
        if fits { Ok(Self { bytes, width, unit }) } else { Err(Misshapen { n_bytes: bytes.len(), width, unit }) }
    }

    /// All bytes, row after row.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn height(&self) -> usize {
        self.bytes.len().checked_div(self.width).unwrap_or(0)
    }

    /// The bytes of an element.
    #[must_use]
    pub fn unit(&self) -> usize {
        self.unit
    }

    /// Returns the whole field as a part, its width in elements.
    fn whole(&self) -> Part {
        Part { x: 0, y: 0, width: self.width / self.unit, height: self.height() }
    }

    /// An element as a number: its bytes where those are at most eight, and a hash of them otherwise.
    fn element(&self, x: usize, y: usize) -> u64 {
        let at = y * self.width + x * self.unit;
        let bytes = &self.bytes[at..at + self.unit];
        bytes.iter().fold(0, |number: u64, &byte| number.rotate_left(8) ^ u64::from(byte))
    }

    /// A part in bytes that is given in elements.
    fn area(&self, part: Part) -> Area {
        Area { x: part.x * self.unit, y: part.y, width: part.width * self.unit, height: part.height }
    }

    /// The bytes of a part, row after row.
    ///
    /// # Panics
    /// When it is not within the field.
    #[must_use]
    pub fn taken(&self, area: Area) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(area.n_bytes());
        self.take(area, &mut bytes);
        bytes
    }

    /// Appends the bytes of a part, row after row.
    ///
    /// # Panics
    /// When it is not within the field.
    pub fn take(&self, area: Area, out: &mut Vec<u8>) {
        for y in area.y..area.y + area.height {
            let at = y * self.width + area.x;
            out.extend_from_slice(&self.bytes[at..at + area.width]);
        }
    }
}

impl Area {
    /// A part of a single row.
    #[must_use]
    pub fn line(x: usize, width: usize) -> Self {
        Self { x, y: 0, width, height: 1 }
    }

    /// Returns the number of bytes of the area.
    #[must_use]
    pub fn n_bytes(&self) -> usize {
        self.width * self.height
    }

    /// Cut into parts of at most so many bytes: of whole rows, or of parts of a row where a row has more.
    pub(crate) fn split(self, n_max: usize) -> Vec<Self> {
        if self.n_bytes() <= n_max {
            return vec![self];
        }
        let (width, height) = (self.width.min(n_max), (n_max / self.width).max(1));
        let ys = (0..self.height).step_by(height);
        let parts = ys.flat_map(|y| {
            (0..self.width).step_by(width).map(move |x| Self {
                x: self.x + x,
                y: self.y + y,
                width: width.min(self.width - x),
                height: height.min(self.height - y),
            })
        });
        parts.collect()
    }

    /// Returns the area where the next segment is expected, which costs no meta-data: beside this one in a field of one
    /// row, else below it.
    fn next(self, is_line: bool) -> Self {
        if is_line { Self { x: self.x + self.width, ..self } } else { Self { y: self.y + self.height, ..self } }
    }

    /// Appends where this segment lies, after `last`: how width, height, x and y differ from what was expected, without
    /// the zeros at the end. At most 12 bytes where a field has at most 2^20 bytes; the same segments side by side take
    /// none.
    pub(crate) fn put_meta(self, last: Self, is_line: bool, out: &mut Vec<u8>) {
        let expected = last.next(is_line);
        let pairs =
            [(self.width, expected.width), (self.height, expected.height), (self.x, expected.x), (self.y, expected.y)];
        let n_told = pairs.iter().rposition(|(given, expected)| given != expected).map_or(0, |i| i + 1);
        for (given, expected) in &pairs[..n_told] {
            varint::put(out, varint::zigzag(*given as i64 - *expected as i64));
        }
    }

    /// Returns the area that [`Area::put_meta`] wrote, if it is within `n_bytes` bytes in rows of `width`.
    pub(crate) fn of_meta(mut meta: &[u8], last: Self, width: usize, n_bytes: usize) -> Option<Self> {
        let expected = last.next(width == n_bytes);
        let mut numbers = [expected.width, expected.height, expected.x, expected.y];
        for number in &mut numbers {
            if meta.is_empty() {
                break;
            }
            let delta = varint::unzigzag(varint::take(&mut meta).ok()?);
            *number = usize::try_from((*number as i64).checked_add(delta)?).ok()?;
        }
        let [own_width, height, x, y] = numbers;
        let fits = own_width > 0 && height > 0 && x.checked_add(own_width)? <= width;
        let is_within = y.checked_add(height)?.checked_mul(width)? <= n_bytes;
        (meta.is_empty() && fits && is_within).then_some(Self { x, y, width: own_width, height })
    }

    /// Marks its bytes in rows of `width`, and says how many of them were not marked.
    ///
    /// # Panics
    /// When it is not within them.
    pub(crate) fn mark(self, is_covered: &mut [bool], width: usize) -> usize {
        let mut n_marked = 0;
        for y in self.y..self.y + self.height {
            let row = &mut is_covered[y * width + self.x..][..self.width];
            n_marked += row.iter().filter(|is_covered| !**is_covered).count();
            row.fill(true);
        }
        n_marked
    }

    /// Puts the bytes of this part back into rows of `width` bytes. Says whether it and they fit.
    #[must_use]
    pub fn put(&self, bytes: &[u8], out: &mut [u8], width: usize) -> bool {
        if self.n_bytes() != bytes.len() || self.x + self.width > width || (self.y + self.height) * width > out.len() {
            return false;
        }
        for (i, row) in bytes.chunks(self.width.max(1)).enumerate() {
            let at = (self.y + i) * width + self.x;
            out[at..at + self.width].copy_from_slice(row);
        }
        true
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Bytes without a pattern.
    pub fn varied(n_bytes: usize) -> Vec<u8> {
        let mut bytes = vec![0; n_bytes];
        crate::Key::OPEN.hasher().finalize_xof().fill(&mut bytes);
        bytes
    }

    /// Stretches of equal bytes, of many lengths.
    pub fn repetitive(n_bytes: usize) -> Vec<u8> {
        varied(n_bytes).iter().flat_map(|&byte| vec![byte; usize::from(byte % 90) + 1]).take(n_bytes).collect()
    }

    /// Each byte of the field lies in exactly one segment, and the segments make the field again.
    #[track_caller]
    pub fn check_tiles(segmenter: &mut dyn Segmenter, field: &Field<'_>) {
        let mut back = vec![0; field.bytes().len()];
        let areas = segmenter.cut(field);
        for &area in &areas {
            assert!(area.put(&field.taken(area), &mut back, field.width()), "{area:?} does not fit");
        }
        assert!(back == field.bytes());
        assert_eq!(areas.iter().map(Area::n_bytes).sum::<usize>(), back.len(), "segments overlap");
    }
}
