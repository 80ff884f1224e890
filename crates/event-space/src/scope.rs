//! Scopes as files: `docs/formats/event-scope.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use mpi_trace::{Operation, Subject};
use mpi_tree::{Host, Tree};
use serde::{Deserialize, Serialize};

use crate::{Buffer, Gather, LastOfHost, Need, Pull, PullExt, Scatter, Tuple};

/// The version of the format.
const FORMAT: u32 = 1;
/// Stages that a file may have.
const N_STAGES_MAX: usize = 10_000;
/// Helper threads that a stage may have.
const N_HELPERS_MAX: usize = 64;
/// Results that a buffer of a scope may hold.
const N_SCATTERED_MAX: usize = 1 << 20;

/// A tree of stages, the last of which is pulled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "File", into = "File")]
pub struct Scope {
    /// Those that others name before these.
    stages: Vec<Stage>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    stage: Vec<Stage>,
}

/// The inputs of a stage, and its steps in this order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Stage {
    name: String,
    /// All rings of a host.
    read: Option<String>,
    /// Other stages.
    gather: Option<Vec<String>>,
    /// The host whose monitor gathers.
    at: Option<String>,
    helpers: usize,
    filter: Option<Filter>,
    convert: Option<Convert>,
    reduce: Option<Reduce>,
    /// Room of the buffer that keeps a copy of all that passes.
    scatter: Option<usize>,
    every: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    /// The name of a call, as `MPI_Allreduce`.
    operation: Option<String>,
    /// Numbers as `mpi-tree` counts them.
    collectors: Option<BTreeSet<u16>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Convert {
    /// Stamps become 0 and the length of time.
    Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reduce {
    /// Keeps the last to arrive of each call at each node.
    LastArrival,
}

/// A file that is no scope, or a scope that cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// It is not TOML with the keys of a scope.
    #[error("the file is no scope")]
    Text(#[from] toml::de::Error),
    /// Another version.
    #[error("the format is {given}; this version reads {FORMAT}")]
    Format {
        /// The version as written.
        given: u32,
    },
    /// Something about one stage.
    #[error("stage `{stage}`: {problem}")]
    Stage {
        /// Its name.
        stage: String,
        /// The error, and what would be right.
        problem: String,
    },
    /// No helper threads.
    #[error("cannot start the helpers of stage `{stage}`")]
    Helpers {
        /// Its name.
        stage: String,
        /// The system's error.
        source: io::Error,
    },
}

/// The built scope: the last stage, and the buffers of stages that scatter, by their names.
pub type Built = (Box<dyn Pull<Tuple>>, BTreeMap<String, Arc<Buffer<Tuple>>>);

/// The form in which a stage of a host is opened.
pub enum Opened {
    /// All stages of the host; the scope's own are made here.
    Here(Box<dyn Pull<Tuple>>),
    /// The stages that the host's own monitor makes.
    Elsewhere(Box<dyn Pull<Tuple>>),
}

impl Scope {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn parse(text: &str) -> Result<Self, ScopeError> {
        toml::from_str::<File>(text)?.try_into()
    }

    /// Makes the scope of the contributor that was last to arrive, of each call at each node: reduced on each host that
    /// has a node, and gathered by so many helper threads. Clusters of several hosts gather on their first one if
    /// `by_cluster`.
    #[must_use]
    pub fn last_arrivals(tree: &Tree, hosts: &[Host], n_helpers: usize, by_cluster: bool) -> Self {
        let need = Need::of_arrivals(tree, hosts);
        let of_host = |(&host, own): (&usize, &BTreeSet<u16>)| Self::last_arrivals_of(&hosts[host], own.clone()).stages;
        let stages = need.collectors.iter().flat_map(of_host).collect();
        Self::gathered(stages, hosts, n_helpers, by_cluster)
    }

    /// All stages of all hosts, gathered by so many helper threads.
    #[must_use]
    pub fn everything(tree: &Tree, hosts: &[Host], n_helpers: usize) -> Self {
        let of_host = |&host: &usize| Stage {
            name: hosts[host].name.clone(),
            read: Some(hosts[host].name.clone()),
            ..Stage::default()
        };
        Self::gathered(Need::of_stages(tree, hosts).collectors.keys().map(of_host).collect(), hosts, n_helpers, false)
    }

    /// Makes the scope of the contributor that was last to arrive, of each call at each node of one host.
    pub(crate) fn last_arrivals_of(host: &Host, collectors: BTreeSet<u16>) -> Self {
        let Self { mut stages } = Self::collectors(host, collectors);
        stages[0].reduce = Some(Reduce::LastArrival);
        Self { stages }
    }

    /// Only some collectors of one host.
    pub(crate) fn collectors(host: &Host, collectors: BTreeSet<u16>) -> Self {
        let filter = Some(Filter { operation: None, collectors: Some(collectors) });
        let stage = Stage { name: host.name.clone(), read: Some(host.name.clone()), filter, ..Stage::default() };
        Self { stages: vec![stage] }
    }

    fn gathered(mut stages: Vec<Stage>, hosts: &[Host], helpers: usize, by_cluster: bool) -> Self {
        // Names of hosts have no spaces, so that these are no host's.
        let gather = |name: &str, gather: Vec<String>, at| Stage {
            name: format!("all of {name}"),
            gather: Some(gather),
            at,
            helpers: helpers.min(N_HELPERS_MAX),
            ..Stage::default()
        };
        let mut names: Vec<String> = stages.iter().map(|stage| stage.name.clone()).collect();
        let mut clusters: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for host in hosts.iter().filter(|host| by_cluster && names.contains(&host.name)) {
            clusters.entry(host.cluster.as_deref().unwrap_or_default()).or_default().push(host.name.clone());
        }
        for (cluster, own) in clusters.into_iter().filter(|(cluster, own)| !cluster.is_empty() && own.len() > 1) {
            names.retain(|name| !own.contains(name));
            let at = Some(own[0].clone());
            let stage = gather(&format!("cluster {cluster}"), own, at);
            names.push(stage.name.clone());
            stages.push(stage);
        }
        stages.push(gather("them", names, None));
        Self { stages }
    }

    /// Makes the stages. `open` gives what reads the rings of a host, or has that part of the scope made where the host
    /// is. Hosts and nodes are those of the tree.
    ///
    /// # Errors
    /// A host that the tree does not have, or no threads.
    pub fn build(
        &self,
        tree: &Tree,
        hosts: &[Host],
        clock: &Arc<dyn Clock>,
        open: &mut dyn FnMut(usize, Self) -> Opened,
    ) -> Result<Built, ScopeError> {
        // From the last stage on, so that what another monitor makes as a part of something is not made twice.
        let (mut opened, mut is_inside) = (BTreeMap::new(), vec![false; self.stages.len()]);
        for (idx, stage) in self.stages.iter().enumerate().rev() {
            let Some(name) = stage.read.as_ref().or(stage.at.as_ref()) else { continue };
            let unknown = || stage.fault(format!("the tree has no host `{name}`"));
            let host = hosts.iter().position(|host| host.name == *name).ok_or_else(unknown)?;
            if !is_inside[idx] {
                let below = self.below(idx);
                let part = open(host, self.part(idx, &below));
                if matches!(part, Opened::Elsewhere(_)) {
                    below.into_iter().for_each(|below| is_inside[below] = true);
                }
                opened.insert(idx, part);
            }
        }
        let (mut made, mut buffers) = (BTreeMap::<&str, Box<dyn Pull<Tuple>>>::new(), BTreeMap::new());
        for (idx, stage) in self.stages.iter().enumerate().filter(|(idx, _)| !is_inside[*idx]) {
            let mut built = match opened.remove(&idx) {
                Some(Opened::Elsewhere(made_there)) => made_there,
                Some(Opened::Here(read)) if stage.gather.is_none() => stage.reduced(read, tree, hosts),
                _ => {
                    let sources = stage.gather.iter().flatten().filter_map(|name| made.remove(name.as_str())).collect();
                    let gather = Gather::new(sources, stage.helpers);
                    let no_threads = |source| ScopeError::Helpers { stage: stage.name.clone(), source };
                    stage.reduced(Box::new(gather.map_err(no_threads)?), tree, hosts)
                }
            };
            if let Some(capacity) = stage.scatter {
                let buffer = Arc::new(Buffer::new(capacity));
                buffers.insert(stage.name.clone(), Arc::clone(&buffer));
                built = Box::new(Scatter::new(built, vec![buffer], |_| 0));
            }
            if let Some(every) = stage.every().map_err(|problem| stage.fault(problem))? {
                built = Box::new(built.paced(every, Arc::clone(clock)));
            }
            made.insert(&stage.name, built);
        }
        let last = made.into_values().next().expect("one stage is left that nobody gathers");
        Ok((last, buffers))
    }

    /// All stages that one gathers, at first or second hand.
    fn below(&self, idx: usize) -> Vec<usize> {
        let (mut below, mut next) = (Vec::new(), vec![idx]);
        while let Some(idx) = next.pop() {
            for name in self.stages[idx].gather.iter().flatten() {
                // Names come again once they are gathered.
                next.extend(self.stages[..idx].iter().rposition(|stage| stage.name == *name));
            }
            below.push(idx);
        }
        below.retain(|other| *other != idx);
        below.sort_unstable();
        below
    }

    /// A stage and those below it, as its host's monitor makes them. Buffers and paces are for whoever pulls.
    fn part(&self, idx: usize, below: &[usize]) -> Self {
        let last = Stage { at: None, scatter: None, every: None, ..self.stages[idx].clone() };
        Self { stages: below.iter().map(|idx| self.stages[*idx].clone()).chain([last]).collect() }
    }
}

impl TryFrom<File> for Scope {
    type Error = ScopeError;

    fn try_from(File { format, stage: stages }: File) -> Result<Self, ScopeError> {
        if format != FORMAT {
            return Err(ScopeError::Format { given: format });
        }
        // Each stage is used once, by a later one; so there are no cycles, and the last one is the only one that nobody
        // uses.
        let mut free: Vec<&str> = Vec::new();
        for (idx, stage) in stages.iter().enumerate() {
            stage.check(idx).map_err(|problem| stage.fault(problem))?;
            for name in stage.gather.iter().flatten() {
                let Some(at) = free.iter().position(|other| other == name) else {
                    return Err(stage.fault(format!("`{name}` is no stage before it that nobody else gathers")));
                };
                free.remove(at);
            }
            if free.contains(&stage.name.as_str()) {
                return Err(stage.fault("there are two of this name".into()));
            }
            free.push(&stage.name);
        }
        match free[..] {
            [_] => Ok(Self { stages }),
            [first, ..] => {
                let problem = "no later stage gathers it; only the last one may be left".to_owned();
                Err(ScopeError::Stage { stage: first.to_owned(), problem })
            }
            [] => Err(Stage::default().fault("there is none; a scope has at least one".into())),
        }
    }
}

impl From<Scope> for File {
    fn from(scope: Scope) -> Self {
        Self { format: FORMAT, stage: scope.stages }
    }
}

impl Stage {
    fn fault(&self, problem: String) -> ScopeError {
        ScopeError::Stage { stage: self.name.clone(), problem }
    }

    /// Returns the input `from`, filtered, reduced and converted.
    fn reduced(&self, from: Box<dyn Pull<Tuple>>, tree: &Tree, hosts: &[Host]) -> Box<dyn Pull<Tuple>> {
        let mut built = from;
        if let Some(Filter { operation, collectors }) = &self.filter {
            let operation = operation.as_ref().and_then(|name| Operation::of_name(name));
            let collectors = collectors.clone();
            built = Box::new(built.filter(move |tuple: &Tuple| {
                let is_collector = |wanted: &BTreeSet<u16>| match tuple.event.subject {
                    Subject::Stage { collector, .. } => wanted.contains(&collector),
                    Subject::Call { .. } | Subject::Part { .. } => false,
                };
                operation.is_none_or(|operation| operation == tuple.event.operation)
                    && collectors.as_ref().is_none_or(is_collector)
            }));
        }
        if self.reduce == Some(Reduce::LastArrival) {
            let mut last = LastOfHost::new(tree, hosts);
            built = Box::new(built.through(move |tuple, into: &mut Vec<Tuple>| last.take(tuple, into)));
        }
        if self.convert == Some(Convert::Span) {
            built = Box::new(built.convert(|mut tuple: Tuple| {
                tuple.event.end -= tuple.event.start;
                tuple.event.start = 0;
                tuple
            }));
        }
        built
    }

    fn check(&self, idx: usize) -> Result<(), String> {
        if idx >= N_STAGES_MAX {
            return Err(format!("a scope has at most {N_STAGES_MAX} stages"));
        }
        if self.read.is_some() == self.gather.is_some() {
            return Err("it has either `read` or `gather`".to_owned());
        }
        if self.at.is_some() && self.gather.is_none() {
            return Err(
                "only a stage that gathers is made `at` a host; one that reads is made where it reads".to_owned()
            );
        }
        let mut operations = self.filter.iter().filter_map(|filter| filter.operation.as_ref());
        if let Some(name) = operations.find(|name| Operation::of_name(name).is_none()) {
            return Err(format!("`{name}` is no MPI call"));
        }
        if self.helpers > N_HELPERS_MAX || (self.helpers > 0 && self.read.is_some()) {
            return Err(format!("{} helpers; stages that gather have 0 to {N_HELPERS_MAX}", self.helpers));
        }
        if let Some(given) = self.scatter.filter(|given| !(1..=N_SCATTERED_MAX).contains(given)) {
            return Err(format!("a buffer of {given} tuples; there is room for 1 to {N_SCATTERED_MAX}"));
        }
        self.every().map(drop)
    }

    fn every(&self) -> Result<Option<Duration>, String> {
        let read = |text: &String| units::span::parse(text).map_err(|error| error.to_string());
        self.every.as_ref().map(read).transpose()
    }
}
