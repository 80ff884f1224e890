//! A communicator over which calls go by trees: a twin of it for messages, and an engine for each tree.

mod large;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mpi_abi::{Failed, Handle};
use mpi_job::{Access, Segment};
use mpi_tree::{Collective, Forest};
use units::Rank;

use crate::agreement::Agreement;
use crate::arguments::{Arguments, Buffer};
use crate::combine::Combine;
use crate::engine::{Call, Engine, Ground, Part};
use crate::job::{Job, chain, complain, lock, read_forest};
use crate::memory::{Layout, Shared};
use crate::network::Network;
use crate::plan::Plan;
use crate::port::{Mailbox, Trouble};
use crate::record::Recorder;
use crate::report::{Reason, Way};
use crate::site::Sites;

/// The most that slots hold. Larger calls are not what trees over shared memory are good for.
const CAPACITY_BYTES: usize = 64 * 1024;

/// One with the ranks of `MPI_COMM_WORLD` in the same order.
pub(crate) struct Communicator {
    /// As the program has it.
    comm: Handle,
    state: Mutex<Option<State>>,
}

/// What is there from the first call on that goes over a tree.
struct State {
    number: u32,
    network: Network,
    mailbox: Mailbox,
    forest: Arc<Forest>,
    /// By tree of the forest.
    trees: Vec<Entry>,
    /// Trees so far, those of earlier forests included.
    n_trees: u32,
    /// The last epoch that was refused.
    refused: u32,
    /// By tree, where long messages have gone over it. None if there was no room.
    sites: BTreeMap<usize, Option<Sites>>,
}

enum Entry {
    /// Not used so far.
    Unused,
    Ready(Box<(Engine, Recorder, Way)>),
    /// There is no room for it on some host.
    NoRoom,
}

/// A call that may be taken.
pub(crate) struct Taking<'a> {
    pub(crate) collective: Collective,
    pub(crate) arguments: &'a Arguments,
    pub(crate) combine: Option<Combine>,
    pub(crate) n_bytes: usize,
    pub(crate) is_root: bool,
}

impl Communicator {
    pub(crate) fn new(comm: Handle) -> Self {
        Self { comm, state: Mutex::new(None) }
    }

    /// In which order communicators came.
    pub(crate) fn number(&self) -> u32 {
        lock(&self.state).as_ref().map_or(u32::MAX, |state| state.number)
    }

    /// Carries a call out, or says why the library has to.
    pub(crate) fn carry(&self, job: &Job, taking: &Taking<'_>) -> Result<Way, Trouble> {
        let mut state = lock(&self.state);
        let forest = state.as_ref().map_or_else(|| Arc::clone(&lock(&job.forest)), |state| Arc::clone(&state.forest));
        let Some(tree) = forest.rule(taking.collective, taking.n_bytes as u64) else {
            return Ok(Way::Library(Reason::Rule));
        };
        let n_blocks = match taking.collective {
            Collective::Gather | Collective::Scatter => job.members.len(),
            _ => 1,
        };
        let is_large = taking.n_bytes.saturating_mul(n_blocks) > CAPACITY_BYTES;
        if is_large && !large::may_be_cut(taking, &forest, tree) {
            return Ok(Way::Library(Reason::Large));
        }
        let state = match &mut *state {
            Some(state) => state,
            empty => empty.insert(State::new(job, self.comm, forest)?),
        };
        if is_large { state.carry_large(job, tree, taking) } else { state.carry(job, tree, taking) }
    }

    /// Ends it. All ranks come here.
    pub(crate) fn free(&self, job: &Job) {
        let Some(mut state) = lock(&self.state).take() else { return };
        state.give_back(job);
        if let Err(error) = job.mpi.comm_free(state.network.comm()) {
            complain(&chain(&error));
        }
    }
}

impl State {
    fn new(job: &Job, comm: Handle, forest: Arc<Forest>) -> Result<Self, Failed> {
        let twin = job.mpi.comm_dup(comm)?;
        let number = Agreement { mpi: job.mpi, comm: twin }.of_first(job.next_number())?;
        let (path, mut seen) = (job.tree_path(), None);
        let pending = move || {
            let modified = std::fs::metadata(&path).and_then(|metadata| metadata.modified()).ok();
            if modified == seen {
                return 0;
            }
            seen = modified;
            let forest = std::fs::read_to_string(&path).ok().and_then(|text| Forest::parse(&text).ok());
            forest.map_or(0, |forest| forest.epoch as u32)
        };
        let mut state = Self {
            number,
            network: Network::new(job.mpi, twin, Arc::new(job.neighbours()), Box::new(pending)),
            mailbox: Mailbox::default(),
            forest: Arc::clone(&forest),
            trees: Vec::new(),
            n_trees: 0,
            refused: 0,
            sites: BTreeMap::new(),
        };
        state.adopt(forest);
        Ok(state)
    }

