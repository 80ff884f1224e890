//! A blocking client of one node.

mod events;
mod url;

use std::io::{self, Read};
use std::time::Duration;

use http_client::{RequestError, Trust};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secret::Secret;
use serde::Serialize;
use serde::de::DeserializeOwned;
use units::{Confidence, Moment, Timestamp, span};
use ureq::http::{Method, Request, Response, header};
use ureq::{Agent, Body};

pub use events::{Event, Events};
pub use url::{NodeUrl, NodeUrlError};

use crate::{
    Accepted, Accuracy, Acknowledging, ChangeCause, ErrorBody, ErrorCode, ExhaustionList, Forecast, MpiJobDetail,
    MpiJobs, NewSeries, Outlook, Probability, ProcessGrouping, ProcessOrder, ProcessTable, PushedSample, PushedSamples,
    RuleTrial, RunTime, Samples, Seasons, SeriesDetail, SeriesList, Silence, TriedRule, Warning, Warnings,
};

/// A node on this host answers in a millisecond, one far away in a second; a blocking read of its store may take a few.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Time limit of a connection: no host that is there takes longer, and a host that is not there is distinguished from a
/// slow one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit of silence on a stream: a node sends something at least every 15 s.
const STREAM_TIMEOUT: Duration = Duration::from_secs(40);
/// The longest answer there is, 100,000 forecasts with bounds at full precision, is below 10 MB.
const BODY_BYTES_MAX: u64 = 64 << 20;
const EVENTS_PATH: &str = "/api/v1/events";
const RECORDS_PATH: &str = "/api/v1/kernel/records";
const TRIAL_PATH: &str = "/api/v1/rules/try";
/// A week of a rule about one signal takes seconds, of one about eight half a minute.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(120);
/// Characters that need no escape in a path.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// One node, seen from outside. Cheap to clone; the clones share connections.
#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
    url: NodeUrl,
    token: Option<Secret>,
}

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No node listens at the address.
    #[error("no node answers at {url} ({reason}); start one with `foretop up`")]
    NoNode {
        /// Address of the node.
        url: NodeUrl,
        /// The system's message.
        reason: String,
    },
    /// The node took too long.
    #[error("the node at {url} did not answer within {} s", after.as_secs())]
    Slow {
        /// Address of the node.
        url: NodeUrl,
        /// Time limit that passed.
        after: Duration,
    },
    /// The node refused the request; the message is the node's own.
    #[error("{message}")]
    Refused {
        /// Error code, for decisions.
        code: ErrorCode,
        /// Error message, for people.
        message: String,
    },
    /// Whatever answers is not a node.
    #[error("what answers at {url} is not a foretop node ({reason})")]
    NotANode {
        /// Address that was asked.
        url: NodeUrl,
        /// Evidence that the answer is not a node's.
        reason: String,
    },
    /// Somebody else may be at the other end.
    #[error("cannot trust the node at {url}")]
    Untrusted {
        /// Address of the node.
        url: NodeUrl,
        /// Fault of the node's certificate, and its remedy.
        source: RequestError,
    },
    /// The connection broke.
    #[error("lost the node at {url}")]
    Lost {
        /// Address of the node.
        url: NodeUrl,
        /// Error of the connection.
        source: Box<ureq::Error>,
    },
    /// A stream ended.
    #[error("the node at {url} ended the stream")]
    Ended {
        /// Address of the node.
        url: NodeUrl,
    },
}

/// `[from, to)` as the interface takes it: moments, or a length of time before now with a minus sign.
#[derive(Clone, Debug, Default)]
pub struct RangeText {
    /// Ten minutes ago when left out.
    pub from: Option<String>,
    /// Now when left out.
    pub to: Option<String>,
}

impl Client {
    /// Returns a client of the node at `url`, whose certificate the system has to trust if the scheme is `https`. Sends
    /// nothing yet.
    pub fn new(url: NodeUrl, token: Option<Secret>) -> Self {
        Self::trusting(&Trust::System, url, token)
    }

    /// Returns a client like that of [`Client::new`], with other trust than the system's.
    pub fn trusting(trust: &Trust, url: NodeUrl, token: Option<Secret>) -> Self {
        let agent = http_client::agent(TIMEOUT, "application/json, text/event-stream", url.address(), trust);
        Self { agent, url, token }
    }

