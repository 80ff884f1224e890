//! Attempts to start a core: how many were in vain, what is done about it, and when the next one may start.

use std::time::{Duration, Instant};

use clock::Backoff;

/// Number of cores in a row that end or hang before their first answer, after which the model that they fit is taken to
/// be the cause.
const N_FRUITLESS_MAX: u32 = 5;

/// Model that is fitted then, and cannot fail.
const SAFE_MODEL: &str = "LAST";

const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Attempts {
    n_fruitless: u32,
    backoff: Backoff,
    has_given_up: bool,
    next: Option<Instant>,
}

impl Default for Attempts {
    fn default() -> Self {
        Self { n_fruitless: 0, backoff: Backoff::new(PAUSE_MIN, PAUSE_MAX), has_given_up: false, next: None }
    }
}

impl Attempts {
    /// Resets the count, because a core gave an answer.
    pub(super) fn succeeded(&mut self) {
        (self.n_fruitless, self.next) = (0, None);
        self.backoff.succeeded();
    }

    /// Counts a core that ended. The first that does may be followed at once; after more in a row there is a pause that
    /// doubles.
    pub(super) fn failed(&mut self) {
        if self.n_fruitless > 0 {
            self.next = Some(clock::instant() + self.backoff.next_wait());
        }
        self.n_fruitless += 1;
        if self.n_fruitless > N_FRUITLESS_MAX && !std::mem::replace(&mut self.has_given_up, true) {
            tracing::warn!(
                "{} cores failed in a row: {SAFE_MODEL} is fitted until a model is asked for",
                self.n_fruitless
            );
        }
    }

    pub(super) fn may_start_at_once(&self) -> bool {
        self.next.is_none_or(|next| clock::instant() >= next)
    }

    /// Lets the model that was asked for be tried again.
    pub(super) fn forgive(&mut self) {
        self.has_given_up = false;
    }

    /// Returns the model to fit if this one is wanted.
    pub(super) fn model(&self, wanted: &str) -> String {
        if self.has_given_up { SAFE_MODEL.to_owned() } else { wanted.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_fails_every_core_is_given_up_until_it_is_asked_for_again() {
        let mut attempts = Attempts::default();
        assert!(attempts.may_start_at_once());
        attempts.failed();
        assert!(attempts.may_start_at_once(), "one crash is followed by a start at once");
        (0..4).for_each(|_| attempts.failed());
        assert_eq!(attempts.model("AR(16)"), "AR(16)");
        attempts.failed();
        assert!(!attempts.may_start_at_once());
        assert_eq!(attempts.model("AR(16)"), "LAST");
        attempts.succeeded();
        attempts.forgive();
        assert_eq!((attempts.model("AR(16)").as_str(), attempts.may_start_at_once()), ("AR(16)", true));
    }
}
