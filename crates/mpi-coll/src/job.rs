//! The job that this process is a rank of: its tree file, its communicators, and what is to be done at its beginning
//! and end.

use std::collections::HashMap;
use std::env;
use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use clock::Ticks;
use mpi_abi::{Failed, Handle, Mpi};
use mpi_job::{Folder, Process, Segment};
use mpi_trace::{Level, Operation, Reading, RingHeader, RingKind};
use mpi_tree::{Collective, Forest};
use units::Rank;

use crate::agreement::{Agreement, Member};
use crate::arguments::{Arguments, FortranConstants, Language, comm_at};
use crate::communicator::{Communicator, Taking};
use crate::conditional;
use crate::gate::{Gate, N_GATE_WORDS};
use crate::record::Recorder;
use crate::report::{Reason, Report, Tally, Way};

/// Records in a ring unless told otherwise: 0.75 MiB.
const N_RECORDS: u64 = 32_768;
/// Where files go unless told otherwise.
const TRACE_FOLDER: &str = "foretop-trace";

type TracerBegin = unsafe extern "C" fn(u8) -> u64;
type TracerEnd = unsafe extern "C" fn(u8, usize, i32, i32, u64, u64, i32);

pub(crate) struct Job {
    pub(crate) mpi: &'static Mpi,
    pub(crate) rank: Rank,
    pub(crate) folder: Folder,
    pub(crate) members: Arc<Vec<Member>>,
    pub(crate) ticks: Ticks,
    pub(crate) is_emulated: bool,
    /// What new communicators begin with.
    pub(crate) forest: Mutex<Arc<Forest>>,
    pub(crate) report: Report,
    fortran: FortranConstants,
    is_foreign: bool,
    began: clock::Reading,
    communicators: Mutex<HashMap<Handle, Option<Arc<Communicator>>>>,
    /// Recorders of trees that were in use on communicators that are no more.
    recorders: Mutex<HashMap<u64, Vec<Recorder>>>,
    n_rings: AtomicU32,
    n_communicators: AtomicU32,
    gates: Mutex<HashMap<usize, Gate>>,
    tracer: Option<(TracerBegin, TracerEnd)>,
}

static JOB: OnceLock<Option<Job>> = OnceLock::new();

/// Says something to whoever runs the program.
pub(crate) fn complain(what: &dyn Display) {
    eprintln!("foretop: {what}");
}

/// An error with its causes, for one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

/// Ends the job: others may be waiting for what this rank cannot do.
pub(crate) fn abort(mpi: &Mpi, why: &dyn Display) -> ! {
    complain(&format_args!("the job ends here: {why}"));
    // It does not return; if it does, nothing is lost by ending this process alone.
    let _ = mpi.abort(mpi.constants().comm_world, 1);
    std::process::exit(1)
}

/// Runs what may break. A panic must not unwind into the program, and other ranks may wait for this one by then.
pub(crate) fn guarded<T>(mpi: &Mpi, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| abort(mpi, &"the collectives panicked, see above"))
}

/// MPI has begun. All ranks come here.
pub(crate) fn begin() {
    JOB.get_or_init(|| {
        let mpi = Mpi::get()?;
        guarded(mpi, || Job::begin(mpi)).unwrap_or_else(|error| abort(mpi, &error))
    });
    if let Some(mpi) = Mpi::get() {
        guarded(mpi, || conditional::begin(mpi)).unwrap_or_else(|error| abort(mpi, &error));
    }
}

/// MPI is about to end.
pub(crate) fn end(_language: Language, _words: &[usize]) {
    if let Some(mpi) = Mpi::get() {
        conditional::end(mpi);
    }
    if let Some(Some(job)) = JOB.get() {
        guarded(job.mpi, || job.end());
    }
}

/// The program gives a communicator up.
pub(crate) fn forget(language: Language, words: &[usize]) {
    let (Some(mpi), Some(&word)) = (Mpi::get(), words.first()) else { return };
    // SAFETY: it is the argument of such a call.
    let comm = unsafe { comm_at(mpi, language, word) };
    conditional::forget(mpi, comm);
    let Some(Some(job)) = JOB.get() else { return };
    let known = job.communicators().remove(&comm).flatten();
    if let Some(communicator) = known {
        guarded(job.mpi, || communicator.free(job));
    }
}