    /// Returns the address of the node.
    pub fn url(&self) -> &NodeUrl {
        &self.url
    }

    /// Returns the node and all its series.
    pub fn list(&self) -> Result<SeriesList, ClientError> {
        self.get("/api/v1/series", &[])
    }

    /// Returns one series and what is fitted to it.
    pub fn detail(&self, id: &str) -> Result<SeriesDetail, ClientError> {
        self.get(&series_path(id, ""), &[])
    }

    /// Returns the forecast of every step up to `horizon`.
    pub fn forecast(&self, id: &str, horizon: Duration, confidence: Confidence) -> Result<Forecast, ClientError> {
        let query = [("horizon", span::format(horizon)), ("confidence", confidence.to_string())];
        self.get(&series_path(id, "/forecast"), &query)
    }

    /// Returns the forecast of every step up to `horizon`, hours or days ahead.
    pub fn outlook(
        &self,
        id: &str,
        horizon: Duration,
        confidence: Confidence,
        seasons: Seasons,
    ) -> Result<Outlook, ClientError> {
        let mut query = vec![("horizon", span::format(horizon)), ("confidence", confidence.to_string())];
        query.extend(without(seasons));
        self.get(&series_path(id, "/outlook"), &query)
    }

    /// Returns the probability that a statement comes true `within` a time, if it has to hold for `lasting`.
    pub fn probability(
        &self,
        statement: &str,
        within: Duration,
        lasting: Option<Duration>,
        seasons: Seasons,
    ) -> Result<Probability, ClientError> {
        let mut query = vec![("statement", statement.to_owned()), ("within", span::format(within))];
        query.extend(lasting.map(|lasting| ("for", span::format(lasting))));
        query.extend(without(seasons));
        self.get("/api/v1/probability", &query)
    }

    /// Returns the rules with their states, and the signals that will leave their usual range.
    pub fn warnings(&self) -> Result<Warnings, ClientError> {
        self.get("/api/v1/warnings", &[])
    }

    /// Silences the warnings of a rule for `length`; 0 ends the silence.
    pub fn silence(&self, rule: &str, length: Duration) -> Result<Warning, ClientError> {
        let path = format!("/api/v1/warnings/{}/silence", utf8_percent_encode(rule, PATH));
        let silence = Silence { length: span::format(length) };
        self.read(self.send(Method::POST, &path, &[], Some(&silence))?)
    }

    /// Acknowledges the warning of a rule that stands.
    pub fn acknowledge(&self, rule: &str, acknowledging: &Acknowledging) -> Result<Warning, ClientError> {
        let path = format!("/api/v1/warnings/{}/acknowledge", utf8_percent_encode(rule, PATH));
        self.read(self.send(Method::POST, &path, &[], Some(acknowledging))?)
    }

    /// Returns the warnings that a rule would have raised over the past.
    pub fn try_rule(&self, trial: &RuleTrial) -> Result<TriedRule, ClientError> {
        let answer = self.send(Method::POST, TRIAL_PATH, &[], Some(trial)).and_then(|response| self.read(response));
        answer.map_err(|error| match error {
            ClientError::Slow { url, .. } => ClientError::Slow { url, after: TRIAL_TIMEOUT },
            error => error,
        })
    }

    /// Returns the run time of a task that needs so much CPU time and starts at once.
    pub fn run_time(&self, cpu: Duration, threads: u32, confidence: Confidence) -> Result<RunTime, ClientError> {
        let query = [
            ("cpu_seconds", cpu.as_secs_f64().to_string()),
            ("threads", threads.to_string()),
            ("confidence", confidence.to_string()),
        ];
        self.get("/api/v1/runtime", &query)
    }

    /// Returns the processes of the node's host, at most `limit` rows of them: as they are, or as the last minute that
    /// is kept and began by `at` has them, by program.
    pub fn processes(
        &self,
        by: ProcessGrouping,
        sort: ProcessOrder,
        limit: usize,
        at: Option<Moment>,
    ) -> Result<ProcessTable, ClientError> {
        let (by, sort) = (by.as_str().to_owned(), sort.as_str().to_owned());
        let mut query = vec![("by", by), ("sort", sort), ("limit", limit.to_string())];
        query.extend(at.map(|at| ("at", at.to_string())));
        self.get("/api/v1/processes", &query)
    }

