//! Streams of other hosts that are followed: each is a feed, whose signals are called `HOST/ID` and have the label
//! `host`.
//!
//! A stream is pushed and a feed is read, so between the two stands an [`Intake`] of two messages. Both ends count by
//! the same wall clock; which of a message and the read that it is for comes first is a matter of microseconds. With
//! room for one more, a message that comes just after its read is taken by the next one, and so are all that follow:
//! the series is a step late and whole.
//!
//! Whoever is at the other end is not trusted: the number of signals, the length of names and of queues are limited
//! here.

mod intake;
mod lineup;

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use clock::Backoff;
use signal::{Readings, Selection, Source};
use stream::{
    Carries, Description, Endpoint, EndpointStatus, Handler, InputId, Message, Mirror, OpenError, Outputs, Role,
    Running, Security,
};

use self::intake::{Intake, Taken};
use self::lineup::Lineup;
use crate::feed::Feed;

/// Reads in a row that find nothing before a peer that is connected counts as silent: it may be busy for a moment.
const N_SILENT_MAX: u64 = 5;

/// Reads in a row that find nothing before a peer that is not connected is missed.
const N_ABSENT_MAX: u64 = 2;

/// The longest wait before the thread of a stream is started again after a panic.
const RESTART_AFTER_MAX: Duration = Duration::from_secs(60);

/// A stream to follow.
#[derive(Clone, Debug)]
pub struct FollowSettings {
    /// The endpoint that the stream comes from, as `source:tcp:db1:7313`.
    pub endpoint: Endpoint,
    /// The name of the host here; `None` for the name in the stream.
    pub host: Option<String>,
    /// Time between two steps, 10 ms to 1 h: that of the stream, or longer where the last message of each step will do.
    pub step: Duration,
    /// The signals to follow, by the ids that they have over there.
    pub select: Selection,
    /// The largest number of signals, 1 or more; those that are described first.
    pub n_signals_max: usize,
    /// The security of the connection.
    pub security: Security,
}

impl FollowSettings {
    /// The default limit of signals of a followed stream: some hosts' worth.
    pub const N_SIGNALS_MAX: usize = 1000;

    fn feed_name(&self) -> String {
        format!("follow {}", self.host.clone().unwrap_or_else(|| self.endpoint.to_string()))
    }

    /// Follows it from here on, as a feed; and what shows how the connection is.
    ///
    /// # Errors
    /// [`OpenError`] when this is no place that a stream comes from.
    pub(crate) fn start(self) -> Result<(Feed, Watched), OpenError> {
        if self.endpoint.role != Role::Source {
            let needed = "a stream is followed by a `source:` endpoint";
            return Err(OpenError::Role { endpoint: self.endpoint.to_string(), needed });
        }
        let (name, step, n_signals_max) = (self.feed_name(), self.step, Some(self.n_signals_max));
        let intake = Arc::new(Mutex::new(Intake::default()));
        let running = Arc::new(Mutex::new(self.connect(&intake)?));
        let watched = Watched { name: name.clone(), running: Arc::downgrade(&running) };
        let follow = Follow {
            settings: self,
            intake,
            running,
            backoff: Backoff::new(step, RESTART_AFTER_MAX),
            not_before: Duration::ZERO,
            n_silent: 0,
            n_errors: 0,
            last_error: None,
        };
        Ok((Feed { name, step, n_signals_max, source: Box::new(follow) }, watched))
    }

    /// Takes what comes into `intake`, on a thread of the stream's own.
    fn connect(&self, intake: &Arc<Mutex<Intake>>) -> Result<Running<TakeIn>, OpenError> {
        let take_in = TakeIn { intake: Arc::clone(intake), described: None, lineup: None, settings: self.clone() };
        let mut mirror = Mirror::new("follow", take_in).with_security(self.security.clone());
        mirror.add(self.endpoint.clone());
        mirror.start()
    }
}

/// A stream that is followed, as metrics see it for as long as its feed is read.
pub(crate) struct Watched {
    name: String,
    running: Weak<Mutex<Running<TakeIn>>>,
}

impl Watched {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the counts of the stream's endpoint.
    pub(crate) fn status(&self) -> Vec<EndpointStatus> {
        self.running.upgrade().map(|running| lock(&running).status()).unwrap_or_default()
    }
}

