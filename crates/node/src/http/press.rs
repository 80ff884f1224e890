//! Makes each event once for all who read it.
//!
//! Readers that chose the same series, leads and confidence share a ring of finished events. A task follows
//! the hub and fills the rings; it runs only while somebody reads. A slow reader finds its ring overwritten
//! and is told so: neither the node nor other readers wait for it, and it takes no memory of its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, broadcast};
use units::Confidence;

use super::refusal::Refusal;
use crate::api::{ErrorCode, Health, Lagged, TickEvent};
use crate::hub::{Ahead, Hub, READERS_MAX, Tick};

/// Finished events that a ring holds: half a minute at one tick a second, about 8 kB each for all series of a host.
const RING_EVENTS: usize = 32;

/// The most different choices at once: an event of each is written at every tick.
const CHOICES_MAX: usize = 64;

/// Time between looks at the node's health and its warnings for changes.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The choice of a reader: series, leads and confidence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Choice {
    /// Ids in full, sorted; `None` for all series.
    pub(crate) series: Option<Vec<String>>,
    /// Leads in steps, ascending.
    pub(crate) leads: Vec<usize>,
    /// The confidence by its bits, because floats do not hash.
    confidence_bits: u64,
    /// The confidence of a second band, by its bits.
    inner_bits: Option<u64>,
}

impl Choice {
    pub(crate) fn new(
        series: Option<Vec<String>>,
        leads: Vec<usize>,
        confidence: Confidence,
        inner: Option<Confidence>,
    ) -> Self {
        let bits = |confidence: Confidence| confidence.probability().to_bits();
        Self { series, leads, confidence_bits: bits(confidence), inner_bits: inner.map(bits) }
    }

    fn confidence(&self) -> Confidence {
        confidence_of(self.confidence_bits)
    }

    fn inner(&self) -> Option<Confidence> {
        self.inner_bits.map(confidence_of)
    }

    fn wants(&self, id: &str) -> bool {
        self.series.as_ref().is_none_or(|wanted| wanted.binary_search_by(|one| one.as_str().cmp(id)).is_ok())
    }
}

fn confidence_of(bits: u64) -> Confidence {
    Confidence::new(f64::from_bits(bits)).unwrap_or_default()
}

/// Builder and distributor of events.
pub(crate) struct Press {
    hub: Arc<Hub>,
    rings: Mutex<Rings>,
}

#[derive(Default)]
struct Rings {
    by_choice: HashMap<Choice, broadcast::Sender<Bytes>>,
    /// Whether a task is filling them.
    is_running: bool,
}

/// A reader's place and its view of the ring.
pub(crate) struct Reader {
    pub(crate) events: broadcast::Receiver<Bytes>,
    _place: OwnedSemaphorePermit,
}

impl Press {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Self { hub, rings: Mutex::default() }
    }

    /// Gives the reader every event made from this moment on.
    ///
    /// # Errors
    /// `too_many` when all places are taken, or others have made too many different choices.
    pub(crate) fn subscribe(self: &Arc<Self>, choice: Choice) -> Result<Reader, Refusal> {
        let Some(place) = self.hub.take_reader_place() else {
            let message = format!("{READERS_MAX} readers of events are here, which is the most there can be");
            return Err(Refusal::new(ErrorCode::TooMany, message));
        };
        let mut rings = self.lock();
        if !rings.by_choice.contains_key(&choice) {
            rings.by_choice.retain(|_, ring| ring.receiver_count() > 0);
            if rings.by_choice.len() >= CHOICES_MAX {
                let message = format!(
                    "readers of events have made {CHOICES_MAX} different choices of series, leads and confidences, \
                     which is the most there can be; choose as another reader did"
                );
                return Err(Refusal::new(ErrorCode::TooMany, message));
            }
        }
        let ring = rings.by_choice.entry(choice).or_insert_with(|| broadcast::channel(RING_EVENTS).0);
        let events = ring.subscribe();
        if !std::mem::replace(&mut rings.is_running, true) {
            tokio::spawn(Arc::clone(self).run(self.hub.subscribe()));
        }
        Ok(Reader { events, _place: place })
    }

    /// A panic while the lock is held leaves the map whole, so that others may go on with it.
    fn lock(&self) -> MutexGuard<'_, Rings> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(self: Arc<Self>, mut ticks: broadcast::Receiver<Arc<Tick>>) {
        let (mut health, mut n_changes) = (self.hub.health(), self.hub.n_changes_of_warnings());
        let mut look = tokio::time::interval(LOOK_EVERY);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let tick = tokio::select! {
                tick = ticks.recv() => Some(tick),
                _ = look.tick() => None,
            };
            // Looked up after the wait, so that whoever came during it gets what it was for.
            let Some(rings) = self.read_rings() else { return };
            match tick {
                Some(Ok(tick)) => self.print_tick(&tick, rings).await,
                Some(Err(RecvError::Lagged(missed))) => send_to_all(&event("lagged", &Lagged { missed }), &rings),
                Some(Err(RecvError::Closed)) => break,
                None => {
                    self.print_health(&mut health, &rings);
                    self.print_warnings(&mut n_changes, &rings);
                }
            }
        }
        // Dropping them ends the readers' streams.
        *self.lock() = Rings::default();
    }

    /// The rings that somebody reads; `None` when there is none, and then the task is over.
    fn read_rings(&self) -> Option<Vec<(Choice, broadcast::Sender<Bytes>)>> {
        let mut rings = self.lock();
        rings.by_choice.retain(|_, ring| ring.receiver_count() > 0);
        rings.is_running = !rings.by_choice.is_empty();
        rings.is_running.then(|| rings.by_choice.iter().map(|(choice, ring)| (choice.clone(), ring.clone())).collect())
    }

    async fn print_tick(&self, tick: &Tick, rings: Vec<(Choice, broadcast::Sender<Bytes>)>) {
        let wanted = wanted(tick, rings.iter().map(|(choice, _)| choice));
        let mut aheads = self.hub.aheads(wanted.into_iter().map(|(id, n_leads)| (&**id, n_leads)));
        for ahead in &mut aheads.all {
            ahead.make();
            // A long forecast is much work, which is not to hold up requests.
            tokio::task::yield_now().await;
        }
        let made = aheads.finish();
        for (choice, ring) in rings {
            let tick = tick_event(&made, tick, &choice);
            if !tick.values.is_empty() {
                // Whoever left in the meantime does not need it.
                let _ = ring.send(event("tick", &tick));
            }
            // So are many different choices.
            tokio::task::yield_now().await;
        }
    }

    fn print_health(&self, last: &mut Health, rings: &[(Choice, broadcast::Sender<Bytes>)]) {
        let health = self.hub.health();
        if health != *last {
            send_to_all(&event("health", &health), rings);
            *last = health;
        }
    }

    fn print_warnings(&self, last: &mut u64, rings: &[(Choice, broadcast::Sender<Bytes>)]) {
        let n_changes = self.hub.n_changes_of_warnings();
        if n_changes != *last {
            send_to_all(&event("warnings", &self.hub.warnings()), rings);
            *last = n_changes;
        }
    }
}

