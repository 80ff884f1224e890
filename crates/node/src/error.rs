//! Reasons why a node does not start, and why a question has no answer.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use predict::{RunTimeError, SpecError};
use units::{ByteCount, Timestamp, span};

use crate::config::{STEP_MAX, STEP_MIN};
use crate::store::StoreError;

/// The reason why a node does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The step is too short or too long.
    #[error("a step of {} is out of range: it must be {} to {}", span::format(*given), span::format(STEP_MIN), span::format(STEP_MAX))]
    StepOutOfRange {
        /// The given step.
        given: Duration,
    },
    /// The retention is too short.
    #[error("a retention of {} is too short: the minimum is {}", span::format(*given), span::format(crate::config::RETENTION_MIN))]
    RetentionTooShort {
        /// The given retention.
        given: Duration,
    },
    /// Warnings would be looked for too often.
    #[error("warnings every {} are too frequent: the least is {}", span::format(*given), span::format(crate::config::LOOK_EVERY_MIN))]
    LooksTooOften {
        /// The given time between looks.
        given: Duration,
    },
    /// Two would write one file.
    #[error("`{}` is where the node keeps the rules that are made on its page; move your file of rules elsewhere", path.display())]
    RulesOfPage {
        /// The file.
        path: PathBuf,
    },
    /// The selection leaves nothing to be measured.
    #[error(
        "none of this host's {n_signals} signals is selected, and nothing else is to be read; `foretop signals` lists them"
    )]
    NothingSelected {
        /// Those that the host has.
        n_signals: usize,
    },
    /// The store could hold nothing.
    #[error("a store of at most {given} is too small: {} is the least", crate::config::STORE_MIN)]
    StoreTooSmall {
        /// The given limit.
        given: ByteCount,
    },
    /// The data directory or the file in it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another program listens there.
    #[error("{address} is taken{}; listen elsewhere, or on port 0 for any free one", by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default())]
    AddressTaken {
        /// The address to listen at.
        address: SocketAddr,
        /// Process number and name, if they could be told.
        by: Option<String>,
    },
    /// It is not possible to listen there for another reason.
    #[error("cannot listen on {address}")]
    CannotListen {
        /// The address to listen at.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// Everybody on the network could read and push.
    #[error("{address} can be reached from other machines: give --token-file, or listen on 127.0.0.1 or [::1]")]
    Unprotected {
        /// The address to listen at.
        address: SocketAddr,
    },
    /// The kernel's files.
    #[error("cannot read this host's sensors")]
    Sensors(#[from] sensor::OpenError),
    /// The periods of the hybrid sensor.
    #[error(transparent)]
    Hybrid(#[from] sensor::HybridError),
    /// The step of a feed is too short or too long.
    #[error(
        "{feed}: a step of {} is out of range: it must be {} to {}",
        span::format(*given),
        span::format(STEP_MIN),
        span::format(crate::feed::STEP_MAX)
    )]
    FeedStepOutOfRange {
        /// The feed.
        feed: String,
        /// The given step.
        given: Duration,
    },
    /// Two feeds have the same name.
    #[error("{feed} is given twice; each may be read once")]
    FeedTwice {
        /// Their name.
        feed: String,
    },
    /// A name that a server that is written to cannot have.
    #[error("`{}` cannot be a server's name: it must be 1 to 64 bytes without control characters", name.escape_debug())]
    RemoteWriteName {
        /// The name.
        name: String,
    },
    /// Two servers that are written to have names that make the same file.
    #[error("remote write {name} is given twice; servers of one host and port need different names")]
    RemoteWriteTwice {
        /// Their name.
        name: String,
    },
    /// A horizon, or the time between forecasts, is too short or too long.
    #[error("remote write {name}: a horizon or a time between forecasts of {} is out of range: it must be at most 1d", span::format(*given))]
    RemoteWriteSpan {
        /// The server.
        name: String,
        /// The given length of time.
        given: Duration,
    },
    /// A label that Prometheus would not take.
    #[error("remote write {name}: `{}` is not a label: it must have letters, digits and underscores, and not begin with a digit or `__`", label.escape_debug())]
    RemoteWriteLabel {
        /// The server.
        name: String,
        /// The label.
        label: String,
    },
    /// A server cannot be written to as it is wanted, or the buffer cannot be opened.
    #[error("remote write {name}")]
    RemoteWrite {
        /// The server.
        name: String,
        /// Why.
        source: Box<remote_write::StartError>,
    },
    /// An endpoint of a stream.
    #[error(transparent)]
    Stream(#[from] stream::OpenError),
    /// Two streams that go out have the same name.
    #[error("the stream `{stream}` is given twice; give each its own `name`")]
    StreamTwice {
        /// Their name.
        stream: String,
    },
    /// The system has no thread left.
    #[error("cannot start the sampler's thread")]
    NoThread(#[source] io::Error),
}

/// The reason why a question about a series has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum QueryError {
    /// There is no rule of this name.
    #[error("there is no rule `{name}`; {}", if known.is_empty() { "there are none".to_owned() } else { format!("the rules are {}", known.join(", ")) })]
    UnknownRule {
        /// The name.
        name: String,
        /// Those that there are, in quotes.
        known: Vec<String>,
    },
    /// A warning that is to be acknowledged is over, or never was.
    #[error("no warning of `{name}`{} fires, so there is nothing to acknowledge", since.map_or_else(String::new, |since| format!(" since {since}")))]
    NothingFires {
        /// Name of its rule.
        name: String,
        /// Moment of its beginning, if one was given.
        since: Option<Timestamp>,
    },
    /// The file of rules has one of this name.
    #[error("the file of `--rules` has a rule `{name}`: change it there, or choose another name")]
    RuleOfFile {
        /// The name.
        name: String,
    },
    /// A limit is reached.
    #[error("there are {} rules, with those of the file, which is the limit; delete one first", warn::Rules::N_MAX)]
    TooManyRules,
    /// There is no series of this name.
    #[error("there is no series `{id}`")]
    UnknownSeries {
        /// The name.
        id: String,
    },
    /// Too few samples for a forecast.
    #[error(
        "`{id}` has {have} samples, but a forecast needs {need} without a gap between them; wait for the next ones"
    )]
    NotReady {
        /// The series.
        id: String,
        /// Samples there are.
        have: usize,
        /// Samples needed.
        need: usize,
    },
    /// Too few steps of the length that a look ahead takes.
    #[error("`{id}` has {have} of the {need} whole steps of {} that it takes to look {} ahead: ask for less, or wait", span::format(*step), span::format(*horizon))]
    TooYoung {
        /// The series.
        id: String,
        /// The requested horizon.
        horizon: Duration,
        /// The steps of the answer.
        step: Duration,
        /// Known steps.
        have: usize,
        /// Those needed.
        need: usize,
    },
    /// A parameter or field makes no sense.
    #[error("{message}")]
    BadParameter {
        /// Which.
        field: &'static str,
        /// The fault and its remedy.
        message: String,
    },
    /// A text that is no model.
    #[error(transparent)]
    BadModel(#[from] SpecError),
    /// A task whose time cannot be told.
    #[error(transparent)]
    RunTime(#[from] RunTimeError),
    /// More values than an answer holds.
    #[error("this asks for {n} values, but the limit is {max}; ask for a shorter range or a longer step")]
    TooManyPoints {
        /// Values asked for.
        n: u64,
        /// The most.
        max: u64,
    },
    /// The name is taken.
    #[error("the series `{id}` already exists")]
    Exists {
        /// The name.
        id: String,
    },
    /// Only pushed series can be fed and removed.
    #[error("`{id}` is measured by a sensor, so it can be neither fed nor removed")]
    NotPushed {
        /// The series.
        id: String,
    },
    /// A sample that is not later than the last one.
    #[error("the sample of {time} is not later than the last one of `{id}`, at {last}")]
    OutOfOrder {
        /// The series.
        id: String,
        /// The slot that the sample is for.
        time: Timestamp,
        /// The last slot taken.
        last: Timestamp,
    },
    /// A limit is reached.
    #[error("there are {max} pushed series, which is the limit; remove one first")]
    TooManySeries {
        /// The limit.
        max: usize,
    },
    /// Models that keep too much.
    #[error(
        "a series with {model} takes up to {more} bytes, and pushed series have {have} of the {max} that they may take together; \
         remove one, or choose a model that keeps less"
    )]
    TooMuchMemory {
        /// The model.
        model: String,
        /// The memory that the model takes.
        more: usize,
        /// The memory in use.
        have: usize,
        /// The limit.
        max: usize,
    },
    /// More samples than a model can take before long.
    #[error(
        "the model of `{id}` has still to take {n_behind} samples; {n_more} more would be over the limit of {max}; push them later"
    )]
    TooFarBehind {
        /// The series.
        id: String,
        /// Samples that wait.
        n_behind: usize,
        /// Samples to come.
        n_more: usize,
        /// The limit.
        max: usize,
    },
    /// More work than the node can do before long.
    #[error(
        "for {n_more} samples the model of `{id}` needs about {more} operations, with {waiting} waiting already, and the limit is {max}; \
         push fewer at once, or choose a model that is fitted less often"
    )]
    TooMuchWork {
        /// The series.
        id: String,
        /// Samples to come.
        n_more: usize,
        /// The cost of the samples to come.
        more: u64,
        /// The cost of the waiting samples.
        waiting: u64,
        /// The limit.
        max: u64,
    },
    /// There is no minute of programs that early.
    #[error(
        "no minute of programs is kept at {at} or before; {}",
        first.map_or("none is kept so far: ask again in a minute".to_owned(), |first| format!("the first is {first}"))
    )]
    NoMinute {
        /// The moment that was asked about.
        at: Timestamp,
        /// Beginning of the first minute.
        first: Option<Timestamp>,
    },
    /// Programs are not behind a series.
    #[error(
        "`{id}` is not attributed to programs; signals of this host's CPU, load, memory, disks and file systems are"
    )]
    NoCause {
        /// The series.
        id: String,
    },
    /// Too few minutes of programs for a change.
    #[error("{n} minutes of programs are kept of this time; a change takes four: ask for more, or wait")]
    TooFewMinutes {
        /// Number of minutes.
        n: usize,
    },
    /// The store cannot be read or written.
    #[error("the store is not available: {problem}")]
    StoreUnavailable {
        /// The store's error.
        problem: String,
    },
}