/// The mirror's end: takes messages in as they come.
pub(crate) struct TakeIn {
    intake: Arc<Mutex<Intake>>,
    settings: FollowSettings,
    /// The description as it was received, so that a repeated one is recognized.
    described: Option<Description>,
    lineup: Option<Arc<Lineup>>,
}

impl TakeIn {
    fn describe(&mut self, description: Description) {
        if self.described.as_ref() == Some(&description) {
            return;
        }
        self.lineup = match Lineup::new(&description, &self.settings) {
            Ok(lineup) => Some(Arc::new(lineup)),
            Err(problem) => {
                lock(&self.intake).refuse(problem);
                None
            }
        };
        self.described = Some(description);
    }

    fn take(&mut self, carries: Carries, number: u64, values: Vec<f64>) {
        // Before a description, nobody knows what the values are; after one that was refused, the problem has been
        // told.
        let (Some(lineup), Some(described)) = (&self.lineup, &self.described) else { return };
        let mut intake = lock(&self.intake);
        if carries != described.carries || values.len() != lineup.signals.len() {
            let (n, n_described) = (values.len(), lineup.signals.len());
            intake.refuse(format!("a message of {n} values came, and {n_described} are described"));
            return;
        }
        intake.put(number, values, Arc::clone(lineup));
    }
}

impl Handler for TakeIn {
    fn message(&mut self, _: InputId, message: Message, _: &mut Outputs) {
        match message {
            Message::Description(description) => self.describe(description),
            Message::Measurement(measurement) => {
                self.take(Carries::Measurement, measurement.number, measurement.values)
            }
            Message::Sample(sample) => self.take(Carries::Sample, sample.number, vec![sample.value]),
            // A stream of forecasts is refused by its description.
            _ => {}
        }
    }
}

/// The feed's end: what came since the last read.
struct Follow {
    settings: FollowSettings,
    intake: Arc<Mutex<Intake>>,
    running: Arc<Mutex<Running<TakeIn>>>,
    /// Time to wait from one start of the thread to the next, should it panic, and the end of that wait.
    backoff: Backoff,
    not_before: Duration,
    n_silent: u64,
    n_errors: u64,
    last_error: Option<String>,
}

impl Follow {
    fn complain(&mut self, problem: String) {
        self.n_errors += 1;
        self.last_error = Some(problem);
    }

    /// Starts the stream's thread again once it has panicked.
    fn restart(&mut self, now: Duration) {
        if !lock(&self.running).is_finished() {
            return;
        }
        self.complain(format!("the thread of {} panicked, and is started again", self.settings.endpoint));
        if now >= self.not_before {
            self.not_before = now + self.backoff.next_wait();
            match self.settings.connect(&self.intake) {
                Ok(running) => *lock(&self.running) = running,
                Err(error) => self.complain(error.to_string()),
            }
        }
    }

    /// Returns the reason why no messages come, once that is worth reporting.
    fn absence(&self) -> Option<String> {
        let (status, endpoint) = (lock(&self.running).status(), &self.settings.endpoint);
        let counted = &status.first()?.counted;
        if counted.n_connected > 0 {
            let has_nothing = self.n_silent > N_SILENT_MAX;
            return has_nothing
                .then(|| format!("{endpoint} is connected, and nothing came for {} steps", self.n_silent));
        }
        (self.n_silent >= N_ABSENT_MAX).then(|| match &counted.last_error {
            Some(reason) => format!("{endpoint} is not connected: {reason}"),
            None => format!("{endpoint} is not connected"),
        })
    }
}

impl Source for Follow {
    fn read(&mut self, now: Duration, readings: &mut Readings) {
        readings.clear();
        self.restart(now);
        let (taken, refusal) = {
            let mut intake = lock(&self.intake);
            (intake.take(self.settings.step), intake.refusal())
        };
        match taken {
            Taken::Message { values, lineup } => {
                self.n_silent = 0;
                lineup.hand_out(&values, readings);
                if let Some(problem) = &lineup.problem {
                    self.complain(problem.clone());
                }
            }
            Taken::Gap => self.n_silent = 0,
            Taken::Nothing => self.n_silent += 1,
        }
        if let Some(problem) = refusal.or_else(|| self.absence().filter(|_| self.n_silent > 0)) {
            self.complain(problem);
        }
    }

    fn n_errors(&self) -> u64 {
        self.n_errors
    }

    fn last_error(&self) -> Option<String> {
        self.last_error.clone()
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
