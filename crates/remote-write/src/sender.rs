//! The thread that sends: takes the oldest chunks out of the buffer, makes a request of them, and acts on the answer.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clock::Backoff;
use http_client::{Address, Login, agent};
use ureq::Agent;
use ureq::http::{HeaderName, HeaderValue, header};

use crate::answer::{Verdict, beginning, retry_after};
use crate::buffer::{Buffer, Row};
use crate::error::{SendError, SettingsError};
use crate::settings::Settings;
use crate::status::Status;

/// The most chunks of one request.
const N_ROWS_MAX: usize = 1024;

/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: u64 = 16 << 10;

/// The wait after the first failure, before chance shortens it.
const WAIT_MIN: Duration = Duration::from_millis(500);

/// The longest wait: a server that is back after an hour is found within a minute.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The longest wait that a server may ask for.
const ASKED_MAX: Duration = Duration::from_secs(600);

/// State that the writer and its thread share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) buffer: Buffer,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    status: Status,
    is_stopping: bool,
    is_given_up: bool,
    is_over: bool,
}

pub(crate) struct Sender {
    shared: Arc<Shared>,
    agent: Agent,
    address: Address,
    headers: Vec<(HeaderName, HeaderValue)>,
    login: Login,
    batch_every: Duration,
    batch_samples: u64,
    backoff: Backoff,
    /// Chunks of the next request at most: fewer after one that was refused, so that the fault is found.
    n_rows: usize,
}

/// The next action after a request.
enum Next {
    GoOn,
    /// Wait, at least as long as the server asked for.
    Wait(Option<Duration>),
}

impl Shared {
    pub(crate) fn new(buffer: Buffer) -> Shared {
        let shared = Shared { buffer, state: Mutex::default(), changed: Condvar::new() };
        shared.count(|_| ());
        shared
    }

    pub(crate) fn status(&self) -> Status {
        self.lock().status.clone()
    }

    /// Changes the status, and wakes whoever waits for a change.
    pub(crate) fn count(&self, change: impl FnOnce(&mut Status)) {
        let pending = self.buffer.pending();
        let mut state = self.lock();
        change(&mut state.status);
        (state.status.n_pending, state.status.pending_bytes) = (pending.n_samples, pending.n_bytes);
        self.changed.notify_all();
    }

    /// Asks the thread to send what there is and to end, and waits for that, up to `limit`. What it has not sent then
    /// stays in the buffer.
    pub(crate) fn stop(&self, limit: Duration) {
        let mut state = self.lock();
        state.is_stopping = true;
        self.changed.notify_all();
        let waited = self.changed.wait_timeout_while(state, limit, |state| !state.is_over);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_given_up = true;
        self.changed.notify_all();
    }

    /// Waits until there are samples enough for a batch, or some for long enough. Returns whether to send.
    fn wait_for_batch(&self, every: Duration, n_samples: u64) -> bool {
        let state = self.lock();
        let is_empty = |state: &mut State| state.status.n_pending == 0 && !state.is_stopping;
        let state = self.changed.wait_while(state, is_empty).unwrap_or_else(PoisonError::into_inner);
        let is_short = |state: &mut State| state.status.n_pending < n_samples && !state.is_stopping;
        let waited = self.changed.wait_timeout_while(state, every, is_short);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.is_given_up && (!state.is_stopping || state.status.n_pending > 0)
    }