/// Carries out a call, unless it is for the library. All that decides is the same on all ranks.
pub(crate) fn take(collective: Collective, language: Language, words: &[usize]) -> Option<i32> {
    if let Some(code) = conditional::take(collective, language, words) {
        return Some(code);
    }
    let job = JOB.get()?.as_ref()?;
    guarded(job.mpi, || {
        let arguments = Arguments::read(job.mpi, &job.fortran, collective, language, words);
        match job.take(collective, &arguments) {
            Ok(reason) => {
                let reason = reason?;
                job.report.add(collective, Way::Library(reason), Tally { n_calls: 1, ..Tally::default() });
                None
            }
            Err(Done) => Some(0),
        }
    })
}

/// The trees in force, if they are for the ranks of this communicator.
pub(crate) fn forest(comm: Handle) -> Option<Arc<Forest>> {
    let job = JOB.get()?.as_ref()?;
    job.communicator(comm).map(|_| Arc::clone(&lock(&job.forest)))
}

/// Where ranks of a host find what they share, if the job has such a place.
pub(crate) fn folder() -> Option<PathBuf> {
    let given = env::var_os("FORETOP_MPI_JOB").filter(|path| !path.is_empty()).map(PathBuf::from);
    given.or_else(|| Some(JOB.get()?.as_ref()?.folder.path().to_owned()))
}

/// A number that differs where texts do.
pub(crate) fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Writes what a rank has to tell at the end.
pub(crate) fn write_report(kind: &str, rank: Rank, lines: &str) {
    let folder = env::var_os("FORETOP_MPI_TRACE").filter(|path| !path.is_empty());
    let folder = folder.map_or_else(|| PathBuf::from(TRACE_FOLDER), PathBuf::from);
    let path = folder.join(format!("{kind}-{rank}.jsonl"));
    let append = || {
        fs::create_dir_all(&folder)?;
        OpenOptions::new().create(true).append(true).open(&path)?.write_all(lines.as_bytes())
    };
    if let Err(error) = append() {
        complain(&format_args!("cannot write `{}`: {error}", path.display()));
    }
}

/// A call that was carried out.
struct Done;

impl Job {
    /// None if the job has no tree file, or none that can be used; rank 0 has said so then.
    fn begin(mpi: &'static Mpi) -> Result<Option<Self>, Failed> {
        let world = mpi.constants().comm_world;
        let rank = mpi.comm_rank(world)? as Rank;
        let agreement = Agreement { mpi, comm: world };
        let members = agreement.members()?;
        let given = env::var_os("FORETOP_MPI_TREE").filter(|path| !path.is_empty());
        if agreement.all_equal(u64::from(given.is_none()))? && given.is_none() {
            return Ok(None);
        }
        let is_emulated = env::var_os("FORETOP_MPI_EMULATED_HOSTS").is_some_and(|value| value == "1");
        let name = agreement.job_name()?;
        let foreign = env::var_os("FORETOP_MPI_JOB").filter(|path| !path.is_empty());
        let is_foreign = foreign.is_some();
        let path = foreign.map_or_else(|| mpi_job::root().join(name), PathBuf::from);
        let opened = given
            .ok_or_else(|| format!("rank {rank} has no tree file: FORETOP_MPI_TREE has to be set on all ranks"))
            .and_then(|given| {
                let forest = read_forest(Path::new(&given), &members, is_emulated)?;
                let folder = Folder::create(&path).map_err(|error| chain(&error))?;
                Ok((forest, folder))
            });
        let fingerprint = opened.as_ref().map(|(forest, _)| forest.fingerprint()).map_err(Clone::clone);
        if let Err(why) = agreement.same(fingerprint, "tree files")? {
            if rank == 0 {
                complain(&format_args!("no call goes over a tree: {why}"));
            }
            return Ok(None);
        }
        let Ok((forest, folder)) = opened else { return Ok(None) };
        let job = Self {
            mpi,
            rank,
            folder,
            members: Arc::new(members),
            ticks: Ticks::best(),
            is_emulated,
            forest: Mutex::new(Arc::new(forest)),
            report: Report::default(),
            fortran: FortranConstants::of(mpi),
            is_foreign,
            began: Ticks::best().reading(),
            communicators: Mutex::default(),
            recorders: Mutex::default(),
            n_rings: AtomicU32::new(0),
            n_communicators: AtomicU32::new(0),
            gates: Mutex::default(),
            tracer: tracer(),
        };
        job.write_tree();
        Ok(Some(job))
    }

