//! Readings by SNMP, from agents in the network, of the links that flows go over.
//!
//! Dinda and O'Hallaron's second sensor measures what a flow between two addresses would get, by SNMP on a LAN (RPS,
//! section 4; Remos). This one reads the octet counters of the interfaces on the flow's way, takes the rates from the
//! capacities, and hands out the least of what is left. Version 2c and 3 are spoken by the crate `async-snmp`; all
//! sockets are driven by the thread that reads.

mod agent;
mod error;
mod host;
mod meter;
mod object;
mod path;
mod port;
mod route;
mod session;
mod settings;
mod share;

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::runtime::{self, Runtime};
use tracing::subscriber::{self, NoSubscriber};

pub use self::{
    error::{Implausible, SettingsError, SnmpError},
    settings::{
        AgentSettings, Authentication, Cipher, Credentials, Digest, Direction, FlowSettings, Hop, Interface,
        LinkSettings, Path, SnmpSettings, User,
    },
};

use signal::{Family, Readings, Signal, Source, row};

use self::{
    agent::{Agent, Reading},
    path::{Leg, Search},
};

const FLOW: &Family = row("flow.{peer}");
const RECEIVED: &Family = row("link.{name}.received");
const SENT: &Family = row("link.{name}.sent");
const CAPACITY: &Family = row("link.{name}.capacity");

/// The time for which a way that was found is taken to be the way. Routes change seldom, and hosts are moved to other
/// ports more seldom still.
const WAY_KEPT: Duration = Duration::from_secs(300);

/// The time to wait before a way that could not be found is looked for again.
const WAY_MISSED: Duration = Duration::from_secs(30);

/// The agents, links and flows of [`SnmpSettings`], read tick by tick.
pub struct SnmpSource {
    agents: Vec<Agent>,
    links: Vec<Link>,
    flows: Vec<Flow>,
    root: PathBuf,
    runtime: Runtime,
    n_errors: u64,
    last_error: Option<SnmpError>,
}

/// An interface that is watched, and its signals.
struct Link {
    name: String,
    agent_idx: usize,
    port_idx: usize,
    received: Arc<Signal>,
    sent: Arc<Signal>,
    capacity: Arc<Signal>,
}

/// A flow, and its signal.
struct Flow {
    settings: FlowSettings,
    signal: Arc<Signal>,
    /// Places among the links, and which way the flow goes over them. Empty while its way is not known.
    hops: Vec<(usize, Direction)>,
    /// When to look for its way again; none if it is given.
    search_at: Option<Duration>,
}

