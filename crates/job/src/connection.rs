//! A coordinator's connection to one worker, on a thread of its own.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clock::Stopwatch;
use sched::{Curve, LEVELS};
use stream::{Answer, Ask, CallError, Caller, Endpoint, OpenError, Security};
use text::with_causes;

use crate::input::Input;
use crate::protocol::{Ended, PIECE_BYTES, Unit, WorkRequest, WorkResponse, Working};

/// Time between two questions to a worker about its progress.
const POLL: Duration = Duration::from_millis(100);
/// Greatest time for an answer; a later one counts as none.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Greatest number of bytes of one unit's output that are taken.
const OUTPUT_BYTES_MAX: u64 = 1 << 30;

/// An order for a connection.
pub enum Order {
    /// Run units.
    Run { slot: usize, units: Vec<Unit> },
    /// Forget a unit.
    Drop { unit: usize },
    /// Have the worker forget the run, and end.
    Stop,
}

/// A message of a connection to the coordinator.
pub enum ConnectionEvent {
    Progress { slots: Vec<Option<Working>>, curve: Option<Curve> },
    Ended { ended: Ended, output: Vec<u8> },
    Lost { why: String },
}

/// The reason why a worker cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("it ended the connection at once, as workers do whose token is another one")]
    Greeting(#[source] Box<AskError>),
    #[error("it does not allow `{wanted}`, only {allowed}")]
    Command { wanted: String, allowed: String },
    #[error("cannot read the input `{}`", path.display())]
    Input { path: PathBuf, source: std::io::Error },
    #[error("it gave an answer that makes no sense: {0}")]
    Answer(String),
}

/// The worker, run and command that a connection is for.
pub struct To {
    pub endpoint: Endpoint,
    pub security: Security,
    pub run: String,
    pub command: String,
    pub lost_after: Duration,
}

pub struct Connection {
    to: To,
    caller: Option<Caller>,
    seen: usize,
    /// Whether the worker was given units.
    has_run: bool,
}

/// A worker's answer on connecting.
pub struct Hello {
    pub host: String,
    pub n_slots: usize,
}

impl Connection {
    pub fn new(to: To) -> Self {
        Self { to, caller: None, seen: 0, has_run: false }
    }

    /// Connects, and checks whether the worker is of use.
    pub fn hello(&mut self) -> Result<Hello, AskError> {
        let response = self.ask(&WorkRequest::Hello {}).map_err(|error| match error {
            AskError::Call(CallError::Read { .. }) => AskError::Greeting(Box::new(error)),
            error => error,
        });
        match response? {
            WorkResponse::Hello { host, n_slots, commands } if commands.contains(&self.to.command) => {
                Ok(Hello { host, n_slots })
            }
            WorkResponse::Hello { commands, .. } => {
                Err(AskError::Command { wanted: self.to.command.clone(), allowed: commands.join(", ") })
            }
            other => Err(AskError::Answer(format!("{other:?}"))),
        }
    }

    /// Sends an input, unless the worker has it.
    pub fn bring(&mut self, input: &Input) -> Result<(), AskError> {
        let hash = input.hash().to_owned();
        if matches!(self.ask(&WorkRequest::Has { input: hash.clone() })?, WorkResponse::Has { is_there: true }) {
            return Ok(());
        }
        for (name, path) in input.files() {
            let unreadable = |error: std::io::Error| AskError::Input { path: path.to_owned(), source: error };
            let mut file = File::open(path).map_err(unreadable)?;
            let (mut offset, mut piece) = (0, vec![0; PIECE_BYTES]);
            loop {
                let n_bytes = file.read(&mut piece).map_err(unreadable)?;
                // A file without bytes is a file.
                if n_bytes == 0 && offset > 0 {
                    break;
                }
                let bytes = STANDARD.encode(&piece[..n_bytes]);
                self.ask(&WorkRequest::Put { input: hash.clone(), file: name.to_owned(), offset, bytes })?;
                offset += n_bytes as u64;
                if n_bytes == 0 {
                    break;
                }
            }
        }
        self.ask(&WorkRequest::Keep { input: hash }).map(|_| ())
    }

    /// Returns the processor time that the worker is forecast to give.
    pub fn curve(&mut self) -> Result<Option<Curve>, AskError> {
        match self.ask(&WorkRequest::Progress { run: self.to.run.clone(), seen: 0 })? {
            WorkResponse::Progress { curve, .. } => Ok(curve_of(curve)),
            other => Err(AskError::Answer(format!("{other:?}"))),
        }
    }

