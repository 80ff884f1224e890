//! Charts as data, written as SVG and as PNG that look alike.
//!
//! A [`Chart`] describes what to show: axes, and marks in the units of the axes. Drawn into a frame of a [`Picture`]
//! it becomes lines, discs and words at given places, which [`Picture::to_svg`] and [`Picture::to_png`] turn into a
//! file. The PNG's letters come from a font in the crate, so it is the same on a machine without fonts.
//!
//! Floor 1: no I/O, no statistics.
#![forbid(unsafe_code)]

mod axis;
mod chart;
mod clock;
mod kind;
mod panel;
mod png;
mod svg;

pub use axis::{Axis, Scale};
pub use chart::{Chart, Mark};
pub use kind::{Kind, UnknownKind};
pub use panel::{Panel, Size, beside, words_width};
pub use png::PngError;

/// Shapes on white paper, in pixels from the upper left corner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    /// Shapes on the paper, the first one undermost.
    pub shapes: Vec<Shape>,
}

/// A place in a picture, in pixels to the right and downward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Distance to the right.
    pub x: f64,
    /// Distance downward.
    pub y: f64,
}

/// A rectangle of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Its upper left corner.
    pub corner: Place,
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
}

/// Something drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Straight lines from each place to the next.
    Line {
        /// Places of the line: at least two, or nothing is seen.
        places: Vec<Place>,
        /// Its colour.
        colour: Colour,
        /// Its width in pixels.
        width: f64,
        /// Whether it is broken into dashes.
        is_dashed: bool,
    },
    /// A filled polygon.
    Area {
        /// Its corners: at least three, or nothing is seen.
        places: Vec<Place>,
        /// Its colour.
        colour: Colour,
    },
    /// A filled circle.
    Disc {
        /// Its middle.
        centre: Place,
        /// Its radius in pixels.
        radius: f64,
        /// Its colour.
        colour: Colour,
    },
    /// Words in one line.
    Words {
        /// The words.
        text: String,
        /// Place on the base line, at the end or middle given by `anchor`.
        at: Place,
        /// Height of the font in pixels.
        size: f64,
        /// Their colour.
        colour: Colour,
        /// Part of the words that is at the place.
        anchor: Anchor,
        /// Whether they run upward rather than to the right.
        is_upward: bool,
    },
}

/// Part of words that is at their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The begin of the words.
    Start,
    /// Halfway.
    Middle,
    /// The end of the words.
    End,
}

/// Red, green and blue, each from 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    /// Colour of words.
    pub const INK: Self = Self(0x2b, 0x2f, 0x36);
    /// Colour of axes and explanations.
    pub const SHADE: Self = Self(0x6b, 0x72, 0x80);
    /// Colour of lines behind the data.
    pub const GRID: Self = Self(0xe3, 0xe6, 0xea);
    /// Colour of data.
    pub const DATA: Self = Self(0x1f, 0x5f, 0xa8);
    /// Colour of what was fitted to data.
    pub const FIT: Self = Self(0xc2, 0x41, 0x0c);
    /// Colours of the bands around it, the wider one first.
    pub const BANDS: [Self; 2] = [Self(0xf8, 0xe6, 0xdc), Self(0xf0, 0xc9, 0xb4)];
    /// Colours of several lines in one chart. The first eight are told apart by people who do not see all colours
    /// (Okabe and Ito 2008); after twelve they begin again.
    pub const APART: [Self; 12] = [
        Self(0x00, 0x72, 0xb2),
        Self(0xd5, 0x5e, 0x00),
        Self(0x00, 0x9e, 0x73),
        Self(0xcc, 0x79, 0xa7),
        Self(0xe6, 0x9f, 0x00),
        Self(0x56, 0xb4, 0xe9),
        Self(0x7a, 0x5c, 0x1e),
        Self(0x00, 0x00, 0x00),
        Self(0x88, 0x22, 0x55),
        Self(0x99, 0x99, 0x33),
        Self(0x33, 0x22, 0x88),
        Self(0x99, 0x99, 0x99),
    ];
}

impl Picture {
    /// White paper.
    #[must_use]
    pub fn blank(width: f64, height: f64) -> Self {
        Self { width, height, shapes: Vec::new() }
    }

    /// Adds words in the colour of ink that begin at `at`.
    pub fn write(&mut self, text: impl Into<String>, at: Place, size: f64) {
        self.shapes.push(Shape::Words {
            text: text.into(),
            at,
            size,
            colour: Colour::INK,
            anchor: Anchor::Start,
            is_upward: false,
        });
    }
}