    fn adopt(&mut self, forest: Arc<Forest>) {
        self.n_trees += self.trees.len() as u32;
        self.trees = forest.trees.iter().map(|_| Entry::Unused).collect();
        self.forest = forest;
    }

    fn carry(&mut self, job: &Job, tree: usize, taking: &Taking<'_>) -> Result<Way, Trouble> {
        if let Entry::Unused = self.trees[tree] {
            self.trees[tree] = self.make(job, tree)?.map_or(Entry::NoRoom, |made| Entry::Ready(Box::new(made)));
        }
        let Entry::Ready(ready) = &mut self.trees[tree] else { return Ok(Way::Library(Reason::Memory)) };
        let (engine, recorder, way) = &mut **ready;
        let way = way.clone();
        let (arguments, n) = (taking.arguments, taking.n_bytes);
        let (input, room, output) = taking.buffers(job)?;
        let mut received = vec![0; room];
        let mut call = Call {
            collective: taking.collective,
            root: arguments.root as Rank,
            n_bytes: n,
            combine: taking.combine,
            input: &input,
            output: &mut received,
        };
        let notice = engine.call(&mut call, &mut self.network, &mut self.mailbox, recorder)?;
        taking.deliver(job, &output, &received)?;
        if notice > self.forest.epoch as u32 && notice != self.refused {
            self.replace(job, notice)?;
        }
        Ok(way)
    }

    /// Shares memory for a tree with the other ranks of this host; none if there is no room on some host.
    fn make(&mut self, job: &Job, tree: usize) -> Result<Option<(Engine, Recorder, Way)>, Failed> {
        let comm = self.network.comm();
        let plan = Plan::of(&self.forest.trees[tree], &self.forest.hosts);
        let host = plan.hosts[job.rank as usize];
        let layout = Layout::of(&plan, host, self.capacity(tree));
        let number = self.n_trees + tree as u32;
        let path = job.folder.path().join(format!("coll-{}-{number}-{host}.seg", self.number));
        let is_first = self.forest.hosts[host].ranks.first() == Some(&job.rank);
        let n_words = layout.n_words();
        let created = (is_first && n_words > 0).then(|| Segment::create(&path, n_words, |_| Ok(())));
        job.mpi.barrier(comm)?;
        let shared: Option<Box<dyn Shared>> = match created {
            _ if n_words == 0 => Some(Box::new(Vec::new())),
            Some(created) => created.ok().map(|segment| Box::new(segment) as Box<dyn Shared>),
            None => Segment::open(&path, Access::ReadWrite).ok().map(|segment| Box::new(segment) as Box<dyn Shared>),
        };
        let have = job.mpi.allgather(&[u8::from(shared.is_some())], comm)?;
        if is_first {
            // All have it by now, and nothing is left behind however the job ends.
            let _ = std::fs::remove_file(&path);
        }
        let Some(memory) = shared.filter(|_| have.iter().all(|has| *has == 1)) else { return Ok(None) };
        let part = Part {
            ground: Arc::new(Ground { plan, layout, memory }),
            rank: job.rank,
            tree: number,
            is_crowded: job.neighbours().len() + 1 > n_processors(),
            gate: job.gate(host),
        };
        let way = Way::Tree(self.forest.trees[tree].name.as_str().into(), self.forest.epoch);
        Ok(Some((Engine::new(part), job.recorder(self.tree_key(tree)), way)))
    }

    /// The most that a call over the tree may bring to a node.
    fn capacity(&self, tree: usize) -> usize {
        let rules = self.forest.rules.iter().filter(|rule| rule.tree == tree);
        let n_ranks = self.forest.n_ranks();
        let needed = rules.map(|rule| {
            let n_blocks = match rule.operation {
                None | Some(Collective::Gather | Collective::Scatter) => n_ranks,
                Some(_) => 1,
            };
            rule.bytes_max.map_or(CAPACITY_BYTES, |bytes| (bytes.bytes() as usize).saturating_mul(n_blocks))
        });
        needed.max().unwrap_or(CAPACITY_BYTES).min(CAPACITY_BYTES)
    }

