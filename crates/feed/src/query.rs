//! A query of a Prometheus server as a source: each series of its result becomes a signal, and has the history that the
//! server knows.
//!
//! A signal is called as the query is, with the labels of its series behind it: `busy{instance="db1"}`. The name that a
//! series has in the server is left out, because the query gives it another.

mod answer;
mod error;
mod settings;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::Read,
    sync::Arc,
    time::Duration,
};

use http_client::{Address, agent};
use signal::{Family, History, Kind, Range, Readings, Signal, Source, Unit};
use units::Timestamp;
use ureq::{Agent, http::header};

use self::answer::{Answer, Data, Element, Labels, Point, Row, number};
pub use self::{
    error::QueryError,
    settings::{QuerySettings, QuerySettingsError},
};
use crate::SILENCE_MAX;
use crate::exporter::name::{shown, write_id};

/// The longest time that the start waits for a server to check whether an expression makes sense.
const CHECK_TIME_MAX: Duration = Duration::from_secs(2);

/// The number of steps of a history in the first request. The answer shows how many steps fit into one, before a server
/// that is asked for a day of thousands of series needs longer than it may.
const N_STEPS_FIRST: u32 = 32;

/// The greatest number of steps in one request: Prometheus gives 11,000 points of a series.
const N_STEPS_ASKED_MAX: u32 = 10_000;

/// Bytes of one value in an answer, with its time and the names that come with it.
const VALUE_BYTES: u64 = 32;

/// The number of letters of an expression or of a server's text that are shown.
const SHOWN_LETTERS_MAX: usize = 250;

/// One expression at one server.
#[derive(Debug)]
pub struct Query {
    settings: QuerySettings,
    agent: Agent,
    instant: Address,
    range: Address,
    family: Arc<Family>,
    /// Those that are kept.
    signals: HashMap<Arc<str>, Kept>,
    is_cap_said: bool,
    n_errors: u64,
    last_error: Option<QueryError>,
}

#[derive(Debug)]
struct Kept {
    signal: Arc<Signal>,
    /// The last read that it was in, or the first after it was only in the past.
    heard: Option<Duration>,
}

/// The values of one series of a query over some time.
#[derive(Clone, Debug, PartialEq)]
pub struct PastSeries {
    /// Names and values of its labels; its name in the server is `__name__`.
    pub labels: BTreeMap<String, String>,
    /// The indices of the requested moments, from 0 and rising, each with the value. Moments without a finite value are
    /// left out.
    pub samples: Vec<(u32, f64)>,
}

impl Query {
    /// A query that is asked at every `step`. Asks nothing yet.
    ///
    /// # Errors
    /// When the settings cannot be met.
    pub fn open(settings: QuerySettings, step: Duration) -> Result<Query, QuerySettingsError> {
        settings.check(step)?;
        let expression = beginning(&settings.expression);
        let family = Family {
            pattern: settings.name.clone().into(),
            unit: Unit::Named(settings.unit.as_deref().unwrap_or_default().into()),
            kind: Kind::Gauge,
            sentence: format!("The result of the query {expression}.").into(),
            range: Range { min: settings.is_non_negative.then_some(0.0), max: None },
            alias: None,
        };
        Ok(Query {
            agent: agent(settings.timeout, "application/json", &settings.server, &settings.trust),
            instant: settings.server.join("/api/v1/query"),
            range: settings.server.join("/api/v1/query_range"),
            family: Arc::new(family),
            settings,
            signals: HashMap::new(),
            is_cap_said: false,
            n_errors: 0,
            last_error: None,
        })
    }

    /// Returns the settings that the query was opened with.
    #[must_use]
    pub fn settings(&self) -> &QuerySettings {
        &self.settings
    }

    /// Asks once whether the expression makes sense, and waits two seconds at most.
    ///
    /// # Errors
    /// What is wrong; [`QueryError::is_bad_expression`] tells whether it is the expression, or something that may pass.
    pub fn check(&self) -> Result<(), QueryError> {
        let QuerySettings { timeout, server, trust, .. } = &self.settings;
        let agent = agent(CHECK_TIME_MAX.min(*timeout), "application/json", server, trust);
        match self.ask(&agent, &self.instant, &[])? {
            Data::Scalar(_) | Data::Vector(_) => Ok(()),
            other => Err(self.wrong_type(&other)),
        }
    }

