//! The pictures of a report.

use picture::{Anchor, Axis, Chart, Colour, Frame, Mark, Panel, Picture, Place, Scale, Shape, Size, words_width};

/// The size of a chart, without the names beside it.
const CHART: Size = Size { width: 560.0, height: 420.0 };
/// The distance between the last point of a chart and a name beside it.
const NAME_INDENT: f64 = 24.0;
const TEXT_SIZE: f64 = 12.0;
const LINE_HEIGHT: f64 = 18.0;
/// The width beside the ranks, names left out: a bend of the line, and a mean rank.
const MARGIN: f64 = 70.0;
/// The width of the ranks themselves.
const RANKS_WIDTH: f64 = 340.0;

/// A line of a chart.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Lines over leads, with a dashed line across where something is wanted.
pub(crate) fn over_leads(title: &str, caption: &str, label: &str, lines: &[Line], bound: f64) -> Picture {
    let (xs, ys): (Vec<f64>, Vec<f64>) = lines.iter().flat_map(|line| &line.points).copied().unzip();
    let coloured = || lines.iter().zip(Colour::APART.into_iter().cycle());
    let chart = Chart {
        title: title.to_owned(),
        caption: caption.to_owned(),
        x: Axis::over("steps ahead", Scale::Logarithmic, xs),
        y: Axis::over(label, Scale::Linear, ys.into_iter().chain([bound])),
        marks: std::iter::once(Mark::Bound(bound))
            .chain(coloured().map(|(line, colour)| Mark::Track(line.points.clone(), colour)))
            .collect(),
    };
    let legend = coloured().map(|(line, colour)| (line.name.clone(), colour)).collect();
    Panel { chart, legend }.picture(CHART)
}

/// Named points: what a step costs, and what it gains.
pub(crate) fn costs(title: &str, label: &str, points: &[(String, f64, f64)]) -> Picture {
    let mut picture = Picture::blank(
        CHART.width + NAME_INDENT + width_of(points.iter().map(|(name, ..)| name.as_str())),
        CHART.height,
    );
    let chart = Chart {
        title: title.to_owned(),
        caption: "Lower is more accurate, left is cheaper.".to_owned(),
        x: Axis::over("microseconds a step", Scale::Logarithmic, points.iter().map(|(_, x, _)| *x)),
        y: Axis::over(label, Scale::Linear, points.iter().map(|(.., y)| *y)),
        marks: points.iter().map(|(name, x, y)| Mark::Named((*x, *y), name.clone())).collect(),
    };
    // Names reach beyond the last point.
    let corner = Place { x: 0.0, y: 0.0 };
    chart.draw(&mut picture, Frame { corner, width: CHART.width, height: CHART.height });
    picture
}

/// Models on a line by their mean ranks, the best on the left; bars join those that are not told apart (Demsar 2006,
/// section 3.2.4).
pub(crate) fn critical_difference(models: &[(String, f64)], difference: f64) -> Picture {
    let mut sorted = models.to_vec();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let groups = groups(&sorted.iter().map(|(_, rank)| *rank).collect::<Vec<_>>(), difference);
    let n_left = sorted.len().div_ceil(2);
    let margin = MARGIN + width_of(sorted.iter().map(|(name, _)| name.as_str()));
    let (left, right) = (margin, margin + RANKS_WIDTH);
    let x = |rank: f64| left + (rank - 1.0) / (sorted.len() as f64 - 1.0).max(1.0) * (right - left);
    let axis = 70.0;
    let names = axis + 24.0 + 9.0 * groups.len() as f64;
    let mut picture = Picture::blank(right + margin, names + LINE_HEIGHT * n_left as f64 + 20.0);
    picture.shapes.push(straight(Place { x: left, y: axis }, Place { x: right, y: axis }, Colour::SHADE, 1.2));
    for rank in 1..=sorted.len() {
        let x = x(rank as f64);
        picture.shapes.push(straight(Place { x, y: axis - 6.0 }, Place { x, y: axis }, Colour::SHADE, 1.2));
        picture.shapes.push(words(&rank.to_string(), Place { x, y: axis - 10.0 }, Anchor::Middle));
    }
    let reach = (left + x(1.0 + difference) - x(1.0)).min(right);
    picture.shapes.push(straight(Place { x: left, y: 34.0 }, Place { x: reach, y: 34.0 }, Colour::FIT, 2.0));
    picture.write(format!("critical difference {difference:.2}"), Place { x: left, y: 26.0 }, TEXT_SIZE);
    for (idx, (name, rank)) in sorted.iter().enumerate() {
        let (is_left, row) = (idx < n_left, if idx < n_left { idx } else { sorted.len() - 1 - idx });
        let (x, y) = (x(*rank), names + LINE_HEIGHT * (row as f64 + 0.5));
        let (end, anchor, text) = match is_left {
            true => (left - 20.0, Anchor::End, format!("{name}  {rank:.2}")),
            false => (right + 20.0, Anchor::Start, format!("{rank:.2}  {name}")),
        };
        let places = vec![Place { x, y: axis }, Place { x, y }, Place { x: end, y }];
        picture.shapes.push(Shape::Line { places, colour: Colour::DATA, width: 1.0, is_dashed: false });
        let beside = if is_left { end - 5.0 } else { end + 5.0 };
        picture.shapes.push(words(&text, Place { x: beside, y: y + 4.0 }, anchor));
    }
    for (row, (first, last)) in groups.iter().enumerate() {
        let y = axis + 12.0 + 9.0 * row as f64;
        let (from, to) = (x(sorted[*first].1) - 4.0, x(sorted[*last].1) + 4.0);
        picture.shapes.push(straight(Place { x: from, y }, Place { x: to, y }, Colour::INK, 4.0));
    }
    picture
}

/// The longest runs of rising ranks within `difference` of each other, as first and last; runs of one are left out.
pub(crate) fn groups(ranks: &[f64], difference: f64) -> Vec<(usize, usize)> {
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for first in 0..ranks.len() {
        let last = ranks.partition_point(|rank| rank - ranks[first] <= difference).saturating_sub(1);
        if last > first && groups.last().is_none_or(|(_, before)| last > *before) {
            groups.push((first, last));
        }
    }
    groups
}

fn width_of<'n>(names: impl Iterator<Item = &'n str>) -> f64 {
    names.map(words_width).fold(0.0, f64::max)
}

fn straight(from: Place, to: Place, colour: Colour, width: f64) -> Shape {
    Shape::Line { places: vec![from, to], colour, width, is_dashed: false }
}

fn words(text: &str, at: Place, anchor: Anchor) -> Shape {
    Shape::Words { text: text.to_owned(), at, size: TEXT_SIZE, colour: Colour::INK, anchor, is_upward: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_within_the_critical_difference_are_joined() {
        assert_eq!(groups(&[1.0, 1.5, 2.2, 4.0], 1.25), [(0, 2)]);
        assert_eq!(groups(&[1.0, 2.0, 3.0, 4.0], 1.0), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(groups(&[1.0, 3.0], 1.0), []);
    }
}
