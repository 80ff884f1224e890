//! Over-relaxation that is tuned to a share of blocked time: once, at 1:1, so that all ratios relax the same grid.

use miniapp::record::{Relaxed, kind};
use mpi_run::Outcome;

/// Option of `foretop-miniapp sor` that makes the grid so large that ranks are blocked for a share of the time.
const SHARE: &str = "--blocked-share";
/// Option in its place, with the points on a side that were found.
const POINTS: &str = "--points";

/// Whether a program tunes itself, so that each ratio would have a grid of its own.
pub fn is_tuned(program: &[String]) -> bool {
    program.iter().any(|word| word == "sor") && program.iter().any(|word| option_of(word).0 == SHARE)
}

/// Returns the program with the side that was found in the place of the share.
pub fn with_side(program: &[String], side: u32) -> Vec<String> {
    let mut words = Vec::new();
    let mut given = program.iter();
    while let Some(word) = given.next() {
        match option_of(word) {
            (SHARE, value) => {
                if value.is_none() {
                    given.next();
                }
                words.extend([POINTS.to_owned(), side.to_string()]);
            }
            _ => words.push(word.clone()),
        }
    }
    words
}

/// Returns the side of the grid in a result of the program.
pub fn side_of(outcome: &Outcome) -> Option<u32> {
    outcome.all::<Relaxed>(kind::SOR).ok()?.first().map(|seen| seen.side)
}

fn option_of(word: &str) -> (&str, Option<&str>) {
    word.split_once('=').map_or((word, None), |(option, value)| (option, Some(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_side_stands_in_the_place_of_the_share_however_it_is_written() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for given in ["m sor --blocked-share 50% --allreduce none", "m sor --blocked-share=50% --allreduce none"] {
            assert!(is_tuned(&words(given)));
            assert_eq!(with_side(&words(given), 900), words("m sor --points 900 --allreduce none"));
        }
        assert!(!is_tuned(&words("m sor --points 900")) && !is_tuned(&words("other --blocked-share 50%")));
    }
}
