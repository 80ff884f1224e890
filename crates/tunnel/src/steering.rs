//! The level that all links send at: as it is set, or chosen once a second from forecasts of link and processor.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use clock::Stopwatch;
use predict::{Live, Policy, Spec};
use sensor::CoreShare;

use crate::counters::{Counters, Counts};
use crate::level::{Chooser, Expected, Level, Seen};

const STEP: Duration = Duration::from_secs(1);
/// Decisions are for so many steps.
const N_LEADS: usize = 5;
/// A link that has something to write for this share of a step shows what it carries.
const BUSY_SHARE_MIN: f64 = 0.5;
/// Fewer bytes do not say what data are like.
const N_TELLING: u64 = 1 << 18;
/// No encoder is taken to get less of a core.
const SHARE_MIN: f64 = 0.01;

/// The level, for whoever has a clone.
#[derive(Clone, Debug)]
pub(crate) struct Steering {
    level: Arc<AtomicU8>,
    is_chosen: bool,
}

impl Steering {
    /// A level that stays, or the first one of those that are chosen.
    pub fn new(level: Level, is_chosen: bool) -> Self {
        Self { level: Arc::new(AtomicU8::new(level.code())), is_chosen }
    }

    pub fn level(&self) -> Level {
        Level::of_code(self.level.load(Ordering::Relaxed))
    }

    /// Chooses the level again and again; never ends.
    pub async fn steer(&self, counters: Arc<Counters>) {
        if !self.is_chosen {
            return std::future::pending().await;
        }
        let mut gauge = Gauge::new();
        let mut before = counters.counts();
        loop {
            tokio::time::sleep(STEP).await;
            let (now, level) = (counters.counts(), self.level());
            let step = Step::between(&before, &now);
            before = now;
            // A model may be fitted, and files of the kernel are read.
            let stepped = tokio::task::spawn_blocking(move || {
                let next = gauge.step(level, step);
                (gauge, next)
            });
            let next;
            (gauge, next) = match stepped.await {
                Ok(stepped) => stepped,
                Err(error) => {
                    tracing::error!(%error, "the level stays as it is");
                    return std::future::pending().await;
                }
            };
            if next != level {
                tracing::info!(%level, %next, "level chosen");
                self.level.store(next.code(), Ordering::Relaxed);
            }
        }
    }
}

/// The events in a step.
#[derive(Clone, Copy, Debug)]
struct Step {
    seen: Seen,
    n_given: u64,
    wire_bytes: f64,
    encoder_seconds: f64,
    writer_seconds: f64,
}

impl Step {
    fn between(before: &Counts, now: &Counts) -> Self {
        let more = |count: fn(&Counts) -> u64| count(now) - count(before);
        let seconds = |count: fn(&Counts) -> u64| Duration::from_nanos(more(count)).as_secs_f64();
        let n_given = more(|counts| counts.given_bytes_total);
        Self {
            seen: Seen {
                given: n_given as f64,
                matched: more(|counts| counts.matched_bytes_total) as f64,
                sent: more(|counts| counts.sent_bytes_total) as f64,
                cpu_seconds: seconds(|counts| counts.encoder_cpu_ns_total),
            },
            n_given,
            wire_bytes: more(|counts| counts.wire_out_bytes_total) as f64,
            encoder_seconds: seconds(|counts| counts.encoder_busy_ns_total),
            writer_seconds: seconds(|counts| counts.writer_busy_ns_total),
        }
    }
}

struct Gauge {
    share: CoreShare,
    began: Stopwatch,
    link: Live,
    core: Live,
    chooser: Chooser,
}

impl Gauge {
    fn new() -> Self {
        let spec: Spec = "AUTO".parse().expect("a model that is there");
        Self {
            share: CoreShare::open(Path::new("/")),
            began: Stopwatch::start(),
            link: Live::new(Policy::of(&spec)).within(0.0, f64::INFINITY),
            core: Live::new(Policy::of(&spec)).within(0.0, 1.0),
            chooser: Chooser::new(),
        }
    }

    fn step(&mut self, level: Level, step: Step) -> Level {
        let share = self.share.read(self.began.elapsed(), step.seen.cpu_seconds, step.encoder_seconds);
        self.core.step(share.map_or(f64::NAN, |share| share.max(SHARE_MIN)));
        let is_full = step.writer_seconds >= BUSY_SHARE_MIN * STEP.as_secs_f64();
        self.link.step(if is_full { step.wire_bytes / STEP.as_secs_f64() } else { f64::NAN });
        if step.n_given < N_TELLING {
            return level;
        }
        let core = mean(&self.core).unwrap_or(1.0);
        // A link that is never full carries more than it is given; if the encoder is what it waits for, that much is
        // known.
        let is_encoder_full = step.encoder_seconds >= BUSY_SHARE_MIN * STEP.as_secs_f64();
        let beyond = (!is_full && is_encoder_full).then_some(2.0 * step.wire_bytes / STEP.as_secs_f64());
        let link = match (mean(&self.link), beyond) {
            (Some(known), Some(beyond)) => Some(known.max(beyond)),
            (known, beyond) => known.or(beyond),
        };
        self.chooser.next(level, step.seen, link.map(|link| Expected { link, core }))
    }
}

/// Returns the forecast mean of the next steps.
fn mean(live: &Live) -> Option<f64> {
    let forecast = live.forecast(N_LEADS)?;
    let mean = forecast.means().iter().sum::<f64>() / forecast.n_leads() as f64;
    mean.is_finite().then_some(mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A world in which text is sent over a link of so many bytes a second, by an encoder that takes as long as the
    /// table says.
    fn after(n_steps: usize, link: f64) -> Level {
        let mut gauge = Gauge { share: CoreShare::open(Path::new("/nowhere")), ..Gauge::new() };
        let mut level = Level::Zstd(5);
        for i in 0..n_steps {
            let (cpu_ns, left): (f64, f64) = match level {
                Level::Bypass => (1.2, 1.0),
                Level::Anchors => (2.0, 1.0),
                Level::Zstd(1) => (4.7, 0.44),
                Level::Zstd(2) => (5.1, 0.42),
                Level::Zstd(3 | 4) => (7.0, 0.4),
                Level::Zstd(_) | Level::Paced => (12.0, 0.38),
            };
            // It varies a little.
            let link = link * (1.0 + 0.05 * (i as f64).sin());
            let given = (1e9 / cpu_ns).min(link / left);
            let busy = given * cpu_ns * 1e-9;
            level = gauge.step(
                level,
                Step {
                    seen: Seen { given, matched: 0.0, sent: given * left, cpu_seconds: busy },
                    n_given: given as u64,
                    wire_bytes: given * left,
                    encoder_seconds: busy,
                    writer_seconds: given * left / link,
                },
            );
        }
        level
    }

    #[test]
    fn links_get_the_level_that_suits_them() {
        assert!(after(60, 1e6) >= Level::Zstd(5));
        let fast = after(60, 3e9);
        assert!(fast < Level::Zstd(2), "{fast} at 24 Gbit/s");
        let middling = after(60, 1.5e8);
        assert!((Level::Zstd(1)..Level::Zstd(5)).contains(&middling), "{middling} at 1.2 Gbit/s");
    }
}
