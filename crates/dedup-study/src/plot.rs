//! Lines over a logarithmic axis, each with its name.

use picture::{Axis, Chart, Colour, Mark, Panel, Picture, Scale, Size};

const CHART: Size = Size { width: 760.0, height: 380.0 };

/// The contents of a picture.
pub(crate) struct Lines {
    pub title: &'static str,
    pub caption: &'static str,
    pub x: &'static str,
    pub y: (&'static str, Scale),
    /// A name, and points.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

impl Lines {
    pub fn picture(self) -> Picture {
        let points = || self.lines.iter().flat_map(|(_, points)| points);
        let chart = Chart {
            title: self.title.to_owned(),
            caption: self.caption.to_owned(),
            x: Axis::over(self.x, Scale::Logarithmic, points().map(|point| point.0)),
            y: Axis::over(self.y.0, self.y.1, points().map(|point| point.1)),
            marks: self
                .lines
                .iter()
                .zip(Colour::APART.iter().cycle())
                .map(|((_, points), colour)| Mark::Track(points.clone(), *colour))
                .collect(),
        };
        let legend = self.lines.into_iter().map(|(name, _)| name).zip(Colour::APART.iter().copied().cycle()).collect();
        Panel { chart, legend }.picture(CHART)
    }
}
