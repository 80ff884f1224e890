//! A chart with the names of its lines beside it, alone or among others.

use picture::{Axis, Chart, Colour, Frame, Mark, Picture, Place, Shape};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 440.0;
/// To the right of a chart, for the names of its lines.
const LEGEND_WIDTH: f64 = 230.0;
const LINE_HEIGHT: f64 = 18.0;
const TEXT_SIZE: f64 = 12.0;

/// A chart and what its colours mean.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) caption: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) marks: Vec<Mark>,
    pub(super) legend: Vec<(String, Colour)>,
}

impl Panel {
    /// This panel alone.
    pub(super) fn picture(self) -> Picture {
        beside(vec![self], 1)
    }

    fn draw(self, picture: &mut Picture, corner: Place) {
        let legend_width = if self.legend.is_empty() { 0.0 } else { LEGEND_WIDTH };
        let chart = Chart { title: self.title, caption: self.caption, x: self.x, y: self.y, marks: self.marks };
        chart.draw(picture, Frame { corner, width: WIDTH - legend_width, height: HEIGHT });
        let x = corner.x + WIDTH - legend_width;
        for (row, (name, colour)) in self.legend.into_iter().enumerate() {
            let y = corner.y + 64.0 + row as f64 * LINE_HEIGHT;
            let places = vec![Place { x, y: y - 4.0 }, Place { x: x + 18.0, y: y - 4.0 }];
            picture.shapes.push(Shape::Line { places, colour, width: 2.0, is_dashed: false });
            picture.write(name, Place { x: x + 24.0, y }, TEXT_SIZE);
        }
    }
}

/// Panels in rows of so many.
pub(super) fn beside(panels: Vec<Panel>, n_columns: usize) -> Picture {
    let n_columns = n_columns.clamp(1, panels.len().max(1));
    let n_rows = panels.len().div_ceil(n_columns);
    let mut picture = Picture::blank(WIDTH * n_columns as f64, HEIGHT * n_rows as f64);
    for (idx, panel) in panels.into_iter().enumerate() {
        let (row, column) = (idx / n_columns, idx % n_columns);
        panel.draw(&mut picture, Place { x: WIDTH * column as f64, y: HEIGHT * row as f64 });
    }
    picture
}
