//! Charts: what is to be seen, and how it comes onto paper.

use crate::{Anchor, Axis, Colour, Frame, Picture, Place, Shape};

/// Marks over two axes, under a title.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// A few words.
    pub title: String,
    /// A sentence below the title that says how to read it; may be empty.
    pub caption: String,
    /// Axis to the right.
    pub x: Axis,
    /// Axis upward.
    pub y: Axis,
    /// The first one undermost.
    pub marks: Vec<Mark>,
}

/// Something in a chart, in the units of its axes. Points that have no place on the axes are left out.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// A line upward or downward from 0 to each point.
    Stems(Vec<(f64, f64)>),
    /// A dot at each point.
    Dots(Vec<(f64, f64)>),
    /// A band from the second to the third of each three, with straight edges from each first to the next.
    Between(Vec<(f64, f64, f64)>, Colour),
    /// Straight lines from each point to the next.
    Line(Vec<(f64, f64)>),
    /// Likewise, in the colour of what was fitted, with its name in the upper left corner.
    Fit(Vec<(f64, f64)>, String),
    /// Likewise in a colour of its own, with a dot at each point, for one of several.
    Track(Vec<(f64, f64)>, Colour),
    /// A thick line.
    Bar {
        /// Begin of the line.
        from: (f64, f64),
        /// End of the line.
        to: (f64, f64),
        /// Its colour.
        colour: Colour,
        /// Thickness of the line, in pixels.
        height: f64,
    },
    /// A band over the whole height of the field.
    Band {
        /// Begin of the band, to the right.
        from: f64,
        /// End of the band.
        to: f64,
        /// Its colour, which should be a pale one.
        colour: Colour,
    },
    /// A small arrow at the upper edge, for a point that lies above it.
    Above(f64, Colour),
    /// A dot with words to its right.
    Named((f64, f64), String),
    /// A dashed line across at this height.
    Bound(f64),
}

const TITLE_SIZE: f64 = 16.0;
const LABEL_SIZE: f64 = 12.0;
/// Room that titles, numbers and labels take around the field of the marks.
const ROOM: Room = Room { left: 84.0, right: 22.0, top: 52.0, bottom: 48.0 };

struct Room {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Mark {
    /// Returns the heights between which the axis upward has to reach for all of it to be seen.
    #[must_use]
    pub fn heights(&self) -> Vec<f64> {
        match self {
            Self::Stems(points) => points.iter().map(|(_, value)| *value).chain([0.0]).collect(),
            Self::Dots(points) | Self::Line(points) | Self::Fit(points, _) | Self::Track(points, _) => {
                points.iter().map(|(_, value)| *value).collect()
            }
            Self::Between(band, _) => band.iter().flat_map(|(_, lower, upper)| [*lower, *upper]).collect(),
            Self::Bar { from, to, .. } => vec![from.1, to.1],
            Self::Named((_, value), _) | Self::Bound(value) => vec![*value],
            Self::Band { .. } | Self::Above(..) => Vec::new(),
        }
    }
}

impl Chart {
    /// Draws it into `frame`, which should be at least 200 by 200 pixels.
    pub fn draw(&self, picture: &mut Picture, frame: Frame) {
        let corner = Place { x: frame.corner.x + ROOM.left, y: frame.corner.y + ROOM.top };
        let field = Field {
            chart: self,
            frame: Frame {
                corner,
                width: (frame.width - ROOM.left - ROOM.right).max(1.0),
                height: (frame.height - ROOM.top - ROOM.bottom).max(1.0),
            },
        };
        picture.write(self.title.clone(), Place { x: corner.x, y: corner.y - 28.0 }, TITLE_SIZE);
        picture.shapes.push(words(&self.caption, Place { x: corner.x, y: corner.y - 10.0 }, Anchor::Start));
        field.draw_axes(picture);
        self.marks.iter().for_each(|mark| field.draw_mark(picture, mark));
        picture.shapes.extend(field.labels());
    }
}

/// A chart and the place of its marks.
struct Field<'a> {
    chart: &'a Chart,
    frame: Frame,
}

