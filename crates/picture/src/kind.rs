//! The kinds of files that pictures are written as.

use std::str::FromStr;

use crate::{Picture, PngError};

/// PNGs are sharp on screens of twice the usual resolution.
const DENSITY: f64 = 2.0;

/// Format in which a picture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Lines and words, sharp at any size.
    Svg,
    /// Dots, of twice the usual resolution.
    Png,
}

/// A name that is no kind's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no kind of picture: write svg or png")]
pub struct UnknownKind {
    /// The name as given.
    given: String,
}

impl Kind {
    /// The names of all kinds, with which files end.
    pub const NAMES: [&'static str; 2] = ["svg", "png"];

    /// Returns the ending of a file's name.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
        }
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        match name.to_ascii_lowercase().as_str() {
            "svg" => Ok(Self::Svg),
            "png" => Ok(Self::Png),
            _ => Err(UnknownKind { given: name.to_owned() }),
        }
    }
}

impl Picture {
    /// Returns the picture as the bytes of a file of that kind.
    ///
    /// # Errors
    /// A PNG of no pixels, or of too many.
    pub fn encode(&self, kind: Kind) -> Result<Vec<u8>, PngError> {
        match kind {
            Kind::Svg => Ok(self.to_svg().into_bytes()),
            Kind::Png => self.to_png(DENSITY),
        }
    }
}
