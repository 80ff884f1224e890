//! A communicator over which calls go by trees: a twin of it for messages, and an engine for each tree.

mod large;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use mpi_abi::{Failed, Handle};
use mpi_job::{Access, Segment};
use mpi_tree::{CAPACITY_BYTES, Collective, Forest};
use units::Rank;

use crate::agreement::Agreement;
use crate::crossing::Crossing;
use crate::engine::{Call, Engine, Ground, Part};
use crate::entry::complain;
use crate::job::{Job, lock, parse_forest, read_text};
use crate::memory::{Layout, Shared};
use crate::network::Network;
use crate::plan::Plan;
use crate::port::{Mailbox, Port, Trouble};
use crate::record::Recorder;
use crate::report::{Reason, Way};
use crate::site::Sites;
use crate::taking::Taking;

/// Number of calls after which the ranks ask rank 0 whether another tree file is to come into force: the file may lie
/// where none of them looks that has something for all.
const N_CALLS_UNASKED: u32 = 1024;

/// One with the ranks of `MPI_COMM_WORLD` in the same order.
pub(crate) struct Communicator {
    /// The communicator as the program has it.
    comm: Handle,
    state: Mutex<Option<State>>,
}

/// State from the first call on that might go over a tree.
struct State {
    number: u32,
    network: Network,
    mailbox: Mailbox,
    forest: Arc<Forest>,
    /// Entries by tree of the forest.
    trees: Vec<Entry>,
    /// Trees so far, those of earlier forests included.
    n_trees: u32,
    /// The last epoch that was refused.
    refused: u32,
    n_calls: u32,
    /// Sites by tree, if long messages have gone over the tree. None if there was no room.
    sites: BTreeMap<usize, Option<Sites>>,
}

enum Entry {
    /// Not used so far.
    Unused,
    Ready(Box<(Engine, Recorder, Way)>),
    /// There is no room for it on some host.
    NoRoom,
}

impl Communicator {
    pub(crate) fn new(comm: Handle) -> Self {
        Self { comm, state: Mutex::new(None) }
    }

    /// Returns the position in the order in which communicators came.
    pub(crate) fn number(&self) -> u32 {
        lock(&self.state).as_ref().map_or(u32::MAX, |state| state.number)
    }

    /// Carries a call out, or returns the reason why the library has to.
    pub(crate) fn carry(&self, job: &Job, taking: &Taking<'_>) -> Result<Way, Trouble> {
        let mut state = lock(&self.state);
        let state = self.begun(job, &mut state)?;
        let Some(tree) = state.forest.rule(taking.collective, taking.n_bytes as u64) else {
            return Ok(Way::Library(Reason::Rule));
        };
        let n_blocks = match taking.collective {
            Collective::Gather | Collective::Scatter => job.members.len(),
            _ => 1,
        };
        if taking.n_bytes.saturating_mul(n_blocks) <= CAPACITY_BYTES {
            state.carry(job, tree, taking)
        } else if large::may_be_cut(taking, &state.forest, tree) {
            state.carry_large(job, tree, taking)
        } else {
            Ok(Way::Library(Reason::Large))
        }
    }

    /// Makes the recorder of a tree of the job's first file, if there is room for it. All ranks come here.
    pub(crate) fn make_recorder(&self, job: &Job, tree: usize) -> Result<(), Failed> {
        let mut state = lock(&self.state);
        let state = self.begun(job, &mut state)?;
        if Arc::ptr_eq(&state.forest, &job.first_forest) { state.be_ready(job, tree) } else { Ok(()) }
    }

    /// Exchanges that recorder for this one, as long as the file is in force: calls that the engine knows nothing of
    /// are written down among those that it makes.
    pub(crate) fn swap_recorder(&self, job: &Job, tree: usize, other: &mut Recorder) -> bool {
        let mut state = lock(&self.state);
        let state = state.as_mut().filter(|state| Arc::ptr_eq(&state.forest, &job.first_forest));
        let Some(Entry::Ready(ready)) = state.map(|state| &mut state.trees[tree]) else { return false };
        std::mem::swap(&mut ready.1, other);
        true
    }