impl SnmpSource {
    /// Gets ready to ask the agents. Asks nothing yet, and does not look their names up.
    ///
    /// `root` is where this host's `proc` and `sys` are, for flows whose way is to be found.
    ///
    /// # Errors
    /// When the settings contradict themselves or cannot be used.
    pub fn new(settings: SnmpSettings, root: impl Into<PathBuf>) -> Result<SnmpSource, SettingsError> {
        settings.check()?;
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|source| SettingsError::Runtime { source })?;
        let mut agents = Vec::new();
        for agent in settings.agents {
            let name = agent.name.clone();
            let credentials = |source| SettingsError::Credentials { agent: name, source };
            agents.push(Agent::new(agent).map_err(credentials)?);
        }
        let (links, flows) = (Vec::new(), Vec::new());
        let mut source = SnmpSource { agents, links, flows, root: root.into(), runtime, n_errors: 0, last_error: None };
        for link in settings.links {
            let known = source.agents.iter().position(|agent| agent.settings.name == link.agent);
            let agent_idx = known.expect("the settings name agents that are there");
            source.watch(link.name, agent_idx, link.interface, link.capacity_bytes_per_sec);
        }
        source.flows = settings.flows.into_iter().map(|flow| Flow::new(flow, &source.links)).collect();
        Ok(source)
    }

    /// Watches an interface as a link of this name. Returns its place among the links.
    fn watch(&mut self, name: String, agent_idx: usize, interface: Interface, capacity: Option<f64>) -> usize {
        let port_idx = self.agents[agent_idx].watch(interface, capacity);
        let [received, sent, capacity] =
            [RECEIVED, SENT, CAPACITY].map(|family| Signal::labelled(family, name.as_bytes()));
        self.links.push(Link { name, agent_idx, port_idx, received, sent, capacity });
        self.links.len() - 1
    }

    fn fail(&mut self, error: SnmpError) {
        self.n_errors += 1;
        self.last_error = Some(error);
    }

    /// Looks for the ways of those flows that are due.
    fn find_ways(&mut self, at: Duration) {
        for idx in 0..self.flows.len() {
            let Flow { settings, search_at: Some(search_at), .. } = &self.flows[idx] else { continue };
            let Path::Found { source, destination } = settings.path else { continue };
            if at < *search_at {
                continue;
            }
            let search = Search { flow: &settings.peer, source, destination, root: &self.root };
            match self.runtime.block_on(search.run(&mut self.agents, at)) {
                Ok(legs) => {
                    let hops = legs.into_iter().map(|leg| self.link_of(leg)).collect();
                    (self.flows[idx].hops, self.flows[idx].search_at) = (hops, Some(at + WAY_KEPT));
                }
                Err(error) => {
                    (self.flows[idx].hops, self.flows[idx].search_at) = (Vec::new(), Some(at + WAY_MISSED));
                    self.fail(error);
                }
            }
        }
    }

    /// The link that a leg goes over: one that is watched, or one that is watched from here on, called after the agent
    /// and the interface.
    fn link_of(&mut self, leg: Leg) -> (usize, Direction) {
        let agent = &self.agents[leg.agent_idx];
        let is_it = |link: &Link| {
            link.agent_idx == leg.agent_idx && agent.is_watched_as(link.port_idx, leg.if_index, &leg.name)
        };
        if let Some(link_idx) = self.links.iter().position(is_it) {
            return (link_idx, leg.direction);
        }
        let name = format!("{}.{}", agent.settings.name, leg.name);
        let link_idx = self.watch(name, leg.agent_idx, leg.interface(), None);
        (link_idx, leg.direction)
    }

    /// Asks all agents side by side.
    fn ask(&mut self, at: Duration) {
        let asked = join_all(self.agents.iter_mut().map(|agent| agent.read(at)));
        let errors = self.runtime.block_on(asked);
        errors.into_iter().flatten().for_each(|error| self.fail(error));
    }

    fn hand_out(&self, readings: &mut Readings) {
        for link in &self.links {
            let reading = self.reading(link);
            readings.push_some(&link.received, reading.rates.map(|rates| rates.received));
            readings.push_some(&link.sent, reading.rates.map(|rates| rates.sent));
            readings.push_some(&link.capacity, reading.capacity);
        }
        for flow in &self.flows {
            readings.push_some(&flow.signal, self.bandwidth(flow));
        }
    }

    fn reading(&self, link: &Link) -> Reading {
        self.agents[link.agent_idx].reading(link.port_idx)
    }

    /// The least of what the flow gets of its links; none unless all of them are known.
    fn bandwidth(&self, flow: &Flow) -> Option<f64> {
        let shares = flow.hops.iter().map(|&(link_idx, direction)| {
            let Reading { rates, capacity } = self.reading(&self.links[link_idx]);
            let (rates, capacity) = (rates?, capacity?);
            let used = match direction {
                Direction::Received => rates.received,
                Direction::Sent => rates.sent,
                Direction::Shared => rates.received + rates.sent,
            };
            Some(share::of_flow(capacity, used, flow.settings.n_rivals_max))
        });
        shares.collect::<Option<Vec<f64>>>()?.into_iter().min_by(f64::total_cmp)
    }
}

impl Flow {
    fn new(settings: FlowSettings, links: &[Link]) -> Flow {
        let place = |name: &str| links.iter().position(|link| link.name == name);
        let (hops, search_at) = match &settings.path {
            Path::Given(hops) => {
                let place =
                    |hop: &Hop| (place(&hop.link).expect("the settings name links that are there"), hop.direction);
                (hops.iter().map(place).collect(), None)
            }
            Path::Found { .. } => (Vec::new(), Some(Duration::ZERO)),
        };
        let signal = Signal::labelled(FLOW, settings.peer.as_bytes());
        Flow { settings, signal, hops, search_at }
    }
}

impl Source for SnmpSource {
    fn read(&mut self, at: Duration, readings: &mut Readings) {
        readings.truncate(0);
        // The library writes a record of every request and every error; those that matter are counted and kept here.
        subscriber::with_default(NoSubscriber::new(), || {
            self.find_ways(at);
            self.ask(at);
        });
        self.hand_out(readings);
    }

    fn n_errors(&self) -> u64 {
        self.n_errors
    }

    fn last_error(&self) -> Option<String> {
        Some(text::with_causes(self.last_error.as_ref()?))
    }
}