impl Field<'_> {
    fn left(&self) -> f64 {
        self.frame.corner.x
    }

    fn bottom(&self) -> f64 {
        self.frame.corner.y + self.frame.height
    }

    fn right(&self) -> f64 {
        self.frame.corner.x + self.frame.width
    }

    fn x(&self, value: f64) -> Option<f64> {
        self.chart.x.share(value).map(|share| self.left() + share * self.frame.width)
    }

    fn y(&self, value: f64) -> Option<f64> {
        self.chart.y.share(value).map(|share| self.bottom() - share * self.frame.height)
    }

    fn place(&self, (x, y): (f64, f64)) -> Option<Place> {
        Some(Place { x: self.x(x)?, y: self.y(y)? })
    }

    fn draw_axes(&self, picture: &mut Picture) {
        for (value, text) in self.chart.x.ticks() {
            let Some(x) = self.x(value) else { continue };
            picture.shapes.push(straight((x, self.frame.corner.y), (x, self.bottom()), Colour::GRID, 1.0));
            picture.shapes.push(words(&text, Place { x, y: self.bottom() + 17.0 }, Anchor::Middle));
        }
        for (value, text) in self.chart.y.ticks() {
            let Some(y) = self.y(value) else { continue };
            picture.shapes.push(straight((self.left(), y), (self.right(), y), Colour::GRID, 1.0));
            picture.shapes.push(words(&text, Place { x: self.left() - 7.0, y: y + 4.0 }, Anchor::End));
        }
        let (left, bottom) = (self.left(), self.bottom());
        picture.shapes.push(straight((left, self.frame.corner.y), (left, bottom), Colour::SHADE, 1.0));
        picture.shapes.push(straight((left, bottom), (self.right(), bottom), Colour::SHADE, 1.0));
    }

    fn draw_mark(&self, picture: &mut Picture, mark: &Mark) {
        match mark {
            Mark::Stems(points) => {
                let foot = self.y(0.0).unwrap_or(self.bottom());
                for place in points.iter().filter_map(|point| self.place(*point)) {
                    picture.shapes.push(straight((place.x, foot), (place.x, place.y), Colour::DATA, 1.5));
                    picture.shapes.push(Shape::Disc { centre: place, radius: 2.2, colour: Colour::DATA });
                }
                picture.shapes.push(straight((self.left(), foot), (self.right(), foot), Colour::SHADE, 1.0));
            }
            Mark::Dots(points) => {
                let places = points.iter().filter_map(|point| self.place(*point));
                let dots = places.map(|centre| Shape::Disc { centre, radius: 1.8, colour: Colour::DATA });
                picture.shapes.extend(dots);
            }
            Mark::Between(band, colour) => {
                let upper = band.iter().map(|(x, _, upper)| (*x, *upper));
                let edge: Vec<(f64, f64)> = band.iter().map(|(x, lower, _)| (*x, *lower)).chain(upper.rev()).collect();
                let places = edge.iter().filter_map(|point| self.place(*point)).collect();
                picture.shapes.push(Shape::Area { places, colour: *colour });
            }
            Mark::Line(points) => picture.shapes.push(self.line(points, Colour::DATA, 1.2)),
            Mark::Fit(points, name) => {
                picture.shapes.push(self.line(points, Colour::FIT, 2.0));
                picture.shapes.push(Shape::Words {
                    text: name.clone(),
                    at: Place { x: self.left() + 12.0, y: self.frame.corner.y + 20.0 },
                    size: LABEL_SIZE,
                    colour: Colour::FIT,
                    anchor: Anchor::Start,
                    is_upward: false,
                });
            }
            Mark::Track(points, colour) => {
                picture.shapes.push(self.line(points, *colour, 1.6));
                let places = points.iter().filter_map(|point| self.place(*point));
                picture.shapes.extend(places.map(|centre| Shape::Disc { centre, radius: 2.4, colour: *colour }));
            }
            Mark::Bar { from, to, colour, height } => picture.shapes.push(self.line(&[*from, *to], *colour, *height)),
            Mark::Band { from, to, colour } => {
                let (low, high) = self.chart.x.range;
                let (Some(from), Some(to)) = (self.x(from.max(low)), self.x(to.min(high))) else { return };
                let middle = self.frame.corner.y + 0.5 * self.frame.height;
                picture.shapes.push(straight((from, middle), (to, middle), *colour, self.frame.height));
            }
            Mark::Above(x, colour) => {
                let Some(x) = self.x(*x) else { return };
                let top = self.frame.corner.y;
                let places =
                    [(x - 4.0, top + 6.0), (x, top), (x + 4.0, top + 6.0)].map(|(x, y)| Place { x, y }).to_vec();
                picture.shapes.push(Shape::Line { places, colour: *colour, width: 1.6, is_dashed: false });
            }
            Mark::Named(point, name) => {
                let Some(centre) = self.place(*point) else { return };
                picture.shapes.push(Shape::Disc { centre, radius: 3.0, colour: Colour::DATA });
                let beside = Place { x: centre.x + 6.0, y: centre.y + 4.0 };
                picture.shapes.push(words(name, beside, Anchor::Start));
            }
            Mark::Bound(value) => {
                let Some(y) = self.y(*value) else { return };
                picture.shapes.push(Shape::Line {
                    places: vec![Place { x: self.left(), y }, Place { x: self.right(), y }],
                    colour: Colour::FIT,
                    width: 1.2,
                    is_dashed: true,
                });
            }
        }
    }

    fn line(&self, points: &[(f64, f64)], colour: Colour, width: f64) -> Shape {
        let places = points.iter().filter_map(|point| self.place(*point)).collect();
        Shape::Line { places, colour, width, is_dashed: false }
    }

    fn labels(&self) -> [Shape; 2] {
        let middle = Place { x: self.left() + 0.5 * self.frame.width, y: self.bottom() + 38.0 };
        let beside = Place { x: self.left() - 66.0, y: self.frame.corner.y + 0.5 * self.frame.height };
        let mut upward = words(&self.chart.y.label, beside, Anchor::Middle);
        if let Shape::Words { is_upward, .. } = &mut upward {
            *is_upward = true;
        }
        [words(&self.chart.x.label, middle, Anchor::Middle), upward]
    }
}

