//! Trade between two neighbours: the highest numbers of the rank below for the lowest of the rank above.

/// A trade moves no more than this share of a section, as sesame-sort's moves a part: so sections have to be sorted
/// again and again.
const PART_MAX: usize = 2;

/// Returns the number of a sorted section's highest numbers that are to be offered to a rank whose lowest number is
/// this.
pub(crate) fn n_offered(section: &[f64], lowest_above: f64) -> usize {
    let n_overlapping = section.len() - section.partition_point(|number| *number <= lowest_above);
    n_overlapping.min(section.len().div_ceil(PART_MAX))
}

/// Returns the number of a sorted section's lowest numbers that are to be given for as many of the highest that are
/// offered, in order, by the rank below.
pub(crate) fn n_given(section: &[f64], offered: &[f64]) -> usize {
    // The more that are given, the higher the highest of them, and the lower the lowest that is taken.
    section.iter().zip(offered.iter().rev()).take_while(|(own, other)| own < other).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One round of trades between all neighbours; gives how many numbers moved.
    fn round(sections: &mut [Vec<f64>]) -> usize {
        let mut n_moved = 0;
        for first in [0, 1] {
            for below in (first..sections.len() - 1).step_by(2) {
                let (lower, upper) = sections.split_at_mut(below + 1);
                let (lower, upper) = (&mut lower[below], &mut upper[0]);
                let kept = lower.len() - n_offered(lower, upper[0]);
                let n = n_given(upper, &lower[kept..]);
                let from = lower.len() - n;
                lower[from..].swap_with_slice(&mut upper[..n]);
                lower.sort_by(f64::total_cmp);
                upper.sort_by(f64::total_cmp);
                n_moved += n;
            }
        }
        n_moved
    }

    proptest! {
        #[test]
        fn trades_end_and_leave_all_sections_in_order(
            numbers in prop::collection::vec(0..50_u8, 1..60),
            n_sections in 2..6_usize,
        ) {
            let length = numbers.len().div_ceil(n_sections);
            let all: Vec<f64> = numbers.iter().cycle().take(length * n_sections).copied().map(f64::from).collect();
            let mut sections: Vec<Vec<f64>> = all.chunks(length).map(<[f64]>::to_vec).collect();
            sections.iter_mut().for_each(|section| section.sort_by(f64::total_cmp));
            let n_rounds = (1..).find(|_| round(&mut sections) == 0).unwrap();
            prop_assert!(n_rounds <= all.len() + 1, "{} rounds", n_rounds);
            let mut expected = all;
            expected.sort_by(f64::total_cmp);
            prop_assert_eq!(sections.concat(), expected);
        }
    }
}