    /// Waits for `span`. Returns whether to go on: not while the writer stops.
    fn pause(&self, span: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), span, |state| !state.is_stopping);
        !waited.unwrap_or_else(PoisonError::into_inner).0.is_stopping
    }

    fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sender {
    pub(crate) fn new(settings: &Settings, shared: Arc<Shared>) -> Result<Sender, SettingsError> {
        Ok(Sender {
            shared,
            agent: agent(settings.timeout, "*/*", &settings.address, &settings.trust),
            address: settings.address.clone(),
            headers: settings.headers()?,
            login: settings.login.clone(),
            batch_every: settings.batch_every,
            batch_samples: settings.batch_samples as u64,
            backoff: Backoff::new(WAIT_MIN, WAIT_MAX).with_chance(settings.seed),
            n_rows: N_ROWS_MAX,
        })
    }

    /// Sends until the writer stops.
    pub(crate) fn run(&mut self) {
        while self.shared.wait_for_batch(self.batch_every, self.batch_samples) {
            let next = self.send_batch().unwrap_or_else(|error| {
                self.fail(&error.into());
                Next::Wait(None)
            });
            if let Next::Wait(asked) = next
                && !self.shared.pause(at_least(asked, self.backoff.next_wait()))
            {
                break;
            }
        }
        self.shared.end();
    }

    fn send_batch(&mut self) -> Result<Next, crate::BufferError> {
        let rows = self.shared.buffer.oldest(self.n_rows, self.batch_samples)?;
        let Some(last) = rows.last().map(|row| row.id) else { return Ok(Next::GoOn) };
        let (body, n_samples, n_damaged) = join(&rows);
        self.shared.count(|status| status.dropped.n_damaged += n_damaged);
        if body.is_empty() {
            self.shared.buffer.remove(last)?;
            self.shared.count(|_| ());
            return Ok(Next::GoOn);
        }
        let (verdict, error, asked) = self.send(&body, n_samples);
        let status = match &error {
            Some(SendError::Refused { status, .. }) => *status,
            _ => 0,
        };
        match verdict {
            Verdict::Taken => {
                self.shared.buffer.remove(last)?;
                self.n_rows = (self.n_rows * 2).min(N_ROWS_MAX);
                self.backoff.succeeded();
                self.shared.count(|status| {
                    status.n_sent += n_samples;
                    status.problem = None;
                });
                return Ok(Next::GoOn);
            }
            Verdict::Wrong if rows.len() > 1 => {
                self.shared.buffer.release();
                self.n_rows = rows.len() / 2;
                self.shared.count(|status| status.n_retries += 1);
            }
            Verdict::Wrong | Verdict::Refused => {
                self.shared.buffer.remove(last)?;
                self.shared.count(|all| *all.dropped.refused.entry(status).or_default() += n_samples);
            }
            Verdict::Later => {
                self.shared.buffer.release();
                self.shared.count(|status| status.n_retries += 1);
            }
        }
        error.iter().for_each(|error| self.fail(error));
        Ok(if verdict == Verdict::Later { Next::Wait(asked) } else { Next::GoOn })
    }

    /// Sends the protobuf of one request.
    fn send(&self, body: &[u8], n_samples: u64) -> (Verdict, Option<SendError>, Option<Duration>) {
        let address = || self.address.to_string();
        let later = |error| (Verdict::Later, Some(error), None);
        let login = match self.login.authorization() {
            Ok(login) => login,
            Err(error) => return later(error.into()),
        };
        let mut request = self
            .agent
            .post(self.address.uri())
            .header(header::CONTENT_TYPE, "application/x-protobuf")
            .header(header::CONTENT_ENCODING, "snappy")
            .header("x-prometheus-remote-write-version", "0.1.0");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(login) = login {
            request = request.header(header::AUTHORIZATION, login);
        }
        let packed = snap::raw::Encoder::new().compress_vec(body).expect("a request is shorter than snappy's 4 GiB");
        let mut answer = match request.send(&packed) {
            Ok(answer) => answer,
            Err(error) => return later(SendError::Unreachable { address: address(), source: error.into() }),
        };
        let mut said = Vec::new();
        let read = answer.body_mut().as_reader().take(ANSWER_BYTES_MAX).read_to_end(&mut said);
        let (status, verdict) = (answer.status().as_u16(), Verdict::of(answer.status().as_u16()));
        let text = beginning(&said);
        match (verdict, read) {
            (Verdict::Taken, _) => (verdict, None, None),
            (Verdict::Later, _) => {
                let error = SendError::Unavailable { address: address(), status, text };
                (verdict, Some(error), retry_after(answer.headers()))
            }
            // The status is said before the text, and it is what counts.
            (Verdict::Wrong | Verdict::Refused, _) => {
                (verdict, Some(SendError::Refused { address: address(), status, n_samples, text }), None)
            }
        }
    }

    fn fail(&self, error: &SendError) {
        self.shared.count(|status| status.problem = Some(text::with_causes(error)));
    }
}

/// Returns the protobuf of one request with all these chunks, its number of samples, and the number of samples in
/// chunks that cannot be read.
fn join(rows: &[Row]) -> (Vec<u8>, u64, u64) {
    let (mut body, mut n_samples, mut n_damaged) = (Vec::new(), 0, 0);
    for row in rows {
        match snap::raw::Decoder::new().decompress_vec(&row.body) {
            Ok(chunk) => {
                body.extend(chunk);
                n_samples += row.n_samples;
            }
            Err(_) => n_damaged += row.n_samples,
        }
    }
    (body, n_samples, n_damaged)
}

/// Returns `wait`, or the time that the server asked for if that is longer and within reason.
fn at_least(asked: Option<Duration>, wait: Duration) -> Duration {
    wait.max(asked.unwrap_or_default().min(ASKED_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_asks_for_is_kept_within_reason() {
        let second = Duration::from_secs(1);
        assert_eq!(at_least(None, second), second);
        assert_eq!(at_least(Some(second / 2), second), second);
        assert_eq!(at_least(Some(120 * second), second), 120 * second);
        assert_eq!(at_least(Some(Duration::MAX), second), ASKED_MAX);
    }
}
