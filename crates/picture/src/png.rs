//! A picture as PNG.

use tiny_skia::{Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use crate::{Anchor, Colour, Picture, Place, Shape};

/// See `fonts/README.md`.
const FONT: &[u8] = include_bytes!("../fonts/DejaVuSans-subset.ttf");

/// Wider or higher pictures are refused: 16,000 by 16,000 pixels take a gigabyte.
const N_PIXELS_MAX: f64 = 16_000.0;

/// The reason why a picture does not become a PNG.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// Paper that is empty or too large.
    #[error("a PNG of {width} by {height} pixels cannot be made; each must be from 1 to {N_PIXELS_MAX}")]
    Size {
        /// Width in pixels of the PNG.
        width: f64,
        /// Height in pixels of the PNG.
        height: f64,
    },
    /// The encoder failed.
    #[error("cannot encode a PNG: {problem}")]
    Encode {
        /// Message of the encoder.
        problem: String,
    },
}

impl Picture {
    /// Returns the picture as the bytes of a PNG file with `density` times as many pixels each way.
    ///
    /// # Errors
    /// A size of no pixels, or of more than 16,000 each way.
    pub fn to_png(&self, density: f64) -> Result<Vec<u8>, PngError> {
        let (width, height) = ((self.width * density).ceil(), (self.height * density).ceil());
        let is_possible = |length: f64| (1.0..=N_PIXELS_MAX).contains(&length);
        let pixels = (is_possible(width) && is_possible(height)).then(|| Pixmap::new(width as u32, height as u32));
        let mut pixels = pixels.flatten().ok_or(PngError::Size { width, height })?;
        pixels.fill(Color::WHITE);
        let face = Face::parse(FONT, 0).expect("the font in the crate is sound, as a test says");
        let mut paper = Paper { pixels, face, density: Transform::from_scale(density as f32, density as f32) };
        self.shapes.iter().for_each(|shape| paper.draw(shape));
        paper.pixels.encode_png().map_err(|error| PngError::Encode { problem: error.to_string() })
    }
}

struct Paper {
    pixels: Pixmap,
    face: Face<'static>,
    density: Transform,
}

impl Paper {
    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Line { places, colour, width, is_dashed } => {
                let Some(path) = line(places) else { return };
                let dash = if *is_dashed { StrokeDash::new(vec![5.0, 4.0], 0.0) } else { None };
                let (line_cap, line_join) = (LineCap::Butt, LineJoin::Round);
                let stroke = Stroke { width: *width as f32, dash, line_cap, line_join, ..Stroke::default() };
                self.pixels.stroke_path(&path, &paint(*colour), &stroke, self.density, None);
            }
            Shape::Area { places, colour } => {
                if let Some(path) = line(places) {
                    self.pixels.fill_path(&path, &paint(*colour), FillRule::Winding, self.density, None);
                }
            }
            Shape::Disc { centre, radius, colour } => {
                let disc = PathBuilder::from_circle(centre.x as f32, centre.y as f32, *radius as f32);
                if let Some(path) = disc {
                    self.pixels.fill_path(&path, &paint(*colour), FillRule::Winding, self.density, None);
                }
            }
            Shape::Words { text, at, size, colour, anchor, is_upward } => {
                let scale = *size as f32 / f32::from(self.face.units_per_em());
                let (path, width) = self.outlines(text);
                let shift = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => -0.5 * width,
                    Anchor::End => -width,
                };
                let turn = if *is_upward { Transform::from_rotate(-90.0) } else { Transform::identity() };
                // Fonts count upward and in their own units.
                let placed = Transform::from_translate(shift, 0.0)
                    .post_scale(scale, -scale)
                    .post_concat(turn)
                    .post_translate(at.x as f32, at.y as f32)
                    .post_concat(self.density);
                if let Some(path) = path {
                    self.pixels.fill_path(&path, &paint(*colour), FillRule::Winding, placed, None);
                }
            }
        }
    }

    /// The outlines of all letters, and their width, in units of the font. A character that the font does not have is
    /// shown as the replacement character.
    fn outlines(&self, text: &str) -> (Option<Path>, f32) {
        let replacement = self.face.glyph_index(char::REPLACEMENT_CHARACTER).unwrap_or(GlyphId(0));
        let mut letters = Letters { path: PathBuilder::new(), x: 0.0 };
        for character in text.chars() {
            let glyph = self.face.glyph_index(character).unwrap_or(replacement);
            self.face.outline_glyph(glyph, &mut letters);
            letters.x += f32::from(self.face.glyph_hor_advance(glyph).unwrap_or(0));
        }
        (letters.path.finish(), letters.x)
    }
}

