//! The last few numbers of a row, side by side in memory.

use serde::{Deserialize, Serialize};

/// The last `n` numbers, oldest first. Written twice, so that whatever the oldest one's place is, all `n` lie side by
/// side behind it and a dot product can run over them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ring {
    values: Vec<f64>,
    /// Position of the oldest value, below `n`; 0 when `n` is.
    start: usize,
}

impl Ring {
    /// Zeros.
    pub(crate) fn new(n: usize) -> Self {
        Self { values: vec![0.0; 2 * n], start: 0 }
    }

    pub(crate) fn push(&mut self, value: f64) {
        let n = self.len();
        if n == 0 {
            return;
        }
        self.values[self.start] = value;
        self.values[self.start + n] = value;
        self.start = if self.start + 1 == n { 0 } else { self.start + 1 };
    }

    pub(crate) fn recent(&self) -> &[f64] {
        &self.values[self.start..self.start + self.len()]
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len() / 2
    }

    /// Whether this is a ring of `n`, as a decoder must check.
    pub(crate) fn is_sound(&self, n: usize) -> bool {
        self.values.len() == 2 * n
            && self.start <= n.saturating_sub(1)
            && self.values[..n] == self.values[n..]
            && self.values.iter().all(|value| value.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first() {
        let mut ring = Ring::new(3);
        (1..=5).for_each(|number| ring.push(f64::from(number)));
        assert_eq!(ring.recent(), [3.0, 4.0, 5.0]);
    }

    #[test]
    fn a_ring_of_nothing_takes_everything() {
        let mut ring = Ring::new(0);
        ring.push(1.0);
        assert_eq!(ring.recent(), []);
    }

    #[test]
    fn a_ring_whose_two_copies_differ_is_none() {
        let mut ring = Ring::new(2);
        ring.push(1.0);
        assert!(ring.is_sound(2));
        ring.values[2] = 7.0;
        assert!(!ring.is_sound(2));
    }
}
