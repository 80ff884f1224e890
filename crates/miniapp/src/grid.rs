//! A square grid in strips of rows, one for each rank, and its relaxation (Young 1954): red points, then black ones,
//! each towards the mean of its four neighbours.
//!
//! What a point becomes depends only on neighbours of the other colour, so that any number of strips computes the same
//! bits.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::plan::Data;

/// Degrees of the top row of the frosty data.
const HOT: f64 = 27_760.0;
/// Degrees of all other rows.
const FROSTY: f64 = -273.15;
/// The random data are below this.
const RANDOM_MAX: f64 = 10_000.0;
/// Distance from the diagonal within which the tridiagonal data are not 0.
const BAND: usize = 3;

/// Points whose indices have an even sum, or an odd one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Red,
    Black,
}

/// Some rows of the grid, and one more above and below, which are the neighbours'.
#[derive(Clone, Debug)]
pub(crate) struct Strip {
    side: usize,
    first_row: usize,
    n_rows: usize,
    relaxation: f64,
    points: Vec<f64>,
}

/// Returns the factor by which points go further than to their neighbours' mean: the best one for a square's Laplace
/// equation (Young 1954).
#[must_use]
pub fn relaxation(side: u32) -> f64 {
    2.0 / (1.0 + (std::f64::consts::PI / f64::from(side - 1)).sin())
}

impl Strip {
    /// The strip of one of so many ranks, each of which has at least one row.
    pub(crate) fn new(data: Data, seed: u64, side: u32, rank: u32, n_ranks: u32) -> Self {
        let (side, rank, n_ranks) = (side as usize, rank as usize, n_ranks as usize);
        let bound = |rank: usize| rank * side / n_ranks;
        let (first_row, end) = (bound(rank), bound(rank + 1));
        let relaxation = relaxation(side as u32);
        let mut strip = Self {
            side,
            first_row,
            n_rows: end - first_row,
            relaxation,
            points: vec![0.0; (end - first_row + 2) * side],
        };
        for row in first_row..end {
            let at = strip.start(row);
            fill(&mut strip.points[at..at + side], data, seed, row);
        }
        strip
    }

    /// Returns the index at which a row of the grid begins.
    fn start(&self, row: usize) -> usize {
        (row + 1 - self.first_row) * self.side
    }

    /// Moves all points of a colour, and gives the sum of the sizes of their changes. Rows and columns at the rim stay.
    pub(crate) fn relax(&mut self, colour: Colour) -> f64 {
        let side = self.side;
        let mut changed = 0.0;
        for row in self.first_row.max(1)..(self.first_row + self.n_rows).min(side - 1) {
            let start = self.start(row);
            let first = 1 + usize::from((row + 1) % 2 != usize::from(colour == Colour::Black));
            for at in (start + first..start + side - 1).step_by(2) {
                let points = &mut self.points;
                let mean = 0.25 * (points[at - side] + points[at + side] + points[at - 1] + points[at + 1]);
                let change = self.relaxation * (mean - points[at]);
                points[at] += change;
                changed += change.abs();
            }
        }
        changed
    }

    /// The row that the strip above needs.
    pub(crate) fn first(&self) -> &[f64] {
        &self.points[self.side..2 * self.side]
    }

    /// The row that the strip below needs.
    pub(crate) fn last(&self) -> &[f64] {
        &self.points[self.n_rows * self.side..(self.n_rows + 1) * self.side]
    }

    /// Takes the last row of the strip above.
    pub(crate) fn set_above(&mut self, row: &[f64]) {
        self.points[..self.side].copy_from_slice(row);
    }

    /// Takes the first row of the strip below.
    pub(crate) fn set_below(&mut self, row: &[f64]) {
        self.points[(self.n_rows + 1) * self.side..].copy_from_slice(row);
    }

    /// The strip's points folded to a number that, summed over strips, tells grids apart and does not depend on how
    /// they are cut.
    pub(crate) fn checksum(&self) -> u64 {
        let own = &self.points[self.side..(self.n_rows + 1) * self.side];
        let place = |at: usize| (self.first_row * self.side + at) as u64;
        let mix = |(at, point): (usize, &f64)| {
            (point.to_bits() ^ place(at)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31)
        };
        own.iter().enumerate().map(mix).fold(0, u64::wrapping_add)
    }
}

/// Fills a row with its data at the start: by its place alone, whichever rank has it.
fn fill(row: &mut [f64], data: Data, seed: u64, idx: usize) {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    chance.set_stream(idx as u64);
    for (column, point) in row.iter_mut().enumerate() {
        *point = match data {
            Data::Frosty => {
                if idx == 0 {
                    HOT
                } else {
                    FROSTY
                }
            }
            Data::Tridiagonal if column.abs_diff(idx) > BAND => 0.0,
            Data::Tridiagonal | Data::Random => chance.random_range(0.0..RANDOM_MAX),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(strips: &mut [Strip]) {
        for at in 1..strips.len() {
            let (above, below) = (strips[at - 1].last().to_vec(), strips[at].first().to_vec());
            strips[at].set_above(&above);
            strips[at - 1].set_below(&below);
        }
    }

    /// The checksum and the last sum of changes after so many iterations on so many strips.
    fn relaxed(data: Data, side: u32, n_strips: u32, n_iterations: u32) -> (u64, f64, Vec<Strip>) {
        let mut strips: Vec<Strip> = (0..n_strips).map(|rank| Strip::new(data, 1, side, rank, n_strips)).collect();
        let mut changed = 0.0;
        for _ in 0..n_iterations {
            changed = 0.0;
            for colour in [Colour::Red, Colour::Black] {
                exchange(&mut strips);
                changed += strips.iter_mut().map(|strip| strip.relax(colour)).sum::<f64>();
            }
        }
        (strips.iter().map(Strip::checksum).fold(0, u64::wrapping_add), changed, strips)
    }

    #[test]
    fn any_number_of_strips_computes_the_same_bits() {
        for data in [Data::Frosty, Data::Tridiagonal, Data::Random] {
            let (alone, ..) = relaxed(data, 13, 1, 20);
            for n_strips in [2, 3, 13] {
                assert_eq!(relaxed(data, 13, n_strips, 20).0, alone, "{data:?} in {n_strips} strips");
            }
            assert_ne!(relaxed(data, 13, 1, 19).0, alone, "{data:?}");
        }
    }

    #[test]
    fn in_the_end_each_point_is_the_mean_of_its_neighbours() {
        let side = 33;
        let (_, changed, strips) = relaxed(Data::Frosty, side, 1, 300);
        assert!(changed < 1e-6, "{changed}");
        let (points, side) = (&strips[0].points, side as usize);
        for (row, column) in [(1, 1), (5, 17), (16, 16), (31, 31)] {
            let at = (row + 1) * side + column;
            let mean = 0.25 * (points[at - 1] + points[at + 1] + points[at - side] + points[at + side]);
            assert!((points[at] - mean).abs() < 1e-6, "{row} {column}");
        }
        // The sides have a quarter of the weight each in the middle of a square.
        let middle = points[(16 + 1) * side + 16];
        assert!((middle - (HOT + 3.0 * FROSTY) / 4.0).abs() < 1e-3, "{middle}");
    }

    #[test]
    fn tridiagonal_data_are_zero_but_for_seven_diagonals() {
        let strip = Strip::new(Data::Tridiagonal, 1, 20, 0, 1);
        let n_set = strip.points.iter().filter(|point| **point != 0.0).count();
        assert_eq!(n_set, 20 + 2 * (19 + 18 + 17));
    }
}
