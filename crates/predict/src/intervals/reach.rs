//! Reach of an interval below and above the mean, at several confidences and any between them.

use serde::{Deserialize, Serialize};

use crate::ladder::DENSE;

/// The confidences at which reaches are kept.
pub(crate) const LEVELS: [f64; N_LEVELS] = [0.5, 0.8, 0.9, 0.95, 0.99];

/// Number of these confidences.
pub(crate) const N_LEVELS: usize = 5;

/// No end is further from the mean, in standard errors: a model that states errors a million times too small is no
/// model.
pub(crate) const REACH_MAX: f64 = 1e6;

/// Half the widths of the central normal intervals of [`LEVELS`], in standard errors.
pub(crate) const HALF_WIDTHS: [f64; N_LEVELS] = [
    0.674_489_750_196_081_7,
    1.281_551_565_544_600_4,
    1.644_853_626_951_472_7,
    1.959_963_984_540_054,
    2.575_829_303_548_900_4,
];

/// Reach of an interval of each level from the mean, in standard errors. A reach below 0 ends on the other side
/// of the mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reach {
    pub(crate) lower: [f64; N_LEVELS],
    pub(crate) upper: [f64; N_LEVELS],
}

impl Reach {
    pub(crate) const NORMAL: Self = Self { lower: HALF_WIDTHS, upper: HALF_WIDTHS };

    /// The same with no interval empty, none that does not hold those of lower confidence, and the mean within all from
    /// the second level on.
    pub(crate) fn nested(mut self) -> Self {
        let width = self.lower[0] + self.upper[0];
        if width < 0.0 {
            self.lower[0] -= 0.5 * width;
            self.upper[0] -= 0.5 * width;
        }
        for reach in [&mut self.lower, &mut self.upper] {
            reach[1] = reach[1].max(0.0);
            (1..N_LEVELS).for_each(|level| reach[level] = reach[level].max(reach[level - 1]));
        }
        self
    }

    /// Returns the reach below and above the mean of the interval whose normal counterpart has this half width.
    ///
    /// Between two levels along a straight line over the half widths, so that what is normal stays normal. Below the
    /// first level both ends go to the middle of its interval; beyond the last they go on as those of a normal interval
    /// of that level would, or along the slope before it where that is steeper.
    pub(crate) fn at(&self, half_width: f64) -> (f64, f64) {
        let middle = 0.5 * (self.upper[0] - self.lower[0]);
        (along(&self.lower, -middle, half_width), along(&self.upper, middle, half_width))
    }
}

fn along(reach: &[f64; N_LEVELS], middle: f64, half_width: f64) -> f64 {
    const LAST: usize = N_LEVELS - 1;
    let above = HALF_WIDTHS.partition_point(|known| *known < half_width);
    let (from, to) = match above {
        0 => ((0.0, middle), (HALF_WIDTHS[0], reach[0])),
        N_LEVELS => {
            let slope = (reach[LAST] - reach[LAST - 1]) / (HALF_WIDTHS[LAST] - HALF_WIDTHS[LAST - 1]);
            let proportional = (reach[LAST] - middle) / HALF_WIDTHS[LAST];
            return reach[LAST] + slope.max(proportional) * (half_width - HALF_WIDTHS[LAST]);
        }
        above => ((HALF_WIDTHS[above - 1], reach[above - 1]), (HALF_WIDTHS[above], reach[above])),
    };
    from.1 + (to.1 - from.1) * (half_width - from.0) / (to.0 - from.0)
}

/// Widens the reaches of [`DENSE`] leads for a forecast of these standard errors, until intervals do not narrow.
pub(crate) fn widening(reaches: &mut [Reach], standard_errors: &[f64]) {
    let mut widest = Widest::default();
    for (reach, lead) in reaches.iter_mut().zip(DENSE.leads) {
        let Some(standard_error) = standard_errors.get(lead - 1).filter(|error| **error > 0.0) else { return };
        *reach = widest.widen(*reach, *standard_error);
    }
}

/// The widest intervals of shorter leads, by level.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Widest([f64; N_LEVELS]);

impl Widest {
    /// Returns the reach at the next longer lead, widened until no interval is narrower than a share of one at a
    /// shorter lead: less is known of what is farther away, and what seems to contradict it is the chance of few
    /// errors.
    pub(crate) fn widen(&mut self, mut reach: Reach, standard_error: f64) -> Reach {
        const SHARE: f64 = 0.96;
        for (level, widest) in self.0.iter_mut().enumerate() {
            let width = (reach.lower[level] + reach.upper[level]) * standard_error;
            let needed = SHARE * *widest;
            if width < needed {
                let more = 0.5 * (needed - width) / standard_error;
                reach.lower[level] += more;
                reach.upper[level] += more;
            }
            *widest = widest.max(width);
        }
        reach.nested()
    }
}

/// The reach at `lead` where `reaches` has one for each watched lead; normal where it has none.
pub(crate) fn at_lead(reaches: &[Reach], lead: usize, half_width: f64) -> (f64, f64) {
    let (below, share) = DENSE.place(lead);
    let Some(near) = reaches.get(below).map(|reach| reach.at(half_width)) else {
        return (half_width, half_width);
    };
    match reaches.get(below + 1).filter(|_| share > 0.0).map(|reach| reach.at(half_width)) {
        Some(far) => (near.0 + share * (far.0 - near.0), near.1 + share * (far.1 - near.1)),
        None => near,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_reach_is_normal_at_every_confidence() {
        for half_width in [1e-9, 0.3, 0.674, 1.0, 1.96, 2.5, 3.0, 8.0] {
            let (lower, upper) = Reach::NORMAL.at(half_width);
            assert!((lower - half_width).abs() < 1e-12 && (upper - half_width).abs() < 1e-12, "{half_width}");
        }
    }

    #[test]
    fn a_skewed_reach_shrinks_to_its_middle_and_grows_on() {
        let skewed = Reach { lower: [0.1, 0.2, 0.3, 0.3, 0.3], upper: [0.5, 1.0, 2.0, 3.0, 6.0] };
        let (lower, upper) = skewed.at(1e-12);
        assert!((upper - 0.2).abs() < 1e-9 && (lower + 0.2).abs() < 1e-9);
        let widths: Vec<f64> =
            (1..80).map(|tenth| skewed.at(f64::from(tenth) / 10.0)).map(|(lower, upper)| lower + upper).collect();
        assert!(widths.is_sorted() && widths[0] > 0.0);
    }

    #[test]
    fn crossed_ends_meet_in_the_middle() {
        let crossed = Reach { lower: [-1.0, -2.0, 0.5, 0.4, 1.0], upper: [0.4, 0.3, 0.6, 0.7, 0.6] }.nested();
        assert!((crossed.lower[0] + 0.7).abs() < 1e-15 && (crossed.upper[0] - 0.7).abs() < 1e-15);
        assert!(crossed.lower.is_sorted() && crossed.upper.is_sorted());
    }
}
