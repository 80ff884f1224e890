//! Cases that share a window, and windows that are far enough apart to count as separate evidence.

use std::collections::BTreeMap;

use crate::results::{Place, Record};

/// A window and the cases on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'r> {
    /// The cases; at least one.
    pub(crate) cases: &'r [Record],
}

impl<'r> Window<'r> {
    /// Those that records are on, by their places.
    pub(crate) fn all(records: &'r [Record]) -> Vec<Self> {
        // Cases on a window follow each other.
        records.chunk_by(|record, next| record.place == next.place).map(|cases| Self { cases }).collect()
    }

    pub(crate) fn place(&self) -> &'r Place {
        &self.cases[0].place
    }

    /// The loss of each model of the template; NaN of those that were not judged here, or had nothing to be scored on.
    pub(crate) fn losses(&self, lead_idx: usize, n_families: usize) -> Vec<f64> {
        let mut losses = vec![f64::NAN; n_families];
        self.cases.iter().for_each(|record| losses[record.family_idx] = record.scores[lead_idx].loss);
        losses
    }
}

/// Returns as many windows as there can be whose test parts do not overlap: on each trace, by when the tests end. The
/// choice depends on no result.
///
/// Windows that overlap are judged on the same samples, and a test that took each of them for evidence of its own would
/// be sure of anything after enough cases.
pub(crate) fn disjoint<T>(windows: impl Iterator<Item = T>, place: impl Fn(&T) -> &Place) -> Vec<T> {
    let mut windows: Vec<T> = windows.collect();
    windows.sort_by_key(|window| {
        let (place, test) = (place(window), place(window).raw_test());
        (place.trace_idx, test.end, test.start)
    });
    let mut ends: BTreeMap<usize, usize> = BTreeMap::new();
    windows.retain(|window| {
        let (test, end) = (place(window).raw_test(), ends.entry(place(window).trace_idx).or_default());
        let is_free = test.start >= *end;
        if is_free {
            *end = test.end;
        }
        is_free
    });
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(trace_idx: usize, start: usize, n_test: usize) -> Place {
        Place { trace_idx, start, aggregate: 1, n_differences: 0, n_fit: 5, n_test }
    }

    #[test]
    fn windows_that_share_a_tested_sample_are_no_separate_evidence() {
        let places = [place(0, 0, 20), place(0, 2, 4), place(0, 6, 4), place(0, 8, 4), place(1, 6, 4)];
        let kept = disjoint(places.iter(), |place| place);
        let kept: Vec<_> = kept.into_iter().map(|place| (place.trace_idx, place.start)).collect();
        // Tests on 7..11, 11..15 and, on the other trace, 11..15; those on 5..25 and 13..17 overlap one of them.
        assert_eq!(kept, [(0, 2), (0, 6), (1, 6)]);
    }
}
