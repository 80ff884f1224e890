//! The tree with edges as thick as their contributors were last, and the heaviest path in another colour.

use picture::{Anchor, Colour, Picture, Place, Shape, words_width};

use crate::{Analysis, From};

const LEAF_WIDTH: f64 = 46.0;
const ROW_HEIGHT: f64 = 92.0;
const MARGIN: f64 = 30.0;
const TOP: f64 = 84.0;
const THICKEST: f64 = 12.0;
const TEXT_SIZE: f64 = 12.0;
/// Distance from a node to its name.
const LABEL_ASIDE: f64 = 10.0;
/// Share of calls below which a contributor that was last gets no figure.
const TOLD: f64 = 0.05;

/// Roots above, ranks below.
#[must_use]
pub fn last_arrival_tree(analysis: &Analysis) -> Picture {
    let path: Vec<(usize, usize)> = analysis.last_arrivals().iter().map(|edge| (edge.node, edge.contributor)).collect();
    let mut sketch = Sketch {
        analysis,
        path,
        places: vec![Place { x: 0.0, y: 0.0 }; analysis.nodes.len()],
        n_leaves: 0,
        leaves: Vec::new(),
        lowest: 0.0,
    };
    let roots: Vec<usize> = (0..analysis.nodes.len()).filter(|&node| analysis.nodes[node].parent.is_none()).collect();
    roots.iter().for_each(|&root| sketch.put(root, 0));
    let title = format!("Last arrivals in {}, {} calls", analysis.title(), analysis.n_calls);
    let culprit = analysis.last_arrivals().last().map_or(String::new(), |edge| edge.name.clone());
    let caption = format!(
        "The thicker an edge, the more often its lower end was the last to arrive. The heaviest path ends in {culprit}."
    );
    let aside = sketch.make_room();
    let width = (2.0 * MARGIN + sketch.n_leaves as f64 * LEAF_WIDTH + aside).max(2.0 * MARGIN + words_width(&caption));
    let mut picture = Picture::blank(width, sketch.lowest + 56.0);
    picture.write(title, Place { x: MARGIN, y: 28.0 }, 16.0);
    picture.shapes.push(words(caption, Place { x: MARGIN, y: 48.0 }, Colour::SHADE, Anchor::Start));
    sketch.draw(&mut picture);
    picture
}

struct Sketch<'a> {
    analysis: &'a Analysis,
    /// Node and contributor of each edge of the heaviest path.
    path: Vec<(usize, usize)>,
    places: Vec<Place>,
    n_leaves: usize,
    /// Node, contributor and place of each rank.
    leaves: Vec<(usize, usize, Place)>,
    lowest: f64,
}