    /// Asks for the values at `n_steps` moments, at least 1, the first of them `from`, the others `step` apart. A
    /// server refuses more than 11,000 at once.
    ///
    /// # Errors
    /// Whatever keeps the values from being known.
    pub fn past(&self, from: Timestamp, n_steps: u32, step: Duration) -> Result<Vec<PastSeries>, QueryError> {
        let until = from + step * (n_steps - 1);
        let span = [("start", seconds(from)), ("end", seconds(until)), ("step", step.as_secs_f64().to_string())];
        let rows = match self.ask(&self.agent, &self.range, &span)? {
            Data::Matrix(rows) => rows,
            other => return Err(self.wrong_type(&other)),
        };
        let place = |point: &Point| {
            let steps = (point.0 - from.as_nanos() as f64 / 1e9) / step.as_secs_f64();
            let idx = steps.round();
            ((0.0..f64::from(n_steps)).contains(&idx)).then_some(idx as u32)
        };
        let series = |Row { metric, values }: Row| {
            let placed = values.iter().filter_map(|point| Some((place(point)?, number(point)?)));
            let mut samples: Vec<(u32, f64)> = placed.collect();
            samples.sort_by_key(|(idx, _)| *idx);
            samples.dedup_by_key(|(idx, _)| *idx);
            PastSeries { labels: metric, samples }
        };
        Ok(rows.into_iter().map(series).collect())
    }

    fn read_now(&mut self, at: Duration, readings: &mut Readings) -> Result<(), QueryError> {
        let vector = match self.ask(&self.agent, &self.instant, &[])? {
            Data::Scalar(point) => vec![(Labels::new(), number(&point))],
            Data::Vector(elements) => elements
                .into_iter()
                .map(|Element { metric, value }| (metric, value.as_ref().and_then(number)))
                .collect(),
            other => return Err(self.wrong_type(&other)),
        };
        let n_given = vector.len();
        let kept = self.keep(vector)?;
        for (signal, value) in &kept {
            readings.push_some(signal, *value);
            if let Some(kept) = self.signals.get_mut(signal.id()) {
                kept.heard = Some(at);
            }
        }
        // What was said twice is left out as well.
        if kept.len() < n_given && self.signals.len() >= self.settings.n_signals_max {
            self.forget_silent(at, readings);
        }
        Ok(())
    }

    /// Makes room for what did not fit in at this read.
    fn forget_silent(&mut self, at: Duration, readings: &mut Readings) {
        self.signals.retain(|_, kept| {
            let is_heard = at.saturating_sub(*kept.heard.get_or_insert(at)) < SILENCE_MAX;
            if !is_heard {
                readings.push_gone(Arc::clone(&kept.signal));
            }
            is_heard
        });
    }

    fn read_past(&mut self, step: Duration, until: Timestamp) -> Result<History, QueryError> {
        let n_steps = u32::try_from(self.settings.history.as_nanos() / step.as_nanos()).unwrap_or(u32::MAX);
        if n_steps == 0 {
            return Ok(History::new());
        }
        let from = until - step * (n_steps - 1);
        let (mut history, mut places) = (History::new(), HashMap::new());
        let (mut n_told, mut n_asked) = (0, N_STEPS_FIRST);
        while n_told < n_steps {
            let (begin, n) = (from + step * n_told, n_asked.min(n_steps - n_told));
            let rows = match self.past(begin, n, step) {
                Err(QueryError::TooLong { .. }) if n > 1 => {
                    n_asked = n.div_ceil(2);
                    continue;
                }
                rows => rows?,
            };
            let n_fitting = self.settings.answer_bytes_max / VALUE_BYTES / rows.len().max(1) as u64;
            // Where few are known yet, there may be more later.
            n_asked = u32::try_from(n_fitting).unwrap_or(u32::MAX).min(n.saturating_mul(4)).clamp(1, N_STEPS_ASKED_MAX);
            let at = |(idx, value): (u32, f64)| (begin + step * idx, value);
            let part = self.keep(rows.into_iter().map(|PastSeries { labels, samples }| (labels, samples)).collect())?;
            for (signal, samples) in part {
                let place = *places.entry(Arc::clone(signal.id())).or_insert(history.len());
                if place == history.len() {
                    history.push((signal, Vec::with_capacity((n_steps - n_told) as usize)));
                }
                history[place].1.extend(samples.into_iter().map(at));
            }
            n_told += n;
        }
        Ok(history)
    }

