//! The job that this process is a rank of: its tree file, its communicators, and what is to be done at its beginning
//! and end.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clock::Ticks;
use mpi_abi::{Failed, Handle, Mpi};
use mpi_job::{Access, Folder, JobError, Process, Segment};
use mpi_trace::{Level, Reading, RingHeader, RingKind};
use mpi_tree::Forest;
use units::Rank;

use crate::agreement::{Agreement, Member, hash};
use crate::arguments::FortranConstants;
use crate::communicator::Communicator;
use crate::crossing::Wan;
use crate::entry::complain;
use crate::gate::{Gate, N_GATE_WORDS};
use crate::record::Recorder;
use crate::report::{self, Report};
use crate::tracer::Tracer;

/// A rank of a job whose collectives go over trees.
pub(crate) struct Job {
    pub(crate) mpi: &'static Mpi,
    pub(crate) rank: Rank,
    pub(crate) folder: Folder,
    pub(crate) members: Vec<Member>,
    /// The other ranks on this machine.
    pub(crate) neighbours: Arc<[(Rank, Process)]>,
    pub(crate) ticks: Ticks,
    pub(crate) is_emulated: bool,
    /// Links between sites, where messages are delayed.
    pub(crate) wan: Option<Arc<Wan>>,
    /// The forest that the job began with.
    pub(crate) first_forest: Arc<Forest>,
    /// The forest that new communicators begin with.
    pub(crate) forest: Mutex<Arc<Forest>>,
    pub(crate) report: Report,
    pub(crate) fortran: FortranConstants,
    is_foreign: bool,
    began: clock::Reading,
    communicators: Mutex<HashMap<Handle, Option<Arc<Communicator>>>>,
    /// Recorders of trees that were in use on communicators that are no more.
    recorders: Mutex<HashMap<u64, Vec<Recorder>>>,
    n_rings: AtomicU32,
    n_communicators: AtomicU32,
    gates: Mutex<HashMap<usize, Gate>>,
    pub(crate) tracer: Option<Tracer>,
    has_complained_of_room: AtomicBool,
}

impl Job {
    /// Begins the job; none if it has no tree file, or none that can be used; rank 0 has reported so then.
    pub(crate) fn begin(mpi: &'static Mpi) -> Result<Option<Self>, Failed> {
        let world = mpi.constants().comm_world;
        let rank = mpi.comm_rank(world)? as Rank;
        let agreement = Agreement { mpi, comm: world };
        let given = env::var_os("FORETOP_MPI_TREE").filter(|path| !path.is_empty());
        let members = agreement.members(given.is_some())?;
        if !members.iter().any(|member| member.has_file) {
            return Ok(None);
        }
        let is_emulated = env::var_os("FORETOP_MPI_EMULATED_HOSTS").is_some_and(|value| value == "1");
        let name = mpi_job::job_name(&members[0].host, members[0].process.pid);
        // A job that another one started has the other's environment, and ranks of the same numbers.
        let is_spawned = mpi.is_spawned()?;
        let foreign = env::var_os("FORETOP_MPI_JOB").filter(|path| !path.is_empty() && !is_spawned);
        let is_foreign = foreign.is_some();
        let path = foreign.map_or_else(|| mpi_job::root().join(name), PathBuf::from);
        let neighbours: Arc<[(Rank, Process)]> = neighbours(&members, rank).collect();
        let opened = given
            .ok_or_else(|| format!("rank {rank} has no tree file: FORETOP_MPI_TREE has to be set on all ranks"))
            .and_then(|given| {
                let text = read_text(Path::new(&given))?;
                let forest = parse_forest(&text, Path::new(&given), &members, is_emulated)?;
                let folder = Folder::create(&path).map_err(|error| text::with_causes(&error))?;
                if is_first(rank, &neighbours) {
                    folder.set_tree(&forest.to_text()).map_err(|error| text::with_causes(&error))?;
                }
                let (wan, hash) = wan(&members, rank, &forest)?;
                Ok((Arc::new(forest), folder, wan, hash))
            });
        let fingerprint = opened.as_ref().map(|(forest, .., hash)| forest.fingerprint() ^ hash).map_err(Clone::clone);
        let agreed = agreement.same(fingerprint, "tree files, or files of sites,")?;
        let (forest, folder, wan, _) = match (agreed, opened) {
            (Ok(()), Ok(opened)) => opened,
            (why, _) => {
                if rank == 0 {
                    complain(&format_args!("no call goes over a tree: {}", why.err().unwrap_or_default()));
                }
                return Ok(None);
            }
        };
        let job = Self {
            mpi,
            rank,
            folder,
            members,
            neighbours,
            ticks: Ticks::best(),
            is_emulated,
            wan,
            first_forest: Arc::clone(&forest),
            forest: Mutex::new(forest),
            report: Report::default(),
            fortran: FortranConstants::of(mpi),
            is_foreign,
            began: Ticks::best().reading(),
            communicators: Mutex::default(),
            recorders: Mutex::default(),
            n_rings: AtomicU32::new(0),
            n_communicators: AtomicU32::new(0),
            gates: Mutex::default(),
            tracer: Tracer::find(),
            has_complained_of_room: AtomicBool::new(false),
        };
        Ok(Some(job))
    }

