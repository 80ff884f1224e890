//! The hosts of a tree: those whose rings are here, those whose own monitors are asked, and those of which nothing is
//! known.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clock::{Clock, System};
use mpi_analysis::HostClock;
use mpi_trace::{Alignment, Line};
use mpi_tree::{Host, Tree};
use stream::{Endpoint, Place, Role, Security};
use watch::Watch;

use crate::need::host_of;
use crate::remote::{About, Elsewhere, Remote, Share, Task, What, Wire, WireClock};
use crate::{
    Buffer, Built, Counts, Gated, Gather, Hop, Live, LiveError, MpiTime, Need, Opened, Pull, Scope, ScopeError, Spent,
    StageFigures, StageStatistics, Strategy, Tally, Tuple, Worked, Worker, load_balance_host,
};

/// Results of one host that wait to be gathered; all but the newest are only missed.
const N_RESULTS: usize = 64;

/// The settings that all watching in one process shares.
#[derive(Clone)]
pub struct Setting {
    /// The protection of connections.
    pub security: Security,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The watch that panics are reported to.
    pub watch: Watch,
}

impl Default for Setting {
    /// The system's clock, and no protection, which only connections on the loopback do without.
    fn default() -> Self {
        Self { security: Security::default(), clock: Arc::new(System::start()), watch: Watch::default() }
    }
}

/// The places where the hosts of one tree are watched.
pub struct Sites {
    /// This host's part, if there is one.
    live: Option<Live>,
    id: u64,
    tree: Tree,
    hosts: Vec<Host>,
    here: BTreeMap<usize, WireClock>,
    elsewhere: BTreeMap<usize, (Endpoint, WireClock)>,
    gate: Strategy,
    is_resumed: bool,
    setting: Setting,
    shares: Mutex<Vec<Arc<Share>>>,
}

/// Hosts that cannot be watched together, or not as was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SitesError {
    /// The job on this host.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// Error of the scope that is asked of hosts.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// A monitor has another tree file than others.
    #[error("the monitor at {endpoint} has another tree file than others of the job")]
    OtherTree {
        /// Where.
        endpoint: String,
    },
    /// Neither here nor at any monitor.
    #[error(
        "there is nothing to watch: no rings of the job are on this host, and no monitor of another host was found"
    )]
    Nowhere,
    /// The host is not in the tree, or nobody reads its rings.
    #[error("nobody watches the host `{host}` of the tree")]
    Unwatched {
        /// Its name.
        host: String,
    },
    /// A place where nothing can be asked.
    #[error("`{given}` is no endpoint of a monitor, as source:tcp:HOST:PORT is")]
    Endpoint {
        /// The place as it was given.
        given: String,
    },
    /// No thread.
    #[error("the system has no thread for the monitor")]
    Thread(#[from] io::Error),
}

impl Sites {
    /// Gathers the hosts of a tree of a job that is here, at the monitors of other hosts, or both.
    ///
    /// # Errors
    /// If nothing of it is anywhere, or monitors have other trees.
    pub fn new(
        live: Option<Live>,
        tree: usize,
        monitors: Vec<(Endpoint, About)>,
        setting: Setting,
    ) -> Result<Self, SitesError> {
        let forest = match (&live, monitors.first()) {
            (Some(live), _) => live.forest().clone(),
            (None, Some((_, about))) => Arc::new(mpi_tree::Forest::parse(&about.trees).map_err(LiveError::from)?),
            (None, None) => return Err(SitesError::Nowhere),
        };
        let n_trees = forest.trees.len();
        let which = LiveError::Which { given: tree, n_trees };
        let own = forest.trees.get(tree).ok_or(which)?.clone();
        let mut elsewhere = BTreeMap::new();
        for (endpoint, about) in monitors {
            let theirs = mpi_tree::Forest::parse(&about.trees).map_err(LiveError::from)?;
            if theirs.fingerprint() != forest.fingerprint() {
                return Err(SitesError::OtherTree { endpoint: endpoint.to_string() });
            }
            for (name, clock) in about.hosts {
                let host = forest.hosts.iter().position(|host| host.name == name);
                elsewhere.extend(host.map(|host| (host, (endpoint.clone(), clock))));
            }
        }
        let (id, hosts) = (forest.id_of(tree), forest.hosts.clone());
        Self::put_together(live.and_then(|live| live.tree_at(tree)), id, own, hosts, elsewhere, setting)
    }

