//! The pauses before a connection is made again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);

/// Pauses that double, and begin anew after success.
///
/// They have no random part: each connection is one component's, and those of a thousand readers of one writer come back in
/// the order in which their kernels notice, which a listener's queue of 1,024 takes.
pub(super) struct Backoff(Duration);

impl Backoff {
    pub(super) fn new() -> Self {
        Self(FIRST)
    }

    pub(super) fn succeeded(&mut self) {
        self.0 = FIRST;
    }

    pub(super) async fn pause(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(LONGEST);
    }
}
