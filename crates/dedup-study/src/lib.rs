//! Canidae's figures made again: what was published, what comes out here, under which conditions, and whether the two
//! agree.
//!
//! Source: Bongo's thesis (2007), sections 8.4 and 8.5: equation 1, figures 42 to 45 and 54, table 22. Its traces are
//! lost; data here are made by seed. Everything comes out the same on every machine.
#![forbid(unsafe_code)]

mod data;
mod levels;
mod memory;
mod plot;
mod resident;
mod shapes;
mod streams;
mod tables;

use picture::Picture;
use text::Table;

/// The extent of the study.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The seed of all data.
    pub seed: u64,
    /// Segments of 32 bytes in each exchange, pictures times a thousand in each session.
    pub n_segments: usize,
}

/// A question of the paper's, with its answer here.
#[derive(Debug)]
pub struct Answer {
    /// A few words.
    pub title: &'static str,
    /// The conditions, and what is left out.
    pub conditions: String,
    /// Paper and ours, beside each other.
    pub table: Table,
    /// The conclusion.
    pub verdict: String,
    /// A picture, and the name of its file without an ending.
    pub picture: Option<(&'static str, Picture)>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 1, n_segments: 40_000 }
    }
}

/// The number of questions.
const N_ANSWERS: usize = 12;

/// All answers, one after the other.
pub fn answers(settings: Settings) -> impl Iterator<Item = Answer> {
    let all: [fn(Settings) -> Answer; N_ANSWERS] = [
        levels::one_against_two,
        levels::segment_sizes,
        levels::collisions,
        levels::groups,
        levels::fingerprints,
        streams::segmenters,
        streams::locality,
        tables::tables,
        memory::split,
        memory::search,
        shapes::smaller_segments,
        shapes::dimensions,
    ];
    all.into_iter().map(move |answer| answer(settings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_has_an_answer_that_is_the_same_again() {
        let settings = Settings { n_segments: 2_000, ..Settings::default() };
        let texts =
            || answers(settings).map(|answer| format!("{}{}", answer.table, answer.verdict)).collect::<Vec<_>>();
        let first = texts();
        assert_eq!(first.len(), N_ANSWERS);
        assert_eq!(first, texts());
        assert!(answers(settings).filter(|answer| answer.picture.is_some()).count() >= 4);
    }
}