    /// Returns the hosts that a monitor needs for a task, whose tree is that of `live`.
    pub(crate) fn of_task(live: Live, setting: Setting, task: &Task) -> Result<Self, SitesError> {
        let mut elsewhere = BTreeMap::new();
        for (name, Elsewhere { endpoint, clock }) in &task.elsewhere {
            // Whoever asks may have this process connect to monitors, and to nothing else.
            let is_monitor =
                |endpoint: &Endpoint| endpoint.role == Role::Source && matches!(endpoint.place, Place::Tcp { .. });
            let wrong = || SitesError::Endpoint { given: endpoint.clone() };
            let endpoint = endpoint.parse().ok().filter(is_monitor).ok_or_else(wrong)?;
            let host = live.hosts().iter().position(|host| host.name == *name);
            elsewhere.extend(host.map(|host| (host, (endpoint, *clock))));
        }
        let (tree, hosts) = (live.tree().clone(), live.hosts().to_vec());
        let sites = Self::put_together(Some(live), task.tree, tree, hosts, elsewhere, setting)?;
        Ok(Self { gate: task.gate, is_resumed: task.is_resumed, ..sites })
    }

    fn put_together(
        live: Option<Live>,
        id: u64,
        tree: Tree,
        hosts: Vec<Host>,
        mut elsewhere: BTreeMap<usize, (Endpoint, WireClock)>,
        setting: Setting,
    ) -> Result<Self, SitesError> {
        let here = live.as_ref().map(Live::here).transpose()?.unwrap_or_default();
        let here: BTreeMap<_, _> = here.into_iter().map(|(host, clock)| (host, WireClock::new(clock))).collect();
        // What is here needs no monitor.
        elsewhere.retain(|host, _| !here.contains_key(host));
        let (gate, is_resumed, shares) = (Strategy::Off, false, Mutex::default());
        Ok(Self { live, id, tree, hosts, here, elsewhere, gate, is_resumed, setting, shares })
    }

    /// Monitors wait for moments of this kind before they read.
    #[must_use]
    pub fn gated(mut self, gate: Strategy) -> Self {
        self.gate = gate;
        self
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The hosts of the tree file.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Whether the job has another tree file by now, on this host or at a monitor. Nothing more comes of the tree then.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        let is_replaced_here = |live: &Live| matches!(live.replaced(), Ok(Some(_)));
        self.live.as_ref().is_some_and(is_replaced_here) || self.shares().iter().any(|share| share.is_replaced())
    }

