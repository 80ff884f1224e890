//! The choice of intervals as a word.

use predict::Intervals;
use pyo3::prelude::*;

use crate::error::{InputError, raise};

const WORDS: [(&str, Intervals); 3] =
    [("adaptive", Intervals::Adaptive), ("empirical", Intervals::Empirical), ("normal", Intervals::Gaussian)];

pub(crate) fn read_intervals(py: Python<'_>, word: &str) -> PyResult<Intervals> {
    let found = WORDS.iter().find(|(known, _)| *known == word);
    found.map(|(_, intervals)| *intervals).ok_or_else(|| raise(py, &InputError::Intervals { given: word.to_owned() }))
}

pub(crate) fn name_of(intervals: Intervals) -> &'static str {
    let found = WORDS.iter().find(|(_, known)| *known == intervals);
    found.expect("every kind of intervals has a word").0
}
