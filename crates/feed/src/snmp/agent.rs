//! One agent: its session, and the interfaces of it that are watched.

use std::time::Duration;

use async_snmp::{CryptoError, Oid, Value};
use futures_util::stream::{self, StreamExt};

use super::{
    AgentSettings, Interface, SnmpError,
    meter::{Meter, Rates},
    object::{self, instance},
    port::Port,
    session::{Keys, N_OBJECTS_MAX, Session},
};

/// The number of questions that are on their way to an agent at the same time. More would fill the buffer of a small
/// one.
const N_IN_FLIGHT: usize = 4;

/// The number of values before the rows of every answer: the agent's clock belongs to the counters beside it.
const N_CLOCKS: usize = 2;

/// The number of failures in a row after which an agent is still asked at every read.
const N_FAILURES_BORNE: u32 = 3;

/// The longest that an agent that fails is left alone.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The values that an agent gave for an interface at the last read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// Bytes per second, if two sightings of the counters give a rate.
    pub(crate) rates: Option<Rates>,
    /// Bytes per second that it can carry each way, 0 while it is down, if that is known.
    pub(crate) capacity: Option<f64>,
}

/// One agent.
pub(crate) struct Agent {
    pub(crate) settings: AgentSettings,
    keys: Keys,
    session: Option<Session>,
    ports: Vec<Port>,
    n_failures: u32,
    paused_until: Duration,
}

impl Agent {
    pub(crate) fn new(settings: AgentSettings) -> Result<Agent, CryptoError> {
        let keys = Keys::new(&settings.credentials)?;
        let (session, ports) = (None, Vec::new());
        Ok(Agent { settings, keys, session, ports, n_failures: 0, paused_until: Duration::ZERO })
    }

    /// Watches `interface` from the next read on. Returns where to find it.
    pub(crate) fn watch(&mut self, interface: Interface, capacity: Option<f64>) -> usize {
        let is_same = |port: &Port| port.interface == interface && port.capacity_given == capacity;
        self.ports.iter().position(is_same).unwrap_or_else(|| {
            let meter = Meter::new(self.settings.refresh, self.settings.longest_read());
            self.ports.push(Port::new(interface, capacity, meter));
            self.ports.len() - 1
        })
    }

    /// Returns the values of a watched interface at the last read.
    pub(crate) fn reading(&self, port_idx: usize) -> Reading {
        self.ports[port_idx].reading
    }

    /// Whether a watched interface is the one with this number and this name.
    pub(crate) fn is_watched_as(&self, port_idx: usize, if_index: u32, name: &str) -> bool {
        match &self.ports[port_idx].interface {
            Interface::Numbered(number) => *number == if_index,
            Interface::Named(named) => named == name,
        }
    }

    /// Whether the agent failed and is left alone for a while.
    pub(crate) fn is_paused(&self, at: Duration) -> bool {
        at < self.paused_until
    }

