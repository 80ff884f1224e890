//! Whole chunks of one dimension: the baselines of redundancy elimination.

use fastcdc::v2020::FastCDC;

use super::{Area, Field, Segmenter};

/// Chunks of one size, whatever is in them.
#[derive(Clone, Copy, Debug)]
pub struct Static {
    /// The size in bytes, at least 1.
    pub n_bytes: usize,
}

/// Chunks that end where the content says, by FastCDC (Xia et al. 2020): a quarter to four times the average size.
///
/// Where it cuts is that of the crate `fastcdc` in version 3; both ends need not agree.
#[derive(Clone, Copy, Debug)]
pub struct FastCdc {
    n_average: u32,
}

impl FastCdc {
    /// The sizes for which FastCDC is defined.
    pub const AVERAGES: std::ops::RangeInclusive<u32> = 256..=1 << 20;

    /// Chunks of this average size, if there are such.
    #[must_use]
    pub fn new(n_average: u32) -> Option<Self> {
        Self::AVERAGES.contains(&n_average).then_some(Self { n_average })
    }
}

impl Segmenter for Static {
    fn cut(&mut self, field: &Field<'_>) -> Vec<Area> {
        let n_all = field.bytes().len();
        (0..n_all).step_by(self.n_bytes.max(1)).map(|x| Area::line(x, self.n_bytes.min(n_all - x))).collect()
    }
}

impl Segmenter for FastCdc {
    fn cut(&mut self, field: &Field<'_>) -> Vec<Area> {
        let average = self.n_average;
        let chunks = FastCDC::new(field.bytes(), average / 4, average, (average * 4).max(1024));
        chunks.map(|chunk| Area::line(chunk.offset, chunk.length)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check_tiles, varied};
    use super::*;

    #[test]
    fn chunks_tile_what_they_are_of() {
        for n_bytes in [0, 1, 1023, 1024, 100_000] {
            let bytes = varied(n_bytes);
            check_tiles(&mut Static { n_bytes: 1024 }, &Field::line(&bytes));
            check_tiles(&mut FastCdc::new(1024).unwrap(), &Field::line(&bytes));
        }
    }

    #[test]
    fn content_decides_where_fastcdc_cuts() {
        let bytes = varied(100_000);
        let cut = |bytes: &[u8]| FastCdc::new(1024).unwrap().cut(&Field::line(bytes));
        let (all, later) = (cut(&bytes), cut(&bytes[10..]));
        let n_common = later.iter().filter(|area| all.contains(&Area { x: area.x + 10, ..**area })).count();
        assert!(n_common + 1 >= later.len(), "{n_common} of {} chunks are the same after a shift", all.len());
        assert!(FastCdc::new(255).is_none());
    }

    #[test]
    fn the_cut_points_of_fastcdc_are_pinned() {
        let ends: Vec<usize> =
            FastCdc::new(1024).unwrap().cut(&Field::line(&varied(5000))).iter().map(|a| a.x + a.width).collect();
        assert_eq!(ends, [1477, 2799, 4258, 5000]);
    }
}
