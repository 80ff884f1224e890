//! When the model of a young series is fitted again.

/// When a young series has grown so much that its model is fitted again: at the least number of samples that the model takes, whenever there are
/// twice as many as at the last fit, and when the window is full. What a fit cannot do on a full window is tried again after as many
/// samples as the model needs.
#[derive(Debug)]
pub(crate) struct Growth {
    n_needed: usize,
    n_there: usize,
    next: Option<usize>,
}

impl Growth {
    /// After a fit, or none, to so many samples, of a model that needs so many at least.
    pub(crate) fn new(n_needed: usize, window: usize, n_samples: usize) -> Self {
        let next = (n_samples < window).then(|| (2 * n_samples).max(n_needed).min(window));
        Self { n_needed, n_there: n_samples, next }
    }

    /// There is one more.
    pub(crate) fn took_one(&mut self) {
        self.n_there += 1;
    }

    /// There are so many, some of which came from a buffer.
    pub(crate) fn has(&mut self, n_samples: usize) {
        self.n_there = self.n_there.max(n_samples);
    }

    pub(crate) fn is_due(&self) -> bool {
        self.next.is_some_and(|next| self.n_there >= next)
    }

    /// Whether no fit will be due any more.
    pub(crate) fn is_over(&self) -> bool {
        self.next.is_none()
    }

    /// The last fit could not be done.
    pub(crate) fn failed(&mut self) {
        self.next.get_or_insert(self.n_there + self.n_needed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_young_series_is_fitted_at_doublings_until_its_window_is_full() {
        let mut growth = Growth::new(33, 600, 0);
        let mut fits = Vec::new();
        for n_samples in 1..2000 {
            growth.took_one();
            if growth.is_due() {
                fits.push(n_samples);
                growth = Growth::new(33, 600, n_samples.min(600));
            }
        }
        assert_eq!(fits, [33, 66, 132, 264, 528, 600]);
        assert!(growth.is_over());
        growth.failed();
        (0..32).for_each(|_| growth.took_one());
        assert!(!growth.is_due());
        growth.took_one();
        assert!(growth.is_due(), "a full window that yields no model is tried again");
    }
}
