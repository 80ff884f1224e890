//! Cost of a message by its size: Hockney's alpha + beta n, one line for each way in which the library sends.
//!
//! Short messages are copied on their way, long ones are announced first and then moved in one go, and caches end
//! somewhere in between, so that one line does not do for all sizes (equation 1 of Evans and Hood is a single one).
//! Where one way ends and the next begins is not asked of the library but found in the times: [`breaks`]. Neighbouring
//! lines need not meet; a jump is the price of an announcement.
//!
//! A size stands for all its points by their median. Errors count by their ratio to the time, since times span orders
//! of magnitude. alpha and beta are never negative: a time that shrinks with the size, or a message that is there
//! before it was sent, is noise, and the line is then the best of those that are possible.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use statistics::{Interval, mad, median};
use units::{ByteCount, Confidence};

use crate::line::Line;
use crate::{breaks, interval};

/// Sizes that make a segment. Two would lie on any line, three nearly so.
pub(crate) const SEGMENT_SIZES_MIN: usize = 4;
/// A median deviation of a normal distribution times this is its standard deviation.
pub(crate) const NORMAL_MAD: f64 = 1.4826;
/// The standard error of a median of normal values times the root of their number, by their standard deviation: the
/// root of pi / 2.
const NORMAL_MEDIAN: f64 = 1.2533;
/// Points of a size that tell their own scatter.
const SCATTER_POINTS_MIN: usize = 5;
/// Range of the time of a message, in nanoseconds: from a thousandth of one, since collectives are divided by what they
/// consist of, to some 30 years.
const SPANS: RangeInclusive<f64> = 1e-3..=1e18;
/// The least scatter of a size: no library's times lie on a line more closely, and a segment is not spent on less.
const SCATTER_RATIO_MIN: f64 = 0.005;

/// One timed message or collective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Bytes of the message; of a collective, what its own size means there.
    pub size_bytes: u64,
    /// Time of the message: half a round trip, or a collective from its first rank in to its last one out.
    pub span_ns: f64,
}

/// Times by size, as fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Segments by size, the first from 0, each up to the next.
    pub segments: Vec<Segment>,
    /// Distinct sizes that were measured.
    pub n_sizes: usize,
    /// Points in all.
    pub n_points: usize,
    /// Confidence with which the intervals are meant to hold the true values.
    pub confidence: Confidence,
}

/// One line of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// The least size that it is for: 0, or the least size that was measured in it. The break before it lies
    /// above the last segment's [`to_bytes`](Self::to_bytes), up to here; sizes between the two count to the last one.
    pub from_bytes: u64,
    /// The largest size that was measured in it. Beyond the last segment's, the model only guesses.
    pub to_bytes: u64,
    /// Sizes measured in it.
    pub n_sizes: usize,
    /// Cost of a message whatever its size; not negative.
    pub alpha_ns: f64,
    /// Interval of alpha, the breaks taken as found.
    pub alpha: Interval,
    /// Cost of each byte; not negative.
    pub beta_ns_per_byte: f64,
    /// Interval of beta, the breaks taken as found.
    pub beta: Interval,
    /// Scatter of the medians of the sizes about the line, relative to it: a standard deviation that outliers do not
    /// move.
    pub scatter_ratio: f64,
}

/// The reason why no model can be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CostError {
    /// A line through so few says nothing.
    #[error("{found} distinct message sizes are too few for a cost model: at least {needed} are needed")]
    Sizes {
        /// Distinct sizes given.
        found: usize,
        /// Sizes that are enough.
        needed: usize,
    },
    /// Not a time that something can take.
    #[error("a message of {size_bytes} bytes took {span_ns} ns, which is not possible: it must be finite and from {} to {} ns", SPANS.start(), SPANS.end())]
    Span {
        /// Its size.
        size_bytes: u64,
        /// The time as given.
        span_ns: f64,
    },
}

/// A size and the time that stands for all its points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) bytes: u64,
    /// Median of its points, in nanoseconds.
    pub(crate) span: f64,
    /// Standard deviation of that median by the median, as well as the points tell it.
    pub(crate) scatter: f64,
}

impl Size {
    pub(crate) fn n(&self) -> f64 {
        self.bytes as f64
    }
}

impl Cost {
    /// Fits one to four segments to `points` in any order; how many and where is found from the points.
    ///
    /// Intervals are made by a bootstrap that holds the breaks and draws what sizes are off their lines, rather than
    /// single points: the points of one size share its alignment and its caches, and a thousand of them know no more of
    /// the line than their median. The same points and seed give the same model.
    ///
    /// # Errors
    /// [`CostError`] when a time is not finite, not above 0, or longer than any can be, or there are fewer than four
    /// distinct sizes.
    pub fn fit(points: &[Point], confidence: Confidence, seed: u64) -> Result<Self, CostError> {
        let sizes = sizes(points)?;
        if sizes.len() < SEGMENT_SIZES_MIN {
            return Err(CostError::Sizes { found: sizes.len(), needed: SEGMENT_SIZES_MIN });
        }
        let parts = breaks::parts(&sizes);
        let lines: Vec<Line> = parts.iter().map(|part| Line::fit(&sizes[part.clone()])).collect();
        let intervals = interval::intervals(&sizes, &parts, &lines, confidence, seed);
        let segments = parts.iter().zip(lines.iter().zip(intervals)).map(|(part, (line, [alpha, beta]))| {
            let own = &sizes[part.clone()];
            Segment {
                from_bytes: if part.start == 0 { 0 } else { own[0].bytes },
                to_bytes: own[own.len() - 1].bytes,
                n_sizes: own.len(),
                alpha_ns: line.alpha_ns,
                alpha,
                beta_ns_per_byte: line.beta_ns_per_byte,
                beta,
                scatter_ratio: line.scatter(own),
            }
        });
        Ok(Self { segments: segments.collect(), n_sizes: sizes.len(), n_points: points.len(), confidence })
    }

