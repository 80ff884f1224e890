//! LAST and MEAN: what the model is compared with, and LAST also speaks until there is a model.

use std::collections::VecDeque;

use predict::{Predictor, Spec, fit};

/// Steps between two fits, and samples per fit. As many as the default model has, so that the comparison is fair;
/// a fit of either costs about what one of AR(16) does.
const EVERY: usize = 100;
const WINDOW: usize = 600;

/// While there are fewer samples than a window, fit again when they have grown by one part in this many.
const GROWTH: usize = 3;

/// A model so simple that two samples suffice.
#[derive(Clone, Debug)]
pub(crate) struct Baseline {
    spec: Spec,
    predictor: Option<Predictor>,
    n_fitted: usize,
    n_since: usize,
}

impl Baseline {
    pub(crate) fn new(simple: Spec) -> Self {
        Self { spec: simple.refit(EVERY, WINDOW), predictor: None, n_fitted: 0, n_since: 0 }
    }

    /// `None` before there are two samples.
    pub(crate) fn predictor(&self) -> Option<&Predictor> {
        self.predictor.as_ref()
    }

    /// Takes a sample that is already the last of `kept`, of which `n_known` are no gaps.
    pub(crate) fn step(&mut self, sample: f64, kept: &mut VecDeque<f64>, n_known: usize) {
        self.n_since += usize::from(!sample.is_nan());
        let is_growing = self.n_fitted < WINDOW && self.n_since * GROWTH >= self.n_fitted.max(1);
        if (self.predictor.is_none() || is_growing)
            && let Ok(model) = fit(&self.spec, kept.make_contiguous())
        {
            self.predictor = Some(model.predictor());
            (self.n_fitted, self.n_since) = (n_known, 0);
        } else if let Some(predictor) = &mut self.predictor {
            predictor.step(sample);
        }
    }
}
