//! Rolling polynomial hashes (Karp and Rabin 1987) over any elements, modulo 2^64, and the few that Manber's rule
//! selects.
//!
//! They stand for the Rabin fingerprints of the published methods: all that those need is a hash that rolls and whose
//! bits are good.

use super::Field;
use crate::gear::Anchor;

/// Odd numbers without a pattern: digits of the golden ratio, and of the square root of 2.
const ALONG: u64 = 0x9e37_79b9_7f4a_7c15;
const DOWN: u64 = 0x6a09_e667_f3bc_c909;

/// A hash over a window of a fixed number of elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polynomial {
    base: u64,
    /// Weight of an element when it leaves the window.
    leaving: u64,
}

impl Polynomial {
    /// Builds the hash over so many elements of a row.
    pub fn along(n_window: usize) -> Self {
        Self::new(ALONG, n_window)
    }

    /// Builds the hash over so many rows.
    pub fn down(n_window: usize) -> Self {
        Self::new(DOWN, n_window)
    }

    fn new(base: u64, n_window: usize) -> Self {
        Self { base, leaving: (0..n_window).fold(1, |weight: u64, _| weight.wrapping_mul(base)) }
    }

    /// The hash when one element enters the window.
    #[inline]
    pub fn enter(&self, hash: u64, element: u64) -> u64 {
        hash.wrapping_mul(self.base).wrapping_add(element).wrapping_add(1)
    }

    /// The hash when one element enters and another leaves.
    #[inline]
    pub fn roll(&self, hash: u64, entering: u64, leaving: u64) -> u64 {
        self.enter(hash, entering).wrapping_sub(leaving.wrapping_add(1).wrapping_mul(self.leaving))
    }
}

/// Whether Manber's rule takes this hash: one in `2^bits`.
#[inline]
pub(crate) fn is_selected(hash: u64, bits: u32) -> bool {
    Anchor(hash).mixed() >> (64 - bits) == 0
}

/// The hashes of all windows of so many bytes, the first of which ends there.
pub(crate) fn windows(bytes: &[u8], n_window: usize) -> impl Iterator<Item = u64> {
    let polynomial = Polynomial::along(n_window);
    let (first, rest) = bytes.split_at(if n_window <= bytes.len() { n_window - 1 } else { bytes.len() });
    let mut hash = first.iter().fold(0, |hash, &byte| polynomial.enter(hash, u64::from(byte)));
    rest.iter().enumerate().map(move |(i, &byte)| {
        hash = match i.checked_sub(1) {
            None => polynomial.enter(hash, u64::from(byte)),
            Some(leaving) => polynomial.roll(hash, u64::from(byte), u64::from(bytes[leaving])),
        };
        hash
    })
}

/// A part of a field in elements rather than bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub x: usize,
    pub y: usize,
    pub width: usize,
    pub height: usize,
}

/// A hash of each row of a part.
pub(crate) fn rows(field: &Field<'_>, part: Part) -> Vec<u64> {
    let polynomial = Polynomial::along(0);
    let row = |y| (part.x..part.x + part.width).fold(0, |hash, x| polynomial.enter(hash, field.element(x, y)));
    (part.y..part.y + part.height).map(row).collect()
}

/// A hash of each column of a part, made row by row, as the bytes lie.
pub(crate) fn columns(field: &Field<'_>, part: Part) -> Vec<u64> {
    let polynomial = Polynomial::down(0);
    let mut hashes = vec![0; part.width];
    for y in part.y..part.y + part.height {
        for (x, hash) in hashes.iter_mut().enumerate() {
            *hash = polynomial.enter(*hash, field.element(part.x + x, y));
        }
    }
    hashes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rolled_hash_is_that_of_its_window() {
        let bytes: Vec<u8> = (0..100_u8).map(|i| i.wrapping_mul(91)).collect();
        for n_window in [1, 2, 31, 100, 101] {
            let naive = |window: &[u8]| {
                let polynomial = Polynomial::along(n_window);
                window.iter().fold(0, |hash, &byte| polynomial.enter(hash, u64::from(byte)))
            };
            let expected: Vec<u64> = bytes.windows(n_window).map(naive).collect();
            assert_eq!(windows(&bytes, n_window).collect::<Vec<_>>(), expected, "windows of {n_window}");
        }
    }
}