    /// The signals of these series, as many as are kept.
    fn keep<T>(&mut self, series: Vec<(Labels, T)>) -> Result<Vec<(Arc<Signal>, T)>, QueryError> {
        let (mut kept, mut n_left_out, mut doubled) = (Vec::with_capacity(series.len()), 0, None);
        let mut seen = HashSet::new();
        for (mut labels, what) in series {
            labels.remove("__name__");
            let id = self.id(&labels);
            if !seen.insert(Arc::clone(&id)) {
                doubled.get_or_insert(id);
            } else if let Some(known) = self.signals.get(&id) {
                kept.push((Arc::clone(&known.signal), what));
            } else if self.signals.len() < self.settings.n_signals_max {
                let labels = labels.iter().map(|(name, value)| (name.as_str().into(), Arc::from(&*shown(value))));
                let signal = Arc::new(Signal::made(Arc::clone(&self.family), Arc::clone(&id), labels.collect()));
                self.signals.insert(id, Kept { signal: Arc::clone(&signal), heard: None });
                kept.push((signal, what));
            } else {
                n_left_out += 1;
            }
        }
        let (query, server) = self.place();
        if let Some(id) = doubled {
            self.note(QueryError::Doubled { query, server, id: id.to_string() });
        } else if n_left_out > 0 && !self.is_cap_said {
            self.is_cap_said = true;
            self.note(QueryError::TooMany { query, server, n_left_out, n_signals_max: self.settings.n_signals_max });
        }
        Ok(kept)
    }

    fn id(&self, labels: &Labels) -> Arc<str> {
        let mut id = String::new();
        write_id(&self.settings.name, labels.iter().map(|(name, value)| (name.as_str(), value.as_str())), &mut id);
        id.into()
    }

    /// Asks for the value of the expression, with these parameters besides.
    fn ask(&self, agent: &Agent, address: &Address, parameters: &[(&str, String)]) -> Result<Data, QueryError> {
        let (query, server) = self.place();
        let mut request = agent.post(address.uri());
        if let Some(login) = self.settings.login.authorization()? {
            request = request.header(header::AUTHORIZATION, login);
        }
        let expression = [("query", self.settings.expression.clone())];
        let asked = request.send_form(expression.iter().chain(parameters).map(|(name, value)| (*name, value.as_str())));
        let mut answer = match asked {
            Ok(answer) => answer,
            Err(error) => return Err(QueryError::Unreachable { query, server, source: error.into() }),
        };
        let (limit_bytes, mut body) = (self.settings.answer_bytes_max, Vec::new());
        // One more than it may be tells of an answer that is longer.
        let read = answer.body_mut().as_reader().take(limit_bytes.saturating_add(1)).read_to_end(&mut body);
        if let Err(source) = read {
            return Err(QueryError::Broken { query, server, source });
        }
        if body.len() as u64 > limit_bytes {
            return Err(QueryError::TooLong { query, server, limit_bytes });
        }
        let status = answer.status().as_u16();
        let not_prometheus =
            |source| QueryError::NotPrometheus { query: query.clone(), server: server.clone(), status, source };
        match serde_json::from_slice::<Answer>(&body).map_err(not_prometheus)? {
            Answer { data: Some(data), .. } if status == 200 => Ok(data),
            Answer { kind, error, .. } => {
                let text = beginning(&error.unwrap_or_else(|| format!("status {status}, without a reason")));
                Err(QueryError::Refused { query, server, kind: kind.unwrap_or_default(), text })
            }
        }
    }

    fn wrong_type(&self, data: &Data) -> QueryError {
        let given = match data {
            Data::Scalar(_) => "a scalar",
            Data::Vector(_) => "an instant vector",
            Data::Matrix(_) => "a range vector",
            Data::String(_) => "a string",
        };
        let (query, server) = self.place();
        QueryError::Type { query, server, given }
    }

    fn place(&self) -> (String, String) {
        (self.settings.name.clone(), self.settings.server.to_string())
    }

    fn note(&mut self, error: QueryError) {
        self.n_errors += 1;
        self.last_error = Some(error);
    }
}

impl Source for Query {
    fn read(&mut self, at: Duration, readings: &mut Readings) {
        readings.clear();
        if let Err(error) = self.read_now(at, readings) {
            self.note(error);
        }
    }

    fn history(&mut self, step: Duration, until: Timestamp) -> Option<History> {
        self.read_past(step, until).map(Some).unwrap_or_else(|error| {
            let history = (!error.may_pass()).then(History::new);
            self.note(error);
            history
        })
    }

    fn n_errors(&self) -> u64 {
        self.n_errors
    }

    fn last_error(&self) -> Option<String> {
        self.last_error.as_ref().map(|error| text::with_causes(error))
    }
}

/// A moment as Prometheus reads it, to the millisecond.
fn seconds(time: Timestamp) -> String {
    let ms = time.as_nanos().div_euclid(1_000_000);
    format!("{}.{:03}", ms.div_euclid(1000), ms.rem_euclid(1000))
}

/// The beginning of what somebody wrote, as one line of text.
fn beginning(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|letter| !letter.is_control()).take(SHOWN_LETTERS_MAX).collect()
}