fn send_to_all(event: &Bytes, rings: &[(Choice, broadcast::Sender<Bytes>)]) {
    for (_, ring) in rings {
        let _ = ring.send(event.clone());
    }
}

/// The forecasts that a tick takes: each series once, however many readers there are, up to the farthest lead that one
/// of them wants.
fn wanted<'a>(tick: &Tick, choices: impl Iterator<Item = &'a Choice> + Clone) -> Vec<(&Arc<str>, usize)> {
    let ids = tick.values.iter().map(|(id, _)| id);
    ids.filter_map(|id| {
        let leads = choices.clone().filter(|choice| choice.wants(id)).filter_map(|choice| choice.leads.last());
        Some((id, *leads.max()?))
    })
    .collect()
}

fn tick_event(made: &BTreeMap<Arc<str>, Ahead>, tick: &Tick, choice: &Choice) -> TickEvent {
    let (confidence, inner) = (choice.confidence(), choice.inner());
    let chosen = || tick.values.iter().filter(|(id, _)| choice.wants(id));
    let (mut forecasts, mut bands) = (BTreeMap::new(), BTreeMap::new());
    for (id, _) in chosen() {
        let Some(ahead) = made.get(id) else { continue };
        let (forecast, band) = ahead.at(&choice.leads, confidence, inner);
        forecasts.insert(Arc::clone(id), forecast);
        bands.extend(band.map(|band| (Arc::clone(id), band)));
    }
    TickEvent {
        time: tick.time,
        step_seconds: tick.step.as_secs_f64(),
        values: chosen().map(|(id, value)| (Arc::clone(id), value.is_finite().then_some(*value))).collect(),
        forecasts,
        inner: bands,
    }
}

/// An event as it goes over the wire. JSON has no line breaks of its own, so one `data` line holds it.
pub(crate) fn event(name: &str, data: &impl Serialize) -> Bytes {
    let mut text = format!("event: {name}\ndata: ");
    match serde_json::to_string(data) {
        Ok(json) => text.push_str(&json),
        Err(error) => {
            tracing::error!(%error, name, "event cannot be written");
            return Bytes::new();
        }
    }
    text.push_str("\n\n");
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use units::Timestamp;

    use super::*;

    #[test]
    fn a_series_is_forecast_once_for_all_readers() {
        let values = (0..40).map(|idx| (Arc::from(format!("s{idx:02}")), 1.0)).collect();
        let tick = Tick { time: Timestamp::from_nanos(0), step: LOOK_EVERY, values };
        let choice = |series, leads, idx: usize| {
            Choice::new(series, leads, Confidence::new(0.5 + idx as f64 / 1000.0).unwrap(), None)
        };
        let mut choices: Vec<Choice> = (0..250).map(|idx| choice(None, vec![1, 10], idx)).collect();
        assert_eq!(wanted(&tick, choices.iter()).len(), 40);
        choices.push(choice(Some(vec!["s07".to_owned()]), vec![5, 600], 0));
        let wanted = wanted(&tick, choices.iter());
        assert_eq!(wanted.iter().map(|(_, n_leads)| n_leads).sum::<usize>(), 39 * 10 + 600);
    }

    #[test]
    fn what_nobody_reads_is_not_forecast() {
        let values = vec![("a".into(), 1.0), ("b".into(), 1.0)];
        let tick = Tick { time: Timestamp::from_nanos(0), step: LOOK_EVERY, values };
        let choice = Choice::new(Some(vec!["b".to_owned()]), vec![3], Confidence::P95, None);
        assert_eq!(wanted(&tick, [&choice].into_iter()), [(&Arc::from("b"), 3)]);
    }
}
