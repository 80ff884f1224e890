//! The distribution of errors, as counts of how many lay beyond fixed edges.

use serde::{Deserialize, Serialize};

use super::reach::{HALF_WIDTHS, LEVELS, N_LEVELS};

/// Edges at which the upper half of the distribution is counted, in standard units: the normal quantiles of
/// probabilities from 0.55 to 0.995, those of [`LEVELS`] among them, with what heavier tails need. The first three are
/// for signals that mostly stand still, half of whose errors are next to nothing.
const EDGES: [f64; N_EDGES] = [
    0.0125,
    0.025,
    0.05,
    0.125_661_346_855_074,
    0.253_347_103_135_8,
    0.385_320_466_407_568,
    0.524_400_512_708_041,
    HALF_WIDTHS[0],
    0.841_621_233_572_914,
    1.036_433_389_493_79,
    HALF_WIDTHS[1],
    HALF_WIDTHS[2],
    HALF_WIDTHS[3],
    HALF_WIDTHS[4],
    3.2,
    4.0,
    5.0,
    6.5,
    8.0,
    10.0,
    13.0,
    16.0,
    20.0,
];
const N_EDGES: usize = 23;

/// The normal distribution beyond each of [`EDGES`].
const NORMAL_TAILS: [f64; N_EDGES] = [
    0.495_013_353_6,
    0.490_027_483_9,
    0.480_061_194_2,
    0.45,
    0.4,
    0.35,
    0.3,
    0.25,
    0.2,
    0.15,
    0.1,
    0.05,
    0.025,
    0.005,
    6.871_379e-4,
    3.167_12e-5,
    2.866_5e-7,
    4.016e-11,
    6.22e-16,
    7.62e-24,
    0.0,
    0.0,
    0.0,
];

/// Errors that the normal distribution counts for at every lead. With 3, long leads are normal whatever the errors.
const N_NORMAL: f64 = 1.0;

/// Discounted errors in standard units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tails {
    /// Number of errors, as if they were independent.
    n: f32,
    /// Number of errors beyond each edge: below, then above.
    beyond: Vec<f32>,
}

/// Share of errors beyond each edge, on both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    below: [f64; N_EDGES],
    above: [f64; N_EDGES],
}

impl Default for Tails {
    fn default() -> Self {
        Self { n: 0.0, beyond: vec![0.0; 2 * N_EDGES] }
    }
}

impl Tails {
    /// Takes an error that counts for `weight`, after which earlier ones count for the share `kept` of what they did.
    pub(crate) fn learn(&mut self, error: f64, weight: f64, kept: f64) {
        let (weight, kept) = (weight as f32, kept as f32);
        self.n = kept * self.n + weight;
        self.beyond.iter_mut().for_each(|count| *count *= kept);
        let (below, above) = self.beyond.split_at_mut(N_EDGES);
        let (tail, error) = if error < 0.0 { (below, -error) } else { (above, error) };
        let n_beyond = EDGES.partition_point(|edge| *edge < error);
        tail[..n_beyond].iter_mut().for_each(|count| *count += weight);
        // One that lies on an edge is half beyond it.
        if EDGES.get(n_beyond) == Some(&error) {
            tail[n_beyond] += 0.5 * weight;
        }
    }

    /// Moves the shares at the next shorter lead, which count for so many errors, to those of this one.
    pub(crate) fn mix_into(&self, shares: &mut Shares, n_shorter: f64) {
        let n = n_shorter + N_NORMAL + f64::from(self.n);
        let (below, above) = self.beyond.split_at(N_EDGES);
        for (tail, beyond) in [(&mut shares.below, below), (&mut shares.above, above)] {
            for ((share, count), normal) in tail.iter_mut().zip(beyond).zip(NORMAL_TAILS) {
                *share = (n_shorter * *share + N_NORMAL * normal + f64::from(*count)) / n;
            }
        }
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.beyond.len() == 2 * N_EDGES && self.beyond.iter().chain([&self.n]).all(|count| (0.0..=1e6).contains(count))
    }
}

impl Shares {
    pub(crate) const NORMAL: Self = Self { below: NORMAL_TAILS, above: NORMAL_TAILS };

    /// Returns the reach of the central intervals of [`LEVELS`], below and above.
    pub(crate) fn ends(&self) -> [[f64; N_LEVELS]; 2] {
        [ends(&self.below, &self.above), ends(&self.above, &self.below)]
    }

    /// The error below which this share lies, in standard units.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let below_zero = 0.5 * (self.below[0] + 1.0 - self.above[0]);
        if share < below_zero {
            -end(&self.below, below_zero, share)
        } else {
            end(&self.above, 1.0 - below_zero, 1.0 - share)
        }
    }
}

/// Returns the ends beyond which the shares of [`LEVELS`] lie: in this tail, or for a skewed middle in the other one.
fn ends(tail: &[f64; N_EDGES], other: &[f64; N_EDGES]) -> [f64; N_LEVELS] {
    let at_zero = 0.5 * (tail[0] + 1.0 - other[0]);
    LEVELS.map(|level| {
        let share = 0.5 * (1.0 - level);
        if share > at_zero { -end(other, 1.0 - at_zero, 1.0 - share) } else { end(tail, at_zero, share) }
    })
}

/// Returns the end beyond which `share` of the errors lie, along straight lines between edges; `at_zero` is the share
/// beyond 0.
fn end(tail: &[f64; N_EDGES], at_zero: f64, share: f64) -> f64 {
    let above = tail.partition_point(|beyond| *beyond > share);
    let (from, to) = match above {
        0 => ((0.0, at_zero), (EDGES[0], tail[0])),
        N_EDGES => return EDGES[N_EDGES - 1],
        above => ((EDGES[above - 1], tail[above - 1]), (EDGES[above], tail[above])),
    };
    if from.1 <= to.1 { from.0 } else { from.0 + (to.0 - from.0) * (from.1 - share) / (from.1 - to.1) }
}
