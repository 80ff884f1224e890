//! Position of a series in its life, and the action that is due there.

use serde::{Deserialize, Serialize};

use super::Policy;

/// Numbers and lengths of a series, whatever its samples are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Course {
    /// The number of the first sample of this life, or of the next one before it begins.
    start: u64,
    /// Samples of this life, gaps included.
    length: u64,
    /// Gaps since the last known one.
    n_missing: u64,
    /// The length at which the next fit is due.
    next: Option<u64>,
}

/// Action that is due after a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// Nothing is known any more.
    NewLife,
    /// LAST is to be fitted: the series is too young for its model.
    StandIn,
    /// The model is to be fitted.
    Fit,
    /// A model that failed may be tried again.
    Retry,
}

impl Course {
    /// Builds the course of a series whose next sample has this number.
    pub(super) fn new(number: u64, policy: &Policy) -> Self {
        Self { start: number, length: 0, n_missing: 0, next: policy.next_fit(0, number) }
    }

    /// Builds the course of a series that stands after these samples, numbered from 0.
    pub(super) fn begun(samples: &[f64], policy: &Policy) -> Self {
        let length = samples.len() as u64;
        let n_missing = samples.iter().rev().take_while(|sample| !sample.is_finite()).count() as u64;
        Self { start: 0, length, n_missing, next: policy.next_fit(length, 0) }
    }

    /// Returns the number of the next sample.
    pub(super) fn number(&self) -> u64 {
        self.start.wrapping_add(self.length)
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn step(&mut self, sample: f64, policy: &Policy) -> Due {
        if sample.is_finite() {
            self.n_missing = 0;
        } else if self.length == 0 {
            *self = Self::new(self.start.wrapping_add(1), policy);
            return Due::Nothing;
        } else {
            self.n_missing += 1;
        }
        self.length = self.length.saturating_add(1);
        if self.n_missing >= policy.window as u64 {
            *self = Self::new(self.number(), policy);
            return Due::NewLife;
        }
        if self.next == Some(self.length) {
            self.next = policy.next_fit(self.length, self.start);
            return if self.length < policy.first { Due::StandIn } else { Due::Fit };
        }
        if self.length > policy.first && policy.is_retry(self.number()) { Due::Retry } else { Due::Nothing }
    }

    /// So many more gaps, after more than a window of them.
    pub(super) fn pass(&mut self, n: u64) {
        self.start = self.start.wrapping_add(n);
    }

    /// Whether it could have come about under this policy.
    pub(super) fn is_sound(&self, policy: &Policy) -> bool {
        self.next.is_none_or(|next| next > self.length)
            && self.n_missing <= self.length
            && self.n_missing < policy.window as u64
    }
}
