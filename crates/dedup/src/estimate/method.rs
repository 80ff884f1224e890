//! The methods that an estimate compares, by the names that they have in text.

use std::fmt;
use std::str::FromStr;

use crate::segmenter::{Anchoring, FastCdc, Grid, Lbfs, Manber, Segmenter, Squares, Static, Tiles, Varg};

/// Method of looking for redundancy.
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
        /// The size of the queue in MiB.
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
    /// The given text.
    pub text: String,
}

/// Sides of tiles, squares and columns.
const SIDES: std::ops::RangeInclusive<u32> = 1..=1024;

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

    pub(super) fn is_of_pixels(self) -> bool {
        matches!(self, Self::Grid { .. } | Self::Varg { .. } | Self::Tiles { .. } | Self::Squares { .. })
    }

    /// Returns the segmenter, for methods that only cut.
    pub(super) fn segmenter(self) -> Option<Box<dyn Segmenter + Send>> {
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

#[cfg(test)]
mod tests {
    use super::super::tests::ALL;
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
}