    fn take(&self, collective: Collective, arguments: &Arguments) -> Result<Option<Reason>, Done> {
        let (send, receive) = (&arguments.send, &arguments.receive);
        let datatype = self.mpi.datatype(send.datatype);
        let op = self.mpi.op(arguments.op);
        let combine = match collective {
            Collective::Allreduce | Collective::Reduce => {
                let combine = datatype.zip(op).and_then(|(datatype, op)| crate::combine::combine(op, datatype));
                if combine.is_none() {
                    return Ok(Some(Reason::Operation));
                }
                combine
            }
            _ => None,
        };
        let Some(communicator) = self.communicator(arguments.comm) else { return Ok(Some(Reason::Communicator)) };
        let n_ranks = self.members.len();
        // Whatever is wrong with arguments, the library says.
        if usize::try_from(arguments.root).map_or(true, |root| root >= n_ranks) {
            return Ok(None);
        }
        let is_root = arguments.root as Rank == self.rank;
        let own = match collective {
            Collective::Gather if is_root => receive,
            Collective::Scatter if !is_root => receive,
            _ => send,
        };
        let n_bytes = match (collective, datatype) {
            (Collective::Barrier, _) => 0,
            (Collective::Allreduce | Collective::Reduce, Some(datatype)) => {
                usize::try_from(send.count).unwrap_or(0).saturating_mul(datatype.extent_bytes)
            }
            _ => match own.n_bytes(self.mpi) {
                Ok(Some(n_bytes)) => n_bytes,
                _ => return Ok(None),
            },
        };
        if n_bytes == 0 && collective != Collective::Barrier {
            return Ok(Some(Reason::Empty));
        }
        let began = self.tracer.map(|(begin, _)| {
            // SAFETY: the tracer exports it with this signature.
            unsafe { begin(operation(collective).code()) }
        });
        let start = self.ticks.now();
        let taking = Taking { collective, arguments, combine, n_bytes, is_root };
        match communicator.carry(self, &taking) {
            Ok(way @ Way::Tree(..)) => {
                let ticks = self.ticks.now().saturating_sub(start);
                self.report.add(collective, way, Tally { n_calls: 1, n_bytes: n_bytes as u64, ticks });
            }
            Ok(Way::Library(reason)) => return Ok(Some(reason)),
            Err(error) => abort(self.mpi, &chain(&error)),
        }
        if let (Some((_, end)), Some(began)) = (self.tracer, began) {
            let root = match collective {
                Collective::Allreduce | Collective::Barrier => -1,
                _ => arguments.root,
            };
            // SAFETY: as above.
            unsafe { end(operation(collective).code(), arguments.comm.0, root, -1, n_bytes as u64, began, 0) };
        }
        Err(Done)
    }

    /// What is known of a communicator; none if its ranks are not those of `MPI_COMM_WORLD`.
    fn communicator(&self, comm: Handle) -> Option<Arc<Communicator>> {
        if let Some(known) = self.communicators().get(&comm) {
            return known.clone();
        }
        let is_like_world = self.mpi.is_congruent(comm, self.mpi.constants().comm_world).unwrap_or(false)
            && !self.mpi.is_inter(comm).unwrap_or(true);
        let new = is_like_world.then(|| Arc::new(Communicator::new(comm)));
        self.communicators().insert(comm, new.clone());
        new
    }

