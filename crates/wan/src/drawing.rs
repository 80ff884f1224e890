//! Sites and links as a picture.

use std::f64::consts::TAU;

use picture::{Anchor, Colour, Picture, Place, Shape};

use crate::plan::Plan;

/// Width and height of the paper, and distance of the sites from its middle.
const SIDE: f64 = 900.0;
const HEIGHT_OF_A_ROW: f64 = 260.0;
const RADIUS: f64 = 280.0;
/// Radius of a site's disc.
const DISC: f64 = 9.0;
/// Free space between a site and the end of an arrow, and between the arrows of the two directions.
const GAP: f64 = 22.0;
const APART: f64 = 14.0;
/// Size of the head of an arrow.
const HEAD: f64 = 9.0;
const TEXT_SIZE: f64 = 12.0;
const LINE_HEIGHT: f64 = 16.0;
/// Greatest number of hosts that are named; more are counted.
const HOSTS_NAMED: usize = 6;

/// Draws sites with their hosts in a circle, two beside each other, and an arrow for each direction of a link.
#[must_use]
pub fn draw(plan: &Plan) -> Picture {
    let n = plan.sites.len();
    let height = if n <= 2 { HEIGHT_OF_A_ROW } else { SIDE };
    let mut picture = Picture::blank(SIDE, height);
    let place = |site: usize| {
        // From the left on, around clockwise.
        let angle = TAU * (0.5 + site as f64 / n as f64);
        let radius = if n == 1 { 0.0 } else { RADIUS };
        Place { x: 0.5 * SIDE + radius * angle.cos(), y: 0.5 * height + radius * angle.sin() }
    };
    for (idx, link) in plan.links.iter().enumerate() {
        let colour = Colour::APART[idx % Colour::APART.len()];
        arrow(&mut picture, place(link.from), place(link.to), colour, &link.description.to_string());
    }
    for (idx, site) in plan.sites.iter().enumerate() {
        let centre = place(idx);
        picture.shapes.push(Shape::Disc { centre, radius: DISC, colour: Colour::INK });
        let hosts = site.hosts.iter().take(HOSTS_NAMED).cloned();
        let more = site.hosts.len().saturating_sub(HOSTS_NAMED);
        let more = (more > 0).then(|| format!("and {more} more"));
        let lines = std::iter::once(site.name.clone()).chain(hosts).chain(more);
        for (row, text) in lines.enumerate() {
            let at = Place { x: centre.x, y: centre.y + DISC + (row + 1) as f64 * LINE_HEIGHT };
            let colour = if row == 0 { Colour::INK } else { Colour::SHADE };
            picture.shapes.push(words(text, at, colour));
        }
    }
    picture
}

/// Draws an arrow to the left of the straight line, as seen on the way, so that the way back has its own.
fn arrow(picture: &mut Picture, from: Place, to: Place, colour: Colour, label: &str) {
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let length = dx.hypot(dy);
    let (dx, dy) = (dx / length, dy / length);
    let at = |along: f64, aside: f64| Place {
        x: from.x + dx * along + dy * (APART + aside),
        y: from.y + dy * along - dx * (APART + aside),
    };
    let (begin, tip) = (at(GAP, 0.0), at(length - GAP, 0.0));
    let line = |places: Vec<Place>| Shape::Line { places, colour, width: 2.0, is_dashed: false };
    picture.shapes.push(line(vec![begin, tip]));
    let barb = |aside: f64| at(length - GAP - HEAD, aside);
    picture.shapes.push(line(vec![barb(0.5 * HEAD), tip, barb(-0.5 * HEAD)]));
    // Nearer to where it begins: labels of the two directions would meet in the middle.
    let mut beside = at(0.4 * length, LINE_HEIGHT);
    beside.y += 0.5 * TEXT_SIZE;
    picture.shapes.push(words(label.to_owned(), beside, colour));
}

fn words(text: String, at: Place, colour: Colour) -> Shape {
    Shape::Words { text, at, size: TEXT_SIZE, colour, anchor: Anchor::Middle, is_upward: false }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn all_is_on_the_paper_and_each_direction_has_an_arrow_of_its_own() {
        let site = |name: &str| format!("[[site]]\nname = \"{name}\"\nhosts = [\"{name}0\", \"{name}1\"]\n");
        let link = |from: &str, to: &str| format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nlatency = \"10ms\"\n");
        for names in [&["a"][..], &["a", "b"], &["a", "b", "c"]] {
            let mut text = "format = 1\n".to_owned();
            text.extend(names.iter().map(|name| site(name)));
            text.extend(names.windows(2).flat_map(|two| [link(two[0], two[1]), link(two[1], two[0])]));
            let picture = draw(&Plan::parse(&text, Path::new("")).unwrap());
            let mut starts = Vec::new();
            let mut told = Vec::new();
            for shape in &picture.shapes {
                let places = match shape {
                    Shape::Line { places, .. } | Shape::Area { places, .. } => places.clone(),
                    Shape::Disc { centre, .. } => vec![*centre],
                    Shape::Words { text, at, .. } => {
                        told.push(text.as_str());
                        vec![*at]
                    }
                };
                assert!(
                    places
                        .iter()
                        .all(|at| (0.0..picture.width).contains(&at.x) && (0.0..picture.height).contains(&at.y))
                );
                starts.extend(places.first().filter(|_| places.len() == 2).map(|at| (at.x.round(), at.y.round())));
            }
            let n_links = 2 * (names.len() - 1);
            starts.dedup();
            assert_eq!(starts.len(), n_links);
            assert_eq!(told.iter().filter(|text| **text == "latency 10ms").count(), n_links);
            assert!(names.iter().all(|name| told.contains(name)));
        }
    }
}