    /// Returns the time of a message of this size by its segment's line, in nanoseconds, for sums and means; beyond the
    /// sizes measured, by the nearest line.
    #[must_use]
    pub fn span_ns(&self, size_bytes: u64) -> f64 {
        self.segment(size_bytes).line().span_ns(size_bytes)
    }

    /// The same for a clock: rounded up to the next nanosecond, so that a message is never there before it was sent.
    #[must_use]
    pub fn span(&self, size: ByteCount) -> Duration {
        self.segment(size.bytes()).line().span(size)
    }

    /// Returns the segment by whose line a message of this size is timed.
    ///
    /// # Panics
    /// When there is no segment, which no fitted model has.
    #[must_use]
    pub fn segment(&self, size_bytes: u64) -> &Segment {
        let after = self.segments.partition_point(|segment| segment.from_bytes <= size_bytes);
        &self.segments[after.saturating_sub(1)]
    }

    /// Whether no message as long as this was measured, so that its time is a guess.
    #[must_use]
    pub fn is_beyond(&self, size_bytes: u64) -> bool {
        self.segments.last().is_none_or(|last| size_bytes > last.to_bytes)
    }
}

impl Segment {
    /// Its line, without what is known of how sure it is.
    #[must_use]
    pub fn line(&self) -> Line {
        Line { alpha_ns: self.alpha_ns, beta_ns_per_byte: self.beta_ns_per_byte }
    }
}

/// The sizes in order, their points drawn together.
fn sizes(points: &[Point]) -> Result<Vec<Size>, CostError> {
    let is_wrong = |point: &&Point| !SPANS.contains(&point.span_ns);
    if let Some(&Point { size_bytes, span_ns }) = points.iter().find(is_wrong) {
        return Err(CostError::Span { size_bytes, span_ns });
    }
    let mut sorted = points.to_vec();
    sorted.sort_by_key(|point| point.size_bytes);
    let of_size = |group: &[Point]| {
        let spans: Vec<f64> = group.iter().map(|point| point.span_ns).collect();
        // A group has a point, so that there is a median.
        let span = median(&spans).unwrap_or(f64::NAN);
        let deviation = NORMAL_MAD * mad(&spans).unwrap_or(0.0) / span;
        let is_told = spans.len() >= SCATTER_POINTS_MIN;
        let scatter = if is_told { NORMAL_MEDIAN * deviation / (spans.len() as f64).sqrt() } else { 0.0 };
        Size { bytes: group[0].size_bytes, span, scatter }
    };
    let mut sizes: Vec<Size> = sorted.chunk_by(|a, b| a.size_bytes == b.size_bytes).map(of_size).collect();
    let common = neighbours_scatter(&sizes).max(SCATTER_RATIO_MIN);
    for size in &mut sizes {
        size.scatter = size.scatter.max(common);
    }
    Ok(sizes)
}

/// Returns the scatter of sizes about the line between their neighbours, by their own time: what sizes scatter whatever
/// the segments are, since a break disturbs no more than two sizes, which a median bears.
fn neighbours_scatter(sizes: &[Size]) -> f64 {
    let standardized = |three: &[Size]| {
        let [before, middle, after] = three else { return 0.0 };
        let share = (middle.n() - before.n()) / (after.n() - before.n());
        let between = (1.0 - share) * before.span + share * after.span;
        let deviation = middle.span.hypot((1.0 - share) * before.span).hypot(share * after.span);
        ((middle.span - between) / deviation).abs()
    };
    let off: Vec<f64> = sizes.windows(3).map(standardized).collect();
    NORMAL_MAD * median(&off).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_for_a_clock_is_the_segments_time_rounded_up() {
        let at = |size_bytes: u64| Point { size_bytes, span_ns: 100.3 + 0.5 * size_bytes as f64 };
        let points: Vec<Point> = (0..12).map(|power| at(1 << power)).collect();
        let cost = Cost::fit(&points, Confidence::P95, 1).unwrap();
        assert_eq!(cost.span(ByteCount::new(1 << 30)), cost.segments[0].line().span(ByteCount::new(1 << 30)));
        for size_bytes in [0, 7, 1 << 10] {
            let (exact_ns, whole_ns) =
                (cost.span_ns(size_bytes), cost.span(ByteCount::new(size_bytes)).as_nanos() as f64);
            assert!(whole_ns >= exact_ns && whole_ns < exact_ns + 1.0, "{size_bytes}: {exact_ns}, {whole_ns}");
        }
    }
}
