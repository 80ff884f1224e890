//! The thread that follows a node, and follows it again when it was lost.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use node_api::{Client, ClientError, Event, Events, RangeText};
use units::span;

use super::row::HISTORY_MAX;
use super::state::{LEADS, Link, Update};

/// The time from losing a node to looking for it again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// The time between two reads of the list: it shows models that changed and signals that are gone.
const LIST_EVERY: Duration = Duration::from_secs(10);

/// The reason why a node is followed no longer.
enum End {
    /// Nobody wants to know.
    Unheard,
    Failed(ClientError),
}

impl From<ClientError> for End {
    fn from(error: ClientError) -> Self {
        Self::Failed(error)
    }
}

/// Tells `updates` all that the node at the other end of `client` tells, until nobody listens.
pub fn start<T: From<Update> + Send + 'static>(client: Client, updates: Sender<T>) {
    std::thread::spawn(move || {
        let feed = Feed { client, updates };
        while let End::Failed(error) = feed.follow() {
            let reason = format!("{:#}", anyhow::Error::from(error));
            if feed.tell(Update::Link(Link::Lost { reason })).is_err() {
                break;
            }
            clock::sleep(RETRY_AFTER);
        }
    });
}

struct Feed<T> {
    client: Client,
    updates: Sender<T>,
}

impl<T: From<Update>> Feed<T> {
    fn tell(&self, update: Update) -> Result<(), End> {
        self.updates.send(update.into()).map_err(|_| End::Unheard)
    }

    fn follow(&self) -> End {
        // The stream is opened before histories are read, so that no tick falls between them.
        let ended = self.client.events(&LEADS).map_err(End::from).and_then(|events| {
            self.tell(Update::Link(Link::Live))?;
            self.relay(events)
        });
        match ended {
            Err(end) => end,
            Ok(never) => match never {},
        }
    }

    fn relay(&self, mut events: Events) -> Result<std::convert::Infallible, End> {
        let mut known = HashSet::new();
        let mut listed = self.list(&mut known)?;
        loop {
            match events.next_event()? {
                Event::Tick(tick) => {
                    let has_unknown = !tick.values.keys().all(|id| known.contains(id));
                    if has_unknown || listed.elapsed() >= LIST_EVERY {
                        listed = self.list(&mut known)?;
                    }
                    self.tell(Update::Tick(tick))?;
                }
                Event::Health(health) => self.tell(Update::Health(health))?,
                Event::Warnings(warnings) => self.tell(Update::Warnings(warnings))?,
                // What was missed shows as a gap until the history is read again, which is not worth its cost.
                Event::Hello(_) | Event::Lagged(_) => {}
            }
        }
    }

    /// Tells the list, and the history of every signal that was not in `known`.
    fn list(&self, known: &mut HashSet<Arc<str>>) -> Result<Instant, End> {
        let list = self.client.list()?;
        let added: Vec<(Arc<str>, f64)> = list
            .series
            .iter()
            .map(|series| (Arc::from(series.id.as_str()), series.step_seconds))
            .filter(|(id, _)| !known.contains(id))
            .collect();
        known.retain(|id| list.series.iter().any(|series| *series.id == **id));
        self.tell(Update::Series(list))?;
        for (id, step_seconds) in added {
            let step = Duration::try_from_secs_f64(step_seconds).unwrap_or_default();
            let span = step.saturating_mul(HISTORY_MAX as u32);
            let range = RangeText { from: Some(format!("-{}", span::format(span))), to: None };
            match self.client.samples(&id, range, Some(step)) {
                Ok(samples) => self.tell(Update::History(samples))?,
                // Removed meanwhile, or its store cannot be read: it begins with its next sample.
                Err(error) if error.code().is_some() => {}
                Err(error) => return Err(error.into()),
            }
            known.insert(id);
        }
        Ok(clock::instant())
    }
}