    /// What rings say of a tree: the forest's fingerprint and the tree's position in it.
    fn tree_key(&self, tree: usize) -> u64 {
        self.forest.fingerprint().wrapping_add(tree as u64)
    }

    /// Puts another tree file into force, from the next call on. All ranks come here after the same call.
    fn replace(&mut self, job: &Job, epoch: u32) -> Result<(), Failed> {
        let read = read_forest(&job.tree_path(), &job.members, job.is_emulated);
        let agreement = Agreement { mpi: job.mpi, comm: self.network.comm() };
        let fingerprint = read.as_ref().map(Forest::fingerprint).map_err(Clone::clone);
        match (agreement.same(fingerprint, "tree files")?, read) {
            (Ok(()), Ok(forest)) => {
                self.give_back(job);
                let forest = Arc::new(forest);
                *lock(&job.forest) = Arc::clone(&forest);
                self.adopt(forest);
            }
            (why, _) => {
                self.refused = epoch;
                if job.rank == 0 {
                    let why = why.err().unwrap_or_default();
                    complain(&format_args!("the trees of epoch {} stay: {why}", self.forest.epoch));
                }
            }
        }
        Ok(())
    }

    fn give_back(&mut self, job: &Job) {
        for sites in std::mem::take(&mut self.sites).into_values().flatten() {
            sites.free(job.mpi).unwrap_or_else(|error| complain(&chain(&error)));
        }
        for tree in 0..self.trees.len() {
            let key = self.tree_key(tree);
            if let Entry::Ready(ready) = std::mem::replace(&mut self.trees[tree], Entry::Unused) {
                job.give_back(key, ready.1);
            }
        }
    }
}

/// Processors of this machine: a launcher may have bound each rank to one of them.
pub(crate) fn n_processors() -> usize {
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    told.lines().filter(|line| line.starts_with("processor")).count().max(1)
}

impl Taking<'_> {
    /// Gives the program what it gets.
    fn deliver(&self, job: &Job, output: &Buffer, received: &[u8]) -> Result<(), Failed> {
        if self.combine.is_some() && !received.is_empty() {
            // SAFETY: the program passed it to be written, with a built-in type.
            unsafe { output.set_elements(received) };
            return Ok(());
        }
        // SAFETY: the program passed it to be written.
        unsafe { output.write(job.mpi, self.arguments.comm, received) }
    }

    /// What this rank brings, how many bytes it gets, and where these go.
    fn buffers(&self, job: &Job) -> Result<(Vec<u8>, usize, Buffer), Failed> {
        let (mpi, n, comm) = (job.mpi, self.n_bytes, self.arguments.comm);
        let Arguments { send, receive, .. } = *self.arguments;
        let in_place = mpi.constants().in_place;
        let n_ranks = job.members.len();
        let nothing = (Vec::new(), 0, receive);
        // SAFETY: MPI says which buffers a rank passes to be read and written in such a call, and of what length.
        let buffers = unsafe {
            match self.collective {
                Collective::Barrier => nothing,
                Collective::Allreduce | Collective::Reduce => {
                    let from = if send.address == in_place { receive } else { send };
                    let gets = self.collective == Collective::Allreduce || self.is_root;
                    (from.elements(n), if gets { n } else { 0 }, receive)
                }
                Collective::Bcast if self.is_root => (send.read(mpi, comm, n)?, 0, send),
                Collective::Bcast => (Vec::new(), n, send),
                Collective::Gather if self.is_root => {
                    let all = receive.times(n_ranks);
                    let own = if send.address == in_place {
                        let rank = job.rank as usize;
                        all.read(mpi, comm, n * n_ranks)?[rank * n..(rank + 1) * n].to_vec()
                    } else {
                        send.read(mpi, comm, n)?
                    };
                    (own, n * n_ranks, all)
                }
                Collective::Gather => (send.read(mpi, comm, n)?, 0, send),
                Collective::Scatter if self.is_root => {
                    let all = send.times(n_ranks).read(mpi, comm, n * n_ranks)?;
                    if receive.address != in_place {
                        let rank = job.rank as usize;
                        receive.write(mpi, comm, &all[rank * n..(rank + 1) * n])?;
                    }
                    (all, 0, receive)
                }
                Collective::Scatter => (Vec::new(), n, receive),
            }
        };
        Ok(buffers)
    }
}
