//! Words and figures that tables and pictures share.

use text::figure::span_ns;
use units::ByteCount;

use super::pairing::Pair;
use super::record::Spread;

/// The median and where it lies.
pub(crate) fn spread(spread: &Spread) -> String {
    format!("{} [{}, {}]", span_ns(spread.median_ns), span_ns(spread.interval.lower), span_ns(spread.interval.upper))
}

/// `1MiB`.
pub(crate) fn size(bytes: u64) -> String {
    ByteCount::new(bytes).to_string()
}

/// `ranks 0 and 1`.
pub(crate) fn pair(pair: Pair) -> String {
    format!("ranks {} and {}", pair.worker, pair.support)
}
