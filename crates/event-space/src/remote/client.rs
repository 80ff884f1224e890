//! A monitor of another host, pulled like a stage of this one.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clock::{Backoff, Clock};
use mpi_tree::Forest;
use stream::{Answer, Ask, CallError, Caller, Endpoint, Message, OpenError, Results, Security};

use super::{About, Task, Wire};
use crate::{Pull, Tally};

/// The time that a monitor may take to answer: it may wait 0.1 s at its gate, and others do so meanwhile.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// The pauses before a monitor that failed is asked again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// The reason why a monitor of another host gives nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// It cannot be connected to.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It does not answer, or refuses.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It answered something else than was asked, as another program does, or one of another version.
    #[error("{endpoint} is no monitor of this version: it answered {what}")]
    Answer {
        /// The endpoint that was asked.
        endpoint: String,
        /// The kind of the answer, in a word.
        what: &'static str,
    },
}

/// The state of another host's part.
#[derive(Debug)]
pub struct Share {
    /// The endpoint.
    pub endpoint: String,
    trouble: Mutex<Option<String>>,
    is_replaced: AtomicBool,
}

impl Share {
    /// Returns the reason why nothing comes from there at the moment.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the job has another tree file there, so that nothing more comes of this tree.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        self.is_replaced.load(Ordering::Relaxed)
    }

    fn set(&self, trouble: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }
}

/// Pulls what a monitor of another host was asked for. One that cannot be reached gives nothing, says so in its
/// [`Share`], and is asked again after a while; what it lost or could not tell in between is counted as far as it is
/// known.
pub struct Remote<T> {
    endpoint: Endpoint,
    security: Security,
    task: Task,
    clock: Arc<dyn Clock>,
    share: Arc<Share>,
    caller: Option<Caller>,
    session: Option<u64>,
    /// The results so far, as the last answer had them.
    told: Results,
    backoff: Backoff,
    not_before: Duration,
    item: PhantomData<fn() -> T>,
}

/// Asks a monitor what it reads.
///
/// # Errors
/// If it cannot be reached, or is none.
pub fn ask_job(endpoint: &Endpoint, security: &Security) -> Result<About, RemoteError> {
    about_job(&mut Caller::open(endpoint, security)?, endpoint)
}

fn about_job(caller: &mut Caller, endpoint: &Endpoint) -> Result<About, RemoteError> {
    let wrong = |what| RemoteError::Answer { endpoint: endpoint.to_string(), what };
    match caller.call(Ask::Job {}, ANSWER_LIMIT)? {
        (Answer::Job { about }, _) => serde_json::from_str(&about).map_err(|_| wrong("with something else than a job")),
        _ => Err(wrong("to another question")),
    }
}

impl<T: Wire> Remote<T> {
    /// Connects when it is first pulled.
    #[must_use]
    pub fn new(endpoint: Endpoint, security: Security, task: Task, clock: Arc<dyn Clock>) -> Self {
        Self {
            share: Arc::new(Share {
                endpoint: endpoint.to_string(),
                trouble: Mutex::new(None),
                is_replaced: AtomicBool::new(false),
            }),
            endpoint,
            security,
            task,
            clock,
            caller: None,
            session: None,
            told: Results::default(),
            backoff: Backoff::new(PAUSES.0, PAUSES.1),
            not_before: Duration::ZERO,
            item: PhantomData,
        }
    }

    /// Tells how it is, also while another thread pulls.
    #[must_use]
    pub fn share(&self) -> Arc<Share> {
        Arc::clone(&self.share)
    }

    fn try_pull(&mut self, into: &mut Vec<T>) -> Result<Tally, RemoteError> {
        let caller = match &mut self.caller {
            Some(caller) => caller,
            caller => caller.insert(Caller::open(&self.endpoint, &self.security)?),
        };
        let endpoint = self.endpoint.to_string();
        let wrong = |what| RemoteError::Answer { endpoint: endpoint.clone(), what };
        let mut pulled = None;
        if let Some(session) = self.session {
            match caller.call(Ask::Pull { session }, ANSWER_LIMIT) {
                // It was started again, or has waited too long.
                Err(CallError::Refused { .. }) => {}
                answered => pulled = Some(answered?),
            }
        }
        let (_, messages) = match pulled {
            Some(pulled) => pulled,
            None => {
                let task = serde_json::to_string(&self.task).expect("a task has a JSON form");
                let begun = caller.call(Ask::Begin { task }, ANSWER_LIMIT);
                if matches!(begun, Err(CallError::Refused { .. })) {
                    let has_tree =
                        |about: About| Some(Forest::parse(&about.trees).ok()?.tree_of(self.task.tree).is_some());
                    let is_replaced = about_job(caller, &self.endpoint).ok().and_then(has_tree) == Some(false);
                    self.share.is_replaced.store(is_replaced, Ordering::Relaxed);
                }
                let (Answer::Begun { session }, _) = begun? else {
                    return Err(wrong("to another question"));
                };
                // Whatever is begun again later must not count twice.
                (self.session, self.told, self.task.is_resumed) = (Some(session), Results::default(), true);
                caller.call(Ask::Pull { session }, ANSWER_LIMIT)?
            }
        };
        let (n_before, mut last) = (into.len(), None);
        for message in messages {
            let Message::Results(results) = message else { return Err(wrong("something else than results")) };
            let mut bytes = &results.bytes[..];
            while !bytes.is_empty() {
                into.push(T::take(&mut bytes).ok_or_else(|| wrong("results of another kind"))?);
            }
            last = Some(results);
        }
        let (now, n_come) = (last.ok_or_else(|| wrong("nothing"))?, (into.len() - n_before) as u64);
        let told = std::mem::replace(&mut self.told, now.clone());
        let since = |count: fn(&Results) -> u64| {
            count(&now).checked_sub(count(&told)).ok_or_else(|| wrong("with a count that fell"))
        };
        let n_given = since(|results| results.n_given)?;
        // What it gave and what did not come was in an answer that got lost.
        let n_not_come = n_given.checked_sub(n_come).ok_or_else(|| wrong("more results than it counted"))?;
        Ok(Tally {
            n_read: since(|results| results.n_read)?,
            n_lost: since(|results| results.n_lost)?,
            n_missed: since(|results| results.n_missed)? + n_not_come,
            cpu: Duration::from_nanos(since(|results| results.cpu_ns)?),
        })
    }
}

impl<T: Wire> Pull<T> for Remote<T> {
    fn pull(&mut self, into: &mut Vec<T>) -> Tally {
        if self.clock.monotonic() < self.not_before {
            return Tally::default();
        }
        let n_before = into.len();
        match self.try_pull(into) {
            Ok(tally) => {
                self.backoff.succeeded();
                if self.share.trouble().is_some() {
                    self.share.set(None);
                }
                tally
            }
            Err(error) => {
                into.truncate(n_before);
                // Of what comes late nobody knows what it answers.
                self.caller = None;
                self.not_before = self.clock.monotonic() + self.backoff.next_wait();
                let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
                let trouble = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
                if self.share.trouble().is_none() {
                    tracing::warn!(endpoint = self.share.endpoint, trouble, "a monitor of another host gives nothing");
                }
                self.share.set(Some(trouble));
                Tally::default()
            }
        }
    }
}