    /// Returns the programs whose use of a resource moved a series since a moment.
    pub fn cause(&self, id: &str, from: Moment) -> Result<ChangeCause, ClientError> {
        self.get(&series_path(id, "/cause"), &[("from", from.to_string())])
    }

    /// Returns the resources that will be exhausted, soonest first.
    pub fn exhaustion(&self) -> Result<ExhaustionList, ClientError> {
        self.get("/api/v1/exhaustion", &[])
    }

    /// Returns the jobs of MPI programs on the node's host.
    pub fn mpi_jobs(&self) -> Result<MpiJobs, ClientError> {
        self.get("/api/v1/mpi/jobs", &[])
    }

    /// Returns the details of one MPI job. The node watches the job from the first request until some seconds after the
    /// last.
    pub fn mpi_job(&self, job: &str) -> Result<MpiJobDetail, ClientError> {
        self.get(&format!("/api/v1/mpi/jobs/{}", utf8_percent_encode(job, PATH)), &[])
    }

    /// Passes a request on to the agent that measures the kernel, in the form of docs/formats/kernel-control.md, as is
    /// its answer.
    pub fn kernel<T: DeserializeOwned>(&self, request: &impl Serialize) -> Result<T, ClientError> {
        self.read(self.send(Method::POST, "/api/v1/kernel", &[], Some(request))?)
    }

