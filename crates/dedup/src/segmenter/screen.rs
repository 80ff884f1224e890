//! Segments of two dimensions: a grid, Varg's columns with rows that the content chooses, content in both dimensions,
//! and squares.
//!
//! Source: Stødle, Bongo et al., "Varg"; Bongo's thesis (2007), sections 7.5 and 8.5. Sizes are in elements, such as
//! pixels.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::polynomial::{Part, Polynomial, columns, is_selected, rows};
use super::{Area, Field, Segmenter};

/// Tiles of one size wherever they are, as of Hextile and MPEG: a scroll by one row changes all of them.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// The side, at least 1.
    pub side: usize,
}

/// Rule for the rows and columns of elements that may begin a segment.
#[derive(Clone, Copy, Debug)]
pub struct Anchoring {
    /// Number of bits of the hash of an anchor that are zero, 1 to 32.
    pub bits: u32,
    /// No anchor is nearer to the last one.
    pub n_min: usize,
    /// More rows than this that are all the same are a segment of their own; `None` if that does not matter.
    pub n_similar: Option<usize>,
}

/// Columns of a fixed width with rows that the content chooses, or the same with rows and columns exchanged where the
/// picture moved sideways.
#[derive(Clone, Debug)]
pub struct Varg {
    width: usize,
    anchoring: Anchoring,
    /// Samples of the last field; `None` if movement is not looked for.
    seen: Option<[HashSet<u64>; 2]>,
}

/// Large tiles, cut at columns that the content chooses, and the strips between at rows that the content chooses.
#[derive(Clone, Copy, Debug)]
pub struct Tiles {
    /// The side of the tiles, at least 1.
    pub side: usize,
    /// The rule for the places to cut.
    pub anchoring: Anchoring,
}

/// Squares whose hash is selected, wherever they are: they overlap and leave holes.
#[derive(Clone, Copy, Debug)]
pub struct Squares {
    /// The side, at least 1.
    pub side: usize,
    /// Number of bits of a selected hash that are zero, 1 to 32.
    pub bits: u32,
}

/// One in 32 rows and columns says where the picture moved.
const SAMPLE_BITS: u32 = 5;

impl Default for Anchoring {
    /// Returns the values tuned in section 8.5: an anchor in 8 rows, none nearer than 8, and more than 8 equal rows by
    /// themselves.
    fn default() -> Self {
        Self { bits: 3, n_min: 8, n_similar: Some(8) }
    }
}

impl Varg {
    /// Columns of `width` elements, at least 1.
    #[must_use]
    pub fn new(width: usize, anchoring: Anchoring) -> Self {
        Self { width, anchoring, seen: Some(Default::default()) }
    }

    /// One that always cuts columns.
    #[must_use]
    pub fn without_movement(width: usize, anchoring: Anchoring) -> Self {
        Self { width, anchoring, seen: None }
    }

    /// Whether more of the sampled columns than of the sampled rows were in the last field as well.
    fn moved_sideways(&mut self, field: &Field<'_>) -> bool {
        let Some(seen) = &mut self.seen else {
            return false;
        };
        let whole = field.whole();
        let sampled = [rows(field, whole), columns(field, whole)]
            .map(|hashes| hashes.into_iter().filter(|&hash| is_selected(hash, SAMPLE_BITS)).collect::<HashSet<_>>());
        let share = |i: usize| sampled[i].intersection(&seen[i]).count() as f64 / sampled[i].len().max(1) as f64;
        let is_sideways = share(1) > share(0);
        *seen = sampled;
        is_sideways
    }
}

impl Segmenter for Grid {
    fn cut(&mut self, field: &Field<'_>) -> Vec<Area> {
        tiles(field.whole(), self.side, self.side).map(|part| field.area(part)).collect()
    }
}

impl Segmenter for Varg {
    fn cut(&mut self, field: &Field<'_>) -> Vec<Area> {
        let whole = field.whole();
        let mut areas = Vec::new();
        if self.moved_sideways(field) {
            for part in tiles(whole, whole.width, self.width) {
                areas.extend(across(field, part, &self.anchoring).map(|part| field.area(part)));
            }
        } else {
            for part in tiles(whole, self.width, whole.height) {
                areas.extend(down(field, part, &self.anchoring).map(|part| field.area(part)));
            }
        }
        areas
    }
}

impl Segmenter for Tiles {
    fn cut(&mut self, field: &Field<'_>) -> Vec<Area> {
        let mut areas = Vec::new();
        for tile in tiles(field.whole(), self.side, self.side) {
            for strip in across(field, tile, &self.anchoring) {
                areas.extend(down(field, strip, &self.anchoring).map(|part| field.area(part)));
            }
        }
        areas
    }
}