    pub(crate) fn communicators(&self) -> MutexGuard<'_, HashMap<Handle, Option<Arc<Communicator>>>> {
        lock(&self.communicators)
    }

    /// A number for a communicator's shared memory. That of rank 0 counts for all.
    pub(crate) fn next_number(&self) -> u32 {
        self.n_communicators.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the recorder that writes a tree's stages.
    ///
    /// # Errors
    /// If there is no room for them.
    pub(crate) fn recorder(&self, tree: u64) -> Result<Recorder, JobError> {
        if let Some(recorder) = lock(&self.recorders).get_mut(&tree).and_then(Vec::pop) {
            return Ok(recorder);
        }
        let setting = |name: &str| env::var(name).ok();
        let capacity = setting("FORETOP_MPI_RING").and_then(|text| text.parse().ok());
        let capacity = capacity.unwrap_or_else(|| mpi_job::ring_capacity(self.neighbours.len() + 1));
        let clock::Reading { ticks, monotonic_ns } = self.ticks.reading();
        let this = Process::this();
        let header = RingHeader {
            kind: RingKind::Stages,
            rank: self.rank,
            n_ranks: self.members.len() as u32,
            pid: this.pid,
            pid_started: this.started,
            thread: self.n_rings.fetch_add(1, Ordering::Relaxed),
            is_counter: self.ticks == Ticks::Counter,
            reading: Reading { ticks, monotonic_ns },
            tree,
            host: self.members[self.rank as usize].host.clone(),
        };
        let ring = self.folder.create_ring(capacity, &header)?.leak();
        match setting("FORETOP_MPI_LEVEL").as_deref() {
            Some("off") => ring.set_level(Level::Off),
            Some("calls") => ring.set_level(Level::Calls),
            _ => {}
        }
        Ok(Recorder::new(self.ticks, Some(ring.writer())))
    }

    /// Takes a recorder back.
    pub(crate) fn give_back(&self, tree: u64, recorder: Recorder) {
        lock(&self.recorders).entry(tree).or_default().push(recorder);
    }

    /// Makes the gate of a host, as its lowest rank does.
    pub(crate) fn make_gate(&self, host: usize) {
        if self.gate(host).is_none()
            && let Ok(made) = Segment::create(&self.gate_path(host), N_GATE_WORDS, |_| Ok(()))
        {
            lock(&self.gates).insert(host, Gate(Arc::new(made)));
        }
    }

    /// The gate of a host; none if there was no room for it.
    pub(crate) fn gate(&self, host: usize) -> Option<Gate> {
        let mut gates = lock(&self.gates);
        if let Some(gate) = gates.get(&host) {
            return Some(gate.clone());
        }
        let opened = Segment::open(&self.gate_path(host), Access::ReadWrite).ok()?;
        let gate = Gate(Arc::new(opened));
        gates.insert(host, gate.clone());
        Some(gate)
    }

    fn gate_path(&self, host: usize) -> PathBuf {
        self.folder.path().join(format!("gate-{host}.seg"))
    }

    /// Reports what is lost for want of memory, once for all ranks and communicators.
    pub(crate) fn complain_of_room(&self, what: &str, why: &str) {
        if self.rank == 0 && !self.has_complained_of_room.swap(true, Ordering::Relaxed) {
            complain(&format_args!("{what}: {why}"));
        }
    }

    /// Writes down which tree file is in force, for whoever looks at this machine; on that of rank 0 it is there.
    pub(crate) fn write_tree(&self, text: &str) {
        let is_there = self.members[0].host == self.members[self.rank as usize].host;
        if is_first(self.rank, &self.neighbours)
            && !is_there
            && let Err(error) = self.folder.set_tree(text)
        {
            complain(&text::with_causes(&error));
        }
    }

    pub(crate) fn tree_path(&self) -> PathBuf {
        self.folder.path().join("tree.toml")
    }

    pub(crate) fn end(&self) {
        let mut left: Vec<Arc<Communicator>> = self.communicators().drain().filter_map(|(_, known)| known).collect();
        left.sort_by_key(|communicator| communicator.number());
        left.iter().for_each(|communicator| communicator.free(self));
        let ns_per_tick = match (self.began, self.ticks.reading()) {
            (before, now) if now.ticks > before.ticks => {
                (now.monotonic_ns - before.monotonic_ns) as f64 / (now.ticks - before.ticks) as f64
            }
            _ => 1.0,
        };
        if self.rank == 0 && env::var_os("FORETOP_MPI_COLL_REPORT").is_some() {
            eprint!("{}", self.report.table(ns_per_tick));
        }
        report::write("coll", self.rank, &self.report.lines(ns_per_tick));
        // The tracer files what the rings hold, and removes them.
        if self.tracer.is_none() && !self.is_foreign {
            self.remove_files();
        }
    }

    fn remove_files(&self) {
        let is_first = is_first(self.rank, &self.neighbours);
        let Ok(entries) = fs::read_dir(self.folder.path()) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_shared = name == "tree.toml" || name.starts_with("gate-");
            if name.starts_with(&format!("stages-{}-", self.rank)) || (is_first && is_shared) {
                // What stays is a dead job's, and is cleared away as such.
                let _ = fs::remove_file(entry.path());
            }
        }
        // It is not empty while others have files in it.
        let _ = fs::remove_dir(self.folder.path());
    }
}