    /// The socket to the agent, made anew if the last one failed.
    pub(crate) async fn session(&mut self) -> Result<Session, SnmpError> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let session = Session::open(&self.settings, &self.keys).await?;
        Ok(self.session.insert(session).clone())
    }

    /// Reads every watched interface, `at` this moment. Returns what went wrong.
    pub(crate) async fn read(&mut self, at: Duration) -> Vec<SnmpError> {
        for port in &mut self.ports {
            port.reading = Reading::default();
        }
        if self.ports.is_empty() || self.is_paused(at) {
            return Vec::new();
        }
        let limit = self.settings.longest_read();
        let mut errors = Vec::new();
        let outcome = tokio::time::timeout(limit, self.read_all(at, &mut errors)).await;
        let late = |_| Err(SnmpError::Silent { agent: self.settings.name.clone(), limit });
        match outcome.unwrap_or_else(late) {
            Ok(()) => self.n_failures = 0,
            Err(error) => {
                errors.push(error);
                self.fail(at);
            }
        }
        errors
    }

    /// Asks for nothing more over this socket, and for a while not at all if that happens again and again.
    pub(crate) fn fail(&mut self, at: Duration) {
        self.session = None;
        self.n_failures += 1;
        if let Some(n_more) = self.n_failures.checked_sub(N_FAILURES_BORNE + 1) {
            self.paused_until = at + Duration::from_secs(2 << n_more.min(4)).min(PAUSE_MAX);
        }
    }

    async fn read_all(&mut self, at: Duration, errors: &mut Vec<SnmpError>) -> Result<(), SnmpError> {
        let session = self.session().await?;
        self.find_ports(&session, errors).await?;
        let questions = self.questions();
        let asked = questions.into_iter().map(|question| question.ask(session.clone()));
        let mut answers = stream::iter(asked).buffered(N_IN_FLIGHT);
        while let Some(answer) = answers.next().await {
            let answer = answer?;
            for (port_idx, row) in answer.rows() {
                let port = &mut self.ports[port_idx];
                if let Err(error) = port.take(at, answer.clocks(), row) {
                    errors.push(error.of(&self.settings.name, &port.interface));
                }
            }
        }
        Ok(())
    }

    /// Gives those interfaces a number that are known by name only.
    async fn find_ports(&mut self, session: &Session, errors: &mut Vec<SnmpError>) -> Result<(), SnmpError> {
        if self.ports.iter().all(|port| port.index.is_some()) {
            return Ok(());
        }
        for column in [object::IF_NAME, object::IF_DESCR] {
            let rows = session.column(column).await?;
            for port in self.ports.iter_mut().filter(|port| port.index.is_none()) {
                let Interface::Named(name) = &port.interface else { continue };
                let is_it = |(_, value): &&(u32, Value)| value.as_bytes() == Some(name.as_bytes());
                let mut found = rows.iter().filter(is_it).map(|(index, _)| *index);
                match (found.next(), found.count()) {
                    (Some(index), 0) => port.found(index),
                    (Some(_), n_more) => {
                        let (agent, interface) = (self.settings.name.clone(), name.clone());
                        errors.push(SnmpError::Ambiguous { agent, interface, n_found: n_more + 1 });
                    }
                    (None, _) => {}
                }
            }
            if self.ports.iter().all(|port| port.index.is_some()) {
                break;
            }
        }
        let lost = self.ports.iter().filter(|port| port.index.is_none());
        errors.extend(lost.map(|port| {
            let (agent, interface) = (self.settings.name.clone(), port.interface.to_string());
            SnmpError::NoInterface { agent, interface }
        }));
        Ok(())
    }

    /// All that is asked at one read, in pieces that fit into a message.
    fn questions(&self) -> Vec<Question> {
        let mut questions = Vec::new();
        let known = (0..self.ports.len()).filter(|&port_idx| self.ports[port_idx].index.is_some());
        for port_idx in known {
            let row = self.ports[port_idx].objects();
            let fits = |question: &&mut Question| question.objects.len() + row.len() <= N_OBJECTS_MAX;
            match questions.last_mut().filter(fits) {
                Some(question) => question.add(port_idx, row),
                None => questions.push(Question::new(port_idx, row)),
            }
        }
        questions
    }
}

/// The content of one question: the agent's clocks, and rows of interfaces.
struct Question {
    objects: Vec<Oid>,
    /// The ports that the rows belong to, each with the place after its last object.
    ends: Vec<(usize, usize)>,
}

impl Question {
    fn new(port_idx: usize, row: &[Oid]) -> Question {
        let clocks = [object::UPTIME, object::ENGINE_BOOTS].map(|object| instance(object, []));
        let mut question = Question { objects: clocks.into(), ends: Vec::new() };
        question.add(port_idx, row);
        question
    }

    fn add(&mut self, port_idx: usize, row: &[Oid]) {
        self.objects.extend_from_slice(row);
        self.ends.push((port_idx, self.objects.len()));
    }

    async fn ask(self, session: Session) -> Result<Answer, SnmpError> {
        Ok(Answer { values: session.get(&self.objects).await?, ends: self.ends })
    }
}

/// The agent's answer to a question: a value for each object.
struct Answer {
    values: Vec<Value>,
    ends: Vec<(usize, usize)>,
}

impl Answer {
    fn clocks(&self) -> &[Value] {
        &self.values[..N_CLOCKS]
    }

    fn rows(&self) -> impl Iterator<Item = (usize, &[Value])> {
        let starts = [N_CLOCKS].into_iter().chain(self.ends.iter().map(|&(_, end)| end));
        self.ends.iter().zip(starts).map(|(&(port_idx, end), start)| (port_idx, &self.values[start..end]))
    }
}