impl Segmenter for Squares {
    fn cut(&mut self, field: &Field<'_>) -> Vec<Area> {
        let (side, whole) = (self.side, field.whole());
        if whole.width < side || whole.height < side {
            return Vec::new();
        }
        let down = Polynomial::down(side);
        // Hashes of the last rows' windows, the oldest of which leave first, and of the squares that end in this row.
        let mut windows: Vec<Vec<u64>> = Vec::with_capacity(side);
        let mut squares = vec![0; whole.width - side + 1];
        let mut latest: HashMap<u64, (usize, usize)> = HashMap::new();
        let mut areas = Vec::new();
        for bottom in 0..whole.height {
            let row = row_windows(field, bottom, side);
            if bottom < side {
                squares.iter_mut().zip(&row).for_each(|(hash, &window)| *hash = down.enter(*hash, window));
                windows.push(row);
            } else {
                let leaving = std::mem::replace(&mut windows[bottom % side], row);
                let entering = &windows[bottom % side];
                for (hash, (&entering, &leaving)) in squares.iter_mut().zip(entering.iter().zip(&leaving)) {
                    *hash = down.roll(*hash, entering, leaving);
                }
            }
            let Some(y) = (bottom + 1).checked_sub(side) else {
                continue;
            };
            for (x, &hash) in squares.iter().enumerate() {
                if !is_selected(hash, self.bits) {
                    continue;
                }
                // In a plane of one colour all squares are the same: those side by side are enough.
                let overlaps = |&(x0, y0): &(usize, usize)| x.abs_diff(x0) < side && y - y0 < side;
                if latest.get(&hash).is_none_or(|at| !overlaps(at)) {
                    latest.insert(hash, (x, y));
                    areas.push(field.area(Part { x, y, width: side, height: side }));
                }
            }
        }
        areas
    }
}

/// The hashes of all windows of `side` elements in a row.
fn row_windows(field: &Field<'_>, y: usize, side: usize) -> Vec<u64> {
    let along = Polynomial::along(side);
    let mut hash = (0..side).fold(0, |hash, x| along.enter(hash, field.element(x, y)));
    let mut hashes = vec![hash];
    for x in side..field.whole().width {
        hash = along.roll(hash, field.element(x, y), field.element(x - side, y));
        hashes.push(hash);
    }
    hashes
}

/// Tiles from left to right, then down; those at the edge are smaller.
fn tiles(part: Part, width: usize, height: usize) -> impl Iterator<Item = Part> {
    let ys = (0..part.height).step_by(height.max(1));
    ys.flat_map(move |y| {
        (0..part.width).step_by(width.max(1)).map(move |x| Part {
            x: part.x + x,
            y: part.y + y,
            width: width.min(part.width - x),
            height: height.min(part.height - y),
        })
    })
}

/// A part cut between rows.
fn down(field: &Field<'_>, part: Part, anchoring: &Anchoring) -> impl Iterator<Item = Part> {
    let stretches = anchoring.stretches(&rows(field, part));
    stretches.into_iter().map(move |range| Part { y: part.y + range.start, height: range.len(), ..part })
}

/// A part cut between columns.
fn across(field: &Field<'_>, part: Part, anchoring: &Anchoring) -> impl Iterator<Item = Part> {
    let stretches = anchoring.stretches(&columns(field, part));
    stretches.into_iter().map(move |range| Part { x: part.x + range.start, width: range.len(), ..part })
}

impl Anchoring {
    /// Cuts rows with these hashes.
    fn stretches(&self, hashes: &[u64]) -> Vec<Range<usize>> {
        let (mut stretches, mut begin, mut at) = (Vec::new(), 0, 0);
        while at < hashes.len() {
            let n_same = hashes[at..].iter().take_while(|&&hash| hash == hashes[at]).count();
            if self.n_similar.is_some_and(|n_similar| n_same > n_similar) {
                if begin < at {
                    stretches.push(begin..at);
                }
                stretches.push(at..at + n_same);
                (begin, at) = (at + n_same, at + n_same);
                continue;
            }
            if at - begin >= self.n_min.max(1) && is_selected(hashes[at], self.bits) {
                stretches.push(begin..at);
                begin = at;
            }
            at += 1;
        }
        if begin < hashes.len() {
            stretches.push(begin..hashes.len());
        }
        stretches
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check_tiles, repetitive, varied};
    use super::*;

    const WIDTH: usize = 60;
    const UNIT: usize = 3;

    /// A picture of noise with a plane of one colour in it.
    fn picture(height: usize) -> Vec<u8> {
        let mut bytes = varied(WIDTH * UNIT * height);
        let n_plane = bytes.len() / 3;
        bytes[n_plane..2 * n_plane].fill(7);
        bytes
    }