fn straight(from: (f64, f64), to: (f64, f64), colour: Colour, width: f64) -> Shape {
    let places = [from, to].map(|(x, y)| Place { x, y }).to_vec();
    Shape::Line { places, colour, width, is_dashed: false }
}

fn words(text: &str, at: Place, anchor: Anchor) -> Shape {
    Shape::Words { text: text.to_owned(), at, size: LABEL_SIZE, colour: Colour::SHADE, anchor, is_upward: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scale;

    fn chart(marks: Vec<Mark>) -> Picture {
        let axis = |label: &str| Axis { label: label.into(), scale: Scale::Linear, range: (0.0, 10.0) };
        let chart = Chart { title: "T".into(), caption: "C".into(), x: axis("lag"), y: axis("size"), marks };
        let mut picture = Picture::blank(406.0, 300.0);
        chart.draw(&mut picture, Frame { corner: Place { x: 0.0, y: 0.0 }, width: 406.0, height: 300.0 });
        picture
    }

    #[test]
    fn a_point_lies_where_its_numbers_say() {
        // The field is 300 by 200 pixels, from (84, 52).
        let picture = chart(vec![Mark::Dots(vec![(5.0, 2.5), (f64::NAN, 1.0), (11.0, 1.0)])]);
        let discs: Vec<_> = picture.shapes.iter().filter(|shape| matches!(shape, Shape::Disc { .. })).collect();
        let centre = Place { x: 234.0, y: 202.0 };
        assert_eq!(discs, [&Shape::Disc { centre, radius: 1.8, colour: Colour::DATA }]);
    }

    #[test]
    fn a_named_point_has_its_name_beside_it_and_a_track_its_colour() {
        let red = Colour(255, 0, 0);
        let picture =
            chart(vec![Mark::Named((5.0, 2.5), "here".into()), Mark::Track(vec![(0.0, 0.0), (5.0, 2.5)], red)]);
        let named = Shape::Disc { centre: Place { x: 234.0, y: 202.0 }, radius: 3.0, colour: Colour::DATA };
        assert!(picture.shapes.contains(&named) && picture.to_svg().contains(">here</text>"));
        let is_red =
            |shape: &&Shape| matches!(shape, Shape::Disc { colour, .. } | Shape::Line { colour, .. } if *colour == red);
        assert_eq!(picture.shapes.iter().filter(is_red).count(), 3);
    }

    #[test]
    fn a_band_is_as_high_as_the_field_and_ends_at_its_edges() {
        let pale = Colour(240, 240, 255);
        let picture = chart(vec![Mark::Band { from: -3.0, to: 5.0, colour: pale }, Mark::Above(5.0, pale)]);
        let [band, above] = &picture
            .shapes
            .iter()
            .filter(|shape| matches!(shape, Shape::Line { colour, .. } if *colour == pale))
            .collect::<Vec<_>>()[..]
        else {
            panic!("{picture:?}")
        };
        let places = [(84.0, 152.0), (234.0, 152.0)].map(|(x, y)| Place { x, y }).to_vec();
        assert_eq!(**band, Shape::Line { places, colour: pale, width: 200.0, is_dashed: false });
        assert!(matches!(above, Shape::Line { places, .. } if places[1] == Place { x: 234.0, y: 52.0 }), "{above:?}");
    }

    #[test]
    fn everything_said_of_a_chart_is_written() {
        let picture = chart(vec![Mark::Fit(vec![(0.0, 0.0), (10.0, 10.0)], "slope 1".into())]);
        let svg = picture.to_svg();
        for text in ["T", "C", "lag", "size", "slope 1", "0", "10"] {
            assert!(svg.contains(&format!(">{text}</text>")), "{text}");
        }
    }
}
