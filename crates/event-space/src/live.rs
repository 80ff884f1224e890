//! A tree of a job that runs, opened on this host: the rings of its stages and calls, the clocks that stamp them, its
//! gates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use mpi_job::{Access, Folder, JobError, RingFile, Segment};
use mpi_trace::{Reading, RingKind};
use mpi_tree::{Forest, Host, Tree, TreeError};

use crate::{Gate, HostGate, Pull, Read, Tally, Tuple};

/// Records of a ring that are read at once, 1.5 MB of a host with eight ranks.
const N_AT_ONCE: usize = 1 << 13;
/// The time between two looks for rings that were made since.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A tree of a job that runs, as far as it is on this host.
#[derive(Clone)]
pub struct Live {
    folder: Folder,
    forest: Arc<Forest>,
    at: usize,
    clock: Arc<dyn Clock>,
}

/// A job that cannot be watched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// Its folder.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Nothing of it goes over a tree.
    #[error("no collective call of the job `{}` goes over a tree; start it with --tree", job.display())]
    NoTree {
        /// The folder.
        job: PathBuf,
    },
    /// Its tree file.
    #[error("the tree file of the job is none")]
    File(#[from] TreeError),
    /// The tree file has no such tree.
    #[error("there is no tree {given}; the file has {n_trees}, counted from 0")]
    Which {
        /// The position of the tree that was asked for.
        given: usize,
        /// The number of trees.
        n_trees: usize,
    },
}

/// Takes events out of the rings of some hosts, also of rings that are made later.
pub struct LiveRead {
    folder: Folder,
    kind: RingKind,
    tree: u64,
    /// The position of the host of each rank.
    hosts: BTreeMap<u32, u16>,
    read: Read,
    known: BTreeSet<PathBuf>,
    clock: Arc<dyn Clock>,
    next_look: Duration,
}

impl Live {
    /// Opens a tree of a job: its folder, or its name.
    ///
    /// # Errors
    /// If the job has no such tree on this host.
    pub fn open(job: &Path, tree: usize, clock: Arc<dyn Clock>) -> Result<Self, LiveError> {
        let folder = Folder::open(&mpi_job::find(job))?;
        let text = folder.tree()?.ok_or_else(|| LiveError::NoTree { job: job.to_owned() })?;
        let forest = Forest::parse(&text)?;
        let n_trees = forest.trees.len();
        let live = Self { folder, forest: Arc::new(forest), at: 0, clock };
        live.tree_at(tree).ok_or(LiveError::Which { given: tree, n_trees })
    }

    /// The first tree of the file that is in force by now, if that is another file.
    ///
    /// # Errors
    /// Those of [`Live::open`].
    pub fn replaced(&self) -> Result<Option<Self>, LiveError> {
        let now = Self::open(self.folder.path(), 0, Arc::clone(&self.clock))?;
        Ok((now.forest.fingerprint() != self.forest.fingerprint()).then_some(now))
    }

    /// Another tree of the same job.
    #[must_use]
    pub fn tree_at(&self, tree: usize) -> Option<Self> {
        (tree < self.forest.trees.len()).then(|| Self { at: tree, ..self.clone() })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// All trees of the job.
    #[must_use]
    pub fn forest(&self) -> &Arc<Forest> {
        &self.forest
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.forest.trees[self.at]
    }

    /// The hosts of the tree file.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.forest.hosts
    }

    /// Returns, for each host that has rings in the folder, two moments on the clock of the host's stamps; none if the
    /// stamps are nanoseconds.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn here(&self) -> Result<BTreeMap<usize, Option<[Reading; 2]>>, LiveError> {
        let mut here = BTreeMap::new();
        for ring in self.folder.rings()?.into_iter().flatten() {
            if let Some(host) = self.hosts().iter().position(|host| host.ranks.contains(&ring.header.rank)) {
                here.entry(host).or_insert_with(|| ring.readings());
            }
        }
        Ok(here)
    }

    /// Reads the stages of the tree on some hosts, from the oldest record on that is there when it is first pulled.
    #[must_use]
    pub fn stages(&self, hosts: impl IntoIterator<Item = usize>) -> LiveRead {
        self.read(RingKind::Stages, hosts)
    }

    /// Reads the calls of the ranks of some hosts, from the oldest record on that is there when it is first pulled.
    #[must_use]
    pub fn calls(&self, hosts: impl IntoIterator<Item = usize>) -> LiveRead {
        self.read(RingKind::Calls, hosts)
    }

    fn read(&self, kind: RingKind, hosts: impl IntoIterator<Item = usize>) -> LiveRead {
        let of_host = |at: usize| self.hosts()[at].ranks.iter().map(move |rank| (*rank, at as u16));
        LiveRead {
            folder: self.folder.clone(),
            kind,
            tree: if kind == RingKind::Stages { self.forest.id_of(self.at) } else { 0 },
            hosts: hosts.into_iter().flat_map(of_host).collect(),
            read: Read::new(N_AT_ONCE),
            known: BTreeSet::new(),
            clock: Arc::clone(&self.clock),
            next_look: Duration::ZERO,
        }
    }

    /// The gate of a host's ranks; none where the program has made none.
    #[must_use]
    pub fn gate(&self, host: usize) -> Option<Box<dyn Gate>> {
        let path = self.folder.path().join(format!("gate-{host}.seg"));
        let segment = Segment::open(&path, Access::ReadWrite).ok()?;
        (segment.words().len() >= HostGate::N_WORDS).then(|| Box::new(HostGate::new(segment)) as Box<dyn Gate>)
    }
}

impl LiveRead {
    /// The same without what the rings hold at this moment.
    #[must_use]
    pub fn from_newest(mut self) -> Self {
        self.look();
        self.read.skip();
        self
    }

    fn look(&mut self) {
        let is_first = self.known.is_empty();
        // What cannot be read this time is looked at again the next.
        for ring in self.folder.rings_but(|path| self.known.contains(path)).into_iter().flatten().flatten() {
            self.known.insert(ring.path.clone());
            let header = &ring.header;
            if header.kind == self.kind
                && header.tree == self.tree
                && let Some(&host) = self.hosts.get(&header.rank)
            {
                let rank = header.rank;
                self.read.add(Arc::<RingFile>::new(ring), host, rank);
            }
        }
        if is_first {
            self.read.begin_at_oldest();
        }
    }
}

impl Pull<Tuple> for LiveRead {
    fn pull(&mut self, into: &mut Vec<Tuple>) -> Tally {
        let now = self.clock.monotonic();
        if now >= self.next_look {
            self.next_look = now + LOOK_EVERY;
            self.look();
        }
        self.read.pull(into)
    }
}
