//! Trees for people: as lines of text, and as a picture with a box for each node, coloured by host, and a frame around
//! clusters.

use std::fmt::Write;

use picture::{Anchor, Colour, Picture, Place, Shape, words_width};
use units::Rank;

use crate::forest::places;
use crate::{Contributor, Host, Tree};

const BOX_HEIGHT: f64 = 34.0;
const ROW_HEIGHT: f64 = 78.0;
const GAP: f64 = 12.0;
const MARGIN: f64 = 24.0;
const TITLE_HEIGHT: f64 = 52.0;
const TEXT_SIZE: f64 = 12.0;
/// Share of a host's colour that is left in its boxes, on which words are read.
const TINT: f64 = 0.25;

/// A part below a node; ranks of one host that follow each other are one part.
#[derive(Clone, Copy)]
enum Part {
    Node(usize),
    Ranks { first: Rank, last: Rank, host: usize },
}

impl Tree {
    fn parts(&self, node: usize, places: &[Option<usize>]) -> Vec<Part> {
        let mut parts = Vec::new();
        for contributor in &self.nodes[node].contributors {
            match *contributor {
                Contributor::Node(child) => parts.push(Part::Node(child)),
                Contributor::Rank(rank) => {
                    let host = places[rank as usize].expect("each rank has a host");
                    match parts.last_mut() {
                        Some(Part::Ranks { last, host: before, .. }) if *before == host && *last + 1 == rank => {
                            *last = rank;
                        }
                        _ => parts.push(Part::Ranks { first: rank, last: rank, host }),
                    }
                }
            }
        }
        parts
    }

    fn host_of_part(&self, part: Part) -> usize {
        match part {
            Part::Node(node) => self.nodes[node].host,
            Part::Ranks { host, .. } => host,
        }
    }

    fn title(&self, hosts: &[Host]) -> String {
        let n_ranks: usize = hosts.iter().map(|host| host.ranks.len()).sum();
        let (between, order) = (self.between.name(), self.order.name());
        format!("{}: {n_ranks} ranks on {} hosts, {between}, {order} order", self.name, hosts.len())
    }

    /// The tree as text: a line for each node and for ranks that follow each other. What comes from another host is
    /// marked.
    #[must_use]
    pub fn to_lines(&self, hosts: &[Host]) -> String {
        let places = places(hosts);
        let mut text = format!("{}\n{}\n", self.title(hosts), self.facts(hosts));
        let roots: Vec<usize> = self.roots().collect();
        // What is to be written, the next one last: a part, its parent's host, and what stands before it and before
        // what is below it.
        let start = |&root: &usize| (Part::Node(root), None, String::new(), String::new());
        let mut left: Vec<(Part, Option<usize>, String, String)> = roots.iter().rev().map(start).collect();
        while let Some((part, above, before, below)) = left.pop() {
            let host = self.host_of_part(part);
            let hop = if above.is_some_and(|above| above != host) { ", by message" } else { "" };
            let name = part_name(self, part);
            let _infallible = writeln!(text, "{before}{name} on {}{hop}", place_name(&hosts[host]));
            let Part::Node(node) = part else { continue };
            let (mut branch, mut trunk) = ("└─ ", "   ");
            for part in self.parts(node, &places).into_iter().rev() {
                left.push((part, Some(host), format!("{below}{branch}"), format!("{below}{trunk}")));
                (branch, trunk) = ("├─ ", "│  ");
            }
        }
        text
    }

    /// The tree as a picture, its roots above.
    #[must_use]
    pub fn to_picture(&self, hosts: &[Host]) -> Picture {
        let places = places(hosts);
        let mut sketch = Sketch { tree: self, hosts, places: &places, boxes: Vec::new(), right: MARGIN };
        for root in self.roots() {
            sketch.put(Part::Node(root), 0);
        }
        let n_rows = sketch.boxes.iter().map(|it| it.row).max().unwrap_or(0) + 1;
        let (title, facts) = (self.title(hosts), self.facts(hosts).to_string());
        let width = sketch.right.max(2.0 * MARGIN + words_width(&title)).max(2.0 * MARGIN + words_width(&facts));
        let mut picture = Picture::blank(width, TITLE_HEIGHT + n_rows as f64 * ROW_HEIGHT + MARGIN);
        picture.write(title, Place { x: MARGIN, y: 22.0 }, 14.0);
        words(&mut picture, facts, Place { x: MARGIN, y: 40.0 }, Colour::SHADE, Anchor::Start);
        sketch.frame_clusters(&mut picture);
        sketch.boxes.iter().for_each(|it| it.draw(&sketch, &mut picture));
        picture
    }
}

fn part_name(tree: &Tree, part: Part) -> String {
    match part {
        Part::Node(node) => tree.nodes[node].name.clone(),
        Part::Ranks { first, last, .. } if first == last => format!("rank {first}"),
        Part::Ranks { first, last, .. } => format!("ranks {first}-{last}"),
    }
}

fn place_name(host: &Host) -> String {
    match &host.cluster {
        Some(cluster) => format!("{} ({cluster})", host.name),
        None => host.name.clone(),
    }
}

