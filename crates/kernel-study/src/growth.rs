//! Growth of a count with size: exponential, and whether that breaks at some size.

use statistics::{Line, pieces};

/// Counts against sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// Line of the logarithm of the count against the size, over all sizes.
    pub all: Line,
    /// The place where the growth breaks, if it does.
    pub break_at: Option<Break>,
}

/// A size from which on another law holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Break {
    /// The last size before.
    pub last_size: f64,
    /// The first size after.
    pub first_size: f64,
    /// The line up to the break, of the logarithm of the count.
    pub before: Line,
    /// So many times what that line has for it are there at the first size after.
    pub jump: f64,
}

/// Counts of runs that are alike differ by some percent, and no fit is taken to be better than that.
const NOISE: f64 = 0.1;
/// Sizes that make a piece.
const SIZES_MIN: usize = 3;
/// Less than this is a bend, and no break.
const JUMP_MIN: f64 = 2.0;

impl Growth {
    /// Fits `(size, count)` in ascending order of size; counts below 1 count as 1. None if there are fewer than three
    /// sizes.
    #[must_use]
    pub fn of(counts: &[(f64, f64)]) -> Option<Self> {
        let points: Vec<(f64, f64)> = counts.iter().map(|(size, count)| (*size, count.max(1.0).ln())).collect();
        if points.len() < SIZES_MIN {
            return None;
        }
        let line = |points: &[(f64, f64)]| Line::through(points.iter().copied());
        let split = pieces(&points, 2, SIZES_MIN, NOISE).get(1).map(|second| second.start);
        let break_at = split.and_then(|at| {
            let before = line(&points[..at])?;
            let (first_size, first) = points[at];
            let jump = (first - before.intercept - before.slope * first_size).exp();
            (jump >= JUMP_MIN).then_some(Break { last_size: points[at - 1].0, first_size, before, jump })
        });
        Some(Self { all: line(&points)?, break_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(count: impl Fn(f64) -> f64) -> Growth {
        let counts: Vec<_> = (1..=12).map(f64::from).map(|size| (size, count(size))).collect();
        Growth::of(&counts).unwrap()
    }

    #[test]
    fn an_exponential_trend_is_no_break() {
        let found = growth(|size| 100.0 * (0.4 * size).exp());
        assert!(found.all.r_squared > 0.99 && (found.all.slope - 0.4).abs() < 1e-9);
        assert_eq!(found.break_at, None);
    }

    #[test]
    fn a_jump_at_the_end_of_memory_is_a_break() {
        let found = growth(|size| (0.1 * size).exp() * if size < 10.0 { 1_000.0 } else { 6_000.0 });
        let broken = found.break_at.unwrap();
        assert_eq!((broken.last_size, broken.first_size), (9.0, 10.0));
        assert!((broken.jump - 6.0).abs() < 1e-6, "{broken:?}");
    }

    #[test]
    fn two_sizes_say_nothing() {
        assert_eq!(Growth::of(&[(1.0, 1.0), (2.0, 2.0)]), None);
    }
}
