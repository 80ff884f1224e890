//! Contributions of ranks to a convergence test, iteration by iteration: made by a relaxation, kept in a file,
//! replayed.
//!
//! A file is text (docs/formats/contributions.md): a first line that says what it is, then a line for each iteration
//! with a number for each strip of the grid, to all digits.

use std::fmt::Write;

use crate::grid::{Colour, Strip};
use crate::plan::{Data, PlanError};

/// The first line of a file.
const HEAD: &str = "foretop-contributions 1";

/// Sums of changes, by iteration and strip.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes(Vec<Vec<f64>>);

impl Changes {
    /// Those of a relaxation in so many strips, until their sum is below `epsilon` or so many iterations were made.
    ///
    /// # Panics
    /// If there are more strips than rows.
    #[must_use]
    pub fn of(data: Data, seed: u64, side: u32, n_strips: u32, epsilon: f64, n_iterations_max: u64) -> Self {
        assert!((1..=side).contains(&n_strips), "{n_strips} strips of {side} rows");
        let mut strips: Vec<Strip> = (0..n_strips).map(|strip| Strip::new(data, seed, side, strip, n_strips)).collect();
        let mut iterations = Vec::new();
        while iterations.len() < n_iterations_max as usize {
            let mut changes = vec![0.0; strips.len()];
            for colour in [Colour::Red, Colour::Black] {
                for at in 1..strips.len() {
                    let (above, below) = strips.split_at_mut(at);
                    above[at - 1].set_below(below[0].first());
                    below[0].set_above(above[at - 1].last());
                }
                changes.iter_mut().zip(&mut strips).for_each(|(changed, strip)| *changed += strip.relax(colour));
            }
            let changed: f64 = changes.iter().sum();
            iterations.push(changes);
            if changed < epsilon {
                break;
            }
        }
        Self(iterations)
    }

    /// Returns the number of iterations.
    #[must_use]
    pub fn n_iterations(&self) -> usize {
        self.0.len()
    }

    /// The same in fewer strips: so many neighbouring ones are made each of them.
    ///
    /// # Panics
    /// If these are more strips than there are.
    #[must_use]
    pub fn joined(&self, sizes: &[usize]) -> Self {
        let join = |changes: &Vec<f64>| {
            let mut left = &changes[..];
            let joined = sizes.iter().map(|&size| left.split_off(..size).expect("there are that many").iter().sum());
            joined.collect()
        };
        Self(self.0.iter().map(join).collect())
    }

    /// Returns by strip the number of iterations in which its own changes are below this.
    #[must_use]
    pub fn n_below(&self, epsilon: f64) -> Vec<u64> {
        let n_strips = self.0.first().map_or(0, Vec::len);
        let n_below = |strip: usize| self.0.iter().filter(|changes| changes[strip] < epsilon).count() as u64;
        (0..n_strips).map(n_below).collect()
    }

    /// Returns the text of a file of these changes.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEAD}\n");
        for changes in &self.0 {
            for (at, changed) in changes.iter().enumerate() {
                write!(text, "{}{changed}", if at == 0 { "" } else { " " }).expect("a text takes all");
            }
            text.push('\n');
        }
        text
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// The first line that is none of such a file.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let mut iterations: Vec<Vec<f64>> = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            let number_of = |word: &str| word.parse().ok().filter(|changed: &f64| *changed >= 0.0);
            let changes: Option<Vec<f64>> = line.split(' ').map(number_of).collect();
            let is_alike = |changes: &Vec<f64>| iterations.first().is_none_or(|first| first.len() == changes.len());
            match (number, changes.filter(is_alike)) {
                (1, _) if line == HEAD => {}
                (2.., Some(changes)) => iterations.push(changes),
                _ => return Err(PlanError::Contributions { line: number }),
            }
        }
        if iterations.is_empty() {
            return Err(PlanError::Contributions { line: 2 });
        }
        Ok(Self(iterations))
    }

    /// Returns the contributions of one of so many ranks: the sums of its strips. Ranks have neighbouring strips, as
    /// many each as can be.
    #[cfg(any(test, feature = "mpi"))]
    pub(crate) fn of_rank(&self, rank: u32, n_ranks: u32) -> Vec<f64> {
        let bound = |rank: u32, n_strips: usize| (rank as usize * n_strips) / n_ranks as usize;
        let own = |changes: &Vec<f64>| changes[bound(rank, changes.len())..bound(rank + 1, changes.len())].iter().sum();
        self.0.iter().map(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_what_a_relaxation_brought() {
        let changes = Changes::of(Data::Random, 1, 20, 5, 1.0, 1000);
        assert!(changes.n_iterations() > 10 && changes.n_iterations() < 1000);
        assert_eq!(Changes::parse(&changes.to_text()), Ok(changes.clone()));
        let whole: f64 = changes.0.last().unwrap().iter().sum();
        let (first, second) = (changes.of_rank(0, 2), changes.of_rank(1, 2));
        assert!(whole < 1.0 && (first.last().unwrap() + second.last().unwrap() - whole).abs() < 1e-12);
    }

    #[test]
    fn any_number_of_strips_makes_as_many_iterations() {
        let n_iterations = |n_strips| Changes::of(Data::Frosty, 1, 24, n_strips, 0.5, 1000).n_iterations();
        assert_eq!((n_iterations(1), n_iterations(24)), (n_iterations(7), n_iterations(7)));
    }

    #[test]
    fn strips_are_joined_to_those_of_clusters() {
        let changes = Changes(vec![vec![1.0, 2.0, 4.0], vec![0.5, 0.25, 0.0]]);
        let joined = changes.joined(&[1, 2]);
        assert_eq!(joined.0, [[1.0, 6.0], [0.5, 0.25]]);
        assert_eq!(joined.n_below(1.0), [1, 1]);
    }

    #[test]
    fn a_line_that_is_none_is_told() {
        for (text, line) in [("", 2), ("x", 1), ("1 2", 1), ("foretop-contributions 1\n1 2\n1", 3)] {
            assert_eq!(Changes::parse(text), Err(PlanError::Contributions { line }), "{text}");
        }
        for word in ["NaN", "-1", "x"] {
            let text = format!("foretop-contributions 1\n{word}\n");
            assert_eq!(Changes::parse(&text), Err(PlanError::Contributions { line: 2 }), "{text}");
        }
    }
}
