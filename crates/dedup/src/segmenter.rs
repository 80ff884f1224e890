//! Cutting data into segments, the one step that differs between methods: what is cut, where it lies, and how it is put back.
//!
//! Data of one dimension is a field of a single row. Segments may overlap and leave gaps; what none of them covers travels without an id.

mod chunks;

pub use chunks::{FastCdc, Static};

/// Bytes with a shape.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    bytes: &'a [u8],
    width: usize,
    unit: usize,
}

/// A part of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Bytes to the left of it.
    pub x: usize,
    /// Rows above it.
    pub y: usize,
    /// Bytes in each of its rows.
    pub width: usize,
    /// How many rows it has.
    pub height: usize,
}

/// A way to cut.
pub trait Segmenter {
    /// The segments of a field, in the order in which they are sent.
    fn cut(&self, field: &Field<'_>) -> Vec<Area>;
}

/// A shape that does not fit the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{n_bytes} bytes are no rows of {width} bytes, each a multiple of {unit}")]
pub struct Misshapen {
    /// How many bytes there are.
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

    /// How many rows there are.
    #[must_use]
    pub fn height(&self) -> usize {
        self.bytes.len().checked_div(self.width).unwrap_or(0)
    }

    /// The bytes of an element.
    #[must_use]
    pub fn unit(&self) -> usize {
        self.unit
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

    /// How many bytes it has.
    #[must_use]
    pub fn n_bytes(&self) -> usize {
        self.width * self.height
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