    fn begun<'a>(&self, job: &Job, state: &'a mut Option<State>) -> Result<&'a mut State, Failed> {
        match state {
            Some(state) => Ok(state),
            empty => Ok(empty.insert(State::new(job, self.comm)?)),
        }
    }

    /// Ends it. All ranks come here.
    pub(crate) fn free(&self, job: &Job) {
        let Some(mut state) = lock(&self.state).take() else { return };
        state.give_back(job);
        if let Err(error) = job.mpi.comm_free(state.network.comm()) {
            complain(&text::with_causes(&error));
        }
    }
}

impl State {
    fn new(job: &Job, comm: Handle) -> Result<Self, Failed> {
        let twin = job.mpi.comm_dup(comm)?;
        let agreement = Agreement { mpi: job.mpi, comm: twin };
        // Another thread may just be putting another file into force, which some ranks see and some do not.
        let latest = Arc::clone(&lock(&job.forest));
        let (is_same, number) = agreement.all_equal(latest.fingerprint(), job.next_number())?;
        let forest = if is_same { latest } else { Arc::clone(&job.first_forest) };
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
        let crossing = Crossing::of(&job.members, job.rank);
        let mut state = Self {
            number,
            network: Network::new(job.mpi, twin, crossing, Arc::clone(&job.neighbours), Box::new(pending)),
            mailbox: Mailbox::default(),
            forest: Arc::clone(&forest),
            trees: Vec::new(),
            n_trees: 0,
            refused: 0,
            n_calls: 0,
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
        self.be_ready(job, tree)?;
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
        let told = engine.call(&mut call, &mut self.network, &mut self.mailbox, recorder)?;
        taking.deliver(job, &output, &received)?;
        self.heed(job, told)?;
        Ok(way)
    }

    fn be_ready(&mut self, job: &Job, tree: usize) -> Result<(), Failed> {
        if let Entry::Unused = self.trees[tree] {
            self.trees[tree] = self.make(job, tree)?.map_or(Entry::NoRoom, |made| Entry::Ready(Box::new(made)));
        }
        Ok(())
    }

    /// Puts another tree file into force if this call has announced one.
    fn heed(&mut self, job: &Job, told: u32) -> Result<(), Failed> {
        let notice = self.notice(job, told)?;
        if notice > self.forest.epoch as u32 && notice != self.refused {
            self.replace(job, notice)?;
        }
        Ok(())
    }

    /// Returns the epoch of another tree file, as announced in a call or, now and then, by rank 0; 0 if there is none.
    fn notice(&mut self, job: &Job, told: u32) -> Result<u32, Failed> {
        self.n_calls = self.n_calls.wrapping_add(1);
        if told > 0 || !self.n_calls.is_multiple_of(N_CALLS_UNASKED) {
            return Ok(told);
        }
        let own = if job.rank == 0 { self.network.notice() } else { 0 };
        self.agreement(job).of_first(own)
    }

    fn agreement(&self, job: &Job) -> Agreement {
        Agreement { mpi: job.mpi, comm: self.network.comm() }
    }

    /// Shares memory for a tree with the other ranks of this host; none if there is no room on some host.
    fn make(&mut self, job: &Job, tree: usize) -> Result<Option<(Engine, Recorder, Way)>, Failed> {
        let agreement = self.agreement(job);
        let plan = Plan::of(&self.forest.trees[tree], &self.forest.hosts);
        let host = plan.hosts[job.rank as usize];
        let layout = Layout::of(&plan, host, self.capacity(tree));
        let number = self.n_trees + tree as u32;
        let path = job.folder.path().join(format!("coll-{}-{number}-{host}.seg", self.number));
        let is_first = self.forest.hosts[host].ranks.first() == Some(&job.rank);
        let n_words = layout.n_words();
        if is_first {
            job.make_gate(host);
        }
        let memory = match share(agreement, &path, n_words, is_first)? {
            Ok(memory) => memory,
            Err(why) => {
                job.complain_of_room("calls go to the MPI library", &why);
                return Ok(None);
            }
        };
        let recorder = job.recorder(self.tree_key(tree)).map_err(|error| text::with_causes(&error));
        if let Err(why) = agreement.same(recorder.as_ref().map(|_| 0).map_err(Clone::clone), "rings")? {
            job.complain_of_room("stages are not recorded", &why);
        }
        let part = Part {
            ground: Arc::new(Ground { plan, layout, memory }),
            rank: job.rank,
            tree: number,
            is_crowded: job.neighbours.len() + 1 > n_processors(),
            gate: job.gate(host),
        };
        let way = Way::Tree(self.forest.trees[tree].name.as_str().into(), self.forest.epoch);
        let mut recorder = recorder.unwrap_or_else(|_| Recorder::new(job.ticks, None));
        recorder.count_for(self.number);
        Ok(Some((Engine::new(part), recorder, way)))
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

    /// Returns the key of a tree in rings: the forest's fingerprint and the tree's position in it.
    fn tree_key(&self, tree: usize) -> u64 {
        self.forest.fingerprint().wrapping_add(tree as u64)
    }

    /// Puts the tree file of rank 0's host into force, from the next call on. All ranks come here after the same call.
    fn replace(&mut self, job: &Job, epoch: u32) -> Result<(), Failed> {
        let agreement = self.agreement(job);
        let own = if job.rank == 0 { read_text(&job.tree_path()) } else { Ok(String::new()) };
        let text = agreement.text_of_first(own.as_deref().unwrap_or_default())?;
        let read = own.and_then(|_| parse_forest(&text, &job.tree_path(), &job.members, job.is_emulated));
        let read = read.and_then(|forest| match forest.epoch > self.forest.epoch {
            true => Ok(forest),
            false => Err(format!("the tree file on rank 0's host is of epoch {}", forest.epoch)),
        });
        let fingerprint = read.as_ref().map(Forest::fingerprint).map_err(Clone::clone);
        match (agreement.same(fingerprint, "tree files")?, read) {
            (Ok(()), Ok(forest)) => {
                self.give_back(job);
                let forest = Arc::new(forest);
                *lock(&job.forest) = Arc::clone(&forest);
                job.write_tree(&text);
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
            sites.free(job.mpi).unwrap_or_else(|error| complain(&text::with_causes(&error)));
        }
        for tree in 0..self.trees.len() {
            let key = self.tree_key(tree);
            if let Entry::Ready(ready) = std::mem::replace(&mut self.trees[tree], Entry::Unused) {
                job.give_back(key, ready.1);
            }
        }
    }
}

/// Memory that the ranks of a host share, and none of it left behind however the job ends. All ranks come here and
/// learn the same: the memory, or why some host has none. The first rank of each host makes it.
pub(crate) fn share(
    agreement: Agreement,
    path: &Path,
    n_words: usize,
    is_first: bool,
) -> Result<Result<Box<dyn Shared>, String>, Failed> {
    let created = (is_first && n_words > 0).then(|| Segment::create(path, n_words, |_| Ok(())));
    agreement.mpi.barrier(agreement.comm)?;
    let shared = match created {
        _ if n_words == 0 => Ok(Box::new(Vec::new()) as Box<dyn Shared>),
        Some(created) => created.map(|segment| Box::new(segment) as Box<dyn Shared>),
        None => Segment::open(path, Access::ReadWrite).map(|segment| Box::new(segment) as Box<dyn Shared>),
    };
    let shared = shared.map_err(|error| text::with_causes(&error));
    let agreed = agreement.same(shared.as_ref().map(|_| 0).map_err(Clone::clone), "segments")?;
    if is_first {
        // It may be that there is none.
        let _ = std::fs::remove_file(path);
    }
    Ok(agreed.and(shared))
}

/// Processors of this machine: a launcher may have bound each rank to one of them.
pub(crate) fn n_processors() -> usize {
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    told.lines().filter(|line| line.starts_with("processor")).count().max(1)
}