    fn communicators(&self) -> MutexGuard<'_, HashMap<Handle, Option<Arc<Communicator>>>> {
        lock(&self.communicators)
    }

    /// A number for a communicator's shared memory. That of rank 0 counts for all.
    pub(crate) fn next_number(&self) -> u32 {
        self.n_communicators.fetch_add(1, Ordering::Relaxed)
    }

    /// The other ranks on this machine.
    pub(crate) fn neighbours(&self) -> Vec<(Rank, Process)> {
        let host = &self.members[self.rank as usize].host;
        let members = (0..).zip(self.members.iter());
        members
            .filter(|(rank, member)| member.host == *host && *rank != self.rank)
            .map(|(rank, member)| (rank, member.process))
            .collect()
    }

    /// Where a tree's stages are written down. Without memory for it, nowhere.
    pub(crate) fn recorder(&self, tree: u64) -> Recorder {
        if let Some(recorder) = lock(&self.recorders).get_mut(&tree).and_then(Vec::pop) {
            return recorder;
        }
        let setting = |name: &str| env::var(name).ok();
        let capacity = setting("FORETOP_MPI_RING").and_then(|text| text.parse().ok()).unwrap_or(N_RECORDS);
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
        let writer = self.folder.create_ring(capacity, &header).map(|ring| {
            let ring = ring.leak();
            match setting("FORETOP_MPI_LEVEL").as_deref() {
                Some("off") => ring.set_level(Level::Off),
                Some("calls") => ring.set_level(Level::Calls),
                _ => {}
            }
            ring.writer()
        });
        let writer = writer.inspect_err(|error| complain(&format_args!("stages are not recorded: {}", chain(error))));
        Recorder::new(self.ticks, writer.ok())
    }

    /// Takes a recorder back.
    pub(crate) fn give_back(&self, tree: u64, recorder: Recorder) {
        lock(&self.recorders).entry(tree).or_default().push(recorder);
    }

    /// The gate of a host, which its lowest rank makes.
    pub(crate) fn gate(&self, host: usize) -> Option<Gate> {
        let mut gates = lock(&self.gates);
        if let Some(gate) = gates.get(&host) {
            return Some(gate.clone());
        }
        let path = self.folder.path().join(format!("gate-{host}.seg"));
        let opened = Segment::open(&path, mpi_job::Access::ReadWrite)
            .or_else(|_| Segment::create(&path, N_GATE_WORDS, |_| Ok(())));
        let gate = Gate(Arc::new(opened.ok()?));
        gates.insert(host, gate.clone());
        Some(gate)
    }

    /// Writes the tree file in force into the job's folder, where another may come into its place.
    fn write_tree(&self) {
        let is_first = self.neighbours().iter().all(|(rank, _)| *rank > self.rank);
        let path = self.tree_path();
        let scratch = path.with_extension("toml.new");
        let forest = Arc::clone(&lock(&self.forest));
        if is_first && fs::write(&scratch, forest.to_text()).and_then(|()| fs::rename(&scratch, &path)).is_err() {
            complain(&format_args!("`{}` cannot be written: no other tree can be applied", path.display()));
        }
    }

    pub(crate) fn tree_path(&self) -> PathBuf {
        self.folder.path().join("tree.toml")
    }

    fn end(&self) {
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
        let folder = env::var_os("FORETOP_MPI_TRACE").filter(|path| !path.is_empty());
        let folder = folder.map_or_else(|| PathBuf::from(TRACE_FOLDER), PathBuf::from);
        let path = folder.join(format!("coll-{}.jsonl", self.rank));
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, self.report.lines(ns_per_tick)));
        if let Err(error) = written {
            complain(&format_args!("cannot write `{}`: {error}", path.display()));
        }
        // The tracer files what the rings hold, and removes them.
        if self.tracer.is_none() && !self.is_foreign {
            self.remove_files();
        }
    }

    fn remove_files(&self) {
        let is_first = self.neighbours().iter().all(|(rank, _)| *rank > self.rank);
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

/// A tree file for these members, or what is wrong with it.
pub(crate) fn read_forest(path: &Path, members: &[Member], is_emulated: bool) -> Result<Forest, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    let forest = Forest::parse(&text).map_err(|error| format!("`{}`: {error}", path.display()))?;
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

fn tracer() -> Option<(TracerBegin, TracerEnd)> {
    let (begin, end) = (mpi_abi::any(c"foretop_tracer_begin"), mpi_abi::any(c"foretop_tracer_end"));
    // SAFETY: only the tracer has symbols of these names, with these signatures.
    (!begin.is_null() && !end.is_null()).then(|| unsafe {
        (
            std::mem::transmute::<*mut std::ffi::c_void, TracerBegin>(begin),
            std::mem::transmute::<*mut std::ffi::c_void, TracerEnd>(end),
        )
    })
}

fn operation(collective: Collective) -> Operation {
    crate::engine::operation(collective)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