/// Boxes as they are put on paper.
struct Sketch<'a> {
    tree: &'a Tree,
    hosts: &'a [Host],
    places: &'a [Option<usize>],
    /// Children before their parents.
    boxes: Vec<Box>,
    /// Left edge of the paper that is still free.
    right: f64,
}

struct Box {
    part: Part,
    row: usize,
    middle: f64,
    width: f64,
    /// Reach of all that is below, itself included: its left and right edge, and its last row.
    reach: (f64, f64, usize),
    /// The cluster of all that is below, if that is one.
    cluster: Option<String>,
    /// Positions among the boxes.
    children: Vec<usize>,
}

impl Sketch<'_> {
    /// Puts a part and all below it; the parent goes over the middle of its children.
    fn put(&mut self, part: Part, row: usize) -> usize {
        let host = &self.hosts[self.tree.host_of_part(part)];
        let width = words_width(&part_name(self.tree, part)).max(words_width(&host.name)) + GAP;
        let parts = match part {
            Part::Node(node) => self.tree.parts(node, self.places),
            Part::Ranks { .. } => Vec::new(),
        };
        let left = self.right;
        let children: Vec<usize> = parts.into_iter().map(|part| self.put(part, row + 1)).collect();
        let middle = match (children.first(), children.last()) {
            (Some(&first), Some(&last)) => {
                ((self.boxes[first].middle + self.boxes[last].middle) / 2.0).max(left + width / 2.0)
            }
            _ => left + width / 2.0,
        };
        self.right = self.right.max(middle + width / 2.0 + GAP);
        let below = || children.iter().map(|&child| &self.boxes[child]);
        let reach =
            below().map(|it| it.reach).fold((middle - width / 2.0, middle + width / 2.0, row), |reach, other| {
                (reach.0.min(other.0), reach.1.max(other.1), reach.2.max(other.2))
            });
        let cluster = host.cluster.clone().filter(|cluster| below().all(|it| it.cluster.as_ref() == Some(cluster)));
        self.boxes.push(Box { part, row, middle, width, reach, cluster, children });
        self.boxes.len() - 1
    }

    /// A frame around all that is as high in the tree as it can be and of one cluster.
    fn frame_clusters(&self, picture: &mut Picture) {
        let mut is_framed = vec![false; self.boxes.len()];
        for (at, it) in self.boxes.iter().enumerate().rev() {
            let Some(cluster) = &it.cluster else { continue };
            if !is_framed[at] {
                let (left, right, last_row) = it.reach;
                let (left, right) = (left - GAP / 3.0, right + GAP / 3.0);
                let (top, bottom) = (top_of(it.row) - 18.0, top_of(last_row) + BOX_HEIGHT + 6.0);
                let corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
                let places = corners.map(|(x, y)| Place { x, y }).to_vec();
                picture.shapes.push(Shape::Line { places, colour: Colour::SHADE, width: 1.0, is_dashed: true });
                words(picture, cluster.clone(), Place { x: left + 4.0, y: top + 12.0 }, Colour::SHADE, Anchor::Start);
            }
            it.children.iter().for_each(|&child| is_framed[child] = true);
        }
    }
}

impl Box {
    fn draw(&self, sketch: &Sketch<'_>, picture: &mut Picture) {
        let top = top_of(self.row);
        let host = sketch.tree.host_of_part(self.part);
        for &child in &self.children {
            let child = &sketch.boxes[child];
            let places =
                vec![Place { x: self.middle, y: top + BOX_HEIGHT }, Place { x: child.middle, y: top_of(child.row) }];
            let is_hop = sketch.tree.host_of_part(child.part) != host;
            let (colour, width) = if is_hop { (Colour::FIT, 2.0) } else { (Colour::SHADE, 1.0) };
            picture.shapes.push(Shape::Line { places, colour, width, is_dashed: false });
        }
        // A thick line is a filled box.
        let across = |y: f64| {
            vec![Place { x: self.middle - self.width / 2.0, y }, Place { x: self.middle + self.width / 2.0, y }]
        };
        let colour = Colour::APART[host % Colour::APART.len()];
        let places = across(top + BOX_HEIGHT / 2.0);
        picture.shapes.push(Shape::Line { places, colour: tinted(colour), width: BOX_HEIGHT, is_dashed: false });
        picture.shapes.push(Shape::Line { places: across(top), colour, width: 3.0, is_dashed: false });
        let (name, host) = (part_name(sketch.tree, self.part), sketch.hosts[host].name.clone());
        words(picture, name, Place { x: self.middle, y: top + 15.0 }, Colour::INK, Anchor::Middle);
        words(picture, host, Place { x: self.middle, y: top + 29.0 }, Colour::SHADE, Anchor::Middle);
    }
}

fn top_of(row: usize) -> f64 {
    TITLE_HEIGHT + 18.0 + row as f64 * ROW_HEIGHT
}

fn tinted(Colour(red, green, blue): Colour) -> Colour {
    let tint = |part: u8| (255.0 - TINT * (255.0 - f64::from(part))) as u8;
    Colour(tint(red), tint(green), tint(blue))
}

fn words(picture: &mut Picture, text: String, at: Place, colour: Colour, anchor: Anchor) {
    picture.shapes.push(Shape::Words { text, at, size: TEXT_SIZE, colour, anchor, is_upward: false });
}