    fn field(bytes: &[u8]) -> Field<'_> {
        Field::rows(bytes, WIDTH * UNIT, UNIT).unwrap()
    }

    #[test]
    fn methods_that_tile_leave_nothing_out() {
        for height in [0, 1, 7, 100] {
            let bytes = picture(height);
            let field = field(&bytes);
            check_tiles(&mut Grid { side: 16 }, &field);
            check_tiles(&mut Varg::new(16, Anchoring::default()), &field);
            check_tiles(&mut Tiles { side: 32, anchoring: Anchoring::default() }, &field);
        }
    }

    #[test]
    fn a_grid_is_where_it_is() {
        let bytes = picture(20);
        let areas = Grid { side: 16 }.cut(&field(&bytes));
        assert_eq!(areas.len(), 8);
        assert_eq!(areas[7], Area { x: 48 * UNIT, y: 16, width: 12 * UNIT, height: 4 });
    }

    /// The rule by its words: which rows have `n` followers like themselves, and which begin a segment.
    fn naive(anchoring: &Anchoring, hashes: &[u64]) -> Vec<Range<usize>> {
        let mut is_similar = vec![false; hashes.len()];
        if let Some(n) = anchoring.n_similar {
            for i in 0..hashes.len().saturating_sub(n) {
                if hashes[i..=i + n].iter().all(|&hash| hash == hashes[i]) {
                    is_similar[i..=i + n].fill(true);
                }
            }
        }
        let mut starts = vec![0];
        for i in 1..hashes.len() {
            let is_edge = is_similar[i] != is_similar[i - 1] || is_similar[i] && hashes[i] != hashes[i - 1];
            let is_far = i - starts[starts.len() - 1] >= anchoring.n_min;
            if is_edge || !is_similar[i] && is_far && is_selected(hashes[i], anchoring.bits) {
                starts.push(i);
            }
        }
        let ends = starts[1..].iter().copied().chain([hashes.len()]);
        starts.iter().copied().zip(ends).map(|(start, end)| start..end).filter(|range| !range.is_empty()).collect()
    }

    #[test]
    fn anchors_are_where_the_rule_by_its_words_says() {
        let few: Vec<u64> = repetitive(3_000).into_iter().map(|byte| u64::from(byte / 32)).collect();
        let many: Vec<u64> = varied(3_000).into_iter().map(u64::from).collect();
        let mut runs = many.clone();
        runs[100..200].fill(1);
        runs[200..250].fill(2);
        runs[0..9].fill(3);
        for hashes in [few, many, runs, Vec::new()] {
            for n_min in [1, 8] {
                for n_similar in [None, Some(2), Some(8)] {
                    let anchoring = Anchoring { bits: 2, n_min, n_similar };
                    assert_eq!(anchoring.stretches(&hashes), naive(&anchoring, &hashes), "{anchoring:?}");
                }
            }
        }
    }

    #[test]
    fn a_scroll_keeps_most_segments_and_a_grid_none() {
        let bytes = varied(WIDTH * UNIT * 400);
        let contents = |segmenter: &mut dyn Segmenter, bytes: &[u8]| -> HashSet<Vec<u8>> {
            let field = field(bytes);
            segmenter.cut(&field).into_iter().map(|area| field.taken(area)).collect()
        };
        let scrolled = &bytes[WIDTH * UNIT * 3..];
        let share = |segmenter: &mut dyn Segmenter| {
            let (before, after) = (contents(segmenter, &bytes), contents(segmenter, scrolled));
            after.intersection(&before).count() as f64 / after.len() as f64
        };
        assert!(share(&mut Varg::new(16, Anchoring::default())) > 0.9);
        assert!(share(&mut Grid { side: 16 }) < 0.01);
        assert!(share(&mut Squares { side: 8, bits: 5 }) > 0.9);
    }

    #[test]
    fn movement_to_the_side_is_seen() {
        let (width, height, shift) = (200, 80, 3);
        let wide = varied((width + shift) * height);
        let shot = |left: usize| -> Vec<u8> {
            wide.chunks(width + shift).flat_map(|row| row[left..left + width].to_vec()).collect()
        };
        let (before, after) = (shot(0), shot(shift));
        let mut varg = Varg::new(16, Anchoring::default());
        let field = |bytes| Field::rows(bytes, width, 1).unwrap();
        assert!(varg.cut(&field(&before)).iter().any(|area| area.width == 16 && area.height != 16));
        assert!(varg.cut(&field(&after)).iter().all(|area| area.height == 16), "it does not cut bands");
        let mut still = Varg::without_movement(16, Anchoring::default());
        still.cut(&field(&before));
        assert!(still.cut(&field(&after)).iter().any(|area| area.height != 16));
    }

    #[test]
    fn squares_are_where_each_hash_by_itself_says() {
        let bytes = picture(40);
        let field = field(&bytes);
        let (side, bits) = (8, 4);
        let naive = |x: usize, y: usize| {
            let (along, down) = (Polynomial::along(side), Polynomial::down(side));
            (y..y + side).fold(0, |hash, y| {
                let row = (x..x + side).fold(0, |hash, x| along.enter(hash, field.element(x, y)));
                down.enter(hash, row)
            })
        };
        let mut taken: Vec<(u64, usize, usize)> = Vec::new();
        for y in 0..=40 - side {
            for x in 0..=WIDTH - side {
                let hash = naive(x, y);
                let latest = taken.iter().rev().find(|(known, ..)| *known == hash);
                let overlaps = latest.is_some_and(|&(_, x0, y0)| x.abs_diff(x0) < side && y - y0 < side);
                if is_selected(hash, bits) && !overlaps {
                    taken.push((hash, x, y));
                }
            }
        }
        let expected: Vec<Area> =
            taken.iter().map(|&(_, x, y)| Area { x: x * UNIT, y, width: side * UNIT, height: side }).collect();
        assert!(expected.len() > 20);
        assert_eq!(Squares { side, bits }.cut(&field), expected);
    }
}