impl Sketch<'_> {
    fn put(&mut self, node: usize, row: usize) {
        let y = |row: usize| TOP + row as f64 * ROW_HEIGHT;
        let mut ends = Vec::new();
        for (i, contributor) in self.analysis.nodes[node].contributors.iter().enumerate() {
            match contributor.from {
                From::Node(child) => {
                    self.put(child, row + 1);
                    ends.push(self.places[child].x);
                }
                From::Rank(_) => {
                    let x = MARGIN + (self.n_leaves as f64 + 0.5) * LEAF_WIDTH;
                    self.n_leaves += 1;
                    self.leaves.push((node, i, Place { x, y: y(row + 1) }));
                    ends.push(x);
                    self.lowest = self.lowest.max(y(row + 1));
                }
            }
        }
        let middle = 0.5 * (ends.first().copied().unwrap_or(MARGIN) + ends.last().copied().unwrap_or(MARGIN));
        self.places[node] = Place { x: middle, y: y(row) };
    }

    /// A node's name, and the side of it where no edge comes from.
    fn label(&self, node: usize) -> (String, Anchor) {
        let own = &self.analysis.nodes[node];
        let anchor = match own.parent.map(|parent| self.places[parent].x) {
            None => Anchor::Middle,
            Some(above) if above < self.places[node].x => Anchor::Start,
            Some(_) => Anchor::End,
        };
        (format!("{} ({})", own.name, own.host), anchor)
    }

    /// Moves all to the right until no name begins outside. Gives how much wider that and names on the other side make
    /// it.
    fn make_room(&mut self) -> f64 {
        let right = 2.0 * MARGIN + self.n_leaves as f64 * LEAF_WIDTH;
        let (mut before, mut behind) = (0.0_f64, 0.0_f64);
        for (node, place) in self.places.iter().enumerate() {
            let (label, anchor) = self.label(node);
            let width = words_width(&label);
            let (left_end, right_end) = match anchor {
                Anchor::Start => (place.x, place.x + LABEL_ASIDE + width),
                Anchor::Middle => (place.x - 0.5 * width, place.x + 0.5 * width),
                Anchor::End => (place.x - LABEL_ASIDE - width, place.x),
            };
            before = before.max(-left_end);
            behind = behind.max(right_end - right);
        }
        let leaves = self.leaves.iter_mut().map(|leaf| &mut leaf.2);
        self.places.iter_mut().chain(leaves).for_each(|place| place.x += before);
        before + behind
    }

    fn draw(&self, picture: &mut Picture) {
        for (node, own) in self.analysis.nodes.iter().enumerate() {
            for (i, contributor) in own.contributors.iter().enumerate() {
                let end = match contributor.from {
                    From::Node(child) => self.places[child],
                    From::Rank(_) => self
                        .leaves
                        .iter()
                        .find(|leaf| (leaf.0, leaf.1) == (node, i))
                        .map_or(self.places[node], |leaf| leaf.2),
                };
                self.draw_edge(picture, (node, i), self.places[node], end);
            }
        }
        for (node, at) in self.places.iter().enumerate() {
            picture.shapes.push(Shape::Disc { centre: *at, radius: 5.0, colour: Colour::INK });
            let (label, anchor) = self.label(node);
            let x = match anchor {
                Anchor::Start => at.x + LABEL_ASIDE,
                Anchor::Middle => at.x,
                Anchor::End => at.x - LABEL_ASIDE,
            };
            picture.shapes.push(words(label, Place { x, y: at.y - 10.0 }, Colour::INK, anchor));
        }
        for &(node, i, place) in &self.leaves {
            let is_culprit = self.path.last() == Some(&(node, i));
            let colour = if is_culprit { Colour::FIT } else { Colour::INK };
            picture.shapes.push(Shape::Disc { centre: place, radius: 4.0, colour });
            let From::Rank(rank) = self.analysis.nodes[node].contributors[i].from else { continue };
            let mut write = |text: String, below: f64, colour| {
                picture.shapes.push(words(text, Place { x: place.x, y: place.y + below }, colour, Anchor::Middle));
            };
            write(rank.to_string(), 20.0, colour);
            let share = self.share((node, i));
            if share >= TOLD {
                write(format!("{:.0} %", 100.0 * share), 36.0, if is_culprit { Colour::FIT } else { Colour::SHADE });
            }
        }
    }

    fn share(&self, (node, contributor): (usize, usize)) -> f64 {
        let n_last = self.analysis.nodes[node].contributors[contributor].n_last();
        n_last as f64 / self.analysis.n_calls.max(1) as f64
    }

    fn draw_edge(&self, picture: &mut Picture, edge: (usize, usize), from: Place, to: Place) {
        let share = self.share(edge);
        let colour = if self.path.contains(&edge) { Colour::FIT } else { Colour::DATA };
        let width = 1.0 + share * (THICKEST - 1.0);
        picture.shapes.push(Shape::Line { places: vec![from, to], colour, width, is_dashed: false });
        let is_node = matches!(self.analysis.nodes[edge.0].contributors[edge.1].from, From::Node(_));
        if share >= TOLD && is_node {
            // Beside the middle of the edge, on the side that looks away from the root's other edges.
            let (aside, anchor) = if to.x < from.x { (-12.0, Anchor::End) } else { (12.0, Anchor::Start) };
            let at = Place { x: 0.5 * (from.x + to.x) + aside, y: 0.5 * (from.y + to.y) - 4.0 };
            picture.shapes.push(words(format!("{:.0} %", 100.0 * share), at, colour, anchor));
        }
    }
}

fn words(text: String, at: Place, colour: Colour, anchor: Anchor) -> Shape {
    Shape::Words { text, at, size: TEXT_SIZE, colour, anchor, is_upward: false }
}
