//! Scopes as files: `docs/formats/event-scope.md`.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use mpi_trace::{Operation, Subject};
use mpi_tree::{Host, Tree};
use serde::Deserialize;

use crate::{Buffer, Gather, LastOfHost, Pull, PullExt, Read, Scatter, Tuple};

/// The version of the format.
const FORMAT: u32 = 1;
/// Stages that a file may have.
const N_STAGES_MAX: usize = 10_000;
/// Helper threads that a stage may have.
const N_HELPERS_MAX: usize = 64;
/// Results that a buffer of a scope may hold.
const N_SCATTERED_MAX: usize = 1 << 20;

/// A tree of stages, the last of which is pulled.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// Those that others name before these.
    stages: Vec<Stage>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    stage: Vec<Stage>,
}

/// Where a stage takes from, and what it does in this order.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stage {
    name: String,
    /// All rings of a host.
    read: Option<String>,
    /// Other stages.
    gather: Option<Vec<String>>,
    #[serde(default)]
    helpers: usize,
    filter: Option<Filter>,
    convert: Option<Convert>,
    reduce: Option<Reduce>,
    /// Room of the buffer that keeps a copy of all that passes.
    scatter: Option<usize>,
    every: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    /// Of a call, as `MPI_Allreduce`.
    operation: Option<String>,
    /// Numbers as `mpi-tree` counts them.
    collectors: Option<Vec<u16>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Convert {
    /// Stamps become 0 and the length of time.
    Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reduce {
    /// Of each call at each node the last to arrive.
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
        /// As written.
        given: u32,
    },
    /// Something about one stage.
    #[error("stage `{stage}`: {problem}")]
    Stage {
        /// Its name.
        stage: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// No helper threads.
    #[error("cannot start the helpers of stage `{stage}`")]
    Helpers {
        /// Its name.
        stage: String,
        /// What the system said.
        source: io::Error,
    },
}

/// What was built: the last stage, and the buffers of stages that scatter, by their names.
pub type Built = (Box<dyn Pull<Tuple>>, BTreeMap<String, Arc<Buffer<Tuple>>>);

impl Scope {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn parse(text: &str) -> Result<Self, ScopeError> {
        let File { format, stage: stages } = toml::from_str(text)?;
        if format != FORMAT {
            return Err(ScopeError::Format { given: format });
        }
        // Each stage is used once, by a later one; so there are no cycles, and the last one is the only one that nobody uses.
        let mut free: Vec<&str> = Vec::new();
        for (idx, stage) in stages.iter().enumerate() {
            stage.check(idx).map_err(|problem| ScopeError::Stage { stage: stage.name.clone(), problem })?;
            for name in stage.gather.iter().flatten() {
                let Some(at) = free.iter().position(|other| other == name) else {
                    let problem = format!("`{name}` is no stage before it that nobody else gathers");
                    return Err(ScopeError::Stage { stage: stage.name.clone(), problem });
                };
                free.remove(at);
            }
            if free.contains(&stage.name.as_str()) {
                return Err(ScopeError::Stage {
                    stage: stage.name.clone(),
                    problem: "there are two of this name".into(),
                });
            }
            free.push(&stage.name);
        }
        match free[..] {
            [_] => Ok(Self { stages }),
            [first, ..] => {
                let problem = "no later stage gathers it; only the last one may be left".to_owned();
                Err(ScopeError::Stage { stage: first.to_owned(), problem })
            }
            [] => Err(ScopeError::Stage {
                stage: String::new(),
                problem: "there is none; a scope has at least one".into(),
            }),
        }
    }

    /// Makes the stages. `open` gives what reads the rings of a host; hosts and nodes are those of the tree.
    ///
    /// # Errors
    /// A host that the tree does not have, an operation that does not exist, or no threads.
    pub fn build(
        &self,
        tree: &Tree,
        hosts: &[Host],
        clock: &Arc<dyn Clock>,
        open: &mut dyn FnMut(usize) -> Read,
    ) -> Result<Built, ScopeError> {
        let mut made: BTreeMap<&str, Box<dyn Pull<Tuple>>> = BTreeMap::new();
        let mut buffers = BTreeMap::new();
        for stage in &self.stages {
            let fault = |problem| ScopeError::Stage { stage: stage.name.clone(), problem };
            let mut built: Box<dyn Pull<Tuple>> = if let Some(name) = &stage.read {
                let host = hosts.iter().position(|host| host.name == *name);
                Box::new(open(host.ok_or_else(|| fault(format!("the tree has no host `{name}`")))?))
            } else {
                let sources = stage.gather.iter().flatten().filter_map(|name| made.remove(name.as_str())).collect();
                let gather = Gather::new(sources, stage.helpers);
                Box::new(gather.map_err(|source| ScopeError::Helpers { stage: stage.name.clone(), source })?)
            };
            if let Some(Filter { operation, collectors }) = &stage.filter {
                let known =
                    |name: &String| Operation::of_name(name).ok_or_else(|| fault(format!("`{name}` is no MPI call")));
                let operation = operation.as_ref().map(known).transpose()?;
                let collectors = collectors.clone();
                built = Box::new(built.filter(move |tuple: &Tuple| {
                    let is_collector = |wanted: &Vec<u16>| match tuple.event.subject {
                        Subject::Stage { collector, .. } => wanted.contains(&collector),
                        Subject::Call { .. } | Subject::Part { .. } => false,
                    };
                    operation.is_none_or(|operation| operation == tuple.event.operation)
                        && collectors.as_ref().is_none_or(is_collector)
                }));
            }
            if stage.reduce == Some(Reduce::LastArrival) {
                let mut last = LastOfHost::new(tree, hosts);
                built = Box::new(built.through(move |tuple, into: &mut Vec<Tuple>| last.take(tuple, into)));
            }
            if stage.convert == Some(Convert::Span) {
                built = Box::new(built.convert(|mut tuple: Tuple| {
                    tuple.event.end -= tuple.event.start;
                    tuple.event.start = 0;
                    tuple
                }));
            }
            if let Some(capacity) = stage.scatter {
                let buffer = Arc::new(Buffer::new(capacity));
                buffers.insert(stage.name.clone(), Arc::clone(&buffer));
                built = Box::new(Scatter::new(built, vec![buffer], |_| 0));
            }
            if let Some(every) = stage.every().map_err(fault)? {
                built = Box::new(built.paced(every, Arc::clone(clock)));
            }
            made.insert(&stage.name, built);
        }
        let last = made.into_values().next().expect("one stage is left that nobody gathers");
        Ok((last, buffers))
    }
}

impl Stage {
    fn check(&self, idx: usize) -> Result<(), String> {
        if idx >= N_STAGES_MAX {
            return Err(format!("a scope has at most {N_STAGES_MAX} stages"));
        }
        if self.read.is_some() == self.gather.is_some() {
            return Err("it has either `read` or `gather`".to_owned());
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
