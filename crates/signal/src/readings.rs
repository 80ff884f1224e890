//! The readings of one tick: signals and their values.

use std::{iter, slice, sync::Arc};

use crate::Signal;

/// The readings of one tick. Kept by the caller from tick to tick, so that reading a tick allocates nothing per signal.
///
/// Every value is finite and within the range of its family.
#[derive(Debug, Default)]
pub struct Readings {
    rows: Vec<Row>,
    gone: Vec<Arc<Signal>>,
}

/// A signal and its value.
type Row = (Arc<Signal>, f64);

impl Readings {
    /// Every signal that was read, with its value, in the order of the files.
    pub fn iter(&self) -> impl Iterator<Item = (&Signal, f64)> {
        self.into_iter()
    }

    /// Returns the number of signals that were read.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no signal was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes out every signal.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.gone.clear();
    }

    /// Says that the source has forgotten this signal, to have room for others.
    pub fn push_gone(&mut self, signal: Arc<Signal>) {
        self.gone.push(signal);
    }

    /// The signals that the source has forgotten since the last tick.
    #[must_use]
    pub fn gone(&self) -> &[Arc<Signal>] {
        &self.gone
    }

    /// Adds `value`, cut to the range of the family.
    ///
    /// A share of time can come out a little beyond 1, because the kernel's clock and the caller's are read one after
    /// the other. A value that is not finite is none.
    pub fn push(&mut self, signal: &Arc<Signal>, value: f64) {
        if value.is_finite() {
            self.rows.push((Arc::clone(signal), signal.range().cut(value)));
        }
    }

    /// Adds `value` if there is one.
    pub fn push_some(&mut self, signal: &Arc<Signal>, value: Option<f64>) {
        if let Some(value) = value {
            self.push(signal, value);
        }
    }

    /// Leaves the first `n_kept`.
    pub fn truncate(&mut self, n_kept: usize) {
        self.rows.truncate(n_kept);
    }
}

impl<'a> IntoIterator for &'a Readings {
    type Item = (&'a Signal, f64);
    type IntoIter = iter::Map<slice::Iter<'a, Row>, fn(&'a Row) -> (&'a Signal, f64)>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter().map(|(signal, value)| (signal.as_ref(), *value))
    }
}