/// The other ranks on a rank's machine.
pub(crate) fn neighbours(members: &[Member], rank: Rank) -> impl Iterator<Item = (Rank, Process)> {
    let host = &members[rank as usize].host;
    let others = (0..).zip(members).filter(move |(other, member)| member.host == *host && *other != rank);
    others.map(|(other, member)| (other, member.process))
}

/// Whether a rank does what has to be done once on each machine.
fn is_first(rank: Rank, neighbours: &[(Rank, Process)]) -> bool {
    neighbours.iter().all(|(other, _)| *other > rank)
}

pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
}

/// The links that messages of a rank are delayed by, and a number that differs where files do.
fn wan(members: &[Member], rank: Rank, forest: &Forest) -> Result<(Option<Arc<Wan>>, u64), String> {
    let Some(path) = env::var_os("FORETOP_MPI_WAN").filter(|path| !path.is_empty()) else { return Ok((None, 0)) };
    if let Some(other) = members.iter().position(|member| member.host != members[0].host) {
        let [first, host] = [&members[0].host, &members[other].host];
        return Err(format!(
            "FORETOP_MPI_WAN delays messages inside one machine: rank 0 is on `{first}`, and rank {other} on `{host}`"
        ));
    }
    let path = Path::new(&path);
    let text = read_text(path)?;
    let wan = Wan::new(&text, path.parent().unwrap_or(Path::new("")), rank, forest);
    let wan = wan.map_err(|error| format!("`{}`: {error}", path.display()))?;
    Ok((Some(Arc::new(wan)), hash(&text)))
}

/// Returns a tree file for these members, or what is wrong with it.
pub(crate) fn parse_forest(text: &str, path: &Path, members: &[Member], is_emulated: bool) -> Result<Forest, String> {
    let forest = Forest::parse(text).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let hosts: Vec<&str> = if is_emulated {
        // Each rank is where the file says. Only their number has to be right.
        forest.places().iter().map(|place| place.map_or("", |host| forest.hosts[host].name.as_str())).collect()
    } else {
        members.iter().map(|member| member.host.as_str()).collect()
    };
    let of_job = if is_emulated && hosts.len() != members.len() {
        forest.check_job(&vec![""; members.len()])
    } else {
        forest.check_job(&hosts)
    };
    of_job.map_err(|error| format!("`{}`: {error}", path.display()))?;
    Ok(forest)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