    /// Whether the job runs: on this host, or else whether any monitor gives something.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        match &self.live {
            Some(live) => live.folder().is_alive().unwrap_or(false),
            None => self.shares().iter().any(|share| share.trouble().is_none()),
        }
    }

    fn shares(&self) -> MutexGuard<'_, Vec<Arc<Share>>> {
        // Nothing is half done under the lock.
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names of hosts that have a collector, and whose rings somebody reads.
    #[must_use]
    pub fn watched(&self) -> Vec<&str> {
        self.names(true)
    }

    /// Names of hosts that have a collector, and that nobody watches.
    #[must_use]
    pub fn unwatched(&self) -> Vec<&str> {
        self.names(false)
    }

    fn names(&self, is_wanted: bool) -> Vec<&str> {
        let is_watched = |host: &usize| self.here.contains_key(host) || self.elsewhere.contains_key(host);
        let need = Need::of_stages(&self.tree, &self.hosts);
        need.collectors
            .keys()
            .filter(|host| is_watched(host) == is_wanted)
            .map(|host| &*self.hosts[*host].name)
            .collect()
    }

    /// Endpoints of monitors from which nothing comes just now, and why.
    #[must_use]
    pub fn troubles(&self) -> Vec<(String, String)> {
        let shares = self.shares();
        let mut troubles: Vec<_> =
            shares.iter().filter_map(|share| Some((share.endpoint.clone(), share.trouble()?))).collect();
        troubles.sort();
        troubles.dedup();
        troubles
    }

    /// The clocks of all hosts. Those of one machine are joined; of others only lengths of time are known.
    #[must_use]
    pub fn clocks(&self) -> Vec<HostClock> {
        let clock = |host: usize| match (self.here.get(&host), self.elsewhere.get(&host)) {
            (Some(clock), _) => {
                HostClock { line: clock.line(), alignment: self.elsewhere.is_empty().then(Alignment::default) }
            }
            (None, Some((_, clock))) => HostClock { line: clock.line(), alignment: None },
            (None, None) => HostClock { line: Line::identity(), alignment: None },
        };
        (0..self.hosts.len()).map(clock).collect()
    }

    /// Makes a scope: what it reads of a host is filtered, reduced and converted there. A host that nobody watches
    /// gives nothing.
    ///
    /// # Errors
    /// Those of [`Scope::build`].
    pub fn scope(&self, scope: &Scope) -> Result<Built, ScopeError> {
        scope.build(&self.tree, &self.hosts, &self.setting.clock, &mut |host, part| {
            if let (Some(live), true) = (&self.live, self.here.contains_key(&host)) {
                let read = live.stages([host]);
                let read = if self.is_resumed { read.from_newest() } else { read };
                return Opened::Here(Box::new(Gated::new(read, live.gate(host), self.gate)));
            }
            let task = What::Scope(part);
            match self.remote::<Tuple>(host, task) {
                Some(remote) => Opened::Elsewhere(remote),
                None => Opened::Elsewhere(Box::new(Nothing)),
            }
        })
    }

    /// Pulls the number of times that each contributor on a host was last, counted there.
    ///
    /// # Errors
    /// If nobody watches the host, or there is no thread.
    pub fn counts(&self, name: &str) -> Result<Box<dyn Pull<Counts>>, SitesError> {
        let what = What::LoadBalance { host: name.to_owned() };
        self.on_host(name, what, |live, host| {
            let need = Need::of_arrivals(&self.tree, &self.hosts);
            let collectors = need.collectors.get(&host).cloned().unwrap_or_default();
            let (scope, _) = self.ungated().scope(&Scope::last_arrivals_of(&self.hosts[host], collectors.clone()))?;
            let buffer = Arc::new(Buffer::new(N_RESULTS));
            let step = load_balance_host(host as u16, collectors, scope, Arc::clone(&buffer));
            Ok(Box::new(Worked::new(buffer.newest(), self.worker(live, host, step)?)))
        })
    }

    /// Figures of the stages around a host's nodes, computed there. Of hops, it computes those that begin or end there,
    /// for which it reads the other hosts.
    ///
    /// # Errors
    /// If nobody watches the host, or there is no thread.
    pub fn statistics(
        &self,
        name: &str,
        hop: Hop,
        contributors: bool,
    ) -> Result<Box<dyn Pull<StageFigures>>, SitesError> {
        let what = What::Statistics { host: name.to_owned(), hop, contributors };
        self.on_host(name, what, |live, host| {
            let statistics = StageStatistics::new(&self.tree, &self.hosts, host, hop, self.clocks());
            let mut needed: BTreeMap<usize, BTreeSet<u16>> = BTreeMap::new();
            let collectors = self.tree.collectors(&self.hosts);
            for number in statistics.collectors() {
                let of = host_of(&self.tree, &self.hosts, &collectors[usize::from(number)]);
                needed.entry(of).or_default().insert(number);
            }
            let sites = self.ungated();
            let read = |(of, numbers): (usize, BTreeSet<u16>)| {
                Ok(sites.scope(&Scope::collectors(&self.hosts[of], numbers))?.0)
            };
            let sources = needed.into_iter().map(read).collect::<Result<Vec<_>, ScopeError>>()?;
            self.shares().append(&mut sites.shares());
            // Other hosts are read at the same time, or it cannot keep up.
            let n_helpers = if sources.len() > 1 { sources.len() } else { 0 };
            let mut gather = Gather::new(sources, n_helpers)?;
            let state = Arc::new(Mutex::new(statistics));
            let (shared, mut tuples) = (Arc::clone(&state), Vec::new());
            let step = move || {
                let tally = gather.pull(&mut tuples);
                let mut statistics = shared.lock().unwrap_or_else(PoisonError::into_inner);
                tuples.drain(..).for_each(|tuple: Tuple| statistics.take(&tuple));
                tally
            };
            let results = Asked(move |into: &mut Vec<StageFigures>| {
                let statistics = state.lock().unwrap_or_else(PoisonError::into_inner);
                into.extend(statistics.latencies());
                into.extend(contributors.then(|| statistics.contributors()).into_iter().flatten());
            });
            Ok(Box::new(Worked::new(results, self.worker(live, host, step)?)))
        })
    }

    /// Time in collective calls of a host's ranks, summed up there.
    ///
    /// # Errors
    /// If nobody watches the host, or there is no thread.
    pub fn time(&self, name: &str) -> Result<Box<dyn Pull<Spent>>, SitesError> {
        let what = What::Time { host: name.to_owned() };
        self.on_host(name, what, |live, host| {
            let (mut read, mut tuples) = (live.calls([host]), Vec::new());
            let line = self.here[&host].line();
            let state = Arc::new(Mutex::new(MpiTime::default()));
            let shared = Arc::clone(&state);
            let step = move || {
                let tally = read.pull(&mut tuples);
                let mut time = shared.lock().unwrap_or_else(PoisonError::into_inner);
                tuples.drain(..).for_each(|tuple| time.take(&tuple));
                tally
            };
            let results = Asked(move |into: &mut Vec<Spent>| {
                into.extend(state.lock().unwrap_or_else(PoisonError::into_inner).spent(line));
            });
            Ok(Box::new(Worked::new(results, self.worker(live, host, step)?)))
        })
    }

    /// The same without a gate, for stages behind a worker that waits at one.
    fn ungated(&self) -> Self {
        Self {
            live: self.live.clone(),
            tree: self.tree.clone(),
            hosts: self.hosts.clone(),
            here: self.here.clone(),
            elsewhere: self.elsewhere.clone(),
            gate: Strategy::Off,
            setting: self.setting.clone(),
            shares: Mutex::default(),
            ..*self
        }
    }

    fn worker(&self, live: &Live, host: usize, step: impl FnMut() -> Tally + Send + 'static) -> io::Result<Worker> {
        let name = format!("monitor {}", self.hosts[host].name);
        Worker::start(&self.setting.watch, &name, live.gate(host), self.gate, step)
    }

    /// Makes the pull here for a host that is here, and asks for the pull of others.
    fn on_host<T: Wire>(
        &self,
        name: &str,
        what: What,
        make: impl FnOnce(&Live, usize) -> Result<Box<dyn Pull<T>>, SitesError>,
    ) -> Result<Box<dyn Pull<T>>, SitesError> {
        let unwatched = || SitesError::Unwatched { host: name.to_owned() };
        let host = self.hosts.iter().position(|host| host.name == name).ok_or_else(unwatched)?;
        match &self.live {
            Some(live) if self.here.contains_key(&host) => make(live, host),
            _ => self.remote(host, what).ok_or_else(unwatched),
        }
    }

    fn remote<T: Wire>(&self, host: usize, what: What) -> Option<Box<dyn Pull<T>>> {
        let (endpoint, _) = self.elsewhere.get(&host)?;
        let name = |host: &usize| self.hosts[*host].name.clone();
        let elsewhere = self.elsewhere.iter();
        let task = Task {
            tree: self.id,
            what,
            gate: self.gate,
            is_resumed: self.is_resumed,
            elsewhere: elsewhere
                .map(|(host, (endpoint, clock))| {
                    (name(host), Elsewhere { endpoint: endpoint.to_string(), clock: *clock })
                })
                .collect(),
        };
        let remote =
            Remote::<T>::new(endpoint.clone(), self.setting.security.clone(), task, Arc::clone(&self.setting.clock));
        self.shares().push(remote.share());
        Some(Box::new(remote))
    }
}

/// A host that nobody watches.
struct Nothing;

impl<T> Pull<T> for Nothing {
    fn pull(&mut self, _: &mut Vec<T>) -> Tally {
        Tally::default()
    }
}

/// Results that are made when somebody asks.
struct Asked<F>(F);

impl<T, F: FnMut(&mut Vec<T>) + Send> Pull<T> for Asked<F> {
    fn pull(&mut self, into: &mut Vec<T>) -> Tally {
        (self.0)(into);
        Tally::default()
    }
}