    /// Returns all that the agent measures from now on, as a file of records, until the agent is asked to end the
    /// recording.
    pub fn kernel_records(&self) -> Result<impl Read + Send + 'static, ClientError> {
        let response = self.send(Method::GET, RECORDS_PATH, &[], None::<&()>)?;
        Ok(response.into_body().into_with_config().limit(u64::MAX).reader())
    }

    /// Returns the accuracy of the forecasts so far.
    pub fn accuracy(&self, id: &str) -> Result<Accuracy, ClientError> {
        self.get(&series_path(id, "/accuracy"), &[])
    }

    /// Returns the samples in a range, or means over buckets of `step`.
    pub fn samples(&self, id: &str, range: RangeText, step: Option<Duration>) -> Result<Samples, ClientError> {
        let query: Vec<(&str, String)> = [("from", range.from), ("to", range.to), ("step", step.map(span::format))]
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .collect();
        self.get(&series_path(id, "/samples"), &query)
    }

    /// Creates a series that programs feed.
    pub fn create(&self, new: &NewSeries) -> Result<SeriesDetail, ClientError> {
        self.read(self.send(Method::POST, "/api/v1/series", &[], Some(new))?)
    }

    /// Pushes samples to a series, each into the slot after the last one; the node takes all of them or none.
    pub fn push(&self, id: &str, values: &[Option<f64>]) -> Result<Accepted, ClientError> {
        let samples = values.iter().map(|value| PushedSample { time: None, value: *value }).collect();
        let body = PushedSamples { samples };
        self.read(self.send(Method::POST, &series_path(id, "/samples"), &[], Some(&body))?)
    }

    /// Removes a series with its history.
    pub fn remove(&self, id: &str) -> Result<(), ClientError> {
        self.send(Method::DELETE, &series_path(id, ""), &[], None::<&()>).map(drop)
    }

    /// Returns the stream of ticks of all series, with forecasts at `leads` steps.
    pub fn events(&self, leads: &[usize]) -> Result<Events, ClientError> {
        let leads: Vec<String> = leads.iter().map(usize::to_string).collect();
        let query = [("leads", leads.join(","))];
        let response = self.send(Method::GET, EVENTS_PATH, &query, None::<&()>)?;
        Ok(Events::new(response.into_body().into_with_config().limit(u64::MAX).reader(), self.url.clone()))
    }

    fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, String)]) -> Result<T, ClientError> {
        self.read(self.send(Method::GET, path, query, None::<&()>)?)
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<&impl Serialize>,
    ) -> Result<Response<Body>, ClientError> {
        let query: Vec<String> =
            query.iter().map(|(key, value)| format!("{key}={}", utf8_percent_encode(value, PATH))).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        let mut request = Request::builder().method(method).uri(format!("{}{path}{mark}{}", self.url, query.join("&")));
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", token.reveal()));
        }
        let sent = match body {
            None => self.run(request.body(()), path),
            Some(body) => {
                let text = serde_json::to_string(body).expect("the interface's types have a JSON form");
                self.run(request.header(header::CONTENT_TYPE, "application/json").body(text), path)
            }
        };
        self.accept(sent?)
    }

    fn run<B: ureq::AsSendBody>(
        &self,
        request: ureq::http::Result<Request<B>>,
        path: &str,
    ) -> Result<Response<Body>, ClientError> {
        let request = request.map_err(|error| self.explain(error.into()))?;
        let mut config = self.agent.configure_request(request).timeout_connect(Some(CONNECT_TIMEOUT));
        if path == TRIAL_PATH {
            config = config.timeout_global(Some(TRIAL_TIMEOUT));
        }
        if [EVENTS_PATH, RECORDS_PATH].contains(&path) {
            config =
                config.timeout_global(None).timeout_recv_response(Some(TIMEOUT)).timeout_per_read(Some(STREAM_TIMEOUT));
        }
        self.agent.run(config.build()).map_err(|error| self.explain(error))
    }

    /// Converts a status of 4xx or 5xx to the error in its body.
    fn accept(&self, mut response: Response<Body>) -> Result<Response<Body>, ClientError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.body_mut().with_config().limit(BODY_BYTES_MAX).read_json::<ErrorBody>();
        Err(match body {
            Ok(ErrorBody { error }) => ClientError::Refused { code: error.code, message: error.message },
            Err(_) => ClientError::NotANode { url: self.url.clone(), reason: format!("status {}", status.as_u16()) },
        })
    }

    fn read<T: DeserializeOwned>(&self, mut response: Response<Body>) -> Result<T, ClientError> {
        response.body_mut().with_config().limit(BODY_BYTES_MAX).read_json().map_err(|error| self.explain(error))
    }

    fn explain(&self, error: ureq::Error) -> ClientError {
        let url = self.url.clone();
        let error = match RequestError::from(error) {
            RequestError::Client(error) => *error,
            untrusted => return ClientError::Untrusted { url, source: untrusted },
        };
        match error {
            ureq::Error::Io(error) if is_absence(&error) => ClientError::NoNode { url, reason: reason(&error) },
            ureq::Error::HostNotFound => ClientError::NoNode { url, reason: "there is no such host".to_owned() },
            ureq::Error::ConnectionFailed => ClientError::NoNode { url, reason: "cannot connect".to_owned() },
            ureq::Error::Timeout(ureq::Timeout::Connect) => ClientError::NoNode { url, reason: "no answer".to_owned() },
            ureq::Error::Timeout(_) => ClientError::Slow { url, after: TIMEOUT },
            error @ (ureq::Error::Json(_) | ureq::Error::Protocol(_) | ureq::Error::Http(_)) => {
                ClientError::NotANode { url, reason: error.to_string() }
            }
            error => ClientError::Lost { url, source: Box::new(error) },
        }
    }
}

impl ClientError {
    /// Whether there is nothing at the other end, as opposed to something that answers badly.
    pub fn is_no_node(&self) -> bool {
        matches!(self, Self::NoNode { .. })
    }

    /// Returns the node's error code, if it was the node that refused.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }
}

fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable};
    matches!(error.kind(), ConnectionRefused | HostUnreachable | NetworkUnreachable | AddrNotAvailable)
}

/// The system's words begin with a capital and end with a number.
fn reason(error: &io::Error) -> String {
    error.kind().to_string()
}

/// The parameter that has a node see no season.
fn without(seasons: Seasons) -> Option<(&'static str, String)> {
    (seasons == Seasons::Off).then(|| ("season", "false".to_owned()))
}

fn series_path(id: &str, rest: &str) -> String {
    format!("/api/v1/series/{}{rest}", utf8_percent_encode(id, PATH))
}

/// Adds `span` to `start` as often as `n` says, without the rounding of a repeated sum.
pub fn moment(start: Timestamp, step_seconds: f64, n: usize) -> Timestamp {
    start + Duration::try_from_secs_f64(step_seconds * n as f64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_leave_its_place_in_the_path() {
        assert_eq!(series_path("a/b?c#d é", "/forecast"), "/api/v1/series/a%2Fb%3Fc%23d%20%C3%A9/forecast");
    }
}
