//! Publishes the counts of an end, as a stream of one measurement a second.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use component::{Origin, Publisher};
use program::Failure;
use stream::{Endpoint, Security};
use tunnel::{Counts, Watcher};

const STEP: Duration = Duration::from_secs(1);

/// Destinations of measurements.
#[derive(Args)]
pub struct Publishing {
    /// Send the counts, stage by stage, as a stream of one measurement a second, for a node to show and forecast; may
    /// be repeated
    #[arg(long, value_name = "ENDPOINT")]
    publish: Vec<Endpoint>,
}

impl Publishing {
    /// Announces itself, if anything is to be sent.
    pub fn start(&self) -> Result<Option<Publisher>, Failure> {
        if self.publish.is_empty() {
            return Ok(None);
        }
        let host = sensor::host_name(Path::new("/")).unwrap_or_default();
        let origin = Origin { component: "tunnel", stream: "tunnel", host: &host, step: STEP };
        let started = Publisher::start(origin, &self.publish, &Security::default());
        started.map(Some).map_err(|error| Failure::work(text::with_causes(&error)))
    }
}

/// Sends the counts until the end; never returns.
pub async fn publish(publisher: Option<Publisher>, watcher: Watcher) {
    let Some(mut publisher) = publisher else { return std::future::pending().await };
    let mut before = watcher.counts();
    loop {
        tokio::time::sleep(STEP).await;
        let now = watcher.counts();
        publisher.send(signals(&before, &now));
        before = now;
    }
}

/// Returns the signals: queues as they are, and of all that adds up what came in the last second: bytes, times as
/// shares of it, and numbers.
fn signals(before: &Counts, now: &Counts) -> Vec<(String, &'static str, f64)> {
    let counts = now.named().into_iter().zip(before.named());
    counts
        .map(|((name, now), (_, before))| {
            let (name, is_sum) = name.strip_suffix("_total").map_or((name, false), |name| (name, true));
            let value = if is_sum { (now - before) as f64 / STEP.as_secs_f64() } else { now as f64 };
            if let Some(name) = name.strip_suffix("_ns") {
                return (format!("tunnel.{name}"), "ratio", value * 1e-9);
            }
            let (name, is_bytes) = name.strip_suffix("_bytes").map_or((name, false), |name| (name, true));
            // There are links and streams, and those that were opened.
            match (is_bytes, is_sum) {
                (true, true) => (format!("tunnel.{name}"), "bytes/s", value),
                (true, false) => (format!("tunnel.{name}"), "bytes", value),
                (false, true) => (format!("tunnel.{name}_rate"), "1/s", value),
                (false, false) => (format!("tunnel.{name}"), "", value),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_has_its_signals() {
        let before = Counts { given_bytes_total: 5, encoder_queue: 9, ..Counts::default() };
        let now = Counts {
            given_bytes_total: 12,
            groups_sent_total: 3,
            encoder_busy_ns_total: 250_000_000,
            encoder_queue: 4,
            unacknowledged_bytes: 100,
            ..Counts::default()
        };
        let signals = signals(&before, &now);
        for (name, unit, value) in [
            ("tunnel.given", "bytes/s", 7.0),
            ("tunnel.groups_sent_rate", "1/s", 3.0),
            ("tunnel.encoder_busy", "ratio", 0.25),
            ("tunnel.encoder_queue", "", 4.0),
            ("tunnel.unacknowledged", "bytes", 100.0),
        ] {
            assert!(signals.contains(&(name.to_owned(), unit, value)), "{name}: {signals:?}");
        }
        let names: std::collections::BTreeSet<_> = signals.iter().map(|(name, ..)| name).collect();
        assert_eq!(names.len(), signals.len(), "two signals have one name");
    }
}
