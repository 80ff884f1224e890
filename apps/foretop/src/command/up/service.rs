//! Messages to a service manager such as systemd by the protocol of sd_notify(3): that the node is up, alive, about to
//! end.

use std::convert::Infallible;
use std::time::Duration;

use node::Node;
use sd_notify::NotifyState;
use tokio::time::MissedTickBehavior;
use watch::Watch;

use command_line::log;

/// The time between two looks at the node if no service manager wants them more often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The service manager that started this process, if one did.
pub struct Service {
    /// The time that the service manager waits for a sign of life.
    patience: Option<Duration>,
}

impl Service {
    /// Finds the service manager by the variables that it sets.
    pub fn find() -> Self {
        Self { patience: sd_notify::watchdog_enabled() }
    }

    /// The node serves.
    pub fn is_ready(&self) {
        tell(NotifyState::Ready);
    }

    /// The node is about to end.
    pub fn stops(&self) {
        tell(NotifyState::Stopping);
    }

    /// Gives signs of life for as long as the node is alive, and finds out when the log can be written again.
    pub async fn look_after(&self, node: &Node, watch: &Watch) -> Infallible {
        // Thrice within its patience, so that one may come late.
        let every = self.patience.map_or(LOOK_EVERY, |patience| LOOK_EVERY.min(patience / 3));
        let mut rounds = tokio::time::interval(every.max(Duration::from_millis(1)));
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            log::retry(watch);
            if self.patience.is_some() && node.is_alive() {
                tell(NotifyState::Watchdog);
            }
        }
    }
}

/// Sends the state to the service manager, if there is one.
fn tell(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "the service manager cannot be told how the node is");
    }
}