fn paint(Colour(red, green, blue): Colour) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, 255);
    paint
}

fn line(places: &[Place]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (idx, Place { x, y }) in places.iter().enumerate() {
        match idx {
            0 => path.move_to(*x as f32, *y as f32),
            _ => path.line_to(*x as f32, *y as f32),
        }
    }
    path.finish()
}

/// Letters set one after another.
struct Letters {
    path: PathBuilder,
    x: f32,
}

impl OutlineBuilder for Letters {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(self.x + x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(self.x + x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.quad_to(self.x + x1, y1, self.x + x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.path.cubic_to(self.x + x1, y1, self.x + x2, y2, self.x + x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bounding box of what is not white in a picture of 100 by 100 pixels: least and greatest x, least and
    /// greatest y.
    #[track_caller]
    fn inked(shape: Shape) -> [u32; 4] {
        let png = Picture { width: 100.0, height: 100.0, shapes: vec![shape] }.to_png(1.0).unwrap();
        let pixels = Pixmap::decode_png(&png).unwrap();
        let is_inked = |(x, y): &(u32, u32)| pixels.pixel(*x, *y).unwrap().red() < 0xd0;
        let inked: Vec<_> = (0..100).flat_map(|y| (0..100).map(move |x| (x, y))).filter(is_inked).collect();
        assert!(!inked.is_empty(), "nothing is drawn");
        let (x, y) = (inked.iter().map(|place| place.0), inked.iter().map(|place| place.1));
        [x.clone().min(), x.max(), y.clone().min(), y.max()].map(|end| end.unwrap())
    }

    fn words(anchor: Anchor, is_upward: bool) -> Shape {
        let at = Place { x: 50.0, y: 60.0 };
        Shape::Words { text: "HHH".into(), at, size: 20.0, colour: Colour::INK, anchor, is_upward }
    }

    #[test]
    fn words_are_drawn_where_they_belong_without_any_font_of_the_system() {
        // Three letters of 0.752 of the font's height each, on a base line at 60; capitals are 0.729 high.
        let [left, right, top, bottom] = inked(words(Anchor::Start, false));
        assert!((51..=53).contains(&left) && (91..=94).contains(&right), "{left} to {right}");
        assert!((45..=46).contains(&top) && bottom == 59, "{top} to {bottom}");
        let [left, right, ..] = inked(words(Anchor::Middle, false));
        assert!((28..=30).contains(&left) && (69..=71).contains(&right), "{left} to {right}");
        let [left, right, ..] = inked(words(Anchor::End, false));
        assert!((5..=8).contains(&left) && (46..=48).contains(&right), "{left} to {right}");
    }

    #[test]
    fn words_that_run_upward_stand_left_of_their_base_line() {
        let [left, right, top, bottom] = inked(words(Anchor::Start, true));
        assert!((35..=36).contains(&left) && right == 49, "{left} to {right}");
        assert!((16..=18).contains(&top) && (57..=59).contains(&bottom), "{top} to {bottom}");
    }

    #[test]
    fn a_character_that_the_font_lacks_is_still_seen() {
        inked(Shape::Words {
            text: "\u{6f22}".into(),
            at: Place { x: 50.0, y: 60.0 },
            size: 20.0,
            colour: Colour::INK,
            anchor: Anchor::Start,
            is_upward: false,
        });
    }

    #[test]
    fn places_that_are_nowhere_draw_nothing_and_do_no_harm() {
        for x in [f64::NAN, f64::INFINITY, 1e300] {
            let places = vec![Place { x, y: 0.0 }, Place { x: 1.0, y: 1.0 }];
            let line = Shape::Line { places, colour: Colour::DATA, width: 1.0, is_dashed: true };
            let disc = Shape::Disc { centre: Place { x, y: x }, radius: 2.0, colour: Colour::DATA };
            assert!(Picture { width: 10.0, height: 10.0, shapes: vec![line, disc] }.to_png(1.0).is_ok());
        }
    }

    #[test]
    fn paper_of_no_size_is_refused() {
        for (width, height) in [(0.0, 5.0), (1e9, 5.0), (f64::NAN, 5.0)] {
            assert!(matches!(Picture::blank(width, height).to_png(1.0), Err(PngError::Size { .. })));
        }
    }
}
