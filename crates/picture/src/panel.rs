//! A chart with the names of its lines beside it, alone or among others.

use crate::{Chart, Colour, Frame, Picture, Place, Shape};

/// Distance from one name to the next.
const LINE_HEIGHT: f64 = 18.0;
/// Size of names.
const TEXT_SIZE: f64 = 12.0;
/// Room before a name: a piece of the line that the name is of.
const INDENT: f64 = 24.0;
/// Distance from the upper edge of a chart to the first name.
const TOP: f64 = 64.0;
/// A letter, on average, and somewhat more.
const LETTER_WIDTH: f64 = 7.5;

/// A chart, and what its colours mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The chart.
    pub chart: Chart,
    /// Names of its lines, from above to below; may be empty.
    pub legend: Vec<(String, Colour)>,
}

/// Size of something, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Size to the right.
    pub width: f64,
    /// Size downward.
    pub height: f64,
}

impl Panel {
    /// This panel alone, its chart of this size. A legend takes room of its own to the right.
    #[must_use]
    pub fn picture(&self, chart: Size) -> Picture {
        beside(std::slice::from_ref(self), 1, chart)
    }

    fn draw(&self, picture: &mut Picture, corner: Place, size: Size) {
        self.chart.draw(picture, Frame { corner, width: size.width, height: size.height });
        let x = corner.x + size.width;
        for (row, (name, colour)) in self.legend.iter().enumerate() {
            let y = corner.y + TOP + row as f64 * LINE_HEIGHT;
            let places = vec![Place { x, y: y - 4.0 }, Place { x: x + 18.0, y: y - 4.0 }];
            picture.shapes.push(Shape::Line { places, colour: *colour, width: 2.0, is_dashed: false });
            picture.write(name.clone(), Place { x: x + INDENT, y }, TEXT_SIZE);
        }
    }

    fn legend_width(&self) -> f64 {
        let widest = self.legend.iter().map(|(name, _)| words_width(name)).reduce(f64::max);
        widest.map_or(0.0, |widest| INDENT + widest)
    }
}

/// Panels in rows of so many, each chart of this size. All have room for the widest of their legends.
#[must_use]
pub fn beside(panels: &[Panel], n_columns: usize, chart: Size) -> Picture {
    let n_columns = n_columns.clamp(1, panels.len().max(1));
    let n_rows = panels.len().div_ceil(n_columns);
    let width = chart.width + panels.iter().map(Panel::legend_width).fold(0.0, f64::max);
    let mut picture = Picture::blank(width * n_columns as f64, chart.height * n_rows as f64);
    for (idx, panel) in panels.iter().enumerate() {
        let (row, column) = (idx / n_columns, idx % n_columns);
        panel.draw(&mut picture, Place { x: width * column as f64, y: chart.height * row as f64 }, chart);
    }
    picture
}

/// Pixels that `text` takes in the size of a legend, and somewhat more.
#[must_use]
pub fn words_width(text: &str) -> f64 {
    LETTER_WIDTH * text.chars().count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Scale};

    fn panel(legend: &[&str]) -> Panel {
        let axis = || Axis { label: String::new(), scale: Scale::Linear, range: (0.0, 1.0) };
        let chart = Chart { title: String::new(), caption: String::new(), x: axis(), y: axis(), marks: Vec::new() };
        Panel { chart, legend: legend.iter().map(|name| ((*name).to_owned(), Colour::DATA)).collect() }
    }

    #[test]
    fn a_legend_is_beside_the_chart_and_has_room() {
        let size = Size { width: 300.0, height: 200.0 };
        assert_eq!(panel(&[]).picture(size).width, 300.0);
        let picture = panel(&["short", "a longer name"]).picture(size);
        assert_eq!((picture.width, picture.height), (300.0 + INDENT + 13.0 * LETTER_WIDTH, 200.0));
        let at = |wanted: &str| {
            picture.shapes.iter().find_map(|shape| match shape {
                Shape::Words { text, at, .. } if text == wanted => Some(*at),
                _ => None,
            })
        };
        assert_eq!(at("short"), Some(Place { x: 300.0 + INDENT, y: TOP }));
        assert_eq!(at("a longer name"), Some(Place { x: 300.0 + INDENT, y: TOP + LINE_HEIGHT }));
    }

    #[test]
    fn panels_fill_rows_of_equal_width() {
        let size = Size { width: 300.0, height: 200.0 };
        let picture = beside(&[panel(&["a"]), panel(&[]), panel(&[])], 2, size);
        assert_eq!((picture.width, picture.height), (2.0 * (300.0 + INDENT + LETTER_WIDTH), 400.0));
        assert_eq!(beside(&[], 2, size).height, 0.0);
    }
}
