//! Segments of one dimension at fingerprints that the content selects: Manber's windows, and the chunks of LBFS between
//! anchors.

use super::polynomial::{is_selected, windows};
use super::{Area, Field, Segmenter};

/// Windows around selected fingerprints (Manber 1994): of one size, one in `2^bits` bytes. They overlap and leave gaps.
#[derive(Clone, Copy, Debug)]
pub struct Manber {
    /// The size in bytes, at least 1.
    pub n_bytes: usize,
    /// Number of bits of a selected fingerprint that are zero, 1 to 32.
    pub bits: u32,
}

/// Chunks that end at selected fingerprints of 48 bytes (Muthitacharoen et al. 2001): of a quarter to eight times the
/// average size.
///
/// With 8192 these are the published 2, 8 and 64 KiB.
#[derive(Clone, Copy, Debug)]
pub struct Lbfs {
    bits: u32,
}

/// The window of LBFS.
const N_WINDOW: usize = 48;

impl Lbfs {
    /// Chunks of this average size, if it is a power of two from 256 to 2^20.
    #[must_use]
    pub fn new(n_average: u32) -> Option<Self> {
        let is_size = n_average.is_power_of_two() && (256..=1 << 20).contains(&n_average);
        is_size.then(|| Self { bits: n_average.ilog2() })
    }
}

impl Segmenter for Manber {
    fn cut(&mut self, field: &Field<'_>) -> Vec<Area> {
        let mut areas: Vec<Area> = Vec::new();
        let mut last = None;
        for (x, hash) in windows(field.bytes(), self.n_bytes).enumerate() {
            if !is_selected(hash, self.bits) {
                continue;
            }
            // Where bytes repeat, all fingerprints of a stretch may be the same one: windows side by side are enough.
            let is_beside = areas.last().is_none_or(|area| area.x + area.width <= x);
            if is_beside || last != Some(hash) {
                areas.push(Area::line(x, self.n_bytes));
                last = Some(hash);
            }
        }
        areas
    }
}

impl Segmenter for Lbfs {
    fn cut(&mut self, field: &Field<'_>) -> Vec<Area> {
        let (n_min, n_max) = ((1 << self.bits) / 4, 8 << self.bits);
        let (mut areas, mut begin) = (Vec::new(), 0);
        for (i, hash) in windows(field.bytes(), N_WINDOW).enumerate() {
            let n_bytes = (i + N_WINDOW).saturating_sub(begin);
            if n_bytes >= n_max || n_bytes >= n_min && is_selected(hash, self.bits) {
                areas.push(Area::line(begin, n_bytes));
                begin += n_bytes;
            }
        }
        if begin < field.bytes().len() {
            areas.push(Area::line(begin, field.bytes().len() - begin));
        }
        areas
    }
}

#[cfg(test)]
mod tests {
    use super::super::polynomial::Polynomial;
    use super::super::testing::{check_tiles, repetitive, varied};
    use super::*;

    fn naive(window: &[u8]) -> u64 {
        let polynomial = Polynomial::along(window.len());
        window.iter().fold(0, |hash, &byte| polynomial.enter(hash, u64::from(byte)))
    }

    #[test]
    fn windows_are_where_each_fingerprint_by_itself_says() {
        for bytes in [varied(20_000), repetitive(5_000), varied(31), Vec::new()] {
            let (n_bytes, bits) = (64, 5);
            let mut expected: Vec<usize> = Vec::new();
            for x in 0..(bytes.len() + 1).saturating_sub(n_bytes) {
                let window = &bytes[x..x + n_bytes];
                let repeats = expected.last().is_some_and(|&at| x < at + n_bytes && bytes[at..at + n_bytes] == *window);
                if is_selected(naive(window), bits) && !repeats {
                    expected.push(x);
                }
            }
            let areas = Manber { n_bytes, bits }.cut(&Field::line(&bytes));
            assert_eq!(areas.iter().map(|area| area.x).collect::<Vec<_>>(), expected);
            assert!(areas.iter().all(|area| area.width == n_bytes));
        }
    }

    #[test]
    fn chunks_end_where_each_fingerprint_by_itself_says() {
        for bytes in [varied(60_000), repetitive(60_000), varied(47), Vec::new()] {
            let mut expected = Vec::new();
            let mut begin = 0;
            for end in N_WINDOW..=bytes.len() {
                let is_end = end - begin >= 256 / 4 && is_selected(naive(&bytes[end - N_WINDOW..end]), 8);
                if is_end || end - begin == 2048 {
                    expected.push(end);
                    begin = end;
                }
            }
            if expected.last().copied().unwrap_or(0) < bytes.len() {
                expected.push(bytes.len());
            }
            let mut lbfs = Lbfs::new(256).unwrap();
            let ends: Vec<usize> = lbfs.cut(&Field::line(&bytes)).iter().map(|area| area.x + area.width).collect();
            assert_eq!(ends, expected);
            check_tiles(&mut lbfs, &Field::line(&bytes));
        }
        assert!(Lbfs::new(1000).is_none() && Lbfs::new(128).is_none());
    }
}