    /// Carries out orders until the run ends or the worker is lost.
    pub fn serve(mut self, orders: &Receiver<Order>, tell: &impl Fn(ConnectionEvent) -> bool) {
        let mut waiting: VecDeque<WorkRequest> = VecDeque::new();
        let run = self.to.run.clone();
        let mut heard = Stopwatch::start();
        loop {
            match orders.recv_timeout(POLL) {
                Ok(Order::Run { slot, units }) => {
                    let command = self.to.command.clone();
                    waiting.push_back(WorkRequest::Run { run: run.clone(), slot, command, units });
                }
                Ok(Order::Drop { unit }) => waiting.push_back(WorkRequest::Drop { run: run.clone(), unit }),
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            match self.exchange(&mut waiting, tell) {
                Ok(true) => heard = Stopwatch::start(),
                Ok(false) => break,
                Err(error) if is_final(&error) || heard.elapsed() > self.to.lost_after => {
                    tell(ConnectionEvent::Lost { why: with_causes(&error) });
                    return;
                }
                Err(_) => self.caller = None,
            }
        }
        // A worker that cannot be reached ends the run by itself, later.
        let _ = self.ask(&WorkRequest::Stop { run });
    }

    /// Sends the requests that wait, and asks for the run's progress; false if nobody receives the news any more.
    fn exchange(
        &mut self,
        waiting: &mut VecDeque<WorkRequest>,
        tell: &impl Fn(ConnectionEvent) -> bool,
    ) -> Result<bool, AskError> {
        while let Some(request) = waiting.front() {
            self.ask(request)?;
            waiting.pop_front();
            self.has_run = true;
        }
        let WorkResponse::Progress { is_known, slots, ended, curve, .. } =
            self.ask(&WorkRequest::Progress { run: self.to.run.clone(), seen: self.seen })?
        else {
            return Err(AskError::Answer("it was asked how far it is".to_owned()));
        };
        if self.has_run && !is_known {
            return Err(AskError::Answer("it does not have the run any more, so it was started anew".to_owned()));
        }
        for ended in ended {
            let output = if ended.failure.is_none() { self.output(ended.unit, ended.n_bytes)? } else { Vec::new() };
            self.seen += 1;
            if !tell(ConnectionEvent::Ended { ended, output }) {
                return Ok(false);
            }
        }
        Ok(tell(ConnectionEvent::Progress { slots, curve: curve_of(curve) }))
    }

    fn output(&mut self, unit: usize, n_bytes: u64) -> Result<Vec<u8>, AskError> {
        let mut output = Vec::new();
        if n_bytes > OUTPUT_BYTES_MAX {
            return Err(AskError::Answer(format!(
                "unit {unit} wrote {n_bytes} bytes, and {OUTPUT_BYTES_MAX} are taken"
            )));
        }
        if n_bytes == 0 {
            return Ok(output);
        }
        loop {
            let offset = output.len() as u64;
            let WorkResponse::Output { bytes, is_all } =
                self.ask(&WorkRequest::Output { run: self.to.run.clone(), unit, offset })?
            else {
                return Err(AskError::Answer("it was asked what a unit wrote".to_owned()));
            };
            output.extend(STANDARD.decode(bytes).map_err(|error| AskError::Answer(error.to_string()))?);
            if is_all && output.len() as u64 != n_bytes {
                let have = output.len();
                return Err(AskError::Answer(format!("unit {unit} wrote {n_bytes} bytes, and {have} came")));
            }
            if is_all {
                return Ok(output);
            }
            if output.len() as u64 > n_bytes {
                return Err(AskError::Answer(format!("unit {unit} wrote {n_bytes} bytes, and more come")));
            }
        }
    }

    fn ask(&mut self, request: &WorkRequest) -> Result<WorkResponse, AskError> {
        if self.caller.is_none() {
            self.caller = Some(Caller::open(&self.to.endpoint, &self.to.security)?);
        }
        let caller = self.caller.as_mut().expect("it was just opened");
        let tell = serde_json::to_string(request).expect("a request has a form in JSON");
        match caller.call(Ask::Work { tell }, ANSWER_WITHIN)?.0 {
            Answer::Work { told } => serde_json::from_str(&told).map_err(|error| AskError::Answer(error.to_string())),
            other => Err(AskError::Answer(format!("{other:?}"))),
        }
    }
}

/// Whether trying again is of no use.
fn is_final(error: &AskError) -> bool {
    matches!(error, AskError::Answer(_) | AskError::Call(CallError::Refused { .. }))
}

fn curve_of(points: Vec<(f64, Vec<f64>)>) -> Option<Curve> {
    let mut last = 0.0;
    let points: Option<Vec<(f64, [f64; LEVELS.len()])>> = points
        .into_iter()
        .map(|(demand, times)| {
            let ascends =
                demand > last && demand.is_finite() && times.iter().all(|time| *time >= 0.0 && time.is_finite());
            last = demand;
            times.try_into().ok().filter(|_| ascends).map(|times| (demand, times))
        })
        .collect();
    points.filter(|points| !points.is_empty()).map(Curve::new)
}

/// The sender of a coordinator's orders.
pub type Orders = Sender<Order>;
